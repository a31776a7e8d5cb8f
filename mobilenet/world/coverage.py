"""The area that the cells cover, and the part of it in which hosts may walk.

Model     A cell is a disk. Queries about single points use exact distances. Shapes consist of polygons with 128
          corners inscribed in the disks, so every point of a shape is covered. For a radius of 120 m, the polygon
          omits a rim of at most 4 cm.
Units     Distances are in metres, and areas in square metres.
Shapes    stations are float64 (n, 2).
Errors    ScenarioError if the area in which hosts walk is empty.
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from functools import cached_property
from math import hypot
from typing import Annotated, Any

import numpy as np
import shapely
from numpy.typing import NDArray
from pydantic import Field, model_validator

from mobilenet.parameters import Metres, Parameters, Point, ScenarioError

CORNERS_OF_A_QUARTER = 32
LEAST_AREA_M2 = 1e-3

Box = tuple[Metres, Metres, Metres, Metres]


class AreaParameters(Parameters):
    """A box with holes, in which hosts walk instead of in the covered area."""

    box_m: Box = Field(description="[west, south, east, north], with west < east and south < north")
    hole_boxes_m: tuple[Box, ...] = Field(
        default=(), max_length=1000, description="holes that hosts do not enter, each specified like box_m"
    )
    hole_polygons_m: tuple[Annotated[tuple[Point, ...], Field(min_length=3, max_length=1000)], ...] = Field(
        default=(), max_length=1000, description="holes that hosts do not enter, each a list of its corners [x, y]"
    )

    @model_validator(mode="after")
    def _right_way_round(self) -> AreaParameters:
        for name, boxes in (("box_m", (self.box_m,)), ("hole_boxes_m", self.hole_boxes_m)):
            for west, south, east, north in boxes:
                if not (west < east and south < north):
                    raise ValueError(f"{name}: expected [west, south, east, north] with west < east and south < north")
        for corners in self.hole_polygons_m:
            if not shapely.Polygon(corners).is_valid:
                raise ValueError("hole_polygons_m: the border of a hole crosses itself")
        return self

    def ground(self) -> shapely.Polygon | shapely.MultiPolygon:
        holes = [shapely.box(*hole) for hole in self.hole_boxes_m]
        holes += [shapely.Polygon(corners) for corners in self.hole_polygons_m]
        return solid(shapely.box(*self.box_m).difference(shapely.union_all(holes)))


def solid(shape: shapely.Geometry) -> shapely.Polygon | shapely.MultiPolygon:
    """Return the polygons of a shape, prepared for many queries."""
    parts = [
        part for part in shapely.get_parts(shape) if isinstance(part, shapely.Polygon) and part.area > LEAST_AREA_M2
    ]
    if not parts:
        raise ScenarioError("the area that hosts walk in is empty")
    ground = parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)
    shapely.prepare(ground)
    return ground


class Coverage:
    """The area that is covered by the disks of all stations."""

    def __init__(self, stations_m: NDArray[np.float64], range_m: float) -> None:
        self.stations_m = stations_m
        self.range_m = range_m

    @cached_property
    def disks(self) -> Any:
        """The disks as polygons of Shapely, one for each station."""
        return shapely.buffer(shapely.points(self.stations_m), self.range_m, quad_segs=CORNERS_OF_A_QUARTER)

    @cached_property
    def ground(self) -> shapely.Polygon | shapely.MultiPolygon:
        return solid(shapely.union_all(self.disks))

    @cached_property
    def overlaps(self) -> shapely.Geometry:
        """The area that is covered by at least two disks."""
        first, second = shapely.STRtree(self.disks).query(self.disks, predicate="intersects")
        once = first < second
        return shapely.union_all(shapely.intersection(self.disks[first[once]], self.disks[second[once]]))

    @cached_property
    def holes(self) -> list[shapely.Polygon]:
        """The uncovered areas that are completely surrounded by covered area."""
        return [shapely.Polygon(ring) for part in shapely.get_parts(self.ground) for ring in part.interiors]

    @property
    def area_m2(self) -> float:
        return float(self.ground.area)

    def _squares(self, x_m: float, y_m: float) -> NDArray[np.float64]:
        """Return the squared distances to all stations. The medium and the attachment rule use the same computation,
        because all three must agree at the rim of a disk.
        """
        dx, dy = self.stations_m.T - np.array([[x_m], [y_m]])
        return np.asarray(dx * dx + dy * dy, dtype=np.float64)

    def contains(self, x_m: float, y_m: float) -> bool:
        return bool((self._squares(x_m, y_m) <= self.range_m * self.range_m).any())

    def nearest_covered(self, x_m: float, y_m: float) -> tuple[float, float]:
        """Return the nearest covered point, which is the point itself if it is covered."""
        if self.contains(x_m, y_m):
            return x_m, y_m
        sx, sy = self.stations_m[int(self._squares(x_m, y_m).argmin())].tolist()
        inwards = 1e-12
        # Far from the origin, coordinates have a low resolution, so the point may still be outside the disk.
        while True:
            share = self.range_m * (1 - inwards) / hypot(x_m - sx, y_m - sy)
            x, y = sx + (x_m - sx) * share, sy + (y_m - sy) * share
            if self.contains(x, y):
                return x, y
            inwards *= 10
