"""The area in which hosts walk.

Model     The area consists of one or more polygons. To draw a point uniformly, points are drawn from the bounding box
          until one lies inside the area. If the area fills little of the box, a polygon is first drawn in proportion
          to its area, and then a point from its own bounding box. If a straight path between two points lies inside
          the area, both points are in the same polygon.
Units     Distances are in metres.
Errors    ScenarioError if the area is too narrow to place a host in it.
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from math import hypot

import shapely

from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import ScenarioError

TRIES = 100_000


LEAST_SHARE = 1 / 300  # if the area is a smaller fraction of its bounding box, the box counts as nearly empty


class Ground:
    """An area from which points are drawn at random."""

    def __init__(self, area: shapely.Polygon | shapely.MultiPolygon) -> None:
        self.area = area
        shapely.prepare(area)
        self._box = area.bounds
        self.west, self.south, self.east, self.north = self._box
        self.convex = area.equals(area.convex_hull)
        self._parts: list[shapely.Polygon] = []  # the polygons, if the box is nearly empty
        if area.area < LEAST_SHARE * shapely.box(*self._box).area:
            self._parts = shapely.get_parts(area).tolist()
            shapely.prepare(self._parts)
        self._areas_m2 = [part.area for part in self._parts]
        self._squares = [area_m2 * area_m2 for area_m2 in self._areas_m2]

    @property
    def diameter_m(self) -> float:
        """An upper bound on the length of a straight path inside the area."""
        boxes = [part.bounds for part in self._parts] or [self._box]
        return max(hypot(east - west, north - south) for west, south, east, north in boxes)

    def point(self, stream: Stream) -> tuple[float, float]:
        return _inside(self._part(stream, self._areas_m2), stream)

    def pair(self, stream: Stream) -> tuple[float, float, float, float]:
        """Return two points, uniformly distributed over all pairs. If the box is nearly empty, both points are in the
        same polygon.
        """
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
