"""Polygons as read from a file, before they are checked and converted to buildings.

Errors    ScenarioError for too many corners.
"""

from __future__ import annotations

from typing import NamedTuple

from mobilenet.parameters import ScenarioError

MOST_EDGES = 1_000_000

Corners = list[tuple[float, float]]


class Shape(NamedTuple):
    where: str  # the position in the file for messages, such as `town.geojson: feature 3 ('Town hall')`
    rings: list[Corners]  # The outline, followed by the courtyards. The last corner of a ring may repeat the first one.
    lonlat: bool | None  # whether the numbers are degrees, or None if the file does not declare it


class Shapes:
    """All polygons of a file. `is_on_earth` is False if the file declares that its numbers are not degrees."""

    def __init__(self, file: str, is_on_earth: bool = True) -> None:
        self.file = file
        self.is_on_earth = is_on_earth
        self.all: list[Shape] = []
        self._edges = 0

    def add(self, where: str, rings: list[Corners], lonlat: bool | None) -> None:
        self._edges += sum(map(len, rings))
        if self._edges > MOST_EDGES:
            raise ScenarioError(
                f"{where}: more than {MOST_EDGES} walls up to this point; expected only those in the area"
            )
        self.all.append(Shape(where, rings, lonlat))
