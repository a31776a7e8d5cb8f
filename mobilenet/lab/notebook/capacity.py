"""Run capacity searches from Python: equivalent to `mobilenet capacity`, with tables as pandas frames.

    search = mobilenet.capacity("dynamic.yaml", "workload.interval_s", 1, 6, "delivery_delay_p95_s <= 1")
    search.value, search.interval, search.points

Model     The call and the command use the same directory. Another call with this directory resumes the search.
Shapes    `points` has one row for each value and requirement, with the columns of capacity.csv.
Errors    ScenarioError for an invalid question. StudyError if the directory cannot be used, or if Spark fails.
Source    ours: docs/guide/capacity.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilenet.lab.notebook.requirements import require_out
from mobilenet.lab.notebook.studies import StudyFrames
from mobilenet.lab.studies.batch import Standing
from mobilenet.lab.studies.capacity import capacity as capacities
from mobilenet.lab.studies.capacity.answer import Number, SearchResult
from mobilenet.lab.studies.capacity.question import BUDGET, MINUTES, Question, default_directory, plan
from mobilenet.lab.studies.capacity.words import answer, sentences
from mobilenet.lab.studies.own_process import chosen_spark, on_spark
from mobilenet.lab.studies.statistics import RARE
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import spell_out
from mobilenet.scenario.loader import plain_values

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession


class Capacity:
    """The result of a capacity search, and the study on which it is based."""

    def __init__(self, path: Path, answer: SearchResult) -> None:
        self.path = path
        self.answer = answer

    @property
    def verdict(self) -> str:
        """One of `largest`, `smallest`, `holds everywhere`, `holds nowhere`, `not monotone here` or `undecided`."""
        return self.answer.verdict.value

    @property
    def value(self) -> Number | None:
        """The largest or smallest value at which all requirements hold, or None for any other verdict."""
        return self.answer.value

    @property
    def interval(self) -> tuple[Number, Number] | None:
        """The two values between which the threshold lies, in ascending order, or None if one of them has not been
        found.
        """
        return self.answer.interval

    @property
    def runs(self) -> int:
        """The number of runs on which the answer is based."""
        return self.answer.runs

    @cached_property
    def points(self) -> pd.DataFrame:
        """The tested values, with one row for each requirement: n, mean, low, high, state."""
        import pandas as pd

        return pd.DataFrame(self.answer.rows())

    @cached_property
    def study(self) -> StudyFrames:
        """The runs as a study whose factor is the key."""
        return StudyFrames(self.path)

    def sentences(self) -> list[str]:
        """Return the answer in sentences, with its evidence and an explanation of its error probability."""
        return sentences(self.answer)

    def plot(self) -> Any:
        """Return a matplotlib figure of the required metrics against the key, with intervals and the answer."""
        from mobilenet.viz.capacity import compose

        with compose(self.answer) as figure:
            return figure

    def __repr__(self) -> str:
        return f"<Capacity {self.path}: {answer(self.answer)}>"

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(spell_out(line))}</li>" for line in self.sentences())
        return f"<b>{escape(spell_out(str(self.path)))}</b><ul>{lines}</ul>"


def capacity(
    scenario: str | Path | Mapping[str, Any],
    vary: str,
    low: float,
    high: float,
    require: str | Sequence[str],
    *,
    tolerance: float = 0.05,
    resolution: float | None = None,
    error: float = 0.05,
    rare: float = RARE,
    budget: int = BUDGET,
    minutes: float = MINUTES,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    seed: int = 1,
    out: str | Path | None = None,
    workers: int | None = None,
    master: str | None = None,
    allow_code: bool = False,
    progress: Callable[[Standing], None] = lambda standing: None,
    spark: SparkSession | None = None,
) -> Capacity:
    """Find the largest or smallest value of a key at which all requirements hold.

    `scenario` is a file, or a dictionary with the same keys; a dictionary needs `out`. `low` and `high` are the ends of
    the range of the key, in its unit. `require` is one requirement or several, of the form `METRIC <= LIMIT` or `METRIC
    >= LIMIT`. `tolerance` is relative to each limit, `resolution` is the step of the key, and `error` is the
    probability of a wrong answer. Outcomes that occur in less than the fraction `rare` of the runs may be missed.
    `budget` and `minutes` are the maximum number of runs and the maximum wall time. `overrides` has the same meaning as
    in `run`; `workers`, `master`, `spark` and `allow_code` have the same meaning as in `study`.
    """
    where = chosen_spark(workers, master, spark)
    require_out(scenario, out)
    source = plain_values(scenario, "scenario") if isinstance(scenario, Mapping) else scenario
    texts = (require,) if isinstance(require, str) else tuple(require)
    if not all(isinstance(text, str) for text in texts):
        raise ScenarioError("require: expected text, such as 'delivery_delay_p95_s <= 1.0', or a list of such texts")
    changes = plain_values(overrides, "overrides") if isinstance(overrides, Mapping) else tuple(overrides)
    ends = plain_values(low, "low"), plain_values(high, "high")
    question = Question(source, vary, *ends, texts, tolerance, resolution, error, budget, seed, changes, rare, minutes)
    planned = plan(question, allow_code)
    place = default_directory(question) if out is None else Path(out)
    outcome = on_spark(
        where, lambda spark, report: capacities.search(planned, place, spark, report, allow_code=allow_code), progress
    )
    if outcome.result.points:
        from mobilenet.viz.capacity import draw_into

        draw_into(outcome.result, place, outcome.command)
    return Capacity(place, outcome.result)
