"""Run studies from Python, like `mobilenet study`, and return the tables as pandas frames.

    study = mobilenet.study("loss.yaml", out="studies/loss")
    study.summary.query("metric == 'delivery_delay_mean_s'")

Model     The directory is the same as that of the command line. Another call with the same directory continues the
          study.
Shapes    The tables have the columns of docs/guide/studies.md.
Errors    ScenarioError if the study is invalid. StudyError if its directory or Spark cannot be used.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.batch import Standing
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.effects import study_effects
from mobilenet.lab.studies.own_process import chosen_spark, on_spark
from mobilenet.lab.studies.store import open_store
from mobilenet.lab.studies.study import run_study
from mobilenet.lab.studies.table_files import read_parquet
from mobilenet.lab.studies.tables import tables_of_what_is_there
from mobilenet.quoting import pluralize
from mobilenet.scenario.loader import plain_values

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession


def _table(name: str, what: str) -> cached_property[pd.DataFrame]:
    """Declare a table that is read on first access."""

    def read(study: StudyFrames) -> pd.DataFrame:
        return read_parquet(study.path / f"{name}.parquet").to_pandas()

    read.__doc__ = what
    return cached_property(read)


class StudyFrames:
    """Gives access to the tables of a study's directory. Each table is read on first access, and then stays in
    memory.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the directory of a study, and update the tables if runs have been added. Raise StudyError if the folder
        does not contain a study.
        """
        self.path = Path(path)
        self.unfinished = tables_of_what_is_there(self.path)  # a note for users; None if the study is complete

    planned = _table(
        "runs", "Each run of the study: its levels, seed and state (planned, done, failed), why it failed."
    )
    runs = _table("tables/runs", "Each run that is done, with all its metrics.")
    summary = _table("tables/summary", "Configuration and metric: n, mean, interval, label.")
    buffers = _table("tables/buffers", "Configuration, buffer and stretch of time: mean and interval.")
    delays = _table("tables/delays", "Configuration and share of all deliveries: the delay within which they happen.")
    distribution = _table(
        "tables/distribution", "Configuration and delay: the share of all deliveries that happen within it."
    )
    handoffs = _table(
        "tables/handoffs", "Each confirmed handoff of each run: host, begin_s, duration_s, interruption_s, cause."
    )

    @cached_property
    def effects(self) -> pd.DataFrame:
        """The effects, the largest first. Columns: metric, factor_1, level_1, factor_2, level_2 (for pairs), effect,
        low, high, p_adjusted, n, and changes of delivery ratios. The table is empty unless several factors vary.
        """
        import pandas as pd

        metrics, study = list(dict.fromkeys(self.summary["metric"])), open_store(self.path).study
        effects = study_effects(self.path, list(study.factors), metrics, study.confidence)
        return pd.DataFrame([effect.row() for effect in effects])

    @cached_property
    def comparison(self) -> pd.DataFrame:
        """The comparison of each level with the baseline in each metric, if the study has the key `compare`."""
        if open_store(self.path).study.compare is None:
            raise StudyError(f"{self.path}: no comparison, since the study has no `compare`")
        return read_parquet(self.path / "comparison.parquet").to_pandas()

    def __repr__(self) -> str:
        return f"<StudyFrames {self.path}: {self._progress()}>"

    def _progress(self) -> str:
        return f"{len(self.runs)} of {pluralize(len(self.planned), 'run')}"


def study(
    what: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    workers: int | None = None,
    master: str | None = None,
    allow_code: bool = False,
    progress: Callable[[Standing], None] = lambda standing: None,
    spark: SparkSession | None = None,
) -> StudyFrames:
    """Make the missing runs of a study, and return its tables.

    `what` is a study file, or a dictionary with the same keys. A dictionary needs `out`, and its scenario is a file in
    this folder or a dictionary as well. `workers` is the number of cores to use on this machine, by default all.
    `master` is the address of a Spark cluster to use instead. `spark` is an existing session to use instead; it remains
    open and unchanged. `allow_code` has the same meaning as in `run`.
    """
    where = chosen_spark(workers, master, spark)
    declared = Study.of(plain_values(what, "study"), Path()) if isinstance(what, Mapping) else Path(what)
    place = None if out is None else Path(out)
    result = on_spark(
        where, lambda spark, report: run_study(declared, place, spark, report, allow_code=allow_code), progress
    )
    return StudyFrames(result.store.path)
