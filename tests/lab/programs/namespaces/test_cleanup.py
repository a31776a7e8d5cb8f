"""Tests that no processes, devices, mounts or files of a run remain, however the run ends.

Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.lab.programs.namespaces.own import USUAL, scenario, skip_without
from tests.lab.programs.own import wait_until

pytestmark = USUAL
MARK = "MOBILENET_TEST_MARK"
STUBBORN = "trap '' INT TERM HUP; (setsid sleep 600 &) ; nohup sleep 600 & while true; do sleep 600; done"


def processes_with(mark: str) -> list[int]:
    process_ids = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                process_ids.append(int(entry.name))
        except OSError:
            continue
    return process_ids


@contextmanager
def serving(folder: Path, commands: dict[str, object], mark: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    path = scenario(folder, commands, duration_s=60.0)
    command = [sys.executable, "-m", "mobilenet", "serve", str(path), "--allow-code", "--out", str(folder / "run")]
    with subprocess.Popen(
        [*command, *options], env={**os.environ, MARK: mark}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as emulator:
        wait_until(lambda: len(processes_with(mark)) >= 6 or emulator.poll() is not None)
        yield emulator


@pytest.mark.parametrize("way", ["Ctrl-C", "kill -9", "a crash of a program"])
def test_a_run_of_real_software_leaves_no_processes_behind(way: str, tmp_path: Path) -> None:
    skip_without()
    mark = f"{os.getpid()}-{way}"
    last = "sleep 1; kill -SEGV $$" if way == "a crash of a program" else STUBBORN
    with serving(tmp_path, {"h0": STUBBORN, "h1": last}, mark) as emulator:
        if way != "a crash of a program":
            emulator.send_signal(signal.SIGINT if way == "Ctrl-C" else signal.SIGKILL)
        emulator.wait()
    assert wait_until(lambda: not processes_with(mark))
    left = {path.name for path in tmp_path.iterdir()} - {"scenario.yaml"}
    assert left == (set() if way == "kill -9" else {"run"})
    assert not list((tmp_path / "run").glob("machines.json"))


def test_commands_can_be_executed_inside_a_run_in_progress(tmp_path: Path) -> None:
    skip_without("ip")
    with serving(tmp_path, {"h0": STUBBORN, "h1": STUBBORN}, str(os.getpid())) as emulator:
        run = str(tmp_path / "run")
        join = [sys.executable, "-m", "mobilenet", "serve", "--join", run]
        inside = subprocess.run([*join, "--exec", "h1", "--", "sh", "-c", "ip address show mob0; hostname; exit 3"],
                                capture_output=True, text=True)  # fmt: skip
        stranger = subprocess.run([*join, "--exec", "h7", "--", "true"], capture_output=True, text=True)
        shell = subprocess.run([*join, "--shell", "h0"], input="echo $((6 * 7)) here\nexit 4\n", capture_output=True,
                               text=True)  # fmt: skip
        emulator.send_signal(signal.SIGINT)
        emulator.wait()
    assert "10.77.0.2/16" in inside.stdout and "h1" in inside.stdout and inside.returncode == 3
    assert stranger.returncode == 2 and "h7 is not running now; expected one of h0, h1" in stranger.stderr
    assert "42 here" in shell.stdout and shell.returncode == 4
    after = subprocess.run([*join, "--exec", "h1", "--", "true"], capture_output=True, text=True)
    assert after.returncode == 2 and "expected a run in progress" in after.stderr


def test_exiting_the_shell_ends_the_run(tmp_path: Path) -> None:
    skip_without("ping")
    path = scenario(tmp_path, {"h1": ["sleep", "60"]}, duration_s=60.0)
    command = [sys.executable, "-m", "mobilenet", "serve", str(path), "--allow-code", "--out", str(tmp_path / "run")]
    done = subprocess.run([*command, "--shell", "h0"], input="sleep 0.5; ping -c 2 -i 0.3 h1\nexit\n", text=True,
                          capture_output=True)  # fmt: skip
    assert "bytes from h1" in done.stdout
    assert "stopped by the end of the shell at " in done.stderr and done.returncode == 3
