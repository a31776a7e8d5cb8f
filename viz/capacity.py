"""Draw the result of a capacity search: each requirement over the values of the key, and the answer.

Model     Each requirement has a panel, and all panels share the axis of the key. Each value that was run has an
          interval and a mark: a filled circle if the requirement holds, a filled square if it fails, a hollow diamond
          if it is undecided. The line is the limit, and the band around it the tolerance. The vertical band extends
          from the passing value to the failing value. A cross marks a backlog that grows without bound.
Units     the units of the key and of the metrics
Source    ours: docs/guide/capacity.md
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mobilenet.lab.studies.capacity.answer import SearchResult
from mobilenet.lab.studies.capacity.feasibility import State
from mobilenet.lab.studies.capacity.requirements import Requirement
from mobilenet.lab.studies.capacity.words import assurance, headline
from mobilenet.lab.studies.statistics import Bounds
from mobilenet.record.provenance import stamping_of

from .files import together
from .style import COLOURS, QUIET, caption, large_numbers, log_axis, page, plain, save, unstable_mark

LOOKS = {  # state -> (marker, colour, whether the marker is filled)
    State.HOLDS: ("o", COLOURS[0], True),
    State.FAILS: ("s", COLOURS[3], True),
    State.OPEN: ("D", COLOURS[7], False),
    State.NO_DATA: ("D", COLOURS[7], False),
}
WIDTH_IN, PANEL_IN, FOOT_IN = 6.4, 2.5, 1.5
FAR = 8.0  # the axis is logarithmic if a value exceeds this multiple of the limit
WIDEST = 70  # the maximum number of characters in a title
# in units of a panel's height: the length of infinite error bars, and the space above and below the other bars
BEYOND, MARGIN = 2.0, 0.08


def draw(result: SearchResult, target: Path) -> None:
    """Write the figure as SVG, PNG or PDF, according to the suffix."""
    with compose(result) as figure:
        save(figure, target)


def draw_into(result: SearchResult, place: Path, command: str) -> None:
    """Draw capacity.svg and capacity.png into the directory of a search. Their provenance contains `command`."""
    with together(place) as fresh, stamping_of(place, command):
        for suffix in ("svg", "png"):
            draw(result, fresh / f"capacity.{suffix}")


@contextmanager
def compose(result: SearchResult) -> Iterator[Any]:
    """Yield the figure while mobilenet's matplotlib settings are active."""
    from matplotlib.ticker import MaxNLocator

    requirements = result.question.requirements
    height_in = FOOT_IN + PANEL_IN * len(requirements)
    with page(WIDTH_IN, height_in, len(requirements), 1, squeeze=False, sharex=True) as (figure, axes):
        for panel, one in zip(axes[:, 0], requirements, strict=True):
            _panel(panel, result, one)
        if all(isinstance(value, int) for value in result.question.values):
            axes[-1, 0].xaxis.set_major_locator(MaxNLocator(integer=True))
        axes[-1, 0].set_xlabel(plain(result.question.key))
        axes[0, 0].set_title(plain(textwrap.fill(_title(result), WIDEST)), fontsize=10)
        _legend(figure, result)
        caption(figure, _caption(result))
        yield figure


def _title(result: SearchResult) -> str:
    text = headline(result)
    return f"{text[0].upper()}{text[1:]}"


def _panel(axes: Any, result: SearchResult, one: Requirement) -> None:
    first, last = result.question.values[0], result.question.values[-1]
    axes.axhspan(one.limit - one.tolerance, one.limit + one.tolerance, color="#E8E8E8", linewidth=0)
    axes.axhline(one.limit, color=QUIET, linewidth=1, linestyle="--")
    if result.interval is not None:
        axes.axvspan(*result.interval, color=COLOURS[2], alpha=0.35, linewidth=0)
    ends = [one.limit - one.tolerance, one.limit + one.tolerance]
    marks = []
    for value, judged in result.points.items():
        own = next((each for each in judged.estimates if each.requirement == one), None)
        bounds = None if own is None else own.bounds
        if judged.runs_away:
            unstable_mark(axes, value, COLOURS[3])
        elif own is not None and bounds is not None and math.isfinite(bounds.mean):
            marks.append((value, judged.of(own)[0], bounds))
            ends += [end for end in bounds if math.isfinite(end)]
    axes.set_xlim(first - 0.03 * (last - first), last + 0.03 * (last - first))
    axes.set_ylabel(plain(result.question.words.axis_name(one.metric)))
    least, most = min(ends), max(ends)
    is_infinite = any(_has_no_end(bounds) for _, _, bounds in marks)
    beyond = BEYOND * (most - least)  # Infinite error bars end here, outside of the panel.
    for value, state, bounds in marks:
        below, above = (min(abs(end - bounds.mean), beyond) for end in (bounds.low, bounds.high))
        _mark(axes, value, state, (below, bounds.mean, above))
    if is_infinite:
        axes.set_ylim(least - MARGIN * (most - least), most + MARGIN * (most - least))
    if one.limit > 0 and least > 0 and most > FAR * one.limit and not is_infinite:
        log_axis(axes.yaxis, least, most)
    else:
        large_numbers(axes.yaxis)


def _has_no_end(bounds: Bounds) -> bool:
    return not (math.isfinite(bounds.low) and math.isfinite(bounds.high))


def _mark(axes: Any, value: float, state: State, interval: tuple[float, float, float]) -> None:
    marker, colour, is_filled = LOOKS[state]
    below, mean, above = interval
    axes.errorbar(
        [value], [mean], yerr=[[max(0.0, below)], [max(0.0, above)]], fmt=marker, color=colour, markersize=5,
        capsize=2.5, linewidth=1.2, markerfacecolor=colour if is_filled else "white", zorder=3,
    )  # fmt: skip


def _legend(figure: Any, result: SearchResult) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    points = [judged for judged in result.points.values() if not judged.runs_away]
    states = list(dict.fromkeys(judged.of(one)[0] for judged in points for one in judged.estimates))
    handles: list[Any] = []
    for state in states:
        marker, colour, is_filled = LOOKS[state]
        face = colour if is_filled else "white"
        handles.append(Line2D([], [], color=colour, marker=marker, markerfacecolor=face, linestyle="none"))
    labels = [state.value for state in states]
    if any(judged.runs_away for judged in result.points.values()):
        handles.append(Line2D([], [], color=COLOURS[3], marker="x", linestyle="none"))
        labels.append("backlog grows without bound")
    handles += [Line2D([], [], color=QUIET, linestyle="--"), Patch(color="#E8E8E8")]
    labels += ["limit", "tolerance"]
    if result.interval is not None:
        handles.append(Patch(color=COLOURS[2], alpha=0.35))
        labels.append("between holds and fails")
    figure.legend(
        handles, labels, loc="outside lower left", ncols=len(labels), fontsize=8, frameon=False, handletextpad=0.4,
        columnspacing=1.2,
    )  # fmt: skip


def _caption(result: SearchResult) -> str:
    counts = sorted({judged.n for judged in result.points.values()})
    many = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0] if counts else 0}"
    return (
        f"Means over {many} runs at each value, in the same worlds, with intervals that take all looks into account."
        f"{_open_bars(result)} The {assurance(result)}."
    )


def _open_bars(result: SearchResult) -> str:
    estimates = [one for judged in result.points.values() for one in judged.estimates if one.bounds is not None]
    if not any(_has_no_end(one.bounds) for one in estimates if one.bounds is not None):
        return ""
    return " Bars that leave the panel have no known end."
