"""Check that hosts are in coverage exactly where their recorded positions are.

Model     coverage is decided again for a host on each tick of the attachment, when it appears, and when it is dragged;
          it changes at no other moment before the end of the active part. At a recorded position that falls on a tick
          it is known; elsewhere a host has walked since the last tick, at most with its speed limit, and between two
          recorded positions likewise. Where distances decide, what these ways and the host's error leave open is not
          judged. Where power decides, only recorded positions on ticks are judged, and every moment of a host that
          cannot walk; hosts that err about their place are not. A place at which a millimetre makes the difference
          decides nothing, nor does the last position of a host that is about to leave the run
Units     metres, integer nanoseconds
Shapes    time_ns int64, x_m, y_m float64: (positions of one host,)
Source    ours: docs/models/world.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Expectations, HostPlan, Places
from mobilenet.rundir.table import Columns, Table

ROUNDING_M = 1e-3  # movement looks at hosts that much too early
MOST_SIGMAS = 8 * math.sqrt(2)  # in each coordinate eight standard deviations are never exceeded
IN_COVERAGE, OUT_OF_COVERAGE = "in_coverage", "out_of_coverage"
NEARBY = ((0.0, 0.0), (ROUNDING_M, 0.0), (-ROUNDING_M, 0.0), (0.0, ROUNDING_M), (0.0, -ROUNDING_M))
Track = tuple[list[int], list[float], list[float]]  # of one host: time_ns, x_m, y_m


class _Turn(NamedTuple):
    """A host comes into coverage, or leaves it."""

    at_ns: int
    row: int
    covered: bool


def coverage_problem(
    events: Columns, tracks: Mapping[str, Track], plans: Mapping[str, HostPlan], expected: Expectations
) -> str | None:
    """The first event, or position, that does not fit."""
    places = expected.places
    assert places is not None
    turns: dict[str, list[_Turn]] = {}
    table = Table.of(events)
    rows = table.column("event").rows(IN_COVERAGE, OUT_OF_COVERAGE)
    columns = (table.pick(name, rows) for name in ("event", "node", "time_ns"))
    for row, event, node, now_ns in zip(rows.tolist(), *columns, strict=True):
        turns.setdefault(node, []).append(_Turn(now_ns, row, event == IN_COVERAGE))
    hosts = [(node, plan) for node, plan in plans.items() if node in tracks]
    problems = (_Host(node, plan, tracks[node], turns.get(node, []), places, expected.end_ns) for node, plan in hosts)
    return next((problem for host in problems for problem in host.problems()), None)


class _Host:
    def __init__(
        self, node: str, plan: HostPlan, track: Track, turns: list[_Turn], places: Places, end_ns: int
    ) -> None:
        self._node = node
        self._plan = plan
        self._times = np.array(track[0], np.int64)
        self._x, self._y = np.array(track[1]), np.array(track[2])
        self._turns = turns
        self._places = places
        self._end_ns = end_ns
        self._error_m = MOST_SIGMAS * places.error_m + ROUNDING_M
        self._nearest_m = nearest_m(self._x, self._y, places)

    def problems(self) -> Iterator[str]:
        for turn in self._turns:
            if turn.at_ns < self._end_ns and (problem := self._turn_problem(turn)) is not None:
                what = IN_COVERAGE if turn.covered else OUT_OF_COVERAGE
                when = f"at {turn.at_ns / SECOND:.6f} s (event {turn.row})"
                yield f"events: {when}: {self._node} has the event {what}, {problem}"
        yield from self._position_problems()

    def _turn_problem(self, turn: _Turn) -> str | None:
        plan = self._plan
        dragged = any(drag[0] == turn.at_ns for drag in plan.drags)
        if turn.at_ns % self._places.tick_ns and turn.at_ns != plan.appears_ns and not dragged:
            return f"although coverage is checked only every {self._places.tick_ns / SECOND:g} s"
        after = int(np.searchsorted(self._times, turn.at_ns, "right"))
        for i in (after - 1, after):
            if 0 <= i < len(self._times) and self._times[i] < self._end_ns and not self._is_dragged(turn.at_ns, i):
                ways_m = plan.speed_mps * abs(turn.at_ns - int(self._times[i])) / SECOND
                if self._is_covered(i, ways_m) is (not turn.covered):
                    return f"but at {self._times[i] / SECOND:g} s it is {self._where(i)}"
        return None

    def _position_problems(self) -> Iterator[str]:
        """At each recorded position before the end."""
        count = int(np.searchsorted(self._times, self._end_ns))
        since_tick_ns = self._times[:count] % self._places.tick_ns
        turns_ns = [turn.at_ns for turn in self._turns]
        is_covered = np.array([False, *(turn.covered for turn in self._turns)])[
            np.searchsorted(turns_ns, self._times[:count], "right")
        ]
        ways_m = self._plan.speed_mps * since_tick_ns / SECOND
        if self._places.by_power:
            doubtful: Iterable[int] = self._doubtful_by_power(count, ways_m, is_covered)
        else:
            slack_m = ways_m + self._error_m
            surely_in = self._nearest_m[:count] + slack_m <= self._places.range_m
            surely_out = self._nearest_m[:count] - slack_m > self._places.range_m
            doubtful = np.flatnonzero(surely_in & ~is_covered | surely_out & is_covered).tolist()
        for i in doubtful:
            if not self._may_be_gone(i) and not any(drag[0] == self._times[i] for drag in self._plan.drags):
                yield (
                    f"positions: {self._node} is {self._where(i)} at {self._times[i] / SECOND:g} s, but according to"
                    f" the events it is {'in' if is_covered[i] else 'out of'} coverage"
                )

    def _may_be_gone(self, i: int) -> bool:
        """Whether the host may have left the run at the time of this position, before its coverage was decided."""
        vanishes_ns = self._plan.vanishes_ns
        return vanishes_ns is not None and i == len(self._times) - 1 and bool(self._times[i] >= vanishes_ns)

    def _doubtful_by_power(self, count: int, ways_m: np.ndarray, is_covered: np.ndarray) -> Iterator[int]:
        known = np.flatnonzero(ways_m == 0).tolist()
        return (i for i in known if i < count and self._is_covered(i, 0.0) is (not is_covered[i]))

    def _is_covered(self, i: int, ways_m: float) -> bool | None:
        """Whether a station serves the host where it may be after a way of this length; None: that is open."""
        places = self._places
        if places.by_power:
            if ways_m or places.error_m or places.covers is None:
                return None
            x, y = float(self._x[i]), float(self._y[i])
            is_served = places.covers(x, y)
            return is_served if all(places.covers(x + east, y + north) == is_served for east, north in NEARBY) else None
        nearest_m, slack_m = float(self._nearest_m[i]), ways_m + self._error_m
        if nearest_m + slack_m <= places.range_m:
            return True
        return False if nearest_m - slack_m > places.range_m else None

    def _is_dragged(self, now_ns: int, i: int) -> bool:
        """Between a moment and the i-th position."""
        first, last = sorted((now_ns, int(self._times[i])))
        return any(first <= at_ns <= last for at_ns, _, _ in self._plan.drags)

    def _where(self, i: int) -> str:
        at = f"at ({self._x[i]:.2f}, {self._y[i]:.2f}) m"
        if self._places.by_power:
            return f"{at}, where a station {'serves' if self._is_covered(i, 0.0) else 'does not serve'} it"
        return f"{at}, {self._nearest_m[i]:.2f} m from the nearest station (range {self._places.range_m:g} m)"


def nearest_m(x: np.ndarray, y: np.ndarray, places: Places) -> np.ndarray:
    """The distance from each of these places to the station nearest to it."""
    nearest = np.full(len(x), np.inf)
    for at_x, at_y in places.stations_m:
        np.minimum(nearest, np.hypot(x - at_x, y - at_y), out=nearest)
    return nearest
