"""Measure how many simulations a study completes per minute, and the overhead of Spark.

Model     The same runs (dynamic.yaml, 20 s each) are made three times: one after the other without Spark, and then as
          tasks on local[1] and local[2]. The wall time from the first run to the last is measured. The start of Spark
          is measured separately, since it occurs once per study. The overhead is the wall time on local[1] divided by
          the wall time without Spark, minus one.
Units     Simulations per minute of wall time, and seconds.
Source    ours: docs/performance.md
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.bench.row import Column, Head
from mobilenet.lab.package_files import SCENARIOS
from mobilenet.lab.studies.batch import run_all
from mobilenet.lab.studies.configurations import plan_runs
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.spark import local_master, spark_session
from mobilenet.lab.studies.store import create
from mobilenet.lab.studies.task import perform_runs

RUNS = 24
STUDY = f"scenario: {{scenario}}\nset: {{{{duration_s: 20, drain_s: 20}}}}\nreplications: {{{{min: {RUNS}}}}}\n"


COLUMNS = (
    Column("case", "studies"),
    Column("runs_per_minute", "simulations a minute", "g"),
    Column("start_s", "s to start", "g"),
    Column("overhead", "Spark's overhead", "+.1%"),
)


@dataclass(frozen=True, slots=True)
class Row(Head):
    runs: int
    start_s: float
    wall_s: float
    runs_per_minute: float
    overhead: float | None  # relative to the same runs without Spark; None if the number of cores differs


def measure() -> Iterator[Row]:
    with scratch_folder("bench") as folder:
        file = folder / "bench.yaml"
        file.write_text(STUDY.format(scenario=SCENARIOS / "dynamic.yaml"))
        study = Study.load(file)
        store = create(study, folder / "alone")
        began = time.perf_counter()
        perform_runs(store.path, study.kind, plan_runs(study, [RUNS]))
        alone_s = time.perf_counter() - began
        yield Row.now("without Spark", RUNS, 0.0, round(alone_s, 2), round(60 * RUNS / alone_s, 1), None)
        for cores in (1, 2):
            store = create(study, folder / f"local{cores}")
            began = time.perf_counter()
            with spark_session(local_master(cores)) as spark:
                spark.range(1).mapInArrow(lambda batches: batches, "id long").toArrow()  # this starts a worker process
                started = time.perf_counter()
                run_all(store, spark, lambda standing: None)
                wall_s = time.perf_counter() - started
            overhead = round(wall_s / alone_s - 1, 3) if cores == 1 else None
            yield Row.now(
                local_master(cores),
                RUNS,
                round(started - began, 2),
                round(wall_s, 2),
                round(60 * RUNS / wall_s, 1),
                overhead,
            )
