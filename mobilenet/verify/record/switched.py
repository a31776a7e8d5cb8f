"""Check that links were cut and radios switched off as planned, and nothing went over them meanwhile.

Checks    each event of these kinds is planned, and each planned one is there, in order
          where hosts deliver only what their station sends: no host joins, ends a handoff, or delivers with a station
          whose radio is off. What was in the air may still arrive
          on a tree: what a host broadcasts while a link is cut is not delivered beyond that link before it is repaired,
          unless the host was beyond it itself
Units     integer nanoseconds
Source    ours: docs/models/world.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from mobilenet.expected.expectations import Expectations, Switch
from mobilenet.rundir.table import Columns

KINDS = frozenset(("cut", "mend", "radio_off", "radio_on"))
CONFIRMED = frozenset(("join", "handoff_end", "deliver"))
SEEN_AT = frozenset(("in_coverage", "join", "handoff_start"))


def switched_problem(events: Columns, expected: Expectations | None) -> str | None:
    """The first thing that cannot be."""
    if expected is None or expected.hosts is None:
        return None
    rows = [row for row, event in enumerate(events["event"]) if event in KINDS]
    if not rows and not expected.switches:
        return None
    problem = _rows_problem(events, rows, expected.switches)
    if problem is None and expected.conduct is not None and expected.conduct.only_connected:
        problem = _radio_problem(events, expected) or _wire_problem(events, expected)
    return problem


def _rows_problem(events: Columns, rows: list[int], planned: Sequence[Switch]) -> str | None:
    for row, switch in zip(rows, planned, strict=False):
        detail = '{"loses": true}' if switch.loses else None
        entry = tuple(events[name][row] for name in ("time_ns", "event", "node", "station", "detail"))
        if entry != (*switch[:4], detail):
            what = _words(entry[1], entry[2], entry[3]) + (f", {entry[4]}" if entry[4] else "")
            return f"events: at {_s(entry[0])} (event {row}): {what}, expected {_switch_in_words(switch)} as planned"
    if len(rows) > len(planned):
        row = rows[len(planned)]
        what = _words(*(events[name][row] for name in ("event", "node", "station")))
        return f"events: at {_s(events['time_ns'][row])} (event {row}): {what}, which was not planned"
    if len(rows) < len(planned):
        return f"events: {_switch_in_words(planned[len(rows)])} was planned, but is missing"
    return None


def _radio_problem(events: Columns, expected: Expectations) -> str | None:
    switches, in_the_air_ns = expected.switches, expected.in_the_air_ns
    if in_the_air_ns is None:
        return None
    silent = {station: _spans(switches, "radio_off", "radio_on", station) for station in _stations_off(switches)}
    if not silent:
        return None
    columns = (events[name] for name in ("event", "station", "time_ns"))
    for row, (event, station, now_ns) in enumerate(zip(*columns, strict=True)):
        if event in CONFIRMED and station in silent:
            for since_ns, until_ns in silent[station]:
                if since_ns + in_the_air_ns < now_ns < until_ns:
                    return (
                        f"events: at {_s(now_ns)} (event {row}): {events['node'][row]} records {event} with"
                        f" {station}, whose radio has been off since {_s(since_ns)}"
                    )
    return None


def _stations_off(switches: Sequence[Switch]) -> set[str]:
    return {switch.station for switch in switches if switch.event == "radio_off"}


def _spans(switches: Sequence[Switch], begin: str, end: str, station: str, other: str | None = None) -> list[list[int]]:
    own = [switch for switch in switches if (switch.station, switch.other) == (station, other)]
    begins = [switch.at_ns for switch in own if switch.event == begin]
    ends = [switch.at_ns for switch in own if switch.event == end]
    return [list(span) for span in zip(begins, ends, strict=True)]


def _wire_problem(events: Columns, expected: Expectations) -> str | None:
    wires = expected.wires
    if wires is None or not wires.is_tree or wires.links is None:
        return None
    for station, other in sorted({(s.station, s.other) for s in expected.switches if s.other is not None}):
        assert other is not None
        beyond = _side(wires.links, other, station)
        for since_ns, until_ns in _spans(expected.switches, "cut", "mend", station, other):
            if (problem := _crossing_problem(events, beyond, since_ns, until_ns)) is not None:
                return f"{problem}, but the link {station}-{other} has been cut since {_s(since_ns)}"
    return None


def _side(links: list[tuple[str, str]], start: str, without: str) -> set[str]:
    """The stations on this side of a link of a tree."""
    side, frontier = {start}, [start]
    while frontier:
        at = frontier.pop()
        near = [b if a == at else a for a, b in links if at in (a, b) and {a, b} != {start, without}]
        frontier += [station for station in near if station not in side]
        side.update(near)
    return side


def _crossing_problem(events: Columns, beyond: set[str], since_ns: int, until_ns: int) -> str | None:
    """A delivery on the other side of a link than the message was broadcast, while it is cut."""
    names, nodes, stations, times = (events[name] for name in ("event", "node", "station", "time_ns"))
    seen: dict[str, tuple[list[int], list[bool]]] = {}  # host -> rows, and whether it was beyond the link then
    sent: dict[str, int] = {}  # message -> row of its broadcast during the cut
    for row in range(bisect_left(times, until_ns)):
        event, node, station = names[row], nodes[row], stations[row]
        if event in SEEN_AT and station is not None:
            rows, sides = seen.setdefault(node, ([], []))
            rows.append(row)
            sides.append(station in beyond)
        elif event == "broadcast" and times[row] > since_ns:
            sent[events["message"][row]] = row
        elif event == "deliver" and events["message"][row] in sent and station is not None:
            message = events["message"][row]
            rows, sides = seen.get(message.rpartition(":")[0], ([], []))
            first = bisect_right(rows, sent[message]) - 1  # where its sender was, and where it came since
            if first >= 0 and all(side != (station in beyond) for side in sides[first:]):
                return f"events: at {_s(times[row])} (event {row}): {node} delivers {message} with {station}"
    return None


def _switch_in_words(switch: Switch) -> str:
    loses = ' {"loses": true}' if switch.loses else ""
    return f"{_words(switch.event, switch.station, switch.other)}{loses} at {_s(switch.at_ns)}"


def _words(event: str, station: str, other: str | None) -> str:
    return f"{event} {station}" + (f"-{other}" if other else "")


def _s(time_ns: int) -> str:
    return f"{time_ns / 1e9:.6f} s"
