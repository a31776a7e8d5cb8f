"""Tests that kill some of the commands a few times. `python -m tests.lab.kills --seed 1 --times 20` kills all of
them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

from .trials import fault_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kills") / "inputs"


def kill(inputs: Path, *names: str, times: int) -> None:
    words = ("--inputs", str(inputs), "--seed", "7", "--times", str(times))
    command = (sys.executable, "-m", "tests.lab.kills", *words, *names)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=560, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [*names]


@pytest.mark.long
def test_killed_commands_leave_no_half_written_output(inputs: Path) -> None:
    kill(inputs, "run --force", "swarm", "export --csv", "schema", times=2)


@pytest.mark.spark
@pytest.mark.long
def test_a_killed_study_leaves_no_half_written_output(inputs: Path) -> None:
    kill(inputs, "study", times=1)


@pytest.mark.parametrize("suffix", ["json", "parquet", "zip", "yaml", "svg", "png", "pdf", "html", "csv"])
def test_partially_written_files_are_detected(suffix: str) -> None:
    assert fault_of(f"a.{suffix}", b'{"key": [1, 2', None)
    assert fault_of("a.md", b"# Tit", b"# Title\n") is not None
    assert fault_of("a.json", b"{}", b'{"other": 1}') is None
