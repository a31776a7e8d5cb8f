"""Find the station that a host receives best at a given point.

Model     The mean power decides: path loss, shadowing and walls, without fading. A host uses the strongest station, or
          the first of several equally strong ones. It changes to another station only if it no longer receives its
          current one, or if the other is stronger by at least the hysteresis.
Units     Distances are in metres, losses in hundredths of a dB, and powers in hundredths of a dBm.
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from typing import Final

from mobilenet.network.propagation.budget import LinkBudget

NOBODY: Final = -1
SILENT: Final = -1_000_000


class Serving:
    """Finds the serving station of each host in one scenario. This class is compiled, because each host calls it on
    each tick.
    """

    def __init__(
        self, budget: LinkBudget, stations_m: list[tuple[float, float]], tx_cdbm: int, least_cdbm: int, reach_m: float
    ) -> None:
        """Set up the search. The caller guarantees that no station is received with `least_cdbm` beyond `reach_m`."""
        self._budget = budget
        self._x = [x for x, _ in stations_m]
        self._y = [y for _, y in stations_m]
        self._tx = tx_cdbm
        self._least = least_cdbm
        self._reach2 = reach_m * reach_m

    def power(self, station: int, x: float, y: float) -> int:
        """Return the received power in hundredths of a dBm, or SILENT beyond the reach. If the station is too weak to
        be received, the value is not exact, but it is below the required minimum.
        """
        dx = x - self._x[station]
        dy = y - self._y[station]
        if dx * dx + dy * dy > self._reach2:
            return SILENT
        most_cdb = self._tx - self._least
        return self._tx - self._budget.loss_up_to_cdb(self._x[station], self._y[station], True, x, y, False, most_cdb)

    def best(self, x: float, y: float) -> tuple[int, int]:
        """Return the strongest station at a point and its power, or NOBODY and SILENT if no station is within reach."""
        best, strongest = NOBODY, SILENT
        for station in range(len(self._x)):
            power = self.power(station, x, y)
            if power > strongest:
                best, strongest = station, power
        return best, strongest

    def cell(self, x: float, y: float, current: int, hysteresis_cdb: int) -> int:
        """Return the station for a host whose station was `current`, or NOBODY if none is received."""
        best, strongest = self.best(x, y)
        if strongest < self._least:
            return NOBODY
        if current != NOBODY and current != best:
            own = self.power(current, x, y)
            if own >= self._least and strongest - own < hysteresis_cdb:
                return current
        return best
