"""Call the real command line, in this process or in a separate one."""

from __future__ import annotations

import io
import itertools
import os
import signal
import subprocess
import sys
import time
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from mobilenet.cli.console import SIGNALS

ROOT = Path(__file__).parents[2]
FIRST = ROOT / "scenarios" / "first.yaml"
SHORT = ("--set", "duration_s=5")
LONG = (str(ROOT / "scenarios" / "dynamic.yaml"), "--set", "duration_s=4000")
COMMAND = (sys.executable, "-c", "from mobilenet.cli.main import app; app(prog_name='mobilenet')")


def in_a_process(*words: str | bytes | Path, place: Path) -> subprocess.CompletedProcess[str]:
    """Call the command line in a separate process, to test signals, resource limits and the caches of libraries."""
    return subprocess.run(
        [*COMMAND, *words],
        cwd=place,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=120,
        check=False,
    )


def mobilenet(*words: str | bytes | Path, place: Path) -> subprocess.CompletedProcess[str]:
    """Call the command line in this process, with separate output streams, in the folder `place`. Signal handlers are
    restored afterwards.
    """
    from mobilenet.cli.main import app

    texts = [os.fsdecode(word) for word in words]
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace", newline="") for _ in range(2)]
    handlers = {number: signal.getsignal(number) for number in (*SIGNALS, signal.SIGALRM)}
    with (
        chdir(place),
        mock.patch.object(sys, "argv", ["mobilenet", *texts]),
        redirect_stdout(streams[0]),
        redirect_stderr(streams[1]),
    ):
        try:
            code = app(texts, prog_name="mobilenet")
        except SystemExit as ended:
            code = ended.code
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    outputs = []
    for stream in streams:
        stream.flush()
        outputs.append(stream.buffer.getvalue().decode("utf-8", "replace"))
    return subprocess.CompletedProcess(texts, int(code or 0), *outputs)


def _with_signals() -> None:
    """Restore the default signal handlers. The tests ignore these signals if they run in the background or under
    nohup.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def begin(*words: str | Path, place: Path) -> subprocess.Popen[str]:
    """Start a long run and wait until its directory `runs/it` begins to fill."""
    process = subprocess.Popen(
        [*COMMAND, "run", *LONG, "--out", "runs/it", *words], cwd=place, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True, preexec_fn=_with_signals,
    )  # fmt: skip
    while not any(place.glob("runs/.it.partial-*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return process


def one_line(done: subprocess.CompletedProcess[str], code: int) -> str:
    """Check that a command printed one line on stderr and no other output, and return this line."""
    assert done.returncode == code, done
    assert done.stdout == "" and done.stderr.endswith("\n") and done.stderr.count("\n") == 1, done
    assert "Traceback" not in done.stderr and (code == 3 or "internal error" not in done.stderr)
    return done.stderr.rstrip("\n")


def everything_below(place: Path) -> list[str]:
    # pathlib raises an error if a folder is removed in the meantime, for example by a Java that is ending.
    names = (Path(folder, name) for folder, *names in os.walk(place) for name in itertools.chain(*names))
    return sorted(str(path.relative_to(place)) for path in names)
