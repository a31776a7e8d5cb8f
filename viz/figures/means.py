"""Draw the mean of a metric at each level of a factor, with its interval.

Model     Each metric has a panel, and each combination of the other factors has a line. If no metrics are requested,
          the panels show the metrics that the study compares, or else the delay and its cost. If all levels are numbers
          without labels, the axis is numeric. A level without a value interrupts its line. An unstable level has no
          mean, and is marked at the upper edge and in the legend. A hollow mark shows the value that a claim requires.
Units     the units of the metrics and of the factor
Errors    StudyError for a metric that was not measured, or a factor that does not exist
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import pandas as pd

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.declaration import MOST_LEVELS
from mobilenet.lab.studies.precedence import DELIVERED
from mobilenet.lab.studies.table_files import UNSTABLE
from mobilenet.quoting import pluralize, unknown

from ..study_tables import StudyTables
from ..style import COLOURS, LINES, MARKS, infinite_mark, large_numbers, numeric_ticks, percent, plain, unstable_mark

MOST_LINES = 8
MOST_PANELS = 4
OF_INTEREST = ("delivery_delay_mean_s", "latency", "messages_sent_per_delivery")


def varied_factors(tables: StudyTables) -> dict[str, int]:
    """Return the factors with more than one level, and the number of their levels."""
    counts = {factor: len({row[factor] for row in tables.summary}) for factor in tables.factors}
    return {factor: count for factor, count in counts.items() if count > 1}


def factor_of_axis(tables: StudyTables, name: str | None = None) -> str | None:
    """Return the factor of the horizontal axis: the given factor, or else the factor with the most levels. Factors with
    numeric levels take precedence. None means that no factor is suitable.
    """
    if name is not None:
        matching = [factor for factor in tables.factors if name in (factor, factor.rpartition(".")[2])]
        if len(matching) != 1:
            raise StudyError(f"x {name}: expected a factor of the study: {', '.join(tables.factors) or 'none'}")
        return matching[0]
    varied = {factor: count for factor, count in varied_factors(tables).items() if count <= MOST_LEVELS}
    return max(varied, key=lambda factor: (tables.are_numbers(factor), varied[factor]), default=None)


def metrics_of_interest(tables: StudyTables, metrics: Sequence[str] = ()) -> list[str]:
    """Return the given metrics, or else the measured metrics of the comparison, or else those of OF_INTEREST. By
    default, the delivery ratio comes first if not all messages were delivered.
    """
    measured = dict.fromkeys(row["metric"] for row in tables.summary)
    for metric in metrics:
        if metric not in measured:
            raise StudyError(unknown("metric", metric, list(measured)))
    if metrics:
        return list(dict.fromkeys(metrics))
    compared = [finding["metric"] for finding in tables.comparison["findings"]] if tables.comparison else []
    before = [DELIVERED] if tables.lost_deliveries else []
    chosen = dict.fromkeys([*before, *(compared or OF_INTEREST)])
    return [metric for metric in chosen if metric in measured][:MOST_PANELS]


def draw_means(axes: Any, tables: StudyTables, factor: str, metric: str) -> int:
    """Draw one panel, with at most MOST_LINES lines. Return the number of lines before this limit."""
    frame = pd.DataFrame([row for row in tables.summary if row["metric"] == metric])
    frame = frame.astype(dict.fromkeys(("mean", "low", "high"), float))
    numeric = tables.are_numbers(factor)
    names = list(dict.fromkeys(row[factor] for row in tables.summary))
    frame["x"] = pd.to_numeric(frame[factor]) if numeric else frame[factor].map(names.index).astype(float)
    places = sorted(map(float, names)) if numeric else list(map(float, range(len(names))))
    others = [other for other in tables.factors if other != factor]
    groups = [own for _, own in frame.groupby(others, sort=False)] if others else [frame]
    drawn = groups[:MOST_LINES]
    for number, own in enumerate(drawn):
        shift = 0.0 if numeric else (number - (len(drawn) - 1) / 2) * 0.5 / max(1, len(drawn))
        label = tables.in_words(own.iloc[0].to_dict(), others)
        every = own.set_index("x").reindex(places).reset_index()  # a level without a value interrupts the line
        _draw_line(axes, every, number, shift, label, numeric)
        _draw_required(axes, every, number, shift, tables, metric)
    if numeric:
        numeric_ticks(axes, places)
    else:
        width = max(8, 44 // len(names)) if axes.figure.get_figwidth() < 5 else max(10, 80 // len(names))
        labels = [plain(textwrap.fill(tables.levels.name(factor, name), width)) for name in names]
        axes.set_xticks(range(len(names)), labels)
        axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set(xlabel=factor, ylabel=tables.words.axis_name(metric))
    axes.set_ylim(bottom=0 if not (frame["mean"].min() < 0) else None)
    large_numbers(axes.yaxis)
    return len(groups)


def _draw_line(axes: Any, own: pd.DataFrame, number: int, shift: float, label: str, numeric: bool) -> None:
    colour = COLOURS[number % len(COLOURS)]
    unstable = own["label"] == UNSTABLE
    if label and unstable.any():
        label += ": unstable" if unstable.all() else " (×: unstable)"
    below, above = (own["mean"] - own["low"]).fillna(0), (own["high"] - own["mean"]).fillna(0)
    axes.errorbar(
        (own["x"] + shift).to_numpy(), own["mean"].to_numpy(), yerr=[below.to_numpy(), above.to_numpy()],
        color=colour, linestyle=LINES[number % len(LINES)] if numeric else "none", marker=MARKS[number % len(MARKS)],
        markersize=4, capsize=2.5, linewidth=1.3, label=plain(label) or None,
    )  # fmt: skip
    for place in own.loc[unstable, "x"]:
        unstable_mark(axes, place + shift, colour)
    for place in own.loc[own["infinite"] > 0, "x"]:
        infinite_mark(axes, place + shift, colour)


def _draw_required(axes: Any, own: pd.DataFrame, number: int, shift: float, tables: StudyTables, metric: str) -> None:
    """Mark the required value: a hollow mark at the middle of two bounds, or ≤ or ≥ at a single bound."""
    for x, configuration in zip(own["x"] + shift, own["configuration"], strict=True):
        ends = tables.claim_bounds.get((int(configuration), metric)) if pd.notna(configuration) else None
        if ends is None:
            continue
        colour, middle = COLOURS[number % len(COLOURS)], sum(ends.values()) / len(ends)
        if len(ends) == 2:
            look: dict[str, Any] = {"marker": MARKS[number % len(MARKS)], "markersize": 9, "markerfacecolor": "none"}
        else:
            look = {"marker": r"$\leq$" if "at_most" in ends else r"$\geq$", "markersize": 8, "markeredgewidth": 0}
        axes.plot(x, middle, color=colour, linestyle="none", **look)


def means_note(tables: StudyTables, metrics: list[str], lines: int) -> str:
    """Return a description of the picture, for its caption."""
    rows = [row for row in tables.summary if row["metric"] in metrics]
    sure = percent(tables.confidence)
    counts = sorted({row["n"] for row in rows})
    n = f"{counts[0]} to {counts[-1]}" if counts and counts[0] != counts[-1] else f"{counts[-1] if counts else 0}"
    rest = f" The first {MOST_LINES} of {pluralize(lines, 'combination')} of levels." if lines > MOST_LINES else ""
    notes = tables.infinite_note(metrics) + tables.unstable_note()
    if any(metric in metrics for _, metric in tables.claim_bounds):
        rest += " Hollow marks, ≤ and ≥: what claims require, such as a printed number."
    return f"Means over n = {n} replications with {sure} t intervals.{rest}{notes}"
