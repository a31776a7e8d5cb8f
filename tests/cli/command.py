"""The real command line, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIRST = ROOT / "scenarios" / "first.yaml"
SHORT = ("--set", "duration_s=5")
LONG = (str(ROOT / "scenarios" / "dynamic.yaml"), "--set", "duration_s=4000")
COMMAND = (sys.executable, "-c", "from mobilenet.cli.main import app; app(prog_name='mobilenet')")

Words = tuple[str | bytes | Path, ...]


def mobilenet(*words: str | bytes | Path, place: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | environment
    return subprocess.run(
        [*COMMAND, *words],
        cwd=place,
        env=env,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=120,
        check=False,
    )


def _with_signals() -> None:
    """Whoever runs the tests in the background, or under nohup, has signals ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def begun(*words: str | Path, place: Path) -> subprocess.Popen[str]:
    """A long run that has begun to fill its directory `runs/it`."""
    process = subprocess.Popen(
        [*COMMAND, "run", *LONG, "--out", "runs/it", *words], cwd=place, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True, preexec_fn=_with_signals,
    )  # fmt: skip
    for _ in range(600):
        if any(place.glob("runs/.it.partial-*")):
            return process
        time.sleep(0.05)
    raise AssertionError(process.communicate(timeout=10))


def one_line(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The only thing that was said: a line on stderr."""
    assert done.returncode == code, done
    assert done.stdout == "" and done.stderr.endswith("\n") and done.stderr.count("\n") == 1, done
    assert "Traceback" not in done.stderr and (code == 3 or "internal error" not in done.stderr)
    return done.stderr.rstrip("\n")


def everything_below(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*"))
