"""Find when a host was surely within reach of a station, from its recorded positions.

Model     between two recorded positions a host moves no farther than its speed limit lets it, so it stays within an
          ellipse around the two: no point of its way is farther from a station than half of the two distances plus
          the longest way. After the last position a circle takes the place of the ellipse. After the active part
          hosts stand still, and only hosts that are in no cell are moved. Where a host is dragged, and where its
          positions are not recorded, nothing is sure; nor where power decides, since shadowing and walls have no
          bound
Units     integer nanoseconds; metres
Shapes    time_ns int64 (positions of a host,), x_m, y_m float64 likewise
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.record.table import Columns, Table
from mobilenet.scenario.plans.expectations import Expectations, HostPlan

ROUNDING_M = 1e-3

Stretch = tuple[int, int]  # from, to


class Reach:
    """The reach of the hosts of one run."""

    def __init__(self, positions: Columns, expected: Expectations) -> None:
        """Set up the reach from positions. `expected`: with hosts and places."""
        self._positions = Table.of(positions)
        self._expected = expected
        self._stretches: dict[tuple[str, str], list[Stretch]] = {}

    def latest(self, host: str, station: str, since_ns: int, until_ns: int, least_ns: int) -> int | None:
        """Return the end of the latest stretch within these times, at least this long, in which the host is surely
        within reach of the station; None if there is none.
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
    """Return when the host is surely in range, as stretches that do not touch."""
    metres_per_ns = plan.speed_mps / SECOND
    walks = np.minimum(times, end_ns)  # the time that it had walked by then
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
