"""The mean of a metric over the values of a factor that is a number, with its interval.

Model     one line per combination of the other factors, one panel per metric: those that the study compares or is
          stopped by, else the delay and what it cost. A level that is unstable has no mean: it is marked on the upper
          edge
Units     those of the metrics and of the factor
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

import textwrap
from typing import Any

import pandas as pd

from mobilenet.studies.aggregation import UNSTABLE

from ..study_tables import StudyTables
from ..style import COLOURS, LINES, level_label, percent, unstable_mark
from ..words import meaning

MOST_LINES = 8
MOST_PANELS = 4
OF_INTEREST = ("delivery_delay_mean_s", "latency", "messages_sent_per_delivery")


def numeric_factor(tables: StudyTables) -> str | None:
    """The factor that has most values, of those that are all numbers; None if there is none with two of them."""
    frame = pd.DataFrame(tables.summary)
    counts = {
        factor: frame[factor].nunique()
        for factor in tables.factors
        if len(frame) and pd.to_numeric(frame[factor], errors="coerce").notna().all()
    }
    most = max(counts, key=lambda factor: counts[factor], default=None)
    return most if most is not None and counts[most] >= 2 else None


def metrics_of_interest(tables: StudyTables) -> list[str]:
    """Those of the comparison, else of OF_INTEREST, as far as they were measured."""
    compared = [finding["metric"] for finding in tables.comparison["findings"]] if tables.comparison else []
    measured = {row["metric"] for row in tables.summary}
    wanted = dict.fromkeys(compared or OF_INTEREST)
    return [metric for metric in wanted if metric in measured][:MOST_PANELS]


def draw_curve(axes: Any, tables: StudyTables, factor: str, metric: str) -> None:
    """One panel."""
    frame = pd.DataFrame([row for row in tables.summary if row["metric"] == metric])
    for column in ("mean", "low", "high", factor):
        frame[column] = pd.to_numeric(frame[column], errors="coerce")
    others = [other for other in tables.factors if other != factor]
    groups = list(frame.groupby(others, sort=False)) if others else [((), frame)]
    for number, (levels, own) in enumerate(groups[:MOST_LINES]):
        own = own.sort_values(factor)
        colour, line = COLOURS[number % len(COLOURS)], LINES[number % len(LINES)]
        label = ", ".join(f"{o.rpartition('.')[2]} {level_label(v)}" for o, v in zip(others, levels, strict=True))
        known = own[own["mean"].notna()]
        below, above = (known["mean"] - known["low"]).fillna(0), (known["high"] - known["mean"]).fillna(0)
        axes.errorbar(
            known[factor].to_numpy(), known["mean"].to_numpy(), yerr=[below.to_numpy(), above.to_numpy()],
            color=colour, linestyle=line, marker="o", markersize=4, capsize=3, label=label or None,
        )  # fmt: skip
        for place in own.loc[own["label"] == UNSTABLE, factor]:
            unstable_mark(axes, place, colour)
    axes.set(xlabel=factor, ylabel=textwrap.fill(meaning(metric), 40))
    axes.set_xticks(sorted(frame[factor].unique()), [f"{value:g}" for value in sorted(frame[factor].unique())])
    axes.set_ylim(bottom=0 if frame["low"].min() >= 0 or frame["mean"].min() >= 0 else None)


def curve_note(tables: StudyTables, metrics: list[str]) -> str:
    """What the picture shows, in words."""
    rows = [row for row in tables.summary if row["metric"] in metrics]
    sure = percent(tables.confidence)
    counts = sorted({int(row["n"]) for row in rows})
    n = f"{counts[0]} to {counts[-1]}" if counts and counts[0] != counts[-1] else f"{counts[-1] if counts else 0}"
    return f"Means over n = {n} replications with {sure} t intervals.{tables.said_of_unstable()}"
