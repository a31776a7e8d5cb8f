"""Gauss-Markov mobility: each velocity depends on the previous one.

Model     On each step, each component of the velocity becomes v' = alpha v + sqrt(1 - alpha^2) sigma n, where n is
          standard normal, and sigma is chosen to obtain the configured mean speed. The speed is Rayleigh distributed.
          It is limited to five times the mean, which only one step in 300 million would exceed. The border reflects
          hosts like a mirror. The initial position is uniform, and the initial velocity has the stationary
          distribution.
Units     Distances are in metres, speeds in metres per second, and times in seconds. Legs use integer nanoseconds.
Shapes    edges of the area are float64 (k,), with separate arrays for their beginnings and vectors.
Source    Liang, Haas: Predictive distance-based mobility management (1999), in two independent dimensions without drift
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import cos, hypot, log, pi, sin, sqrt
from typing import Literal

import numpy as np
import shapely
from pydantic import Field

from mobilenet.engine.clock import SECOND, ns
from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import Parameters
from mobilenet.world.coverage import AreaParameters
from mobilenet.world.ground import Ground
from mobilenet.world.trajectory import Leg

KEEP_OFF_M = 1e-6  # the distance from the border at which a host turns
# The maximum number of reflections in one step. After that, the host waits in its corner for the next step.
MOST_REFLECTIONS = 20


class GaussMarkov(Parameters):
    """Hosts walk with velocities that depend on the previous ones, and are reflected at the border."""

    model: Literal["gauss_markov"] = "gauss_markov"
    speed_mps: float = Field(
        gt=0, le=1000, description="mean speed; the speed is Rayleigh distributed, at most five times the mean"
    )
    alpha: float = Field(
        default=0.75,
        ge=0,
        lt=1,
        description="dependence of a velocity on the previous one; 0: none; near 1: hosts walk straight on",
    )
    step_s: float = Field(default=1.0, ge=0.01, le=3600, description="time for which a host keeps a velocity")
    area: AreaParameters | None = Field(
        default=None, description="area in which hosts move; null: the area that the stations cover"
    )

    @property
    def speed_limit_mps(self) -> float:
        return 5 * self.speed_mps

    def walk(self, ground: Ground) -> Callable[[Stream], Iterator[Leg]]:
        return partial(legs, self, ground, Walls(ground.area))


class Walls:
    """The border of an area, which reflects hosts."""

    def __init__(self, area: shapely.Polygon | shapely.MultiPolygon) -> None:
        begins, vectors = [], []
        for part in shapely.get_parts(area):
            for ring in (part.exterior, *part.interiors):
                corners = shapely.get_coordinates(ring)
                begins.append(corners[:-1])
                vectors.append(np.diff(corners, axis=0))
        self._x, self._y = np.concatenate(begins).T.copy()
        self._dx, self._dy = np.concatenate(vectors).T.copy()

    def hit(self, x: float, y: float, dx: float, dy: float) -> tuple[float, float, float] | None:
        """Return the first wall that a step by (dx, dy) hits: its distance as a fraction of the step, and its
        direction. Return None if the step does not hit a wall.
        """
        across = dx * self._dy - dy * self._dx
        from_x, from_y = self._x - x, self._y - y
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (from_x * self._dy - from_y * self._dx) / across
            along = (from_x * dy - from_y * dx) / across
        met = (share >= 0) & (share <= 1) & (along >= -1e-9) & (along <= 1 + 1e-9)
        if not met.any():
            return None
        wall = int(np.where(met, share, 2.0).argmin())
        length = hypot(self._dx[wall], self._dy[wall])
        return float(share[wall]), float(self._dx[wall] / length), float(self._dy[wall] / length)


def legs(parameters: GaussMarkov, ground: Ground, walls: Walls, stream: Stream) -> Iterator[Leg]:
    sigma = parameters.speed_mps * sqrt(2 / pi)
    alpha, shake = parameters.alpha, sqrt(1 - parameters.alpha**2) * sigma
    x, y = ground.point(stream)
    vx, vy = (sigma * n for n in _normal_pair(stream))
    while True:
        left_ns = ns(parameters.step_s)
        for _ in range(MOST_REFLECTIONS):
            dx, dy = vx * left_ns / SECOND, vy * left_ns / SECOND
            length = hypot(dx, dy)
            if length == 0:
                break
            longer = 1 + 2 * KEEP_OFF_M / length  # search slightly beyond the end of the step
            wall = walls.hit(x, y, dx * longer, dy * longer)
            if wall is None:
                yield Leg(left_ns, x, y, vx, vy)
                x, y, left_ns = x + dx, y + dy, 0
                break
            share, wall_x, wall_y = wall
            square = abs(dx * wall_y - dy * wall_x) / length  # sine of the angle between the path and the wall
            share = min(1.0, max(0.0, share * longer - KEEP_OFF_M / max(square, 1e-9) / length))
            part_ns = int(share * left_ns)
            if part_ns > 0:
                yield Leg(part_ns, x, y, vx, vy)
                x, y = x + vx * part_ns / SECOND, y + vy * part_ns / SECOND
                left_ns -= part_ns
            along = vx * wall_x + vy * wall_y
            vx, vy = 2 * along * wall_x - vx, 2 * along * wall_y - vy
        if left_ns > 0:
            yield Leg(left_ns, x, y, 0.0, 0.0)
        n1, n2 = _normal_pair(stream)
        vx, vy = alpha * vx + shake * n1, alpha * vy + shake * n2
        too_fast = hypot(vx, vy) / parameters.speed_limit_mps
        if too_fast > 1:
            vx, vy = vx / too_fast, vy / too_fast


def _normal_pair(stream: Stream) -> tuple[float, float]:
    """Draw two standard normal numbers with the method of Box and Muller (1958)."""
    radius, angle = sqrt(-2 * log(1 - stream.random())), 2 * pi * stream.random()
    return radius * cos(angle), radius * sin(angle)
