"""Find the walls that a straight line crosses, and the length of the line inside buildings.

Model     Each edge of a building or of its courtyards is a wall. Buildings count separately: where two of them share a
          wall, a line crosses two walls, and a metre inside two overlapping buildings counts twice. Each point is
          treated as if it were shifted by a tiny distance to the east, and by a far smaller distance to the north. So
          no point lies on a wall, no line runs along a wall or through a corner, and a line that enters and leaves a
          building crosses an even number of walls.
Units     Coordinates and lengths are in whole centimetres, losses in hundredths of a dB (cdb).
Same bits Decisions depend only on products of integers below 2^63. The length inside is a sum of integers in units of
          1/256 cm, one for each wall. The result is symmetric.
Source    Sommer, Eckhoff, German, Dressler: A Computationally Inexpensive Empirical Model of IEEE 802.11p Radio
          Shadowing in Urban Environments (2011); Edelsbrunner, Mücke: Simulation of Simplicity (1990)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mypy_extensions import i64

Ring = list[tuple[int, int]]
# The outline, followed by the courtyards; the last corner of a ring is connected to the first one.
Building = list[Ring]

PART: Final = 256  # units of length in a centimetre
NARROWEST_CM: Final = 1000
MARGIN_CM: Final = 2


class Edge:
    """An edge from (x, y) to (x + ex, y + ey). It runs downwards or, if it is horizontal, to the east, so a point on
    the edge counts as being on its left. `left` states whether the building is on the left.
    """

    __slots__ = ("ex", "ey", "last_query", "left", "x", "y")

    def __init__(self, x: i64, y: i64, ex: i64, ey: i64, left: bool) -> None:
        self.x: i64 = x
        self.y: i64 = y
        self.ex: i64 = ex
        self.ey: i64 = ey
        self.left = left
        self.last_query: i64 = 0  # number of the last query that examined this edge


class Cell:
    """A square cell of the ground. It holds the edges that may touch the cell, and the number of buildings that contain
    its south-west corner.
    """

    __slots__ = ("depth", "edges")

    def __init__(self) -> None:
        self.edges: list[Edge] = []
        self.depth: i64 = 0


class Walls:
    """Contains all buildings, arranged in square cells. A query examines only the cells through which its line
    passes.
    """

    def __init__(self, buildings: list[Building], per_wall_cdb: int = 900, per_metre_cdb: int = 40) -> None:
        self._per_wall: i64 = per_wall_cdb
        self._per_metre: i64 = per_metre_cdb
        edges = [edge for building in buildings for i, ring in enumerate(building) for edge in _edges(ring, i > 0)]
        xs = [x for building in buildings for ring in building for x, _ in ring] or [0]
        ys = [y for building in buildings for ring in building for _, y in ring] or [0]
        west, south = min(xs) - 2 * MARGIN_CM, min(ys) - 2 * MARGIN_CM
        wide, high = max(xs) + 2 * MARGIN_CM - west, max(ys) + 2 * MARGIN_CM - south
        width = _width(wide, high, edges)
        self._width: i64 = width
        self._west: i64 = west
        self._south: i64 = south
        self._columns: i64 = wide // width + 1
        self._rows: i64 = high // width + 1
        self._cells = [Cell() for _ in range(self._columns * self._rows)]
        self._query_count: i64 = 0
        self._walls: i64 = 0
        for edge in edges:
            self._enter(edge)
        self._measure_depths()

    def loss_cdb(self, ax: i64, ay: i64, bx: i64, by: i64) -> int:
        """Return the loss that walls cause between two points."""
        inside = self._length_inside_cm(ax, ay, bx, by)
        return self._walls * self._per_wall + (inside * self._per_metre + 50) // 100

    def cut(self, ax: i64, ay: i64, bx: i64, by: i64) -> tuple[int, int]:
        """Return how many walls a link crosses, and how many centimetres of the link are inside buildings."""
        inside = self._length_inside_cm(ax, ay, bx, by)
        return self._walls, inside

    def _length_inside_cm(self, ax: i64, ay: i64, bx: i64, by: i64) -> i64:
        """Return how many centimetres of the line are inside buildings. The number of walls is stored in `_walls`."""
        self._walls = 0
        if ax == bx and ay == by:
            return 0
        # Let the line run upwards or to the west. A point on the line then counts as being on its left.
        if ay > by or (ay == by and ax < bx):
            ax, ay, bx, by = bx, by, ax, ay
        dx: i64 = bx - ax
        dy: i64 = by - ay
        x = float(dx)
        y = float(dy)
        length = math.sqrt(x * x + y * y) * PART
        self._query_count += 1
        query = self._query_count
        walls: i64 = 0
        parts: i64 = 0
        low: i64 = max((ay - self._south) // self._width, 0)
        high: i64 = min((by - self._south) // self._width, self._rows - 1)
        row: i64
        column: i64
        for row in range(low, high + 1):
            first, last = self._span(row, ax, ay, bx, by)
            for column in range(first, last + 1):
                for edge in self._cells[row * self._columns + column].edges:
                    if edge.last_query == query:
                        continue
                    edge.last_query = query
                    turn: i64 = dx * edge.ey - dy * edge.ex
                    start: i64 = dx * (edge.y - ay) - dy * (edge.x - ax)
                    if (start >= 0) == (start + turn >= 0):  # Both ends lie on the same side of the line.
                        continue
                    begin: i64 = edge.ex * (ay - edge.y) - edge.ey * (ax - edge.x)
                    if (begin >= 0) == (begin - turn >= 0):
                        continue
                    walls += 1
                    place: i64 = int(float(begin) / float(turn) * length + 0.5)
                    parts += place if (begin >= 0) == edge.left else -place
        self._walls = walls
        depth: i64 = self._depth(bx, by)
        if depth:
            parts += depth * int(length + 0.5)
        return (parts + PART // 2) // PART

    def _span(self, row: i64, ax: i64, ay: i64, bx: i64, by: i64) -> tuple[i64, i64]:
        """Return the first and the last column through which the line from a up to b may pass in this row. The range
        may be too wide, but it is never too narrow.
        """
        low = float(max(ay, self._south + row * self._width))
        high = float(min(by, self._south + (row + 1) * self._width))
        slope = float(bx - ax) / float(by - ay) if by > ay else 0.0
        x = float(ax)
        y = float(ay)
        west = x + (low - y) * slope
        east = x + (high - y) * slope if by > ay else float(bx)
        if west > east:
            west, east = east, west
        first: i64 = (int(west) - MARGIN_CM - self._west) // self._width
        last: i64 = (int(east) + MARGIN_CM - self._west) // self._width
        return max(first, 0), min(last, self._columns - 1)

    def _enter(self, edge: Edge) -> None:
        """Add an edge to all cells that it may touch."""
        ax: i64 = edge.x + edge.ex
        ay: i64 = edge.y + edge.ey
        for row in range((ay - self._south) // self._width, (edge.y - self._south) // self._width + 1):
            first, last = self._span(row, ax, ay, edge.x, edge.y)
            for column in range(first, last + 1):
                self._cells[row * self._columns + column].edges.append(edge)

    def _measure_depths(self) -> None:
        """Determine how many buildings contain the corner of each cell, row by row from the western border, where the
        number is 0.
        """
        for row in range(self._rows):
            y: i64 = self._south + row * self._width
            depth: i64 = 0
            for column in range(self._columns):
                cell = self._cells[row * self._columns + column]
                cell.depth = depth
                x: i64 = self._west + column * self._width
                depth += _deeper(cell, x, y, x + self._width, y)

    def _depth(self, x: i64, y: i64) -> i64:
        """Return how many buildings contain a point."""
        column: i64 = (x - self._west) // self._width
        row: i64 = (y - self._south) // self._width
        if not (0 <= column < self._columns and 0 <= row < self._rows):
            return 0
        cell = self._cells[row * self._columns + column]
        if not cell.edges:
            return cell.depth
        return cell.depth + _deeper(cell, self._west + column * self._width, self._south + row * self._width, x, y)


def _deeper(cell: Cell, ax: i64, ay: i64, bx: i64, by: i64) -> i64:
    """Return how many more buildings contain the second point than the first. The line between both points lies within
    the cell.
    """
    if ay > by or (ay == by and ax <= bx):
        return -_deeper(cell, bx, by, ax, ay) if (ax, ay) != (bx, by) else 0
    dx: i64 = bx - ax
    dy: i64 = by - ay
    deeper: i64 = 0
    for edge in cell.edges:
        turn: i64 = dx * edge.ey - dy * edge.ex
        start: i64 = dx * (edge.y - ay) - dy * (edge.x - ax)
        begin: i64 = edge.ex * (ay - edge.y) - edge.ey * (ax - edge.x)
        if (start >= 0) != (start + turn >= 0) and (begin >= 0) != (begin - turn >= 0):
            deeper += -1 if (begin >= 0) == edge.left else 1
    return deeper


def _edges(ring: Ring, is_court: bool) -> list[Edge]:
    around = sum(ax * by - ay * bx for (ax, ay), (bx, by) in zip(ring, [*ring[1:], ring[0]], strict=True))
    left = (around > 0) != is_court  # whether the building is on the left when one follows the ring
    edges = []
    for (ax, ay), (bx, by) in zip(ring, [*ring[1:], ring[0]], strict=True):
        if by < ay or (by == ay and bx > ax):
            edges.append(Edge(ax, ay, bx - ax, by - ay, left))
        elif (ax, ay) != (bx, by):
            edges.append(Edge(bx, by, ax - bx, ay - by, not left))
    return edges


def _width(wide: int, high: int, edges: list[Edge]) -> int:
    """Return the width of the cells. There are at most as many cells as edges, even on a narrow strip, and an edge
    touches only a few cells on average.
    """
    count = max(len(edges), 1)
    lengths = sum(abs(int(edge.ex)) - int(edge.ey) for edge in edges)  # ey is never positive
    return max(NARROWEST_CM, math.isqrt(2 * wide * high // count), 2 * (wide + high) // count, lengths // (4 * count))
