"""Polygons as a file has them, before it is checked whether they are buildings.

Errors    ScenarioError: too many corners
"""

from __future__ import annotations

from typing import NamedTuple

from mobilenet.parameters import ScenarioError

MOST_EDGES = 1_000_000

Corners = list[tuple[float, float]]


class Shape(NamedTuple):
    where: str  # `town.geojson: feature 3 ('Town hall')`, for messages
    rings: list[Corners]  # its outline, then its courts; the last corner may be the first one again
    lonlat: bool | None  # None: not in the file


class Shapes:
    """All polygons of a file. `is_on_earth`: its numbers may be degrees; False: it declares that they are not."""

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
