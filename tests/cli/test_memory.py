"""Tests that a command that runs out of memory ends with the exit code for unfinished work, and never with the code for
a violation.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from .command import COMMAND, FIRST, SHORT

MB = 1_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit is not held to")
@pytest.mark.parametrize("limit_mb", [120, 200, 300, 420, 700])
def test_a_run_without_enough_memory_exits_as_unfinished(limit_mb: int, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [*COMMAND, "run", str(FIRST), *SHORT, "--out", "it"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit_mb * MB, limit_mb * MB)),
    )
    assert done.returncode in (0, 3), done
    assert done.returncode == 0 or "out of memory" in done.stderr.splitlines()[-1], done
    assert (tmp_path / "it").exists() == (done.returncode == 0)
