"""Determine when nodes could not communicate: radio off, host down, out of coverage or in a handoff.

Model     off air: from radio_off to radio_on. Down: from crash to recover. Out of coverage: from out_of_coverage to
          in_coverage. Handoff: from handoff_start to handoff_end. If states overlap, the first state in this list
          applies. The part of a wait that overlaps a state gets the kind of that state. On the leg from the station to
          the host, every stretch counts as down while the host is down, because no frame can reach it. If TCP's timeout
          ends after a state, the state is extended to the timeout
Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from mobilenet.record.table import Table
from mobilenet.why.kinds import (
    BACKBONE,
    CELL,
    DOWN,
    ELSEWHERE,
    HANDOFF,
    OFF_AIR,
    OUT_OF_COVERAGE,
    PROGRAM,
    RETRANSMISSION,
    RETRY,
    TIMER_WAIT,
    UNEXPLAINED,
    UPLINK,
)
from mobilenet.why.record import events_of
from mobilenet.why.stretches import Stretch, fill

BEGINS = {"radio_off": OFF_AIR, "crash": DOWN, "out_of_coverage": OUT_OF_COVERAGE, "handoff_start": HANDOFF}
ENDS = {"radio_on": OFF_AIR, "recover": DOWN, "in_coverage": OUT_OF_COVERAGE, "handoff_end": HANDOFF, "leave": HANDOFF}
PRIORITY = (OFF_AIR, DOWN, OUT_OF_COVERAGE, HANDOFF)
SERVED = ("join", "handoff_end", "gap")  # events that name the station which serves the host from this time on
WAITING = frozenset(
    (RETRY, RETRANSMISSION, TIMER_WAIT, UNEXPLAINED, PROGRAM, ELSEWHERE)
)  # these kinds of waiting are replaced by states that explain them better
Interval = tuple[int, int, str]


class States:
    """The states of all hosts of a run."""

    def __init__(self, events: Table) -> None:
        self._changes: dict[str, tuple[list[int], list[frozenset[str]]]] = defaultdict(lambda: ([], []))
        # times at which a host lost the messages that it had received
        self._sessions: dict[str, list[int]] = defaultdict(list)
        self._served: dict[str, list[tuple[int, str]]] = defaultdict(list)
        # host -> (time, station), as in _served, but also for the starts of handoffs
        self._called: dict[str, list[tuple[int, str]]] = defaultdict(list)
        self.has_off_air = False
        self._crashed: set[str] = set()
        now: dict[str, frozenset[str]] = defaultdict(frozenset)
        for _, time_ns, node, event, station, _ in events_of(events, *BEGINS, *ENDS, *SERVED):
            if event in BEGINS:
                now[node] |= {BEGINS[event]}
            elif event in ENDS:
                now[node] -= {ENDS[event]}
            self.has_off_air |= event == "radio_off"
            if event == "crash":
                self._crashed.add(node)
            if event in SERVED and station is not None:
                self._served[node].append((time_ns, station))
            if (event in SERVED or event == "handoff_start") and station is not None:
                self._called[node].append((time_ns, station))
            if event in BEGINS or event in ENDS:
                times_ns, states = self._changes[node]
                times_ns.append(time_ns)
                states.append(now[node])
            if event in ("crash", "handoff_start", "join"):
                self._sessions[node].append(time_ns)

    def between(self, node: str, begin_ns: int, end_ns: int, of: Sequence[str] = PRIORITY) -> list[Interval]:
        """Return, in order, the intervals between these times in which the node was in these states."""
        intervals: list[Interval] = []
        if node not in self._changes:
            return intervals
        times_ns, states = self._changes[node]
        for place in range(max(0, bisect_right(times_ns, begin_ns) - 1), bisect_left(times_ns, end_ns)):
            if not states[place]:
                continue
            until_ns = times_ns[place + 1] if place + 1 < len(times_ns) else end_ns
            a, b = max(times_ns[place], begin_ns), min(until_ns, end_ns)
            state = next((state for state in of if state in states[place]), None)
            if state is not None and a < b:
                intervals.append((a, b, state))
        return intervals

    def are_without(self, hosts: Iterable[str], begin_ns: int, end_ns: int) -> bool:
        """Return whether these hosts, and all stations, were in none of the states between these times."""
        return not self.has_off_air and not any(self._is_in_one(host, begin_ns, end_ns) for host in hosts)

    def _is_in_one(self, node: str, begin_ns: int, end_ns: int) -> bool:
        if node not in self._changes:
            return False
        times_ns, states = self._changes[node]
        first = bisect_right(times_ns, begin_ns)
        return first < bisect_left(times_ns, end_ns) or (first > 0 and bool(states[first - 1]))

    def session_began_ns(self, node: str, time_ns: int) -> int:
        """Return the last time before `time_ns` at which the host lost the messages that it had received."""
        times = self._sessions.get(node, ())
        place = bisect_right(times, time_ns) - 1
        return times[place] if place >= 0 else 0

    def stations(self, node: str, begin_ns: int, end_ns: int) -> Iterator[tuple[int, int, str]]:
        """Yield the stations that served the host between these times: (begin, end, station)."""
        return _spans(self._served.get(node, []), begin_ns, end_ns)

    def is_elsewhere(self, node: str, station: str, begin_ns: int, end_ns: int) -> bool:
        """Return whether the host was served by, or in a handoff to, only other stations between these times."""
        both = (self._served.get(node, []), self._called.get(node, []))
        stations = {one for each in both for _, _, one in _spans(each, begin_ns, end_ns + 1)}
        return bool(stations) and station not in stations

    def explain(self, story: list[Stretch], sender: str, receiver: str) -> list[Stretch]:
        """Divide the waits of a message from this sender to this receiver by the states of the nodes involved."""
        out: list[Stretch] = []
        is_down = receiver in self._crashed
        for stretch in story:
            begin_ns, end_ns, kind, leg, place, _, _, held_by = stretch
            if end_ns <= begin_ns:
                continue
            if kind not in WAITING or held_by or leg == BACKBONE:
                is_cut = is_down and leg == CELL and not held_by
                out.extend(self.parts(stretch, receiver, (DOWN,)) if is_cut else (stretch,))
                continue
            host = receiver if leg != UPLINK else place if place[0] == "h" else sender
            parts = self.parts(stretch, host)
            if self.has_off_air:
                parts = [
                    one
                    for part in self._off_air(stretch, host)
                    for one in ((part,) if part.kind == OFF_AIR else self.parts(part, host))
                ]
            out.extend(_until_timeout(parts) if kind == RETRANSMISSION else parts)
        return join_outages(out) if self._crashed else out

    def _off_air(self, stretch: Stretch, host: str) -> list[Stretch]:
        """Divide the stretch by the times at which the radio of the relevant station was off. This is the station where
        the message waited, or to which it was being sent.
        """
        begin_ns, end_ns, place = stretch.begin_ns, stretch.end_ns, stretch.place
        served = [(begin_ns, end_ns, place)] if place[0] == "s" else self.stations(host, begin_ns, end_ns)
        off = [
            stretch._replace(begin_ns=a, end_ns=b, kind=OFF_AIR, place=station, reason="")
            for since_ns, until_ns, station in served
            for a, b, _ in self.between(station, since_ns, until_ns)
        ]
        return fill(off, begin_ns, end_ns, stretch)

    def parts(self, stretch: Stretch, host: str, states: Sequence[str] = PRIORITY) -> list[Stretch]:
        """Divide the stretch by the states of the host. Each part in which the host was in one of these states gets its
        kind.
        """
        named = [
            stretch._replace(begin_ns=begin_ns, end_ns=end_ns, kind=state, place=host, reason="")
            for begin_ns, end_ns, state in self.between(host, stretch[0], stretch[1], states)
        ]
        return fill(named, stretch[0], stretch[1], stretch) if named else [stretch]


def join_outages(story: list[Stretch]) -> list[Stretch]:
    """Return the stretches after joining consecutive stretches in which a host is down."""
    out: list[Stretch] = []
    for one in story:
        last = out[-1] if out else one
        if one.kind == last.kind == DOWN and out and last[2:5] == one[2:5] and last.end_ns == one.begin_ns:
            out[-1] = last._replace(end_ns=one.end_ns)
        else:
            out.append(one)
    return out


def _spans(served: list[tuple[int, str]], begin_ns: int, end_ns: int) -> Iterator[tuple[int, int, str]]:
    first = max(0, bisect_right(served, begin_ns, key=itemgetter(0)) - 1)
    for place in range(first, len(served)):
        time_ns, station = served[place]
        if time_ns >= end_ns:
            return
        until_ns = served[place + 1][0] if place + 1 < len(served) else end_ns
        a, b = max(time_ns, begin_ns), min(until_ns, end_ns)
        if a < b:
            yield a, b, station


def _until_timeout(parts: list[Stretch]) -> list[Stretch]:
    """Return the parts of a wait for TCP's timeout. A state during the wait is extended to the end of the wait."""
    out: list[Stretch] = []
    for part in parts:
        is_after = part.kind == RETRANSMISSION and out and out[-1].kind != RETRANSMISSION
        out.append(part._replace(kind=out[-1].kind, place=out[-1].place, reason="") if is_after else part)
    return out
