"""Run what a study still misses, round by round, one Spark task per run.

Model     a round is a block of replications of every configuration. When all of it is there, or has failed, the
          stopping rule is asked; so how many workers there are, and in which order they finish, decides nothing
Errors    JobLost when Spark gives up, StudyError for a metric that does not exist; failed runs are rows, not errors
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mobilenet.experiments.study.configurations import PlannedRun, planned
from mobilenet.experiments.study.measure import WHOLE, measure
from mobilenet.experiments.study.statistics import t_interval
from mobilenet.experiments.study.store import Store, StudyError
from mobilenet.experiments.study.task import Job, perform
from mobilenet.rundir.reader import read_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_EVERY_S = 0.5


class JobLost(Exception):
    """Spark gave up; what is done is kept."""


Progress = Callable[[int, int, int], None]  # done, failed, left


def run_all(store: Store, spark: SparkSession, progress: Progress) -> list[PlannedRun]:
    """All rounds; the runs that the study consists of now."""
    rule = store.study.replications
    count = len(store.configurations)
    target = rule.min
    while True:
        runs = planned(store.study, count, range(1, target + 1))
        store.write_runs(runs)
        try:
            _run_missing(store, runs, spark, progress)
        finally:
            store.write_runs(runs)
        if target >= rule.most or is_known_well(store, target):
            return runs
        target = min(rule.most, target + rule.step)


def is_known_well(store: Store, replications: int) -> bool:
    """The stopping rule, on complete rounds."""
    until = store.study.replications.until
    if until is None:
        return True
    for configuration in store.configurations:
        runs = [r for r in planned(store.study, len(store.configurations), range(1, replications + 1))
                if r.configuration == configuration.number]  # fmt: skip
        values = [
            v for run in runs if (v := metric_of(store.runs / run.id, until.metric, store.study.kind)) is not None
        ]
        if len(values) < 2:
            continue  # more replications would fail like these
        interval = t_interval(np.array(values), store.study.confidence)
        if interval.half_width > until.relative_half_width * abs(interval.mean):
            return False
    return True


def metric_of(directory: Path, metric: str, kind: str) -> float | None:
    """One metric of a run, as the tables will have it; None where it failed, or the metric has no value."""
    if not directory.is_dir():
        return None
    row = read_json(directory, "metrics.json")
    if metric in row and kind == "steady_state":
        return next(
            (value for name, bucket, value in measure(directory, kind).values if name == metric and bucket == WHOLE),
            None,
        )
    if metric not in row:
        raise StudyError(f"there is no metric {metric!r}; there are: {', '.join(sorted(row))}")
    value = row[metric]
    return None if value is None else float(value)


def _run_missing(store: Store, runs: list[PlannedRun], spark: SparkSession, progress: Progress) -> None:
    for left in (store.path / "failed").iterdir():
        left.unlink()  # what failed is tried again
    missing = [run for run in runs if store.state(run)[0] != "done"]
    if not missing:
        return
    for run in missing:  # what is there of them is damaged
        if (store.runs / run.id).is_dir():
            shutil.rmtree(store.runs / run.id)
    folder = store.path.absolute()
    jobs = [Job(str(folder), run.id, str(store.scenario_of(run.configuration).absolute()), run.seed) for run in missing]
    context = spark.sparkContext
    failure: list[BaseException] = []

    def work() -> None:
        try:
            context.parallelize(jobs, len(jobs)).foreach(perform)
        except BaseException as error:  # told to the thread that waits
            failure.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    names = {run.id for run in missing}
    try:
        while thread.is_alive():
            thread.join(LOOK_EVERY_S)
            _tell(store, names, progress)
    except BaseException:
        with suppress(Exception):  # the signal may have reached Spark as well
            context.cancelAllJobs()
        raise
    if failure:
        raise JobLost(_reason(failure[0])) from None


def _tell(store: Store, names: set[str], progress: Progress) -> None:
    done = sum(path.name in names for path in store.runs.iterdir())
    failed = sum(path.stem in names for path in (store.path / "failed").iterdir())
    progress(done, failed, len(names) - done - failed)


def _reason(error: BaseException) -> str:
    lines: list[Any] = [line for line in str(error).splitlines() if line.strip()]
    return " ".join(str(lines[0] if lines else type(error).__name__).split())[:200]
