"""Determine the positions of the stations.

Model     A hexagon numbers its centre first, and then the stations ring by ring, counter-clockwise from the east. A
          grid is numbered row by row from the south-west. Lists and files keep their order.
Units     Distances are in metres.
Shapes    positions are float64 (n, 2).
Errors    ScenarioError for a file that cannot be read, with the line.
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from math import cos, pi, sin
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from mobilenet.parameters import Parameters, Point
from mobilenet.world.tracks.projection import Anchor
from mobilenet.world.tracks.sites import MOST_STATIONS, read_sites


class HexagonLayout(Parameters):
    """Rings of stations around a central station, on a triangular grid."""

    shape: Literal["hexagon"] = "hexagon"
    rings: int = Field(
        ge=0, le=50, description="number of rings of stations around the centre; 1 ring gives 7 stations"
    )
    spacing_m: float = Field(default=200.0, gt=0, le=100_000, description="distance between neighbouring stations")


class GridLayout(Parameters):
    """A square grid of stations, numbered row by row from the south-west."""

    shape: Literal["grid"] = "grid"
    columns: int = Field(ge=1, le=100, description="number of stations from west to east")
    rows: int = Field(ge=1, le=100, description="number of stations from south to north")
    spacing_m: float = Field(gt=0, le=100_000, description="distance between neighbouring stations in a row or column")


class PointsLayout(Parameters):
    """A list of station positions."""

    shape: Literal["points"] = "points"
    points_m: tuple[Point, ...] = Field(
        min_length=1, max_length=MOST_STATIONS, description="position [x, y] of each station"
    )


class FileLayout(Parameters):
    """A file with a table of station positions."""

    shape: Literal["csv"] = "csv"
    file: str = Field(
        min_length=1,
        description=("table of stations: columns x_m, y_m or lon, lat and optionally name; or OpenCelliD's format"),
    )


StationLayout = Annotated[HexagonLayout | GridLayout | PointsLayout | FileLayout, Field(discriminator="shape")]


Layout = HexagonLayout | GridLayout | PointsLayout | FileLayout


def station_positions(layout: Layout, folder: Path, anchor: Anchor | None = None) -> NDArray[np.float64]:
    """Return the position of each station. File names are relative to `folder`."""
    if isinstance(layout, HexagonLayout):
        return hexagon(layout.rings, layout.spacing_m)
    if isinstance(layout, GridLayout):
        return np.array([(i, j) for j in range(layout.rows) for i in range(layout.columns)], float) * layout.spacing_m
    if isinstance(layout, PointsLayout):
        return np.array(layout.points_m, float)
    return np.column_stack(read_sites(folder / layout.file).on_plane(anchor))


def hexagon(rings: int, spacing_m: float) -> NDArray[np.float64]:
    corners = [(cos(k * pi / 3), sin(k * pi / 3)) for k in range(6)]
    points = [(0.0, 0.0)]
    for ring in range(1, rings + 1):
        for k in range(6):
            (ax, ay), (bx, by) = corners[k], corners[(k + 1) % 6]
            points += [((ring - i) * ax + i * bx, (ring - i) * ay + i * by) for i in range(ring)]
    return np.array(points) * spacing_m


def names(layout: Layout, folder: Path) -> list[str] | None:
    """Return the station names from a file, or None if there is no file or it contains no names."""
    if not isinstance(layout, FileLayout):
        return None
    site_names = read_sites(folder / layout.file).names
    return site_names if any(site_names) else None
