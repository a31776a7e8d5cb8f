"""Find overlapping text in a figure by comparing the boxes in which matplotlib draws it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from matplotlib.text import Text


def overlapping(figure: Any) -> list[tuple[str, str]]:
    """Return pairs of visible strings that overlap, and strings that extend beyond the page."""
    figure.canvas.draw()
    seen = [(text.get_text(), text.get_window_extent()) for text in _texts(figure)]
    pairs = [(a, b) for (a, one), (b, other) in combinations(seen, 2) if one.padded(-1).overlaps(other.padded(-1))]
    page = figure.bbox
    return pairs + [
        (a, "outside the page")
        for a, box in seen
        if box.x0 < -1 or box.y0 < -1 or box.x1 > page.x1 + 1 or box.y1 > page.y1 + 1
    ]


def legends_on_curves(figure: Any) -> list[str]:
    """Return the first labels of legends that are drawn inside their axes, where they may cover curves."""
    if figure.stale:  # Usually, `overlapping` has just drawn the figure.
        figure.canvas.draw()
    titles = []
    for axes in figure.axes:
        legend = axes.get_legend()
        if legend is not None and legend.get_window_extent().overlaps(axes.get_window_extent()):
            titles.append(legend.get_texts()[0].get_text())
    return titles


def _texts(figure: Any) -> list[Text]:
    texts = []
    for text in figure.findobj(Text):
        if (
            not text.get_visible()
            or not text.get_text().strip()
            or (text.axes is not None and not text.axes.get_visible())
        ):
            continue
        if (
            text.axes is not None
            and not text.axes.axison
            and text
            in (
                text.axes.xaxis.label,
                text.axes.yaxis.label,
                *text.axes.get_xticklabels(),
                *text.axes.get_yticklabels(),
            )
        ):
            continue
        texts.append(text)
    hidden = set()  # labels of ticks beyond the limits of the axis
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not axes.axison or not low - 1e-9 * abs(low) <= tick.get_loc() <= high + 1e-9 * abs(high):
                    hidden |= {tick.label1, tick.label2}
    return [text for text in texts if text not in hidden]
