"""Measure how costs grow with the numbers of hosts, processes and runs, and with the duration.

Model     Each case runs once in a separate process, as `mobilenet run` would. As the number of hosts increases, their
          density and the total rate of broadcasts stay constant. An exponent compares a case with the next smaller
          one; 1 means that the cost grows in proportion to the size. Work is the number of deliveries, messages on
          links and receptions of frames that the protocol causes.
Units     CPU seconds and microseconds.
Errors    RuntimeError if a case fails.
Source    ours: docs/performance.md
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Any

from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.bench.row import Column, Head, tell
from mobilenet.lab.bench.simulator import in_a_process, lattice
from mobilenet.lab.bench.whole_runs import play
from mobilenet.lab.package_files import SCENARIOS

HOSTS = (70, 280, 700, 2800)  # ten hosts per station
INTERVAL_S = {"static": 12.5, "dynamic": 2.8}  # the broadcast interval of a host in a network of 70 hosts


@dataclass(frozen=True, slots=True)
class Case:
    family: str
    size: int

    @property
    def name(self) -> str:
        return f"{self.family}: {self.size}"

    def changes(self) -> tuple[str, dict[str, Any]]:
        """Return the name of the scenario file and the changes to the scenario."""
        match self.family.partition(", "):
            case ("hosts", _, kind):
                stations = {"shape": "points", "points_m": [list(place) for place in lattice(self.size // 10)]}
                return f"{kind}.yaml", {
                    "duration_s": 30, "warmup_s": 5, "hosts.count": self.size, "stations.layout": stations,
                    "workload.interval_s": INTERVAL_S[kind] * self.size / 70,
                }  # fmt: skip
            case ("processes", _, _):
                return "vcube/bundling.yaml", {"processes": self.size}
            case _:
                return "dynamic.yaml", {"duration_s": self.size}


CASES = (
    *(Case(f"hosts, {kind}", hosts) for kind in INTERVAL_S for hosts in HOSTS),
    *(Case("duration in s", duration_s) for duration_s in (100, 400, 1600)),
    *(Case("processes", processes) for processes in (128, 256, 512)),
    *(Case("runs of a study", runs) for runs in (10, 40, 160)),
)

COLUMNS = (
    Column("case", "growth"),
    Column("simulating_cpu_s", "simulating, CPU s", ".2f"),
    Column("exponent", "exponent", ".2f"),
    Column("rest_cpu_s", "judging, measuring, writing, CPU s", ".2f"),
    Column("rest_exponent", "exponent", ".2f"),
    Column("work", "deliveries, hops and receptions", ",.0f"),
    Column("us_each", "simulating, us each", ".2f"),
)


@dataclass(frozen=True, slots=True)
class Row(Head):
    simulating_cpu_s: float
    exponent: float | None
    rest_cpu_s: float | None
    rest_exponent: float | None
    work: float | None
    us_each: float | None


def measure(_: int) -> Iterator[Row]:
    """Measure all cases one after the other, and yield a row for each."""
    before, measured = CASES[0], dict[str, float]()
    for case in CASES:
        now = in_a_process("mobilenet.lab.bench.growth", case.name)
        smaller = measured if case.family == before.family else {}
        exponents = {
            name: round(log(now[name] / smaller[name]) / log(case.size / before.size), 3)
            for name in now.keys() & smaller.keys()
        }
        work, cpu_s, rest_s = now.get("work"), now["simulating_cpu_s"], now.get("rest_cpu_s")
        yield Row.now(
            case.name, round(cpu_s, 3), exponents.get("simulating_cpu_s"), rest_s, exponents.get("rest_cpu_s"), work,
            None if work is None else round(cpu_s / work * 1e6, 3),
        )  # fmt: skip
        before, measured = case, now


def once(case: Case) -> dict[str, float]:
    """Run a case in this process, and return its measurements."""
    return runs_of_a_study(case.size) if case.family == "runs of a study" else whole_run(case)


def whole_run(case: Case) -> dict[str, float]:
    from mobilenet.scenario import load_scenario
    from mobilenet.scenario.yaml_writer import inline

    file, changes = case.changes()
    scenario = load_scenario(SCENARIOS / file, [f"{key}={inline(value)}" for key, value in changes.items()])
    outcome, measures = play(scenario)
    counters = outcome.recording.counters
    if "wired" in counters:
        others = counters["wired"]["sent"] + counters["radio"]["received"]
    else:
        others = counters["messages"]["received"]
    return measures | {"work": measures["deliveries"] + others}


def runs_of_a_study(runs: int) -> dict[str, float]:
    """Simulate, judge and measure short runs as a Spark task does, and return the cost."""
    from mobilenet.lab.studies.configurations import plan_runs
    from mobilenet.lab.studies.declaration import Study
    from mobilenet.lab.studies.store import create
    from mobilenet.lab.studies.task import perform_runs

    with scratch_folder("bench") as folder:
        file = folder / "bench.yaml"
        file.write_text(f"scenario: {SCENARIOS / 'first.yaml'}\nreplications: {{min: {runs}}}\n")
        study = Study.load(file)
        store = create(study, folder / "study")
        began_s = time.process_time()
        perform_runs(store.path, study.kind, plan_runs(study, [runs]))
        return {"simulating_cpu_s": time.process_time() - began_s}


if __name__ == "__main__":
    tell(once, CASES)
