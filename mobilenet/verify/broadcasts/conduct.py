"""Check that hosts behave as their protocol declares: the numbers of sessions, the stations and the handoffs.

Checks    each session of a member has the next number; the first session of a membership has a higher number than all
          earlier sessions
          a handoff ends with the station with which it began; a host out of coverage starts a handoff without a station
          if hosts deliver only what their station sends: a host delivers nothing between the start and the end of a
          handoff, and it delivers only with the station that confirmed the session. Nothing is confirmed or delivered
          out of coverage. For other protocols, a delivery names that station or the target of a handoff
          a gap names the current session
Model     this check applies only to protocols whose promises.py requests it. A mismatch means that a host is wrong or
          that the record was changed
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from mobilenet.record.table import Columns, Table
from mobilenet.verify.broadcasts.sessions import turns

Allowed = tuple[str | None, ...]  # the stations that a delivery may currently name
NOWHERE: Allowed = ()


class _Host:
    __slots__ = ("begun_with", "confirmed_with", "covered", "in_handoff", "is_member", "session")

    def __init__(self) -> None:
        self.is_member = False
        self.covered = False
        self.session = 0  # the highest session number so far
        self.in_handoff = False
        self.begun_with: str | None = None
        self.confirmed_with: str | None = None


def conduct_problem(events: Columns, only_connected: bool) -> str | None:
    """Return the first event that does not conform. `only_connected`: whether hosts deliver only what their station
    sends.
    """
    table = Table.of(events)
    tells_cells = bool((table.column("station").codes[table.column("event").rows("in_coverage")] >= 0).any())
    hosts: dict[str, _Host] = {}
    allowed: dict[str, Allowed] = {}
    for row, event, node, station, session in turns(events, "event", "node", "station", "session"):
        if event == "deliver":
            if station not in allowed.get(node, NOWHERE):
                return (
                    f"{_when(events, row)}: {node} delivers {events['message'][row]}"
                    f" {_why_not(hosts.get(node), station, tells_cells)}"
                )
            continue
        if event in ("refused", "expire"):
            continue
        host = hosts.get(node) or hosts.setdefault(node, _Host())
        problem = _note(host, event, station, session)
        if problem is None and only_connected and not host.covered and event in ("join", "handoff_end"):
            problem = f"is confirmed by {station} although it is out of coverage"
        if problem is not None:
            return f"{_when(events, row)}: {node} {problem}"
        allowed[node] = _allowed_stations(host, only_connected, tells_cells)
    return None


def _note(host: _Host, event: str, station: str | None, session: int | None) -> str | None:
    """Update the host with the event. Return why the event is impossible, or None."""
    if event in ("in_coverage", "out_of_coverage"):
        host.covered = event == "in_coverage"
    elif event == "join":
        problem = (
            None
            if session is not None and session > host.session
            else f"joins in session {session}, after session {host.session}"
        )
        host.is_member, host.in_handoff, host.confirmed_with = True, False, station
        return problem or _session_problem(host, session, session)
    elif event == "handoff_start":
        host.in_handoff, host.begun_with = True, station
        if (station is not None) != host.covered:
            if station is None:
                return "begins a handoff without a station, although the host is in coverage"
            return f"begins a handoff with {station}, although the host is out of coverage"
        return _session_problem(host, session, host.session + 1)
    elif event == "handoff_end":
        if station is None or station != host.begun_with:
            return f"ends a handoff with {station} that it began with {host.begun_with}"
        host.in_handoff, host.confirmed_with = False, station
    elif event == "leave":
        host.is_member, host.in_handoff = False, False
        return _session_problem(host, session, host.session + 1)
    elif event == "crash":
        host.in_handoff, host.begun_with = True, None
    elif event == "gap":
        return _session_problem(host, session, host.session)
    return None


def _session_problem(host: _Host, session: int | None, expected: int | None) -> str | None:
    before, host.session = host.session, session or 0
    return None if session == expected else f"has session {session}, expected {expected}; the previous one is {before}"


def _allowed_stations(host: _Host, only_connected: bool, tells_cells: bool) -> Allowed:
    if not host.is_member:
        return NOWHERE if only_connected else (None,)
    if only_connected:
        if host.in_handoff or not host.covered:
            return NOWHERE
        return (host.confirmed_with if tells_cells else None,)
    if not host.covered or not tells_cells:
        return (None,)
    return (host.confirmed_with, host.begun_with)


def _why_not(host: _Host | None, station: str | None, tells_cells: bool) -> str:
    if host is None or not host.is_member:
        return "although it is not a member"
    if host.in_handoff:
        return "although its handoff has not ended"
    if not host.covered:
        return "although it is out of coverage"
    return f"with {station}, although it is with {host.confirmed_with if tells_cells else None}"


def _when(events: Columns, row: int) -> str:
    return f"at {events['time_ns'][row] / 1e9:.6f} s (event {row})"
