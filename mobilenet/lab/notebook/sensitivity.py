"""Run screenings from Python: equivalent to `mobilenet sensitivity`, with the ranking as a pandas frame.

    screening = mobilenet.sensitivity("first.yaml", ["workload.interval_s=1:5", "wireless.loss=0:0.3"])
    screening.ranking, screening.order()

Model     The call and the command use the same directory. Another call with this directory resumes the screening.
Shapes    `ranking` has one row for each metric and key, with the columns of sensitivity.csv, in order of decreasing
          size.
Errors    ScenarioError for an invalid question. StudyError for an unsuitable directory or for failures.
Source    ours: docs/guide/sensitivity.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilenet.lab.notebook.requirements import require_out
from mobilenet.lab.notebook.studies import StudyFrames
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.batch import Standing
from mobilenet.lab.studies.effects import SCREENING
from mobilenet.lab.studies.own_process import chosen_spark, on_spark
from mobilenet.lab.studies.sensitivity.sensitivity import METRIC, Question, default_directory, plan, run
from mobilenet.quoting import pluralize, spell_out
from mobilenet.scenario.loader import plain_values
from mobilenet.scenario.yaml_writer import inline

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession


class Sensitivity:
    """The ranking of the keys, and the study on which it is based."""

    def __init__(self, path: Path, metrics: Sequence[str]) -> None:
        self.path = path
        self.metrics = tuple(metrics)

    @cached_property
    def ranking(self) -> pd.DataFrame:
        """The ranking of the keys for each metric, with the columns size, low, high, mean, spread and p_adjusted."""
        import pyarrow.parquet as pq

        table = pq.read_table(self.path / f"{SCREENING}.parquet").to_pandas()
        return table[table["metric"].isin(self.metrics)].reset_index(drop=True)

    @cached_property
    def study(self) -> StudyFrames:
        """The runs as a study whose factor is the point."""
        return StudyFrames(self.path)

    def order(self, metric: str | None = None) -> list[str]:
        """Return the keys, most important first. The default for `metric` is the first metric."""
        metric_name = self.metrics[0] if metric is None else metric
        return [str(key) for key in self.ranking["key"][self.ranking["metric"] == metric_name]]

    def sentences(self) -> list[str]:
        """Return the findings as sentences."""
        return self.study.sentences()

    def plot(self, *metrics: str) -> Any:
        """Return a matplotlib figure of the size of each key's effect, with its interval."""
        return self.study.plot(*(metrics or self.metrics), kind="effects")

    def __repr__(self) -> str:
        return f"<Sensitivity {self.path}: {', '.join(self.order())}>"

    def _repr_html_(self) -> str:
        words = "".join(f"<p>{escape(spell_out(line))}</p>" for line in self.sentences())
        return f"<b>{escape(spell_out(str(self.path)))}</b>{self.ranking.to_html(index=False)}{words}"


def sensitivity(
    scenario: str | Path | Mapping[str, Any],
    keys: str | Sequence[str],
    metrics: str | Sequence[str] = METRIC,
    *,
    trajectories: int = 10,
    replications: int = 3,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    seed: int = 1,
    out: str | Path | None = None,
    workers: int | None = None,
    master: str | None = None,
    allow_code: bool = False,
    progress: Callable[[Standing], None] = lambda standing: None,
    spark: SparkSession | None = None,
) -> Sensitivity:
    """Rank keys of a scenario by how much they change a metric.

    `scenario` is a file, or a dictionary with the same keys; a dictionary needs `out`. `keys` have the form
    `KEY=LOW:HIGH`, `KEY=A|B` or `KEY`. `trajectories` is the number of steps that are tried for each key, and
    `replications` is the number of runs at each point. `overrides` has the same meaning as in `run`; `workers`,
    `master`, `spark` and `allow_code` have the same meaning as in `study`.
    """
    where = chosen_spark(workers, master, spark)
    require_out(scenario, out)
    source = plain_values(scenario, "scenario") if isinstance(scenario, Mapping) else scenario
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    question = Question(
        source, (keys,) if isinstance(keys, str) else tuple(keys), names or (METRIC,), trajectories, replications, seed,
        _as_texts(overrides), option="keys",
    )  # fmt: skip
    planned = plan(question, allow_code)
    place = default_directory(question) if out is None else Path(out)
    result = on_spark(where, lambda spark, report: run(planned, place, spark, report, allow_code=allow_code), progress)
    if result.failed:
        raise StudyError(f"{place}: {pluralize(len(result.failed), 'run')} failed: {result.failed[0]}")
    return Sensitivity(place, question.metrics)


def _as_texts(overrides: Sequence[str] | Mapping[str, Any]) -> tuple[str, ...]:
    if not isinstance(overrides, Mapping):
        return tuple(overrides)
    return tuple(f"{key}={inline(value)}" for key, value in plain_values(overrides, "overrides").items())
