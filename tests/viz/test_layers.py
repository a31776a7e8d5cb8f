"""Tests that drawing a run does not import the simulator."""

from __future__ import annotations

import subprocess
import sys

import pytest

SIMULATOR = (
    "mobilenet.simulation.mobile",
    "mobilenet.simulation.nodes",
    "mobilenet.simulation.movement",
    "mobilenet.network.radio.medium",
    "mobilenet.network.radio.mac",
    "mobilenet.simulation.processes.experiment",
)


@pytest.mark.long
@pytest.mark.parametrize(
    "module",
    [
        "mobilenet.viz.map",
        "mobilenet.viz.folium_map",
        "mobilenet.viz.figures",
        "mobilenet.viz.report",
        "mobilenet.viz.spacetime",
        "mobilenet.verify",
        "mobilenet.record.compare",
    ],
)
def test_drawing_a_run_does_not_import_the_simulator(module: str) -> None:
    code = f"import sys, {module}; print(*[name for name in {SIMULATOR!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == []
