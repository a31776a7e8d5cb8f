"""Draw the answers to claims: each measured value with its interval, next to the required value.

Model     Each claim with a value and a bound has a row, with at most MOST_ROWS rows in a figure. All values share one
          axis, on which they are divided by the required value, or by the midpoint of two bounds. Values of zero or
          less are drawn on the left edge.
Units     The axis has no unit. Numbers at the right edge are in the units of the claims
Errors    StudyError if the directory has no answers, or damaged ones
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.lab.studies import StudyError
from mobilenet.quoting import format_number, pluralize
from mobilenet.record.provenance import read_provenance
from mobilenet.record.stamp import PLACE, normal_command, stamping

from ..claim_bounds import ANSWERS, Row, bounds_of, rows_of
from ..files import make_folder
from ..style import (
    COLOURS,
    LOOK,
    QUIET,
    WIDE_IN,
    DrawnFigure,
    Look,
    caption,
    entitle,
    figure_legend,
    in_words,
    log_axis,
    page,
    plain,
    save_all,
)

MOST_ROWS = 25
MOST_TICKS = 4  # the maximum number of ticks in a narrow figure
WIDTH_IN = 9.5
TITLE = "Measured, and required by the claims"
LOOKS = {"holds": (COLOURS[0], "o"), "does not hold": (COLOURS[1], "s"), "undecided": (QUIET, "D")}
METHOD = (
    "Means over runs with the intervals of the claims, divided by what is required. Grey: what is required, and to the"
    " edge where there is one bound."
)


class Comparison(NamedTuple):
    """The values from which the row of a claim is drawn."""

    row: Row
    scale: float  # the value at 1 on the axis
    value: float
    low: float
    high: float


def claims_figures(directory: Path, folder: Path, look: Look = LOOK) -> list[DrawnFigure]:
    """Draw all answers that contain a number into `folder`. Return the files of the first suffix."""
    try:
        rows = rows_of(directory)
    except (OSError, ValueError) as error:
        raise StudyError(f"{directory / ANSWERS}: no answers to claims, or damaged: {error}") from None
    comparisons = [one for one in map(_compare, rows) if one is not None]
    left_out = len(rows) - len(comparisons)
    note = METHOD + (" At the right: measured; required." if _is_wide(look) else "")
    note += f" Not drawn: {pluralize(left_out, 'claim')} without a value or a bound." if left_out else ""
    parts = [comparisons[k : k + MOST_ROWS] for k in range(0, len(comparisons), MOST_ROWS)] or [[]]
    make_folder(folder)
    provenance = read_provenance(directory / ANSWERS)
    command = normal_command("figures", PLACE, **look.options())
    with stamping(provenance._replace(command=command)) if provenance is not None else nullcontext():
        return [_page(part, k, len(parts), note, folder, look) for k, part in enumerate(parts, 1)]


def _compare(row: Row) -> Comparison | None:
    names = ("value", "low", "high")
    ends, numbers = bounds_of(row), [row[name] for name in names if isinstance(row.get(name), int | float)]
    if ends is None or len(numbers) < len(names):  # infinite numbers are stored as strings
        return None
    scale = sum(ends.values()) / len(ends)
    return Comparison(row, scale, *(number / scale for number in numbers)) if scale > 0 else None


def _page(
    comparisons: Sequence[Comparison], number: int, count: int, note: str, folder: Path, look: Look
) -> DrawnFigure:
    title, name = (TITLE, "claims") if count == 1 else (f"{TITLE}, {number} of {count}", f"claims_{number}")
    row_in = 0.32 if _is_wide(look) else 0.44
    with page(look.width_in or WIDTH_IN, 0.8 + row_in * max(2, len(comparisons))) as (figure, axes):
        if comparisons:
            _draw(axes, comparisons, _is_wide(look))
            figure_legend(figure, *axes.get_legend_handles_labels())
        else:
            in_words(axes, "No claim has both a value and a bound above 0.")
        if look.titles:
            entitle(figure, title)
        if look.captions:
            caption(figure, note)
        return DrawnFigure(title, save_all(figure, folder, name, look.suffixes), note)


def _is_wide(look: Look) -> bool:
    return (look.width_in or WIDTH_IN) >= WIDE_IN


def _draw(axes: Any, comparisons: Sequence[Comparison], is_wide: bool) -> None:
    places = [
        x for one in comparisons for x in (one.value, one.low, one.high, *_ends(one)) if x > 0 and math.isfinite(x)
    ]
    least, most = min(0.5, *places) / 1.3, max(2.0, *places) * 1.3
    log_axis(axes.xaxis, least, most)
    axes.set(xlim=(least, most), ylim=(len(comparisons) - 0.4, -0.6), xlabel="measured ÷ required")
    axes.axvline(1, color=QUIET, linewidth=0.6)
    labels = set()
    for y, one in enumerate(comparisons):
        answer = str(one.row["answer"])
        colour, mark = LOOKS.get(answer, LOOKS["undecided"])
        low, high = _ends(one)
        low, high = max(low, least), min(high, most)
        axes.barh(y, high - low, left=low, height=0.7, color="#DDDDDD", edgecolor="#AAAAAA", linewidth=0.6)
        value = max(one.value, least)
        arms = [[max(0.0, value - max(one.low, least))], [max(0.0, one.high - value)]]
        axes.errorbar(
            [value], [y], xerr=arms, fmt=mark if one.value > least else "<", color=colour, markersize=5, capsize=2,
            clip_on=False, label=None if answer in labels else answer,
        )  # fmt: skip
        labels.add(answer)
    names = [str(one.row.get("says") or one.row.get("claim")).rstrip(".") for one in comparisons]
    letters = int(axes.figure.get_figwidth() * (5.5 if is_wide else 8))
    lines = [textwrap.wrap(name, letters, max_lines=2 if is_wide else 3, placeholder=" …") for name in names]
    axes.set_yticks(range(len(comparisons)), [plain("\n".join(line)) for line in lines], fontsize="x-small")
    axes.tick_params(axis="y", length=0)
    if is_wide:
        numbers = axes.secondary_yaxis("right")
        numbers.set_yticks(range(len(comparisons)), [_numbers(one) for one in comparisons], fontsize="x-small")
        numbers.tick_params(axis="y", length=0)
    else:
        axes.xaxis.get_major_locator().set_params(numticks=MOST_TICKS)


def _ends(one: Comparison) -> tuple[float, float]:
    """Return the required bounds in units of the axis."""
    ends = bounds_of(one.row) or {}
    return ends.get("at_least", 0.0) / one.scale, ends.get("at_most", math.inf) / one.scale


def _numbers(one: Comparison) -> str:
    unit, ends = f" {one.row['unit']}" if one.row.get("unit") else "", bounds_of(one.row) or {}
    if len(ends) == 2:
        words = " to ".join(f"{end:,.8g}" for end in ends.values())
    else:
        words = "".join(f"{side.replace('_', ' ')} {end:,.8g}" for side, end in ends.items())
    return plain(f"{format_number(one.row['value'])}{unit}; {words}")
