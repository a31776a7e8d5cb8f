"""Logarithmic vertical axes for values with outliers.

Model     Values of zero or less are drawn below the lower edge of such an axis
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

import math
from typing import Any

from .style import MARKS

MOST_SPAN = 1e6  # the maximum ratio of the upper to the lower limit of an axis with --log-y


def log_ticks(axes: Any) -> None:
    """Set the ticks of a logarithmic axis and label each of them. If ticks at 1, 2 and 5 would be too few, use linear
    steps.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    low, high = axes.get_ylim()
    steps = [
        value * 10.0**power
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for value in (1, 2, 5)
    ]
    ticks = [step for step in steps if low <= step <= high]
    if len(ticks) < 3:
        ticks = [tick for tick in MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high) if low <= tick <= high]
    elif len(ticks) > 6:
        ticks = [step for step in ticks if f"{step:e}"[0] == "1"]
        ticks = ticks[:: -(-len(ticks) // 6)]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def log_values(*panels: Any) -> None:
    """Give panels with the same scale a logarithmic vertical axis, unless none of their values is above zero.

    A value of zero or less is below the axis: lines leave it at the lower edge, and marks have `≤ 0` there.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    least = min(axes.dataLim.minposy for axes in panels)
    most = max(axes.dataLim.y1 for axes in panels)
    if not most > 0 or not all(axes.axison for axes in panels):
        return
    for axes in panels:
        axes.set_yscale("log")
        axes.set_ylim(max(least, most / MOST_SPAN) / 1.2, most * 1.2)
        log_ticks(axes)
        axes.yaxis.set_minor_locator(LogLocator(subs=range(2, 10)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        for line in axes.get_lines():
            for x, y in zip(*line.get_data(), strict=True) if line.get_marker() in MARKS else ():
                if y <= 0:
                    _nonpositive_mark(axes, x, line.get_color())


def _nonpositive_mark(axes: Any, x: float, colour: str) -> None:
    """Write ≤ 0 at the lower edge of a logarithmic axis, for a mean that is zero or negative."""
    axes.text(
        x, 0.02, "≤ 0", color=colour, fontsize=8, ha="center", va="bottom", transform=axes.get_xaxis_transform()
    )  # fmt: skip
