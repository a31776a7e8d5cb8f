"""Measure the speed of the simulator, relative to the speed of the host machine.

Model     Each case runs in a separate process, as often as requested; the run with the median result counts. The CPU
          time includes building and running a simulation and its drain, but neither imports nor reading the scenario.
          A bare event queue takes turns with the simulation (`Baseline`). "In proportion" is a result divided by
          (queue / 0.35 M events/s), where 0.35 M is the speed of the machine for which the targets were set.
Cases     dynamic.yaml for 60 s; the radio cross-check (radio_check.yaml) with 70, 700 and 7000 hosts and exactly a
          tenth as many stations, which are at the innermost points of a triangular lattice of 200 m. Seven of them
          form the hexagon of the scenario. Inner cells overlap with six neighbours and outer cells with fewer, so a
          frame of the larger networks has more receivers in range; the table contains their mean number. The smallest
          of the three also runs with the other MAC, at the same bit rate.
Units     Simulated seconds and frames per CPU second.
Errors    ScenarioError if the scenarios are not next to the package. OSError if a table cannot be written.
Source    ours: docs/performance.md
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from math import atan2, hypot, sqrt
from typing import TYPE_CHECKING

from mobilenet.engine import safe_path
from mobilenet.lab.bench.baseline import REFERENCE_EVENTS_PER_S, Baseline
from mobilenet.lab.bench.row import Column, Head, tell
from mobilenet.lab.package_files import SCENARIOS

if TYPE_CHECKING:
    from mobilenet.simulation.mobile import Simulation

SPACING_M = 200.0
ACKING = "{mac: acking, range_m: 120, bitrate_mbps: 1}"  # range and bit rate of the cross-check
COST_FACTOR = 12.0  # The maximum cost of a case, relative to a case with a tenth of the nodes.


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    scenario: str
    simulated_s: float
    target: float | None  # simulated seconds per CPU second, in proportion; None if only the cost matters
    hosts: int = 70
    stations: int = 7
    overrides: tuple[str, ...] = ()  # changes to the scenario


CASES = (
    Case("dynamic", "dynamic.yaml", 60, 10),
    Case("radio_70_acking", "radio_check.yaml", 60, None, overrides=(f"wireless={ACKING}",)),
    Case("radio_70", "radio_check.yaml", 60, 20),  # the next case is compared with this one
    Case("radio_700", "radio_check.yaml", 60, 2, 700, 70),
    Case("radio_7000", "radio_check.yaml", 60, None, 7000, 700),
)


COLUMNS = (
    Column("case", "case"),
    Column("hosts", "hosts"),
    Column("simulated_s_per_cpu_s", "simulated s per CPU s", ".4g"),
    Column("frames_per_cpu_s", "frames per CPU s", ",.0f"),
    Column("queue_events_per_s", "bare queue, events/s", ",.0f"),
    Column("in_proportion", "in proportion", ".3g"),
    Column("cost_factor", "cost of ten times the nodes", ".1f"),
    Column("passed", "target"),
)


@dataclass(frozen=True, slots=True)
class Row(Head):
    """The cost of simulating a network of one size."""

    hosts: int
    stations: int
    simulated_s: float
    cpu_s: float
    frames: int
    hearers_per_frame: float
    simulated_s_per_cpu_s: float
    frames_per_cpu_s: float
    queue_events_per_s: float
    in_proportion: float
    cost_factor: float | None  # relative to the previous case, if that case has a tenth of the hosts
    passed: bool | None  # None if the case has no target


def measure(repeat: int) -> Iterator[Row]:
    """Measure all cases one after the other, and yield a row for each."""
    before: Row | None = None
    for case in CASES:
        row = _row(case, middle("mobilenet.lab.bench.simulator", case.name, repeat), before)
        yield row
        before = row


def _row(case: Case, measured: dict[str, float], before: Row | None) -> Row:
    events_per_s = measured["baseline"]
    speed = measured["simulated_s"] / measured["cpu_s"]
    in_proportion = speed / (events_per_s / REFERENCE_EVENTS_PER_S)
    factor = before.in_proportion / in_proportion if before is not None and case.hosts == 10 * before.hosts else None
    marks = [in_proportion >= case.target] if case.target is not None else []
    marks += [factor <= COST_FACTOR] if factor is not None else []
    return Row.now(
        case.name,
        case.hosts,
        case.stations,
        measured["simulated_s"],
        round(measured["cpu_s"], 4),
        int(measured["frames"]),
        round(measured["pairs"] / measured["frames"], 2),
        round(speed, 3),
        round(measured["frames"] / measured["cpu_s"]),
        round(events_per_s),
        round(in_proportion, 3),
        None if factor is None else round(factor, 2),
        all(marks) if marks else None,
    )


def middle(module: str, case: str, repeat: int) -> dict[str, float]:
    """Return the measurements of the run with the median cost, relative to the queue's speed."""
    runs = sorted((in_a_process(module, case) for _ in range(repeat)), key=lambda one: one["cpu_s"] * one["baseline"])
    return runs[len(runs) // 2]


def in_a_process(module: str, case: str) -> dict[str, float]:
    """Run `python -m MODULE CASE`, and return the measurements that it prints."""
    command = safe_path.python("-m", module, case)
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        last = process.stderr.strip().splitlines()[-1:]
        raise RuntimeError(": ".join([" ".join(command), *last]))
    measures: dict[str, float] = json.loads(process.stdout)
    return measures


def once(case: Case) -> dict[str, float]:
    """Run a case in this process, and return its measurements."""
    return run_and_measure(case)[1]


def run_and_measure(case: Case) -> tuple[Simulation, dict[str, float]]:
    """Run a case, and return the simulation and its cost."""
    import scipy.spatial  # noqa: F401  # which networks with many stations load when they are built

    from mobilenet.scenario import Scenario
    from mobilenet.simulation.mobile import Simulation

    overrides = [f"duration_s={case.simulated_s}", f"hosts.count={case.hosts}", *case.overrides]
    if case.stations != 7:
        points = ", ".join(f"[{x!r}, {y!r}]" for x, y in lattice(case.stations))
        overrides.append(f"stations.layout={{shape: points, points_m: [{points}]}}")
    scenario = Scenario.load(SCENARIOS / case.scenario, overrides)
    baseline = Baseline()
    baseline.begin()
    simulation = Simulation(scenario)
    outcome = simulation.run(baseline.look)
    baseline.end()
    medium = simulation.medium
    return simulation, {
        "simulated_s": outcome.simulated_ns / 1e9,
        "cpu_s": baseline.cpu_s,
        "frames": medium.frames + medium.acks,  # all frames that take time
        "pairs": sum(medium.pairs) + sum(medium.ack_pairs),
        "baseline": baseline.events_per_s,
    }


def lattice(count: int) -> list[tuple[float, float]]:
    """Return the points of a triangular lattice that are nearest to a central point, including the central point."""
    reach = 2 + int(sqrt(count))
    places = [
        (SPACING_M * (i + j / 2), SPACING_M * j * sqrt(3) / 2)
        for i in range(-2 * reach, 2 * reach + 1)
        for j in range(-reach, reach + 1)
    ]
    places.sort(key=lambda place: (round(hypot(*place), 6), round(atan2(place[1], place[0]), 6)))
    return places[:count]


if __name__ == "__main__":
    tell(once, CASES)
