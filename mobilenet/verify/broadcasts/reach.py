"""Find out when a host was certainly within reach of a station, from its recorded positions.

Model     a speed limit bounds how far a host moves between two recorded positions, so that it stays within an ellipse
          around them. No point of its path is farther from a station than half of this sum: the two distances and the
          longest possible path. After the last position, a circle replaces the ellipse. After the active part of a run
          hosts stand still, and only hosts that are in no cell are moved. Nothing is certain if a user drags a host, if
          positions are not recorded, or if received power decides, because shadowing and walls are not bounded
Units     integer nanoseconds; metres
Shapes    time_ns int64 (positions of a host,), x_m and y_m float64 (positions of a host,)
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.record.table import Columns, Table
from mobilenet.scenario.plans.expectations import Expectations, HostPlan

ROUNDING_M = 1e-3

Stretch = tuple[int, int]  # start and end


class Reach:
    """Uses recorded positions to determine when the hosts of one run were certainly within reach of stations."""

    def __init__(self, positions: Columns, expected: Expectations) -> None:
        """Read the recorded positions. `expected` declares the hosts and the stations."""
        self._positions = Table.of(positions)
        self._expected = expected
        self._stretches: dict[tuple[str, str], list[Stretch]] = {}

    def latest(self, host: str, station: str, since_ns: int, until_ns: int, least_ns: int) -> int | None:
        """Return the end of the latest interval of at least `least_ns`, between the two times, in which the host is
        certainly within reach of the station, or None.
        """
        for begin, end in reversed(self._of(host, station)):
            begin, end = max(begin, since_ns), min(end, until_ns)
            if end - begin >= least_ns:
                return end
        return None

    def _of(self, host: str, station: str) -> list[Stretch]:
        key = host, station
        if key not in self._stretches:
            self._stretches[key] = self._find_stretches(host, station)
        return self._stretches[key]

    def _find_stretches(self, host: str, station: str) -> list[Stretch]:
        hosts, places = self._expected.hosts, self._expected.places
        number = int(station[1:])
        if hosts is None or places is None or places.by_power or number >= len(places.stations_m):
            return []
        rows = self._positions.column("node").rows(host)
        if not len(rows) or int(host[1:]) >= len(hosts):
            return []
        times, x, y = (self._positions.numbers(name)[rows] for name in ("time_ns", "x_m", "y_m"))
        at_x, at_y = places.stations_m[number]
        return _stretches(
            times, np.hypot(x - at_x, y - at_y), hosts[int(host[1:])], self._expected.end_ns, places.range_m
        )


def _stretches(times: np.ndarray, distances: np.ndarray, plan: HostPlan, end_ns: int, range_m: float) -> list[Stretch]:
    """Return when the host is certainly in range, as intervals that do not touch."""
    metres_per_ns = plan.speed_mps / SECOND
    walks = np.minimum(times, end_ns)  # hosts stop walking at `end_ns`
    farthest = (distances[:-1] + distances[1:] + metres_per_ns * np.diff(walks)) / 2
    spans = [
        (int(times[i]), int(times[i + 1]))
        for i in np.flatnonzero(farthest <= range_m - ROUNDING_M).tolist()
    ]  # fmt: skip
    last_ns, rest_ns = int(times[-1]), max(0, end_ns - int(times[-1]))
    if distances[-1] + metres_per_ns * rest_ns <= range_m - ROUNDING_M:
        spans.append((last_ns, 2**62))
    for at_ns in plan.drags:
        spans = [(begin, end) for begin, end in spans if not begin <= at_ns <= end]
    joined: list[Stretch] = []
    for begin, end in spans:
        if joined and joined[-1][1] == begin:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((begin, end))
    return joined
