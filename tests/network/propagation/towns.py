"""Draw random towns, and use shapely to count the walls that a line crosses."""

from __future__ import annotations

import numpy as np
import shapely

from mobilenet.network.propagation.walls import Building


def town(seed: int, buildings: int, side_cm: int = 100_000) -> list[Building]:
    """Return star-shaped buildings with 3 to 12 corners. A third of them have a courtyard, and buildings may
    overlap.
    """
    random = np.random.default_rng(seed)
    return [_star(random, random.integers(0, side_cm, 2), random.integers(500, 3000)) for _ in range(buildings)]


def _star(random: np.random.Generator, centre: np.ndarray, radius_cm: int) -> Building:
    while True:
        turns = np.sort(random.random(random.integers(3, 13))) * 2 * np.pi
        radii = radius_cm * (0.4 + 0.6 * random.random(len(turns)))
        rings = [radii]
        if random.random() < 1 / 3:
            rings.append(radii * 0.3)
        corners = [
            np.round(centre + r[:, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)).astype(int)
            for r in rings
        ]  # fmt: skip
        building = [[(int(x), int(y)) for x, y in ring] for ring in corners]
        if shapely.Polygon(building[0], building[1:]).is_valid:
            return building if random.random() < 0.5 else [ring[::-1] for ring in building]


def by_shapely(buildings: list[Building], ax: int, ay: int, bx: int, by: int) -> tuple[int, float]:
    """Return how many walls a line crosses, and its length inside buildings in centimetres. The line must not run
    through a corner or along a wall.
    """
    line = shapely.LineString([(ax, ay), (bx, by)])
    rings = [ring for building in buildings for ring in building]
    edges = [(ring[i - 1], ring[i]) for ring in rings for i in range(len(ring))]
    walls = int(shapely.intersects(shapely.linestrings(edges), line).sum()) if edges else 0
    polygons = [shapely.Polygon(building[0], building[1:]) for building in buildings]
    return walls, float(sum(shapely.length(shapely.intersection(polygons, line))))
