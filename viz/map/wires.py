"""Which stations a wire joins, from what scenario.yaml says of the backbone.

Model     the same trees as the simulator lays (a test holds both against each other); a full mesh is drawn only while it
          is no black knot
Units     metres
Errors    none: what cannot be understood is not drawn
Source    the shapes are described in DESIGN.md, §5
"""

from __future__ import annotations

from collections import deque
from math import dist
from typing import Any

Edge = tuple[int, int]
MOST_IN_A_MESH = 16


def edges(backbone: dict[str, Any], stations_m: list[list[float]]) -> list[Edge]:
    n = len(stations_m)
    if n < 2:
        return []
    given = backbone.get("edges")
    if given:
        return [(a, b) for a, b in given if 0 <= a < n and 0 <= b < n]
    shape = backbone.get("shape") or ("breadth_first" if backbone.get("kind", "tree") == "tree" else "full_mesh")
    if shape == "full_mesh":
        return [(i, j) for i in range(n) for j in range(i)] if n <= MOST_IN_A_MESH else []
    centre = _centre(stations_m)
    if shape == "star":
        return [(centre, i) for i in range(n) if i != centre]
    if shape == "chain":
        return [(i, i + 1) for i in range(n - 1)]
    return _breadth_first(stations_m, centre) if shape == "breadth_first" else []


def _centre(stations_m: list[list[float]]) -> int:
    middle = [sum(p[axis] for p in stations_m) / len(stations_m) for axis in (0, 1)]
    return min(range(len(stations_m)), key=lambda i: (dist(stations_m[i], middle), i))


def _breadth_first(stations_m: list[list[float]], centre: int) -> list[Edge]:
    """Outward from the centre; neighbours are at most 1.2 times the shortest distance between any two apart."""
    n = len(stations_m)
    reach = 1.2 * min(dist(stations_m[i], stations_m[j]) for i in range(n) for j in range(i))
    found: list[Edge] = []
    connected, frontier = {centre}, deque([centre])
    while len(connected) < n:
        if frontier:
            parent = frontier.popleft()
            near = [i for i in range(n) if i not in connected and dist(stations_m[i], stations_m[parent]) <= reach]
        else:
            _, parent, child = min(
                (dist(stations_m[i], stations_m[j]), i, j) for i in connected for j in range(n) if j not in connected
            )
            near = [child]
        for child in sorted(near, key=lambda i: (dist(stations_m[i], stations_m[parent]), i)):
            connected.add(child)
            found.append((parent, child))
            frontier.append(child)
    return found
