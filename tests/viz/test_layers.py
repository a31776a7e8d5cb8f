"""Whoever opens a run to draw it needs no simulator."""

from __future__ import annotations

import subprocess
import sys

import pytest

SIMULATOR = ("mobilenet.simulation", "mobilenet.nodes", "mobilenet.movement", "mobilenet.radio.medium", "mobilenet.radio.mac", "mobilenet.processes.experiment")


@pytest.mark.parametrize("module", ["viz.map", "viz.figures", "viz.report", "viz.spacetime", "mobilenet.verify", "mobilenet.difference"])
def test_what_it_loads(module: str) -> None:
    code = f"import sys, {module}; print(*[name for name in {SIMULATOR!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == []
