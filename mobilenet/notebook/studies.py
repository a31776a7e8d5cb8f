"""Studies that draw themselves: what mobilenet.study returns.

Model     what a study is, studies/frames.py knows; here is only what needs the pictures, which lie above it
Errors    StudyError for figures that a study does not have
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import functools
from html import escape
from typing import Any

from mobilenet.parameters import ScenarioError
from mobilenet.quoting import counted, spelled_out
from mobilenet.studies import frames

MOST_ROWS = 20  # configurations that a notebook shows at once


class StudyFrames(frames.StudyFrames):
    """The directory of a study, opened for reading. Tables are read when first asked for, and then kept."""

    def plot(self, *metrics: str, x: str | None = None) -> Any:
        """Return the means of these metrics at the levels of a factor, with intervals, as a matplotlib figure; by
        default the metrics that the study compares. `x`: the factor of the horizontal axis, by default the one with
        most levels. StudyError for a metric or a factor that the study does not have.
        """
        from mobilenet.viz.figures import study_figure

        return study_figure(self.path, metrics, x)

    def _repr_html_(self) -> str:
        """How far it is, and the means of its metrics with their intervals, for a notebook."""
        head = f"<b>{_safe(self.path)}</b>: "
        try:
            return f"{head}{_safe(self._progress())}{self._means()}"
        except ScenarioError as error:  # it is not finished, or damaged
            return head + _safe(error)

    def _means(self) -> str:
        from mobilenet.viz.figures.means import metrics_of_interest
        from mobilenet.viz.means_table import head_and_rows, note_of_means
        from mobilenet.viz.study_tables import study_tables

        tables = study_tables(self.path)
        head, rows = head_and_rows(tables, metrics_of_interest(tables))
        body = "".join(_row("td", row) for row in rows[:MOST_ROWS])
        more = len(rows) - MOST_ROWS
        rest = f" {counted(more, 'more configuration')} in <code>study.summary</code>." if more > 0 else ""
        return f"<table>{_row('th', head)}{body}</table>{_safe(note_of_means(tables))}{rest}"

    def _progress(self) -> str:
        done = int((self.planned["state"] == "done").sum())
        return f"{done} of {counted(len(self.planned), 'run')}"


def _row(kind: str, cells: list[str]) -> str:
    return f"<tr>{''.join(f'<{kind}>{_safe(cell)}</{kind}>' for cell in cells)}</tr>"


def _safe(text: Any) -> str:
    return escape(spelled_out(str(text)))


@functools.wraps(frames.study)
def study(*arguments: Any, **named: Any) -> StudyFrames:
    return StudyFrames(frames.study(*arguments, **named).path)
