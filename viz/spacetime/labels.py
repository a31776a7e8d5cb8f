"""Place labels without overlaps. A label is placed at the first free position in its list, or omitted.

Model     Labels and areas that must stay free (lanes, bands) are boxes in pixels. The layout of the axes must be final
          before labels are placed.
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..style import plain

# the minimum distances between labels: horizontal, so that two words are not read as one, and vertical
APART_PX = (5.0, 1.5)
Box = tuple[float, float, float, float]  # left, bottom, right, top


class Labels:
    """Places the labels of one picture."""

    def __init__(self, axes: Any) -> None:
        self._axes = axes
        self._renderer = axes.figure.canvas.get_renderer()
        inside = axes.get_window_extent(self._renderer)
        self._inside: Box = (inside.x0, inside.y0, inside.x1, inside.y1)
        self._taken: list[Box] = []
        self.left_out = 0
        self.texts: list[Any] = []

    def keep_free(self, left: float, bottom: float, right: float, top: float) -> None:
        """Keep this area, in units of the axes, free of labels."""
        (x0, y0), (x1, y1) = self._axes.transData.transform([(left, bottom), (right, top)])
        self._taken.append((x0, y0, x1, y1))

    def write(
        self,
        text: str,
        places: Iterable[tuple[float, float, str, str]],
        colour: str,
        size: float = 7.5,
        zorder: float = 8,
    ) -> bool:
        """Write the text at the first position (x, y, horizontal and vertical alignment) where it fits completely.
        Return False if there is none.
        """
        label = self._axes.text(0, 0, plain(text), fontsize=size, color=colour, zorder=zorder, linespacing=1.15,
                               bbox={"boxstyle": "square,pad=0.08", "facecolor": "white", "edgecolor": "none",
                               "alpha": 0.9})  # fmt: skip
        extent = label.get_window_extent(self._renderer)
        wide, high = extent.width, extent.height
        for x, y, across, up in places:
            px, py = self._axes.transData.transform((x, y))
            left = px - {"left": 0.0, "center": 0.5, "right": 1.0}[across] * wide
            bottom = py - {"bottom": 0.0, "center": 0.5, "top": 1.0}[up] * high
            box = (left - APART_PX[0], bottom - APART_PX[1], left + wide + APART_PX[0], bottom + high + APART_PX[1])
            if self._is_free(box):
                label.set(x=x, y=y, ha=across, va=up)
                self._taken.append(box)
                self.texts.append(label)
                return True
        label.remove()
        self.left_out += 1
        return False

    def _is_free(self, box: Box) -> bool:
        left, bottom, right, top = box
        inside = self._inside
        if left < inside[0] - 2 or right > inside[2] + 2 or bottom < inside[1] or top > inside[3]:
            return False
        return all(
            right <= other[0] or left >= other[2] or top <= other[1] or bottom >= other[3] for other in self._taken
        )
