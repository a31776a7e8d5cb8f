"""Tests that an interrupted or killed run, or a run on a full disk, leaves no run directory. Unless the run is killed,
it prints one line and exits with code 3.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mobilenet import api
from mobilenet.record.writer import RecordError, run_directory

from .command import COMMAND, FIRST, SHORT, begin, everything_below, mobilenet, one_line


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_run_with_one_line_and_no_directory(number: signal.Signals, tmp_path: Path) -> None:
    process = begin("-q", place=tmp_path)
    process.send_signal(number)
    process.send_signal(number)  # timeout(1) also sends the signal twice.
    outputs = process.communicate(timeout=200)
    assert outputs == ("", f"stopped by {number.name}; nothing was written\n") and process.returncode == 3
    assert everything_below(tmp_path) == []


LOST = """import os, signal, sys, time
from mobilenet import api
class Final:
    def __del__(self): os.kill(os.getpid(), signal.SIGTERM); time.sleep(0.01)
def run(*a, **b):
    final = Final()
    try:
        del final  # what the signal raises is lost here
        time.sleep(600)
    finally:
        time.sleep(1.2)  # not to be disturbed
        open("cleaned", "w").close()
api.run = run
from mobilenet.cli.main import app; app()"""


@pytest.mark.long
def test_a_signal_is_handled_even_if_its_exception_is_lost(tmp_path: Path) -> None:
    words = [*COMMAND, "run", str(FIRST), *SHORT, "-q"]
    words[2] = LOST
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 3 and done.stderr.endswith("stopped by SIGTERM; nothing was written\n")
    assert (tmp_path / "cleaned").exists()


def test_a_run_ignores_a_signal_that_its_caller_ignores(tmp_path: Path) -> None:
    """The caller ignores SIGHUP, as nohup(1) does. The run ignores the signal as well, and continues."""
    words = [*COMMAND, "run", str(FIRST), *SHORT, "-q"]
    shell = "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    check = "import os, signal; from mobilenet import api; real = api.run\n" \
            "def run(*a, **b): os.kill(os.getpid(), signal.SIGHUP); return real(*a, **b)\n" \
            "api.run = run; from mobilenet.cli.main import app; app()"  # fmt: skip
    words[2] = check
    done = subprocess.run(
        [sys.executable, "-c", shell, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "runs/first-s1: valid\n", "")


KILLED = """import os, signal
from mobilenet.simulation.mobile import Simulation
Simulation.run = lambda *a, **b: os.kill(os.getpid(), signal.SIGKILL)
from mobilenet.cli.main import app; app()"""


def test_a_killed_run_leaves_only_a_partial_directory(tmp_path: Path) -> None:
    """The run kills itself at its beginning. Later, it would have recorded something, which the next run would keep."""
    words = [*COMMAND, "run", str(FIRST), "--out", "runs/it"]
    words[2] = KILLED
    process = subprocess.Popen(words, cwd=tmp_path)
    assert process.wait() == -signal.SIGKILL
    (left,) = everything_below(tmp_path)[1:]
    assert left == f"runs/.it.partial-{process.pid}"
    for command in ("show", "verify"):
        assert "never completed; this is not a run" in one_line(mobilenet(command, left, place=tmp_path), 2)
    done = mobilenet("run", FIRST, *SHORT, "--out", "runs/it", "-q", place=tmp_path)
    assert done.returncode == 0
    # The directory of the killed run was removed.
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["it"]


def test_commands_reject_partial_directories_even_if_complete(tmp_path: Path) -> None:
    api.run(FIRST, overrides=["duration_s=5"], out=tmp_path / "it")
    left = tmp_path / ".it.partial-99999999"
    (tmp_path / "it").rename(left)
    assert "never completed" in one_line(mobilenet("verify", left, place=tmp_path), 2)
    assert "never completed" in one_line(mobilenet("show", ".", place=left), 2)


@pytest.mark.long
def test_the_first_of_two_concurrent_runs_to_end_gets_the_name(tmp_path: Path) -> None:
    """Because the other run is alive, its directory is not removed. The run that finishes first gets the name."""
    process = begin(place=tmp_path)
    try:
        done = mobilenet("run", FIRST, *SHORT, "--out", "runs/it", "-q", place=tmp_path)
        assert done.returncode == 0
        assert {path.name for path in (tmp_path / "runs").iterdir()} == {"it", f".it.partial-{process.pid}"}
    finally:
        process.terminate()
        process.communicate(timeout=200)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["it"]


def test_a_run_fails_if_its_output_name_is_taken_meanwhile(tmp_path: Path) -> None:
    with (
        pytest.raises(RecordError, match="appeared while this run was being written") as raised,
        run_directory(tmp_path / "it"),
    ):
        (tmp_path / "it").write_text("mine")
    assert not raised.value.is_input
    assert everything_below(tmp_path) == ["it"] and (tmp_path / "it").read_text() == "mine"


def test_one_process_cannot_write_a_run_directory_twice_at_once(tmp_path: Path) -> None:
    with run_directory(tmp_path / "it") as partial:
        (partial / "file").write_text("first")
        with pytest.raises(RecordError, match="cannot be written"), run_directory(tmp_path / "it"):
            pass
        assert (partial / "file").read_text() == "first"
    assert everything_below(tmp_path) == ["it", "it/file"]


def test_empty_folders_created_for_a_failed_run_are_removed(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    with pytest.raises(ZeroDivisionError), run_directory(tmp_path / "old" / "new" / "newer" / "it") as partial:
        (partial / "file").write_text("half")
        raise ZeroDivisionError
    assert everything_below(tmp_path) == ["old"]
    for file in Path("/proc/self/fd").iterdir():
        assert str(tmp_path) not in os.readlink(file) if file.exists() else True


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system of 40 kB, if this machine allows mounting one."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=40k", "none", str(place)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


def test_a_full_disk_ends_a_run_with_one_error_line(small_disk: Path) -> None:
    complaint = one_line(mobilenet("run", FIRST, "-q", "--out", "deep/it", place=small_disk), 3)
    assert complaint == "deep/it: could not be written completely: No space left on device"
    assert everything_below(small_disk) == []


@pytest.mark.long
@pytest.mark.parametrize("size_bytes", [100, 1000, 8000])
def test_exceeding_the_file_size_limit_ends_the_run_in_one_line(size_bytes: int, tmp_path: Path) -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))

    done = subprocess.run(
        [*COMMAND, "run", str(FIRST), "-q", "--out", "it"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=limit,
        check=False,
    )
    assert one_line(done, 3) == "it: could not be written completely: File too large"
    assert everything_below(tmp_path) == []


@pytest.mark.long
def test_show_ends_quietly_if_its_output_pipe_is_closed(tmp_path: Path) -> None:
    api.run(FIRST, overrides=["duration_s=5"], out=tmp_path / "it")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "show", "it"], cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (3, "")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "show", "it"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (3, "the output could not be written: No space left on device\n")


def test_locks_distinguish_live_from_dead_writers(tmp_path: Path) -> None:
    living, dead, other = (tmp_path / f".{name}" for name in ("it.partial-1", "it.partial-2", "that.partial-3"))
    for left in (living, dead, other):
        left.mkdir()
        (left / "file").touch()
    descriptor = os.open(living, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with run_directory(tmp_path / "it"):
        pass
    os.close(descriptor)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".it.partial-1", ".that.partial-3", "it"]
