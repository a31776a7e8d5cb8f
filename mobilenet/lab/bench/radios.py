"""Measure the cost of reception with SINR, compared with the unit disk.

Model     Each case is the cross-check in a separate process. All cases take turns. Each case is compared with the
          others in the same turn, and the median ratio counts. `growth` compares two networks, one with ten times the
          usual number of nodes and one with the usual number. It is the ratio of their CPU times per frame and node
          within the cut-off of the interference.
Cases     disk_70; sinr_70: log-distance only; sinr_70_all: with fading, shadowing and 300 buildings; sinr_700
Units     CPU seconds, relative to a bare event queue.
Errors    RuntimeError if a case fails.
Source    ours: docs/performance.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from mobilenet.engine.random_streams import Stream
from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.bench.baseline import REFERENCE_EVENTS_PER_S
from mobilenet.lab.bench.row import Column, Head, tell
from mobilenet.lab.bench.simulator import Case, in_a_process, run_and_measure

RADIO = "mode: g, broadcast_rate_mbps: 6"
SINR = f"wireless={{model: sinr, {RADIO}}}"
BUILDINGS = 300
CASES = (
    Case("disk_70", "radio_check.yaml", 60, None, overrides=(f"wireless={{{RADIO}}}",)),
    Case("sinr_70", "radio_check.yaml", 60, 3, overrides=(SINR,)),
    Case("sinr_70_all", "radio_check.yaml", 60, 8, overrides=(SINR,)),
    Case("sinr_700", "radio_check.yaml", 60, 1.3, 700, 70, (SINR,)),
)


COLUMNS = (
    Column("case", "radio"),
    Column("cpu_s", "CPU s", ".2f"),
    Column("frames", "frames", ","),
    Column("times_disk", "times the disk", ".2f"),
    Column("growth", "growth", ".2f"),
    Column("target", "at most", "g"),
    Column("passed", ""),
)


@dataclass(frozen=True, slots=True)
class Row(Head):
    """The cost of one radio model."""

    cpu_s: float
    frames: int
    times_disk: float | None
    growth: float | None
    target: float | None
    passed: bool | None


def measure(repeat: int) -> Iterator[Row]:
    """Measure all cases in turns, and yield a row for each."""
    turns = [
        {case.name: in_a_process("mobilenet.lab.bench.radios", case.name) for case in CASES} for _ in range(repeat)
    ]
    for case in CASES:
        costs = [_cost(turn[case.name]) for turn in turns]
        times = median(_cost(turn[case.name]) / _cost(turn["disk_70"]) for turn in turns)
        growth = median(_each(turn[case.name]) / _each(turn["sinr_70"]) for turn in turns)
        judged = growth if case.hosts > 70 else times
        yield Row.now(
            case.name, round(median(costs), 3), int(turns[0][case.name]["frames"]),
            None if case.target is None or case.hosts > 70 else round(times, 2),
            round(growth, 2) if case.hosts > 70 else None, case.target,
            None if case.target is None else judged <= case.target,
        )  # fmt: skip


def _cost(run: dict[str, float]) -> float:
    """Return the cost of a run, scaled to the speed of the reference machine."""
    return run["cpu_s"] * run["baseline"] / REFERENCE_EVENTS_PER_S


def _each(run: dict[str, float]) -> float:
    return _cost(run) / run["frames"] / run["near"]


def once(case: Case) -> dict[str, float]:
    """Run a case in this process, and return its measurements."""
    from mobilenet.network.radio.sinr.links import cutoff_m

    with scratch_folder("bench") as folder:
        overrides = case.overrides
        if case.name == "sinr_70_all":
            town = Path(folder, "town.geojson")
            town.write_text(json.dumps(buildings()), encoding="utf-8")
            more = f"fading: {{model: nakagami}}, shadowing: {{sigma_db: 7}}, obstacles: {{file: '{town}'}}"
            overrides = (f"wireless={{model: sinr, {RADIO}, {more}}}",)
        simulation, measures = run_and_measure(
            Case(case.name, case.scenario, case.simulated_s, None, case.hosts, case.stations, overrides)
        )
    places = np.array([node.transceiver.position(simulation.kernel.now) for node in simulation.nodes])
    wireless = simulation.scenario.wireless
    if wireless.model == "sinr":
        distances = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
        measures["near"] = float((distances <= cutoff_m(wireless)).sum(axis=1).mean() - 1)
    else:
        measures["near"] = measures["pairs"] / measures["frames"]
    return measures


def buildings() -> dict[str, object]:
    """Return buildings, spread over the whole area, as GeoJSON."""
    draw = Stream(1, "bench/buildings")
    features = []
    for _ in range(BUILDINGS):
        x, y, w, h = draw.uniform(-330, 330), draw.uniform(-330, 330), draw.uniform(8, 25), draw.uniform(8, 25)
        ring = [[x, y], [x + w, y], [x + w, y + h], [x, y + h], [x, y]]
        geometry = {"type": "Polygon", "coordinates": [ring]}
        features.append({"type": "Feature", "properties": {}, "geometry": geometry})
    return {"type": "FeatureCollection", "features": features}


if __name__ == "__main__":
    tell(once, CASES)
