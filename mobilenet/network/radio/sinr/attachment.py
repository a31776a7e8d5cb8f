"""Decide by received power which station a host uses, and where stations serve hosts.

Model     A host uses the station that it receives best (propagation/serving.py). If its position has an error
          (attachment.py), the power at the wrong position decides. Hosts walk where stations would be received without
          shadowing and walls. A point is covered only if a station is really received there.
Units     Distances are in metres, and levels in hundredths of a dB.
Shapes    hosts are float64 (n, 2). cells are int64 (n,), with -1 for hosts that no station serves.
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import numpy as np
from numpy.typing import NDArray

from mobilenet.network.propagation.serving import Serving
from mobilenet.world.attachment import Attachment
from mobilenet.world.coverage import Coverage

STEP_M = 1.0  # step of the search for a point with reception
DIRECTIONS = 32
CIRCLE = [(cos(2 * pi * i / DIRECTIONS), sin(2 * pi * i / DIRECTIONS)) for i in range(DIRECTIONS)]


class PowerAttachment(Attachment):
    def __init__(
        self,
        stations_m: NDArray[np.float64],
        cell_m: float,
        serving: Serving,
        hysteresis_cdb: int,
        error_m: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(stations_m, cell_m, 0.0, error_m, seed)
        self._serving = serving
        self._hysteresis_cdb = hysteresis_cdb

    def look(
        self, xy: NDArray[np.float64], current: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the cell of each host, and the distance that each host can move without changing its cell. This
        distance is always zero, because any movement may change the cell.
        """
        cell, hysteresis_cdb = self._serving.cell, self._hysteresis_cdb
        rows = zip(xy[:, 0].tolist(), xy[:, 1].tolist(), current.tolist(), strict=True)
        cells = [cell(x, y, own, hysteresis_cdb) for x, y, own in rows]
        return np.array(cells, dtype=np.int64), np.zeros(len(xy))


class PowerCoverage(Coverage):
    def __init__(self, stations_m: NDArray[np.float64], cell_m: float, serving: Serving) -> None:
        super().__init__(stations_m, cell_m)
        self._serving = serving

    def contains(self, x_m: float, y_m: float) -> bool:
        return self._serving.cell(x_m, y_m, -1, 0) >= 0

    def nearest_covered(self, x_m: float, y_m: float) -> tuple[float, float]:
        """Search circles around the given point, and return the first point with reception. If there is none, return
        the nearest station.
        """
        if self.contains(x_m, y_m):
            return x_m, y_m
        squares = self._squares(x_m, y_m)
        nearest = int(squares.argmin())
        radius_m = STEP_M
        while radius_m < sqrt(float(squares[nearest])):
            for east, north in CIRCLE:
                x, y = x_m + radius_m * east, y_m + radius_m * north
                if self.contains(x, y):
                    return x, y
            radius_m += max(STEP_M, radius_m / 16)
        x, y = self.stations_m[nearest].tolist()
        return x, y
