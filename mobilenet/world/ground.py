"""The ground that hosts walk on.

Model     a polygon, or several; points are drawn from it uniformly
Units     metres
Errors    ScenarioError where it is so thin that nobody can be placed
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from math import hypot

import shapely

from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import ScenarioError

TRIES = 100_000


class Ground:
    """An area to draw points from."""

    def __init__(self, area: shapely.Polygon | shapely.MultiPolygon) -> None:
        self.area = area
        shapely.prepare(area)
        self.west, self.south, self.east, self.north = area.bounds
        self.convex = area.equals(area.convex_hull)

    @property
    def diameter_m(self) -> float:
        """No two points are farther apart."""
        return hypot(self.east - self.west, self.north - self.south)

    def point(self, stream: Stream) -> tuple[float, float]:
        for _ in range(TRIES):
            x, y = stream.uniform(self.west, self.east), stream.uniform(self.south, self.north)
            if shapely.contains_xy(self.area, x, y):
                return x, y
        raise ScenarioError("the area that hosts walk in is too thin to place a host in it")

    def sees(self, ax: float, ay: float, bx: float, by: float) -> bool:
        return self.convex or bool(shapely.covers(self.area, shapely.linestrings(((ax, ay), (bx, by)))))
