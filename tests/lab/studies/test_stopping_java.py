"""Tests that studies and clusters that are stopped or killed print one line and leave no Java process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from mobilenet.lab.studies.java import children

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
COMMAND = (sys.executable, "-c", "from mobilenet.cli.main import app; app(prog_name='mobilenet')")
JAVA = b"org.apache.spark.deploy.SparkSubmit"
KEPT = "finished runs are kept; run the same command again to resume the study\n"


def of_session(session: int) -> dict[int, bytes]:
    """Return the running processes of a session of the operating system, with their command lines."""
    processes = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            words = stat.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            processes[int(stat.parent.name)] = words
    return processes


def begin(place: Path) -> subprocess.Popen[str]:
    def with_interrupts() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    process = subprocess.Popen(
        [*COMMAND, "study", str(ROOT / "scenarios" / "studies" / "loss.yaml"), "--out", "it", "-q"], cwd=place,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=with_interrupts,
    )  # fmt: skip
    while not any((place / "it" / "starting").glob("c*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return process


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(("number", "times"), [(signal.SIGTERM, 1), (signal.SIGINT, 3)])
def test_a_signal_to_the_process_group_leaves_no_java_behind(
    number: signal.Signals, times: int, tmp_path: Path
) -> None:
    process = begin(tmp_path)
    os.killpg(process.pid, number)
    for _ in range(times - 1):
        time.sleep(0.7)
        os.killpg(process.pid, number)
    outputs = process.communicate(timeout=300)
    left = of_session(process.pid)
    assert (process.returncode, *outputs) == (3, "", f"stopped; {KEPT}")
    assert not [words for words in left.values() if JAVA in words]
    deadline = time.monotonic() + 60  # The Python processes of Spark end by themselves when its Java has ended.
    while (left := of_session(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == {}


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_study_ends_with_one_line_if_java_is_killed(tmp_path: Path) -> None:
    process = begin(tmp_path)
    for pid, words in of_session(process.pid).items():
        if JAVA in words:
            with suppress(OSError):  # The process ended in the meantime.
                os.kill(pid, signal.SIGKILL)
    outputs = process.communicate(timeout=300)
    assert process.returncode == 3 and outputs[0] == "" and outputs[1].endswith(KEPT) and outputs[1].count("\n") == 1, (
        outputs
    )
    assert "Java has ended" in outputs[1] or "lost the job" in outputs[1]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_a_killed_cluster_leaves_no_java_processes() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mobilenet.lab.studies.cluster", "--workers", "1", "--port", "7191"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and "running: a master" in process.stdout.readline()
    text = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    javas = [int(pid) for pid in text.split()]
    assert len(javas) == 2
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(Path(f"/proc/{pid}").exists() for pid in javas):
        time.sleep(0.1)
    assert not [pid for pid in javas if Path(f"/proc/{pid}").exists()]


BETWEEN = """
import os, signal, time
from pyspark import SparkContext
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.spark import spark_session
def count(workers):
    with spark_session(f"local[{workers}]") as session:
        print(session.range(2).count(), session.sparkContext.defaultParallelism, flush=True)
    assert SparkContext._active_spark_context is None
def fail(workers):
    try:
        count(workers)
    except (StudyError, KeyboardInterrupt) as error:
        print(type(error).__name__, flush=True)
count(1)
os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
SparkContext._gateway.proc.wait()
fail(1)
count(2)
ends = SparkContext.stop
def hang(context):
    time.sleep(99)
def stop(context):
    SparkContext.stop = hang
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(9)
SparkContext.stop = stop
fail(2)
SparkContext.stop = ends
count(1)
"""


def test_a_spark_session_starts_however_the_previous_one_ended() -> None:
    """The next session may use another master. In some cases, Java was killed while it was idle. In others, it was
    killed because it did not respond to Ctrl-C.
    """
    done = subprocess.run([sys.executable, "-c", BETWEEN], capture_output=True, text=True, timeout=400)
    printed = "2 1\nStudyError\n2 2\n2 2\nKeyboardInterrupt\n2 1\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, ""), done


def test_child_processes_are_detected() -> None:
    if sys.platform == "linux":
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        assert child.pid in children()
        child.communicate(b"\n")
