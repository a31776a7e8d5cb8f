"""Compute the growing curves of a live run: delays, buffers and losses, with a point per quarter of a simulated second.

Model     A point contains the total size of all station buffers at its time. It also contains the mean delay (of a
          regular sample of the deliveries) and the fraction of lost receptions since the previous point, or None if
          there were no deliveries or receptions
Units     integer nanoseconds; seconds; fractions
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

from typing import NamedTuple

from mobilenet.engine.clock import SECOND
from mobilenet.lab.live.broadcasts import Broadcasts
from mobilenet.simulation.mobile import Simulation

# The run is played in pieces that end at multiples of this time, so a point shows the state at exactly its time.
POINT_NS = SECOND // 4
MOST_POINTS = 4_000
LOOKED_AT = 50  # approximate number of rows that are read for one point


class Point(NamedTuple):
    time_ns: int
    delay_mean_s: float | None
    held: int
    lost: float | None


class Curves:
    """The curves of one simulation since its start."""

    def __init__(self, simulation: Simulation, broadcasts: Broadcasts) -> None:
        self.points: list[Point] = []
        self._simulation = simulation
        self._broadcasts = broadcasts
        self._last_ns = 0
        self._row = 0  # the first event that no point includes yet
        self._receptions, self._lost = 0, 0

    def go_on(self) -> None:
        """Add the next point if it is due."""
        time_ns = self._simulation.kernel.now // POINT_NS * POINT_NS
        if time_ns <= self._last_ns:
            return
        self._last_ns = time_ns
        held = sum(sum(station.buffers) for station in self._simulation.stations)
        self.points.append(Point(time_ns, self._delay_mean_s(), held, self._share_lost()))
        if len(self.points) > MOST_POINTS:
            del self.points[1::2]

    def since(self, time_ns: int) -> list[Point]:
        """Return the points after this time."""
        first = len(self.points)
        while first and self.points[first - 1].time_ns > time_ns:
            first -= 1
        return self.points[first:]

    def _delay_mean_s(self) -> float | None:
        log = self._simulation.recording.events
        rows = range(self._row, len(log), max(1, (len(log) - self._row) // LOOKED_AT))
        self._row = len(log)
        delays_ns = self._broadcasts.delays_ns(log, (row for row in rows if log.event[row] == "deliver"))
        return sum(delays_ns) / len(delays_ns) / SECOND if delays_ns else None

    def _share_lost(self) -> float | None:
        medium = self._simulation.medium
        outcomes = dict(zip(medium.outcomes, medium.pairs, strict=True))
        receptions = sum(outcomes.values())
        lost = receptions - outcomes["received"]
        new, new_lost = receptions - self._receptions, lost - self._lost
        self._receptions, self._lost = receptions, lost
        return new_lost / new if new else None
