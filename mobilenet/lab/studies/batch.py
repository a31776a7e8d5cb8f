"""Run what a study still misses, round by round: a DataFrame of planned runs, which Spark's workers turn into runs.

Model     a round is what the stopping rule asks for (stopping.py). What a killed study left is looked at first, by the
          workers: a run counts when all its files are as they were written and its scenario is that of its
          configuration. A partition is a batch of runs. Batches begin large and end small, so workers end together.
          Spark tries a task again whose process dies. Sessions of callers may allow too few failures: then what is
          missing is submitted again, SUBMISSIONS times in all. Our jobs have a tag, by which they are cancelled
Errors    JobLost when Spark gives up, StudyError for a metric that does not exist; failed runs are rows, not errors
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from uuid import uuid4

import pyarrow as pa

from mobilenet.lab.studies.configurations import PlannedRun, plan_runs
from mobilenet.lab.studies.parts import Part, fault, index
from mobilenet.lab.studies.spark import has_stopped
from mobilenet.lab.studies.stopping import Open, still_open
from mobilenet.lab.studies.store import Store, remove
from mobilenet.lab.studies.tables import write_tables
from mobilenet.lab.studies.task import DONE, perform
from mobilenet.lab.studies.wholeness import COUNTED, look

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOOK_EVERY_S = 0.5
MOST_IN_A_BATCH = 50
BATCHES_PER_WORKER = 4  # of what is left, as long as there is much
SUBMISSIONS = 10  # of what is missing in a round, before a study gives up


class JobLost(Exception):
    """Spark gave up; what is done is kept."""


class Standing(NamedTuple):
    """How far a study is."""

    done: int
    failed: int
    left: int  # of this round
    round: int
    most_left: int  # more than `left` where the stopping rule may ask for more
    note: str = ""  # for people: why there is another round
    configurations: int = 1


Progress = Callable[[Standing], None]


class Rounds(Protocol):
    """Which runs a study consists of, found out while they are made. Replications count from 1, so one target for each
    configuration fixes its runs.
    """

    def first_targets(self) -> list[int]:
        """Return the targets of the first round."""

    def most(self, there: set[str]) -> list[int]:
        """Return the highest targets that may come up; `there`: the runs in the directory."""

    def more(self, targets: list[int]) -> int:
        """Return how many runs may still follow those of the targets."""

    def next(self, targets: list[int]) -> tuple[list[int], str] | None:
        """Return the targets of the next round, and for people why; None: that is all. The runs of `targets` are done,
        or have failed.
        """


class UntilPrecise:
    """The rounds of a study with or without a stopping rule."""

    def __init__(self, store: Store) -> None:
        self._store, self._rule = store, store.study.replications

    def first_targets(self) -> list[int]:
        return [self._rule.min] * len(self._store.configurations)

    def most(self, there: set[str]) -> list[int]:
        return [self._rule.most] * len(self._store.configurations)

    def more(self, targets: list[int]) -> int:
        return sum(self._rule.most - target for target in targets) if self._rule.until else 0

    def next(self, targets: list[int]) -> tuple[list[int], str] | None:
        undecided = still_open(self._store.measured, targets, self._rule, self._store.study.confidence)
        if not undecided:
            return None
        next_targets = list(targets)
        for one in undecided:
            next_targets[one.configuration] = min(self._rule.most, next_targets[one.configuration] + self._rule.step)
        return next_targets, _precision_note(self._store, undecided[0])


def run_all(store: Store, spark: SparkSession, progress: Progress, rounds: Rounds | None = None) -> list[int]:
    """All rounds, by default those of the study; of each configuration, the replications that it consists of now."""
    study, rounds = store.study, rounds if rounds is not None else UntilPrecise(store)
    targets = rounds.first_targets()
    store.clear_notes()
    measured = _measured_runs(store, spark, rounds)
    number, note = 1, ""
    while True:
        runs = plan_runs(study, targets)
        store.write_runs(runs, measured)
        missing = [run for run in runs if run.id not in measured]

        run_ids = {run.id for run in runs}
        before = Standing(0, 0, 0, number, rounds.more(targets), note, len(targets))
        try:
            _run(store, missing, spark, partial(_tell, progress, store, run_ids, before))
        finally:
            measured |= {run for part in _parts(store) for run in part.runs}
            store.write_runs(runs, measured)
        following = rounds.next(targets)
        if following is None:
            return targets
        if isinstance(rounds, UntilPrecise):
            write_tables(store, targets, spark)  # so that there is something to look at
        targets, note = following
        number += 1


def _tell(progress: Progress, store: Store, run_ids: set[str], before: Standing) -> None:
    done, failed = sum(path.name in run_ids for path in store.runs.iterdir()), len(store.failures())
    left = max(0, len(run_ids) - done - failed)
    progress(before._replace(done=done, failed=failed, left=left, most_left=left + before.most_left))


def _precision_note(store: Store, least: Open) -> str:
    assert store.study.replications.until is not None
    until, label = store.study.replications.until, store.configurations[least.configuration].label
    widths = f"± {least.relative_half_width:.0%}, requested ± {until.relative_half_width:.0%}"
    return f"least precise: {label}: {until.metric} {widths}"


def _parts(store: Store) -> list[Part]:
    return [part for part in index(store.measured, store.study.kind) if isinstance(part, Part)]


def _measured_runs(store: Store, spark: SparkSession, rounds: Rounds) -> set[str]:
    """Which runs are there, whole and measured. What is damaged is removed, and parts that measured it."""
    there = {path.name for path in store.runs.iterdir() if path.is_dir() and not path.name.startswith(".")}
    begun = [run for run in plan_runs(store.study, rounds.most(there)) if run.id in there] if there else []
    counted = (
        _tasks(spark, begun).mapInArrow(partial(look, store.path.absolute()), COUNTED).toArrow() if begun else None
    )
    whole = dict(zip(*(column.to_pylist() for column in counted.columns), strict=True)) if counted is not None else {}
    for run in begun:
        if run.id not in whole:
            shutil.rmtree(store.runs / run.id)
    measured: set[str] = set()
    for part in index(store.measured, store.study.kind):
        if isinstance(part, Path):
            remove(part)
        elif (
            any(whole.get(run) != digest for run, digest in part.runs.items())
            or measured & part.runs.keys()
            or fault(part.path, len(store.configurations)) is not None
        ):
            part.path.unlink()
        else:
            measured |= part.runs.keys()
    return measured


def _run(store: Store, missing: list[PlannedRun], spark: SparkSession, report: Callable[[], None]) -> None:
    for submission in range(1, SUBMISSIONS + 1):
        try:
            return _submit(store, missing, spark, report)
        except JobLost:
            done = {run for part in _parts(store) for run in part.runs} | store.failures()
            missing = [run for run in missing if run.id not in done]
            if submission == SUBMISSIONS or has_stopped(spark):
                raise


def _submit(store: Store, missing: list[PlannedRun], spark: SparkSession, report: Callable[[], None]) -> None:
    """Make these runs in one job."""
    if not missing:
        return
    failure: list[BaseException] = []
    tag = f"mobilenet-{uuid4()}"

    def work() -> None:
        spark.sparkContext.addJobTag(tag)  # of jobs that this thread starts
        try:
            _tasks(spark, missing).mapInArrow(partial(perform, store.path.absolute(), store.study.kind), DONE).toArrow()
        except BaseException as error:  # passed to the thread that waits
            failure.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(LOOK_EVERY_S)
            report()
    except BaseException:
        with suppress(Exception):  # the signal may have reached Spark as well
            spark.sparkContext.cancelJobsWithTag(tag)
        raise
    if failure:
        raise JobLost(_reason(failure[0])) from failure[0]


def _tasks(spark: SparkSession, runs: Sequence[PlannedRun]) -> DataFrame:
    """The runs in order, a partition for each batch. Each batch is a share of what is left, so that the last ones are
    small.
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


def _reason(error: BaseException) -> str:
    lines: list[Any] = [line for line in str(error).splitlines() if line.strip()]
    return " ".join(str(lines[0] if lines else type(error).__name__).split())[:200]
