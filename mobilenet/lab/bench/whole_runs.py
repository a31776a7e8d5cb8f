"""Measure the cost of a complete run in addition to its simulation: judging, measuring and writing.

Model     Each case is one run in a separate process, from its scenario to a complete directory, as `mobilenet run`
          makes it. The run with the median share counts. Simulating includes building the simulation. The additional
          cost covers everything after it, including imports.
Cases     dynamic: dynamic.yaml without changes, 400 s. bundling_512: 512 processes that broadcast at the same time
Units     CPU seconds. `share` is the additional time divided by the time for simulating.
Errors    RuntimeError if a case fails.
Source    ours: docs/performance.md
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.bench.row import Column, Head, tell
from mobilenet.lab.bench.simulator import in_a_process
from mobilenet.lab.package_files import SCENARIOS

if TYPE_CHECKING:
    from mobilenet.scenario import AnyScenario
    from mobilenet.simulation.outcome import Outcome

MOST = 0.4  # maximum additional time, relative to the time for simulating


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    scenario: str
    changes: tuple[str, ...] = ()


CASES = (Case("dynamic", "dynamic.yaml"), Case("bundling_512", "vcube/bundling.yaml", ("processes=512",)))


COLUMNS = (
    Column("case", "whole run"),
    Column("events", "events", ","),
    Column("simulating_cpu_s", "simulating, CPU s", ".2f"),
    Column("rest_cpu_s", "judging, measuring, writing, CPU s", ".2f"),
    Column("share", "share of simulating", ".2f"),
    Column("target", "at most", "g"),
    Column("passed", ""),
)


@dataclass(frozen=True, slots=True)
class Row(Head):
    """The cost of one run, from the scenario to the verdict."""

    events: int
    simulating_cpu_s: float
    rest_cpu_s: float
    share: float
    target: float
    passed: bool


def measure(repeat: int) -> Iterator[Row]:
    """Measure all cases one after the other, and yield a row for each."""
    for case in CASES:
        runs = [in_a_process("mobilenet.lab.bench.whole_runs", case.name) for _ in range(repeat)]
        run = sorted(runs, key=lambda one: one["rest_cpu_s"] / one["simulating_cpu_s"])[repeat // 2]
        share = run["rest_cpu_s"] / run["simulating_cpu_s"]
        yield Row.now(
            case.name, int(run["events"]), round(run["simulating_cpu_s"], 3), round(run["rest_cpu_s"], 3),
            round(share, 3), MOST, share <= MOST,
        )  # fmt: skip


def once(case: Case) -> dict[str, float]:
    """Run a case in this process, and return its measurements."""
    from mobilenet.scenario import load_scenario

    outcome, measures = play(load_scenario(SCENARIOS / case.scenario, case.changes))
    return measures | {"events": len(outcome.recording.events)}


def play(scenario: AnyScenario) -> tuple[Outcome, dict[str, float]]:
    """Run a scenario in this process, and measure it."""
    from mobilenet.api import keep, simulate
    from mobilenet.record.writer import run_directory

    with scratch_folder("bench") as folder, run_directory(Path(folder, "run")) as partial:
        began_s = time.process_time()
        outcome = simulate(scenario, run_folder=partial)
        simulated_s = time.process_time()
        deliveries = len(outcome.recording.tables()["events"].column("event").rows("deliver"))
        keep(partial, scenario, outcome, 0.0, "mobilenet bench")
        ended_s = time.process_time()
    return outcome, {
        "deliveries": deliveries,
        "simulating_cpu_s": simulated_s - began_s,
        "rest_cpu_s": ended_s - simulated_s,
    }


if __name__ == "__main__":
    tell(once, CASES)
