"""Bound how near two nodes could have been, and how far apart, by their recorded positions.

Model     a host is as far from a recorded position as it can walk since then, or until then, at most. A position before
          or after a drag shows nothing of the other side of it. When the active part is over, hosts may be
          put elsewhere, so what was recorded before shows nothing of later
Units     integer nanoseconds; metres
Shapes    bounds: float64 (rows,); places: float64 (moments, nodes, 2), nan where none is recorded
Errors    none
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Expectations
from mobilenet.rundir.table import Columns, Table
from mobilenet.verify.air.nodes import Nodes

ROUNDING_M = 1e-3
SLOWNESS = 1 + 1e-9
CHUNK = 1 << 18  # rows at a time
ONLY_ONCE_NS = 1 << 60  # from one position to the next where those of hosts are not recorded


class Disc(NamedTuple):
    """Where each of some nodes was: no farther than `radius_m` from there; nan: anywhere."""

    x_m: np.ndarray
    y_m: np.ndarray
    radius_m: np.ndarray


class Whereabouts:
    """All nodes of a run."""

    def __init__(self, positions: Columns, expected: Expectations, nodes: Nodes) -> None:
        assert expected.hosts is not None and expected.places is not None
        table = Table.of(positions)
        self._stations, self._end_ns = nodes.stations, expected.end_ns
        self._every_ns = expected.places.every_ns or ONLY_ONCE_NS
        index = nodes.indices(table.column("node"))
        moment = table.numbers("time_ns") // self._every_ns
        self.places = np.full((int(moment.max(initial=0)) + 1, nodes.count, 2), np.nan)
        self.places[moment, index] = np.column_stack((table.numbers("x_m"), table.numbers("y_m")))
        self.places[:, : nodes.stations] = self.places[0, : nodes.stations]
        self.speed_mps = np.array([*[0.0] * nodes.stations, *(plan.speed_mps for plan in expected.hosts)])
        self.appears_ns = np.array([*[0] * nodes.stations, *(plan.appears_ns for plan in expected.hosts)])
        self._drags = [
            (nodes.stations + host, at_ns) for host, plan in enumerate(expected.hosts) for at_ns, *_ in plan.drags
        ]

    @property
    def is_recorded(self) -> bool:
        """Whether positions of hosts are."""
        return self._every_ns != ONLY_ONCE_NS

    def is_gone(self, node: np.ndarray, at_ns: np.ndarray) -> np.ndarray:
        """Whether the last position up to then, which each host that is there has, is not recorded of this one."""
        moment = at_ns // self._every_ns
        recorded_ns = moment * self._every_ns
        due = (moment < len(self.places)) & (self.appears_ns[node] < recorded_ns) & (recorded_ns < at_ns)
        gone: np.ndarray = due & np.isnan(self.places[np.minimum(moment, len(self.places) - 1), node, 0])
        return gone

    def bounds_m(self, one: np.ndarray, other: np.ndarray, at_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least and the most distance of two nodes, row by row."""
        least, most = np.zeros(len(at_ns)), np.full(len(at_ns), np.inf)
        for begin in range(0, len(at_ns), CHUNK):
            rows = slice(begin, begin + CHUNK)
            least[rows], most[rows] = self._bounds_m(one[rows], other[rows], at_ns[rows])
        return least, most

    def _bounds_m(self, one: np.ndarray, other: np.ndarray, at_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        least, most = np.zeros(len(at_ns)), np.full(len(at_ns), np.inf)
        others = [self._disc(other, at_ns, is_after) for is_after in (False, True)]
        for a in (self._disc(one, at_ns, is_after) for is_after in (False, True)):
            for b in others:
                apart_m = np.hypot(a.x_m - b.x_m, a.y_m - b.y_m)
                play_m = a.radius_m + b.radius_m + ROUNDING_M
                least = np.fmax(least, apart_m - play_m)
                most = np.fmin(most, apart_m + play_m)
        return least, most

    def _disc(self, node: np.ndarray, at_ns: np.ndarray, is_after: bool) -> Disc:
        """By the last position up to then, or by the next one."""
        moment = at_ns // self._every_ns + is_after
        inside = np.minimum(moment, len(self.places) - 1)
        x_m, y_m = self.places[inside, node, 0], self.places[inside, node, 1]
        recorded_ns = inside * self._every_ns
        radius_m = self.speed_mps[node] * SLOWNESS * np.abs(at_ns - recorded_ns) / SECOND
        untold = moment > inside
        untold |= np.maximum(at_ns, recorded_ns) >= self._end_ns
        for dragged, drag_ns in self._drags:
            passed = (np.minimum(at_ns, recorded_ns) <= drag_ns) & (drag_ns <= np.maximum(at_ns, recorded_ns))
            untold |= (node == dragged) & passed
        radius_m[untold & (node >= self._stations)] = np.nan
        return Disc(x_m, y_m, radius_m)

    # --- for all pairs of nodes, from one position to the next

    @property
    def spans(self) -> int:
        """How many there are from one position to the next, all before the end of the active part."""
        if not self.is_recorded:
            return 1
        return max(0, min(len(self.places) - 1, (self._end_ns - 1) // self._every_ns))

    def span_of(self, at_ns: np.ndarray) -> np.ndarray:
        """The one that a moment is in."""
        return at_ns // self._every_ns

    def most_within_m(self, span: int, ones: np.ndarray) -> np.ndarray:
        """The most distance of some nodes to all nodes throughout a span, float64 (ones, nodes); inf: not known."""
        before = after = self.places[0]
        walk_m = np.zeros(len(before))
        if self.is_recorded:
            before, after = self.places[span], self.places[span + 1]
            walk_m = self.speed_mps * SLOWNESS * self._every_ns / SECOND
        both = _apart_m(before, ones) + _apart_m(after, ones) + walk_m[ones, None] + walk_m[None, :]
        most_m = both / 2 + ROUNDING_M
        since_ns, until_ns = span * self._every_ns, (span + 1) * self._every_ns
        late = (self.appears_ns > 0) & (self.appears_ns >= since_ns)  # frames of that nanosecond may be older
        most_m[:, late] = most_m[late[ones]] = np.inf
        for dragged, drag_ns in self._drags:
            if since_ns <= drag_ns <= until_ns:
                most_m[:, dragged] = most_m[ones == dragged] = np.inf
        return np.where(np.isnan(most_m), np.inf, most_m)


def _apart_m(places: np.ndarray, ones: np.ndarray) -> np.ndarray:
    apart_m: np.ndarray = np.hypot(
        places[ones, None, 0] - places[None, :, 0], places[ones, None, 1] - places[None, :, 1]
    )
    return apart_m
