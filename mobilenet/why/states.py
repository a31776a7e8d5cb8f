"""When a node could not take part: a station was off the air; a host was down, out of coverage, or between sessions.

Model     off air: from radio_off to radio_on. Down: from crash to recover. Out of coverage: from out_of_coverage to
          in_coverage. Handoff: from handoff_start to handoff_end. Where they overlap, the first of this list counts
Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

from mobilenet.rundir.table import Table
from mobilenet.why.kinds import DOWN, HANDOFF, OFF_AIR, OUT_OF_COVERAGE

BEGINS = {"radio_off": OFF_AIR, "crash": DOWN, "out_of_coverage": OUT_OF_COVERAGE, "handoff_start": HANDOFF}
ENDS = {"radio_on": OFF_AIR, "recover": DOWN, "in_coverage": OUT_OF_COVERAGE, "handoff_end": HANDOFF, "leave": HANDOFF}
PRIORITY = (OFF_AIR, DOWN, OUT_OF_COVERAGE, HANDOFF)
SERVED = ("join", "handoff_end", "gap")  # events that name the station which serves the host from then on
Interval = tuple[int, int, str]


class States:
    """Of all hosts of a run."""

    def __init__(self, events: Table) -> None:
        self._changes: dict[str, list[tuple[int, frozenset[str]]]] = defaultdict(list)
        self._sessions: dict[str, list[int]] = defaultdict(list)  # when a host lost what it had received
        self.served: dict[str, list[tuple[int, str]]] = defaultdict(list)
        self.has_off_air = False
        now: dict[str, frozenset[str]] = defaultdict(frozenset)
        columns = (events[name] for name in ("time_ns", "node", "event", "station"))
        for time_ns, node, event, station in zip(*columns, strict=True):
            if event in BEGINS:
                now[node] |= {BEGINS[event]}
            elif event in ENDS:
                now[node] -= {ENDS[event]}
            self.has_off_air |= event == "radio_off"
            if event in SERVED and station is not None:
                self.served[node].append((time_ns, station))
            if event in BEGINS or event in ENDS:
                self._changes[node].append((time_ns, now[node]))
            if event in ("crash", "handoff_start", "join"):
                self._sessions[node].append(time_ns)

    def between(self, node: str, begin_ns: int, end_ns: int) -> Iterator[Interval]:
        """Intervals within these times, in order."""
        changes = self._changes.get(node)
        if not changes:
            return
        first = max(0, bisect_right(changes, begin_ns, key=lambda change: change[0]) - 1)
        for place in range(first, len(changes)):
            time_ns, states = changes[place]
            if time_ns >= end_ns:
                return
            until_ns = changes[place + 1][0] if place + 1 < len(changes) else end_ns
            a, b = max(time_ns, begin_ns), min(until_ns, end_ns)
            if states and a < b:
                yield a, b, next(state for state in PRIORITY if state in states)

    def session_began_ns(self, node: str, time_ns: int) -> int:
        """When the host last lost what it had received, before this time."""
        times = self._sessions.get(node, ())
        place = bisect_right(times, time_ns) - 1
        return times[place] if place >= 0 else 0

    def stations(self, node: str, begin_ns: int, end_ns: int) -> Iterator[tuple[int, int, str]]:
        """Which stations served the host between these times: (begin, end, station)."""
        served = self.served.get(node, [])
        for place, (time_ns, station) in enumerate(served):
            until_ns = served[place + 1][0] if place + 1 < len(served) else end_ns
            a, b = max(time_ns, begin_ns), min(until_ns, end_ns)
            if a < b:
                yield a, b, station
