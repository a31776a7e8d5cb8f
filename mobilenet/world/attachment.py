"""Decide which station a host uses.

Model     geometric, without beacons: the nearest station within range; a host keeps its station while that is in
          range and no other one is nearer by at least the hysteresis. While it walks, a host may judge by a place
          with an error, drawn again on each tick: near the middle between two stations it then goes back and forth, as
          real ones do. A stationary host knows where it is. The error belongs to the host and the tick only
Units     metres
Shapes    stations float64 (m, 2); hosts float64 (n, 2); cells int64 (n,), -1 where there is none
Errors    none
Source    ours: docs/models/world.md
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from mobilenet.engine.random_streams import generator
from mobilenet.parameters import Parameters

DENSE = 64  # up to this number of stations all distances are computed; beyond, a tree is used


class AttachmentParameters(Parameters):
    """Which station a host uses: the nearest one in range or, with the radio model sinr, the strongest."""

    hysteresis_m: float | None = Field(
        default=5.0,
        ge=0,
        le=3000,
        description="unit_disk: another station must be nearer by at least this distance before a host changes to it",
    )
    hysteresis_db: float = Field(
        default=3.0,
        ge=0,
        le=100,
        description="sinr: another station's signal must be stronger by at least this much before a host changes to it",
    )
    error_m: float = Field(
        default=0.0,
        ge=0,
        le=3000,
        description="standard deviation of the location error of a host, in each coordinate",
    )

    @property
    def nearer_m(self) -> float:
        """The hysteresis that is used if distances decide."""
        return 5.0 if self.hysteresis_m is None else self.hysteresis_m

    tick_ms: int = Field(
        default=100, ge=1, le=60_000, description="interval at which the station of each host is determined"
    )


class Attachment:
    def __init__(
        self, stations_m: NDArray[np.float64], range_m: float, hysteresis_m: float, error_m: float = 0.0, seed: int = 0
    ) -> None:
        self._error_m = error_m
        self._stations = np.ascontiguousarray(stations_m, dtype=np.float64).reshape(-1, 2)
        self._x, self._y = (np.ascontiguousarray(column) for column in self._stations.T)
        self._range = range_m
        self._hysteresis = hysteresis_m
        self._seed = seed
        self._tree = None
        if len(self._stations) > DENSE:
            from scipy.spatial import cKDTree  # a tenth of a second, which runs with few stations need not wait for

            self._tree = cKDTree(self._stations)

    def errors(self, tick: int, velocities: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return by how much each host misjudges its place on this tick, float64 (n, 2) in metres, if it walks; None if
        none does.
        """
        if not self._error_m or not velocities.any():
            return None
        errors = generator(self._seed, "attachment", str(tick)).normal(0, self._error_m, velocities.shape)
        errors[~velocities.any(axis=1)] = 0.0
        return errors

    def update(self, xy: NDArray[np.float64], current: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cells of hosts at `xy` that were in the cells `current`, which is not changed."""
        return self.look(xy, current)[0]

    def look(
        self, xy: NDArray[np.float64], current: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the cells, as `update` does, and float64 (n,): how far each may walk before its cell can change."""
        if self._tree is None:
            dx = xy[:, :1] - self._x
            dy = xy[:, 1:] - self._y
            squares = dx * dx + dy * dy
            distances = np.sqrt(squares)
            nearest = distances.argmin(axis=1)
            rows = np.arange(len(xy))
            to_nearest, nearest_squared = distances[rows, nearest], squares[rows, nearest]
            # -1 names the last station; it is ruled out below
            to_current, current_squared = distances[rows, current], squares[rows, current]
            to_second = np.partition(distances, 1)[:, 1] if len(self._stations) > 1 else np.inf
        else:
            # Which of several equally near stations is found depends on the query, so each host is queried separately.
            # If none is in range the result is number m, which has no meaning.
            _, nearest = self._tree.query(xy, distance_upper_bound=np.nextafter(self._range, np.inf))
            to_nearest, to_second = self._tree.query(xy, 2)[0].T
            nearest_squared = self._squares(xy, np.minimum(nearest, len(self._stations) - 1))
            current_squared = self._squares(xy, current)
            to_current = np.sqrt(current_squared)
        range2 = self._range * self._range  # as the medium computes it: an attached host is heard at this place
        keeps = (current >= 0) & (current_squared <= range2) & (to_current - to_nearest < self._hysteresis)
        cells = np.where(keeps, current, np.where(nearest_squared <= range2, nearest, -1))
        # No distance changes by more than the host walks, so no difference of two by more than twice that.
        to_ours = np.where(keeps, to_current, to_nearest)
        to_other = np.where(cells == nearest, to_second, to_nearest)
        to_another = np.minimum(self._range - to_ours, (self._hysteresis + to_other - to_ours) / 2)
        return cells, np.where(cells >= 0, to_another, to_nearest - self._range)

    def _squares(self, xy: NDArray[np.float64], stations: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the squared distances of hosts, each to its station."""
        dx, dy = (xy - self._stations[stations]).T
        return np.asarray(dx * dx + dy * dy, dtype=np.float64)
