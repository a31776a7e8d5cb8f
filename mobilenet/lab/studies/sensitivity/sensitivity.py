"""Perform a screening as a study, whose tables give the ranking.

Model     The factor `point` has one level for each distinct point of the trajectories. A level sets all keys. So each
          replication has the same random world at every point, and a killed screening resumes where it stopped. The
          seed determines the trajectories. sensitivity.csv contains the ranking by every metric.
Errors    ScenarioError for an invalid question. StudyError for an unusable directory or Spark, or a missing metric or
          mean.
Source    ours: docs/guide/sensitivity.md
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mobilenet.by_kind import settings_of_code
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.batch import Progress
from mobilenet.lab.studies.configurations import configurations
from mobilenet.lab.studies.declaration import KEPT, MOST_LEVELS, Study, given_values
from mobilenet.lab.studies.effects import SCREENING
from mobilenet.lab.studies.sensitivity.ranges import LEVELS, Range, ranges
from mobilenet.lab.studies.sensitivity.screening import Levels, Values, complete, screen, trajectories
from mobilenet.lab.studies.spark import Spark
from mobilenet.lab.studies.study import STUDIES, Result, require_metric, run_study
from mobilenet.lab.studies.table_files import UNSTABLE, read_rows, values_of_runs, write_table
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import as_file_name
from mobilenet.record.provenance import stamping_of
from mobilenet.record.stamp import normal_command
from mobilenet.scenario.yaml_reader import Change
from mobilenet.scenario.yaml_writer import inline
from mobilenet.simulation.plugin_code import require_allowed

if TYPE_CHECKING:
    import pandas as pd

POINT = "point"
METRIC = "delivery_delay_mean_s"


@dataclass(frozen=True)
class Question:
    """The question as the caller wrote it, before any check."""

    scenario: str | Path | Mapping[str, Any]
    keys: tuple[str, ...]  # KEY, KEY=LOW:HIGH or KEY=A|B; one string may contain several keys, separated by commas
    metrics: tuple[str, ...] = (METRIC,)
    trajectories: int = 10
    replications: int = 3
    seed: int = 1
    set: tuple[str, ...] = ()
    option: str = "--keys"  # the name of `keys` in error messages

    @property
    def word_for_set(self) -> str:
        """The name that the caller uses for `set`, on the command line or in Python."""
        return "--set" if self.option.startswith("--") else "overrides"

    @property
    def word_for_metric(self) -> str:
        """The name that the caller uses for `metrics`, on the command line or in Python."""
        return "--metric" if self.option.startswith("--") else "metrics"

    @property
    def name(self) -> str:
        """The name of the scenario in error messages."""
        return "scenario" if isinstance(self.scenario, Mapping) else str(self.scenario)


@dataclass(frozen=True)
class Plan:
    """A checked question, together with the study that answers it."""

    question: Question
    study: Study
    ranges: tuple[Range, ...]
    points: Levels  # shape: trajectories x (keys + 1) x keys

    @property
    def numbers(self) -> np.ndarray:
        """The number of the configuration for each point, with the shape trajectories x (keys + 1)."""
        return _numbers(self.points, [len(one.values) for one in self.ranges])


def plan(question: Question, allow_code: bool = False) -> Plan:
    """Check the question against the scenario, and plan its study. `allow_code` has the same meaning as in
    mobilenet.run. Raise ScenarioError or StudyError if the question cannot be answered.
    """
    for name, value, least in (("trajectories", question.trajectories, 4), ("replications", question.replications, 2)):
        if value < least:
            raise ScenarioError(f"{name}: {value}, expected at least {least}")
    bare = _study(question, {})
    scenario = bare.base()
    try:
        require_allowed(scenario, allow_code)
    except ScenarioError as error:
        raise ScenarioError(f"{question.name}: {error}") from None
    all_ranges = ranges(question.keys, scenario, question.option, settings_of_code(scenario, allow_code))
    for one in all_ranges:
        if one.key == "seed":
            what = "runs take their seeds from the seed of the study; expected another key"
            raise ScenarioError(f"{question.option} seed: {what}")
        if one.key in bare.set:
            raise ScenarioError(f"{question.option} {one.key}: {question.word_for_set} gives it a fixed value")
    _require_possible(question, bare, all_ranges, allow_code)
    points = trajectories(len(all_ranges), question.trajectories, question.seed)
    levels = levels_of(all_ranges, points)
    if len(levels) > MOST_LEVELS:
        raise ScenarioError(
            f"{question.option}: {len(all_ranges)} keys and {question.trajectories} trajectories make"
            f" {len(levels)} points,"
            f" expected at most {MOST_LEVELS}"
        )
    study = _study(question, {"factors": {POINT: levels}, "replications": {"min": question.replications}})
    for metric in question.metrics:
        try:
            require_metric(study, metric)
        except ScenarioError as error:
            raise type(error)(f"{question.word_for_metric} {metric}: {error}") from None
    return Plan(question, study, all_ranges, points)


def default_directory(question: Question) -> Path:
    """Return the default directory, studies/SCENARIO-sensitivity."""
    return STUDIES / as_file_name(f"{Path(question.name).stem}-sensitivity")


def run(
    plan: Plan,
    out: Path,
    spark: Spark,
    progress: Progress,
    say: Callable[[str], None] = lambda line: None,
    allow_code: bool = False,
) -> Result:
    """Make the runs that are missing, and write the ranking by every metric into the directory."""
    command = normal_form(plan, _has_code(plan.study, allow_code))
    result = run_study(plan.study, out, spark, progress, say, allow_code, command)
    if not result.failed:
        with stamping_of(out, command):
            write_table(out, SCREENING, _rows(plan, out))
    return result


def _has_code(study: Study, allow_code: bool) -> bool:
    all_configurations = configurations(study, allow_code)
    return any(any(study.scenario_of(one.number, one.overrides).code()) for one in all_configurations)


def normal_form(plan: Plan, allow_code: bool) -> str:
    """Return the command for the provenance of files. It refers to the copy of the scenario in the directory. In this
    copy, keys have other values, so the command contains the range of each key. `allow_code` is true if the command may
    run code.
    """
    question, keys = plan.question, ",".join(one.given for one in plan.ranges)
    return normal_command(
        "sensitivity", f"STUDY/{KEPT.format(0)}", keys=keys, metric=question.metrics,
        trajectories=question.trajectories, replications=question.replications, seed=question.seed, set=question.set,
        allow_code=allow_code,
    )  # fmt: skip


def _rows(plan: Plan, path: Path) -> list[dict[str, Any]]:
    """Return the rows of the ranking, by the requested metrics and all other metrics that have a mean at enough points.
    Raise StudyError if a requested metric has too few means.
    """
    summary, requested_metrics = read_rows(path, "tables/summary"), plan.question.metrics
    metrics = list(dict.fromkeys([*requested_metrics, *(row["metric"] for row in summary)]))
    unstable = {row["configuration"] for row in summary if row["label"] == UNSTABLE}
    known = values_of_runs(path, metrics)
    rows = []
    for metric in metrics:
        values = _values(plan, known[metric].unstack(), unstable)
        try:
            points, whole = complete(plan.points, values)
        except StudyError:
            if metric in requested_metrics:
                raise
            continue
        if not np.isfinite(whole).all():  # Some runs do not reach this percentile of the delays.
            if metric in requested_metrics:
                raise StudyError(
                    f"{path}: {metric} is infinite in some runs, in which messages are undelivered; rank the keys by"
                    " delivery_ratio, or by another metric"
                )
            continue
        for row in screen(points, whole, plan.study.confidence, plan.question.seed):
            one, size = plan.ranges[row.key], row.size
            rows.append(
                {"metric": metric, "key": one.key, "range": one.words, "size": size.mean, "low": size.low,
                 "high": size.high, "mean": row.mean, "spread": row.spread, "p_adjusted": row.p_adjusted,
                 "trajectories": size.n}
            )  # fmt: skip
    return rows


def _values(plan: Plan, known: pd.DataFrame, unstable: Collection[int]) -> Values:
    """Return the results with the shape trajectories x (keys + 1) x worlds. A value that is missing or has no mean is
    NaN. `known` has the shape configuration x replication.
    """
    worlds = known.dropna(axis=1, how="all").drop(index=unstable, errors="ignore").reindex(plan.numbers.ravel())
    values: Values = worlds.to_numpy().reshape((*plan.numbers.shape, -1))
    return values


def _places(points: Levels, widths: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the index of the value of each key, for each point. `widths` contains the number of values of each key."""
    return list(map(tuple, (points * np.array(widths) // LEVELS).reshape(-1, len(widths)).tolist()))


def _numbers(points: Levels, widths: Sequence[int]) -> np.ndarray:
    """Return the number of each point. Points with different values are numbered in the order of their first
    occurrence.
    """
    order: dict[tuple[int, ...], int] = {}
    return np.array([order.setdefault(place, len(order)) for place in _places(points, widths)]).reshape(
        points.shape[:2]
    )


def levels_of(all_ranges: Sequence[Range], points: Levels) -> list[dict[str, Any]]:
    """Return a mapping from keys to values for each distinct point."""
    different = dict.fromkeys(_places(points, [len(one.values) for one in all_ranges]))
    return [
        {"label": f"p{number}", **{one.key: one.values[value] for one, value in zip(all_ranges, place, strict=True)}}
        for number, place in enumerate(different)
    ]


def _require_possible(question: Question, study: Study, all_ranges: Sequence[Range], allow_code: bool) -> None:
    """Raise an error if the scenario refuses any single value of a key. The error names the option or argument of the
    caller. Combinations of values are checked when the study is created.
    """
    for one in all_ranges:
        for value in one.values:
            where = f"{question.option} {one.key}={inline(value)}"
            try:
                changed = study.scenario_with(
                    [f"{key}={inline(fixed)}" for key, fixed in study.set.items()]
                    + [Change(f"{one.key}={inline(value)}", where)]
                )
                settings_of_code(changed, allow_code)
            except ScenarioError as error:
                message = str(error).splitlines()[0].replace(f"{where}: {one.key}: ", f"{where}: ", 1)
                if not message.startswith(where):
                    message = f"{where}: {message}"
                if "unknown key" in message:  # The key is unknown, so the error does not depend on the value.
                    message = message.replace(where, f"{question.option} {one.key}", 1)
                raise ScenarioError(message) from None


def _study(question: Question, more: Mapping[str, Any]) -> Study:
    scenario = question.scenario if isinstance(question.scenario, Mapping) else str(question.scenario)
    fixed = {key: node.plain() for key, node in given_values(question.set, question.word_for_set).items()}
    return Study.of({"scenario": scenario, "seed": question.seed, "set": fixed, **more}, Path(), question.name)
