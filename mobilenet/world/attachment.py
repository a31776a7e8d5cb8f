"""Decide which station a host uses.

Model     The rule is geometric and does not use beacons. A host uses the nearest station within range. It keeps this
          station while it is in range and no other station is nearer by the hysteresis or more. The position of a
          walking host may have an error, which is drawn again on each tick and depends only on the host and the tick.
          Near the midpoint between two stations, such a host therefore switches back and forth, as real hosts do. A
          stationary host knows its position exactly.
Units     Distances are in metres.
Shapes    stations are float64 (m, 2). hosts are float64 (n, 2). cells are int64 (n,), with -1 for hosts out of range.
Source    ours: docs/models/world.md
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from mobilenet.engine.random_streams import generator
from mobilenet.parameters import Parameters

DENSE = 64  # up to this number of stations, all distances are computed; above it, a tree is used


class AttachmentParameters(Parameters):
    """The station that a host uses: the nearest in range or, with the radio model sinr, the strongest."""

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
        """The hysteresis in metres, for models in which distance decides."""
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
            # Imported here because the import takes a tenth of a second, and runs with few stations do not need it.
            from scipy.spatial import cKDTree

            self._tree = cKDTree(self._stations)

    def errors(self, tick: int, velocities: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the position errors of all hosts on this tick, float64 (n, 2) in metres, with zeros for hosts that do
        not walk. Return None if all errors are zero.
        """
        if not self._error_m or not velocities.any():
            return None
        errors = generator(self._seed, "attachment", str(tick)).normal(0, self._error_m, velocities.shape)
        errors[~velocities.any(axis=1)] = 0.0
        return errors

    def update(self, xy: NDArray[np.float64], current: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the new cells of hosts at `xy` whose previous cells are `current`. This array is not changed."""
        return self.look(xy, current)[0]

    def look(
        self, xy: NDArray[np.float64], current: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the cells, like `update`, and how far each host may walk before its cell can change, float64 (n,)."""
        if self._tree is None:
            dx = xy[:, :1] - self._x
            dy = xy[:, 1:] - self._y
            squares = dx * dx + dy * dy
            distances = np.sqrt(squares)
            nearest = distances.argmin(axis=1)
            rows = np.arange(len(xy))
            to_nearest, nearest_squared = distances[rows, nearest], squares[rows, nearest]
            # The index -1 selects the last station. Results for it are discarded below.
            to_current, current_squared = distances[rows, current], squares[rows, current]
            to_second = np.partition(distances, 1)[:, 1] if len(self._stations) > 1 else np.inf
        else:
            # If several stations are equally near, the result depends on the form of the query, so the nearest one is
            # queried separately. If no station is in range, `nearest` is the number of stations.
            _, nearest = self._tree.query(xy, distance_upper_bound=np.nextafter(self._range, np.inf))
            to_nearest, to_second = self._tree.query(xy, 2)[0].T
            nearest_squared = self._squares(xy, np.minimum(nearest, len(self._stations) - 1))
            current_squared = self._squares(xy, current)
            to_current = np.sqrt(current_squared)
        # Computed as in the medium, so that the station can certainly reach a host that is attached at this position.
        range2 = self._range * self._range
        keeps = (current >= 0) & (current_squared <= range2) & (to_current - to_nearest < self._hysteresis)
        cells = np.where(keeps, current, np.where(nearest_squared <= range2, nearest, -1))
        # A walk of length w changes a distance by at most w, and the difference of two distances by at most 2 w.
        to_ours = np.where(keeps, to_current, to_nearest)
        to_other = np.where(cells == nearest, to_second, to_nearest)
        to_another = np.minimum(self._range - to_ours, (self._hysteresis + to_other - to_ours) / 2)
        return cells, np.where(cells >= 0, to_another, to_nearest - self._range)

    def _squares(self, xy: NDArray[np.float64], stations: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the squared distance of each host to its station."""
        dx, dy = (xy - self._stations[stations]).T
        return np.asarray(dx * dx + dy * dy, dtype=np.float64)
