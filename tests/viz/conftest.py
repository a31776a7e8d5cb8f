"""Fixtures: a short run with handoffs, crashes and losses of coverage, and the map of this run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mobilenet.viz.map import draw

import mobilenet

SCENARIO = """
seed: 3
duration_s: 25
warmup_s: 2
stations: {layout: {shape: points, points_m: [[0, 0], [150, 0], [75, 130], [400, 60]]}}
wireless: {loss: 0.05}
hosts: {count: 12, mobility: {model: random_waypoint, speed_mps: 14, area: {box_m: [-80, -80, 480, 200]}}}
faults: {schedule: paper, station: s0, first_at_s: 5, every_s: 6, first_duration_s: 1, duration_step_s: 0.5}
protocol: {name: mobile_causal}
workload: {interval_s: 1}
record: {frames: true, positions_interval_s: 0.5}
"""


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("map")
    (folder / "lively.yaml").write_text(SCENARIO, encoding="utf-8")
    return mobilenet.run(folder / "lively.yaml", out=folder / "lively").path


@pytest.fixture(scope="session")
def page(run: Path) -> Path:
    target = run.parent / "lively.html"
    draw(run, target)
    return target


def document_in(page: Path) -> dict[str, Any]:
    match = re.search(
        r"<script type='application/json' id='mobilenet-data'>(.*?)</script>",
        page.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    assert match is not None
    return dict(json.loads(match[1]))
