"""Where the stations stand.

Model     a hexagon numbers its centre first, then ring by ring from the east, counter-clockwise;
          a grid goes row by row from the south-west; a list and a file keep their order
Units     metres
Shapes    float64 (n, 2)
Errors    ScenarioError for a file that cannot be read, with its line
Source    ours: DESIGN.md, "World"
"""

from __future__ import annotations

from math import cos, pi, sin
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from mobilenet.parameters import Parameters, Point, ScenarioError
from mobilenet.world.table import coordinate, rows

MOST_STATIONS = 10_000


class HexagonLayout(Parameters):
    shape: Literal["hexagon"] = "hexagon"
    rings: int = Field(ge=0, le=50, description="around the centre; 1 ring makes 7 stations")
    spacing_m: float = Field(default=200.0, gt=0, le=100_000, description="between neighbours")


class GridLayout(Parameters):
    shape: Literal["grid"] = "grid"
    columns: int = Field(ge=1, le=100)
    rows: int = Field(ge=1, le=100)
    spacing_m: float = Field(gt=0, le=100_000)


class PointsLayout(Parameters):
    shape: Literal["points"] = "points"
    points_m: tuple[Point, ...] = Field(min_length=1, max_length=MOST_STATIONS, description="[x, y] of each station")


class FileLayout(Parameters):
    shape: Literal["csv"] = "csv"
    file: str = Field(min_length=1, description="a table with the columns x_m, y_m and, if liked, name")


StationLayout = Annotated[HexagonLayout | GridLayout | PointsLayout | FileLayout, Field(discriminator="shape")]


def station_positions(layout: HexagonLayout | GridLayout | PointsLayout | FileLayout, folder: Path) -> NDArray[np.float64]:
    """Where each station is; a file is looked for in `folder`."""
    if isinstance(layout, HexagonLayout):
        return hexagon(layout.rings, layout.spacing_m)
    if isinstance(layout, GridLayout):
        return np.array([(i, j) for j in range(layout.rows) for i in range(layout.columns)], float) * layout.spacing_m
    if isinstance(layout, PointsLayout):
        return np.array(layout.points_m, float)
    return np.array([(x, y) for _, x, y in sites(folder / layout.file)], float)


def hexagon(rings: int, spacing_m: float) -> NDArray[np.float64]:
    corners = [(cos(k * pi / 3), sin(k * pi / 3)) for k in range(6)]
    points = [(0.0, 0.0)]
    for ring in range(1, rings + 1):
        for k in range(6):
            (ax, ay), (bx, by) = corners[k], corners[(k + 1) % 6]
            points += [((ring - i) * ax + i * bx, (ring - i) * ay + i * by) for i in range(ring)]
    return np.array(points) * spacing_m


def names(layout: HexagonLayout | GridLayout | PointsLayout | FileLayout, folder: Path) -> list[str] | None:
    """What a file calls its stations, where it says so."""
    if not isinstance(layout, FileLayout):
        return None
    found = [name for name, _, _ in sites(folder / layout.file)]
    return found if any(found) else None


def sites(path: Path) -> list[tuple[str, float, float]]:
    """(name, x, y) of each line of a table of sites."""
    table = []
    for row in rows(path, {"x": ("x_m", "x"), "y": ("y_m", "y")}, {"name": ("name", "id", "site")}):
        table.append((row.text("name"), coordinate(row, "x"), coordinate(row, "y")))
        if len(table) > MOST_STATIONS:
            raise ScenarioError(f"{path.name}:{row.line}: more than {MOST_STATIONS} stations")
    if not table:
        raise ScenarioError(f"{path.name}: no station in it")
    return table
