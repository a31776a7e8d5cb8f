"""The ground that hosts walk on.

Model     a polygon, or several; points are drawn from it uniformly: from the box around it, until one lies inside.
          Where the box is nearly empty (cells that lie far from each other) this would take for ever, so there a
          polygon is drawn by its area first, and the box is that of the polygon. Two points that see each other lie in
          the same polygon
Units     metres
Errors    ScenarioError where it is too thin to place a host
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from math import hypot

import shapely

from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import ScenarioError

TRIES = 100_000


LEAST_SHARE = 1 / 300  # share of the box around all


class Ground:
    """An area from which points are drawn."""

    def __init__(self, area: shapely.Polygon | shapely.MultiPolygon) -> None:
        self.area = area
        shapely.prepare(area)
        self._box = area.bounds
        self.west, self.south, self.east, self.north = self._box
        self.convex = area.equals(area.convex_hull)
        self._parts: list[shapely.Polygon] = []  # only if the box is nearly empty
        if area.area < LEAST_SHARE * shapely.box(*self._box).area:
            self._parts = shapely.get_parts(area).tolist()
            shapely.prepare(self._parts)
        self._areas_m2 = [part.area for part in self._parts]
        self._squares = [area_m2 * area_m2 for area_m2 in self._areas_m2]

    @property
    def diameter_m(self) -> float:
        """The greatest distance between two points that see each other."""
        boxes = [part.bounds for part in self._parts] or [self._box]
        return max(hypot(east - west, north - south) for west, south, east, north in boxes)

    def point(self, stream: Stream) -> tuple[float, float]:
        return _inside(self._part(stream, self._areas_m2), stream)

    def pair(self, stream: Stream) -> tuple[float, float, float, float]:
        """Return two points, uniform over all pairs, or over those in one polygon if the box is nearly empty."""
        if not self._parts:
            return *self.point(stream), *self.point(stream)
        part = self._part(stream, self._squares)
        return *_inside(part, stream), *_inside(part, stream)

    def _part(self, stream: Stream, weights: list[float]) -> shapely.Polygon | shapely.MultiPolygon:
        if not self._parts:
            return self.area
        left = stream.random() * sum(weights)
        for part, weight in zip(self._parts, weights, strict=True):
            left -= weight
            if left < 0:
                return part
        return self._parts[-1]

    def sees(self, ax: float, ay: float, bx: float, by: float) -> bool:
        return self.convex or bool(shapely.covers(self.area, shapely.linestrings(((ax, ay), (bx, by)))))


def _inside(area: shapely.Polygon | shapely.MultiPolygon, stream: Stream) -> tuple[float, float]:
    west, south, east, north = area.bounds
    for _ in range(TRIES):
        x, y = stream.uniform(west, east), stream.uniform(south, north)
        if shapely.contains_xy(area, x, y):
            return x, y
    raise ScenarioError("the area is too narrow to place a host in it")
