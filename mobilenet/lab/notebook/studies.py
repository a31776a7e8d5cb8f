"""Studies with methods for figures and tables, as returned by mobilenet.study.

Model     lab/studies/frames.py defines studies. This module adds views, and the methods that need pictures, which
          belong to a higher layer.
Errors    StudyError for a figure that does not exist for a study.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.studies import frames
from mobilenet.lab.studies.effects import study_effects
from mobilenet.lab.studies.query import spark_sql
from mobilenet.lab.studies.query.places import runs_of
from mobilenet.lab.studies.sentences import conclusions, sentence
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import pluralize, spell_out

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

MOST_ROWS = 20  # maximum number of configurations that a notebook shows at once


class StudyFrames(frames.StudyFrames):
    """Gives access to the tables of a study's directory. Each table is read on first access and then kept in memory."""

    def plot(
        self,
        *metrics: str,
        x: str | None = None,
        width_in: float | None = None,
        kind: Literal["means", "comparison", "effects", "delays"] = "means",
    ) -> Any:
        """Return a matplotlib figure of this kind: the means of these metrics at the levels of a factor, with
        intervals; the comparison; the effects of several factors; or the distribution of delays. The default `metrics`
        are the ones that the study compares. `x` is the factor on the horizontal axis of means, by default the factor
        with the most levels. A `width_in` of 3.5 fits a column of a paper. Raise StudyError if the figure does not
        exist for this study.
        """
        from mobilenet.viz.figures import study_figure

        return study_figure(self.path, metrics, x, kind, width_in)

    def table(self, view: str) -> pa.Table:
        """Return a view of the records of all runs, such as runs, events or deliveries (docs/guide/query.md)."""
        return spark_sql.table(runs_of(self.path), view)

    def views(self, session: SparkSession) -> Mapping[str, DataFrame]:
        """Return the same views as DataFrames of a Spark session, for any number of runs. They remain available until
        this process ends, and are not registered under names in the session.
        """
        return spark_sql.lasting_views(runs_of(self.path), session)

    def sentences(self) -> list[str]:
        """Return the findings of the study as sentences: each comparison, the conclusion on the effects of several
        factors, and a warning about results that may be unstable.
        """
        from mobilenet.viz.figures.means import metrics_of_interest
        from mobilenet.viz.study_tables import study_tables

        tables = study_tables(self.path)
        comparison = tables.comparison or {"factor": None, "findings": []}
        others = [factor for factor in tables.factors if factor != comparison["factor"]]
        lines = []
        for finding in comparison["findings"]:
            where = tables.in_words(finding, others)
            what = tables.words.axis_name(finding["metric"])
            words = sentence(finding, comparison, tables.levels, tables.words)
            lines.append(f"{where}: {what}: {words}" if where else f"{what}: {words}")
        effects = study_effects(self.path, tables.factors, metrics_of_interest(tables), tables.confidence)
        in_words = conclusions(effects, tables.levels, tables.confidence, tables.words)
        return [*lines, *in_words.values(), *tables.doubts()]

    def to_latex(self, *metrics: str) -> str:
        """Return the means as a LaTeX table, which needs the booktabs package. See plot for `metrics`."""
        return self._table(metrics, latex=True)

    def to_markdown(self, *metrics: str) -> str:
        """Return the means as a table in Markdown."""
        return self._table(metrics, latex=False)

    def _table(self, metrics: Sequence[str], latex: bool) -> str:
        from mobilenet.viz.means_table import write_means

        with scratch_folder("means") as folder:
            file: Path = write_means(self.path, folder, metrics, latex=latex, markdown=not latex)[0]
            return file.read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        """Return the progress of the study and the means of its metrics with intervals, for display in a notebook."""
        head = f"<b>{_safe(self.path)}</b>: "
        try:
            return f"{head}{_safe(self._progress())}{self._means()}"
        except ScenarioError as error:  # the study is unfinished or damaged
            return head + _safe(error)

    def _means(self) -> str:
        from mobilenet.viz.figures.means import metrics_of_interest
        from mobilenet.viz.means_table import head_and_rows, note_of_means
        from mobilenet.viz.study_tables import study_tables

        tables = study_tables(self.path)
        head, rows = head_and_rows(tables, metrics_of_interest(tables))
        body = "".join(_row("td", row) for row in rows[:MOST_ROWS])
        more = len(rows) - MOST_ROWS
        rest = f" {pluralize(more, 'more configuration')} in <code>study.summary</code>." if more > 0 else ""
        return f"<table>{_row('th', head)}{body}</table>{_safe(note_of_means(tables))}{rest}"


def _row(kind: str, cells: list[str]) -> str:
    return f"<tr>{''.join(f'<{kind}>{_safe(cell)}</{kind}>' for cell in cells)}</tr>"


def _safe(text: Any) -> str:
    return escape(spell_out(str(text)))


@functools.wraps(frames.study)
def study(*arguments: Any, **named: Any) -> StudyFrames:
    return StudyFrames(frames.study(*arguments, **named).path)
