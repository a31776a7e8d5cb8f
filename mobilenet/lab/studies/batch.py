"""Execute the missing runs of a study on Spark's workers, in rounds.

Model     Each round is a DataFrame of planned runs. A configuration needs no more replications when its metric has the
          required precision, when its backlog grows without end (a mean does not exist then), or when it has the
          maximum number of replications. Every other configuration gets `step` more replications for the next round,
          whatever the number of workers. Workers first examine the runs that a killed study left behind (task.py). A
          partition is a batch of runs. The first batches are large and the last ones small, so that all workers finish
          at about the same time. Spark retries a task whose process dies. A caller's session may allow too few
          failures, so the missing runs are submitted up to SUBMISSIONS times. The jobs of a study carry a tag, which is
          used to cancel them. A program next to the scenario file is copied into the folder of the study, which all
          workers can read. Any other program is looked up on the PATH of each worker, or at its absolute path. Absolute
          paths among the arguments that exist on this machine must exist on the workers as well.
Errors    JobLost if Spark gives up. StudyError for a metric that does not exist, or for a program that a worker lacks.
          Failed runs do not raise an error; they are recorded as rows.
Source    ours: docs/guide/studies.md, docs/guide/programs.md
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.configurations import PlannedRun, plan_runs, runs_called
from mobilenet.lab.studies.declaration import Until
from mobilenet.lab.studies.parts import fault, in_order, index
from mobilenet.lab.studies.spark import has_stopped, in_thread, on_each_worker
from mobilenet.lab.studies.statistics import grows, t_interval
from mobilenet.lab.studies.store import Store, remove
from mobilenet.lab.studies.tables import write_tables
from mobilenet.lab.studies.task import COUNTED, look, perform
from mobilenet.metrics.registry import is_infinite
from mobilenet.quoting import first_line, unknown
from mobilenet.scenario import AnyScenario
from mobilenet.scenario.processes import ProcessProgram
from mobilenet.scenario.protocol_groups import OwnProgram

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOOK_EVERY_S = 0.5
MOST_IN_A_BATCH = 50
# The size of a batch is the number of remaining runs, divided by this number and by the number of workers.
BATCHES_PER_WORKER = 4
SUBMISSIONS = 10  # how often the missing runs of a round are submitted at most


class JobLost(Exception):
    """Raised when Spark gives up on a job. Completed runs are kept."""


class Standing(NamedTuple):
    """The progress of a study."""

    done: int
    failed: int
    left: int  # number of runs that remain in this round
    round: int
    most_left: int  # maximum number of remaining runs; larger than `left` if the stopping rule may request more rounds
    note: str = ""  # reason for another round, shown to users
    configurations: int = 1


Progress = Callable[[Standing], None]


class Round(NamedTuple):
    """All runs of a study up to the end of a round. `targets` contains the number of replications of each
    configuration.
    """

    targets: list[int]
    note: str = ""  # reason for another round, shown to users
    more: int = 0  # maximum number of runs in later rounds


def until_precise(store: Store, spark: SparkSession) -> Iterator[Round]:
    """Yield the rounds of a study. A study without a stopping rule has a single round."""
    rule, note = store.study.replications, ""
    targets = [rule.min] * len(store.configurations)
    while True:
        yield Round(targets, note, sum(rule.most - target for target in targets))
        if rule.until is None or not (widths := _imprecise(store, targets, rule.until)):
            return
        write_tables(store, targets, spark)  # Users can read the tables while the next round runs.
        targets = [min(rule.most, n + rule.step * (number in widths)) for number, n in enumerate(targets)]
        label, width = store.configurations[next(iter(widths))].label, next(iter(widths.values()))
        requested = f"requested ± {rule.until.relative_half_width:.0%}"
        note = f"least precise: {label}: {rule.until.metric} ± {width:.0%}, {requested}"


def _imprecise(store: Store, targets: list[int], until: Until) -> dict[int, float]:
    """Return the configurations that need another round, starting with the least precise. Each value is the half-width
    of the confidence interval relative to the mean, or infinity if the mean is 0.
    """
    widths, known = {}, set[str]()
    for rows in in_order(store.measured, targets, ("configuration", "replication", "metrics")):
        number = rows["configuration"][0].as_py()
        runs = [dict(row) for row in rows["metrics"].to_pylist()]
        known.update(*runs)
        width = _relative_half_width(runs, until, store.study.confidence)
        if width is not None and width > until.relative_half_width and targets[number] < store.study.replications.most:
            widths[number] = width
    if known and until.metric not in known:
        raise StudyError(f"replications.until.metric: {unknown('metric', until.metric, sorted(known))}")
    return dict(sorted(widths.items(), key=lambda one: (-one[1], one[0])))


def _relative_half_width(runs: list[dict[str, float]], until: Until, confidence: float) -> float | None:
    """Return the relative half-width of the confidence interval. Return None if there are too few values or if the mean
    does not exist; more replications would not help then.
    """
    values = [row[until.metric] for row in runs if until.metric in row]
    has_no_mean = any(is_infinite(until.metric, row) for row in runs)
    if len(values) < 2 or has_no_mean or grows(np.array([row.get("backlog_slope", 0.0) for row in runs])):
        return None
    interval = t_interval(np.array(values), confidence)
    if interval.half_width == 0:
        return 0.0
    return interval.half_width / abs(interval.mean) if interval.mean else float("inf")


def run_all(store: Store, spark: SparkSession, progress: Progress, rounds: Iterable[Round] | None = None) -> list[int]:
    """Run all rounds, which by default follow the stopping rule of the study. Return the number of replications of each
    configuration. The next round is requested when all runs of the current round are finished or have failed.
    """
    store.clear_notes()
    measured, targets = _measured_runs(store, spark), list[int]()
    rounds = rounds if rounds is not None else until_precise(store, spark)
    for number, (targets, note, more) in enumerate(rounds, 1):
        runs = plan_runs(store.study, targets)
        store.write_runs(runs, measured)
        missing = [run for run in runs if run.id not in measured]
        before = Standing(0, 0, 0, number, more, note, len(targets))
        try:
            _run(store, missing, spark, partial(_tell, progress, store, {run.id for run in runs}, before))
        finally:
            measured |= _runs_in_parts(store)
            store.write_runs(runs, measured)
    return targets


def _tell(progress: Progress, store: Store, run_ids: set[str], before: Standing) -> None:
    done, failed = sum(path.name in run_ids for path in store.runs.iterdir()), len(store.failures())
    left = max(0, len(run_ids) - done - failed)
    progress(before._replace(done=done, failed=failed, left=left, most_left=left + before.most_left))


def _runs_in_parts(store: Store) -> set[str]:
    return set().union(*index(store.measured, store.study.kind).values())


def _measured_runs(store: Store, spark: SparkSession) -> set[str]:
    """Return the runs that are complete and measured. Delete damaged runs, and also the parts that contain their
    measurements.
    """
    names = [path.name for path in store.runs.iterdir() if path.is_dir()]
    begun, whole = runs_called(names, store.study, len(store.configurations)), dict[str, str]()
    if begun:
        counted = _tasks(spark, begun).mapInArrow(partial(look, store.path.absolute()), COUNTED).toArrow()
        whole = dict(zip(*counted.to_pydict().values(), strict=True))
    for run in begun:
        if run.id not in whole:
            shutil.rmtree(store.runs / run.id)
    measured: set[str] = set()
    parts = index(store.measured, store.study.kind)
    for path in sorted(store.measured.glob("*.parquet")):
        digests = parts.get(path, {})
        is_sound = digests.items() <= whole.items() and not measured & digests.keys()
        if path in parts and is_sound and fault(path, len(store.configurations)) is None:
            measured |= digests.keys()
        else:
            remove(path)
    return measured


def _run(store: Store, missing: list[PlannedRun], spark: SparkSession, report: Callable[[], None]) -> None:
    for submission in range(1, SUBMISSIONS + 1):
        try:
            return _submit(store, missing, spark, report)
        except JobLost:
            done = _runs_in_parts(store) | store.failures()
            missing = [run for run in missing if run.id not in done]
            if submission == SUBMISSIONS or has_stopped(spark):
                raise


def _submit(store: Store, missing: list[PlannedRun], spark: SparkSession, report: Callable[[], None]) -> None:
    if not missing:
        return
    tag = f"mobilenet-{uuid4()}"

    def work() -> None:
        spark.sparkContext.addJobTag(tag)  # The tag applies to jobs started by this thread.
        tasks, make = _tasks(spark, missing), partial(perform, store.path.absolute(), store.study.kind)
        tasks.mapInArrow(make, "run string").toArrow()

    job = in_thread(work)
    try:
        while wait([job], LOOK_EVERY_S).not_done:
            report()
        report()
    except BaseException:
        with suppress(Exception):  # The signal may have stopped Spark as well.
            spark.sparkContext.cancelJobsWithTag(tag)
        raise
    if (error := job.exception()) is not None:
        raise JobLost(first_line(error).strip()[:200]) from error


def _tasks(spark: SparkSession, runs: Sequence[PlannedRun]) -> DataFrame:
    """Return the runs in order, with one partition for each batch. The size of a batch is proportional to the number of
    remaining runs, so the last batches are small.
    """
    workers = max(1, spark.sparkContext.defaultParallelism)
    batches: list[int] = []
    number = 0
    while len(batches) < len(runs):
        left = len(runs) - len(batches)
        batches += [number] * min(MOST_IN_A_BATCH, max(1, left // (BATCHES_PER_WORKER * workers)))
        number += 1
    rows = pa.Table.from_pylist([asdict(run) for run in runs]).append_column("batch", pa.array(batches, pa.int32()))
    return spark.createDataFrame(rows).repartitionById(number, "batch")


def require_programs(store: Store, spark: SparkSession) -> None:
    """Raise StudyError if a program of this study is missing on a worker."""
    words = sorted({word for scenario in store.scenarios() for word in _needs(scenario)})
    absent = on_each_worker(spark, partial(missing, words), "what string")["what"].to_pylist() if words else []
    if absent:
        raise StudyError(
            f"protocol.command: {min(absent)}; expected the programs of a study at the same path on every worker"
        )


def missing(words: list[str], tasks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the programs that are missing on this machine."""
    where = socket.gethostname()
    for _ in tasks:
        lookups = [(word, os.path.exists if os.path.isabs(word) else shutil.which) for word in words]
        lacking = [f"there is no {word} on {where}" for word, look_up in lookups if not look_up(word)]
        yield pa.RecordBatch.from_pydict({"what": pa.array(lacking, pa.string())})


def _needs(scenario: AnyScenario) -> Iterator[str]:
    """Yield the programs that a configuration runs, and the absolute paths among their arguments."""
    protocol = scenario.protocol
    if isinstance(protocol, OwnProgram):
        commands = [protocol.command.host, protocol.command.station]
    elif isinstance(protocol, ProcessProgram):
        commands = [protocol.command]
    else:
        return
    for first, *others in commands:
        if not (scenario.folder / first).is_file():
            yield first
        yield from (word for word in others if os.path.isabs(word) and os.path.exists(word))
