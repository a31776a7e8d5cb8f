"""Check that nothing happened sooner than the radio and the wires allow.

Checks    no host delivers a message of another host within the air time of the shortest frame. Where the conduct of the
          protocol is known: of two frames, to a station and from it. Where hosts deliver only what their station sends,
          the same holds for their own messages. Where a message travels whole, both of these frames contain it.
          If the sender was connected to one station all the time, a host in another cell waits for the wire as well
          where the conduct is known: a join comes two frames after the wish, and a handoff ends two frames after it
          began, unless a host goes back to its station over a connection that is still open (then at once). With a
          station that does not know the host yet it takes a way over the wire and one back
Model     only air times and the delay of one wire are counted: no queue, no retry, no propagation, and no length
          of any field
Units     integer nanoseconds
Shapes    rows, least_ns: int64 (deliveries,); by message: (messages,)
Source    ours: docs/models/radio.md, docs/models/wires.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Air, Conduct, Expectations, HostPlan
from mobilenet.rundir.table import Columns, Table

NEVER = 2**62
OF_SESSIONS = ("join", "leave", "handoff_start", "handoff_end", "crash")


def delays_problem(events: Columns, expected: Expectations | None) -> str | None:
    """The first event that comes too soon."""
    if expected is None or expected.hosts is None or expected.air is None:
        return None
    table = Table.of(events)
    problem = _Sessions(table, expected).problem() if expected.conduct is not None else None
    return problem or next(_deliveries(table, expected, expected.air), None)


def least_airtime_ns(air: Air, payload_bytes: int = 0) -> int:
    """The air time of a frame around these bytes."""
    return min(carrier.airtime.of(carrier.around_bytes + payload_bytes) for carrier in air.carriers)


def _deliveries(events: Table, expected: Expectations, air: Air) -> Iterator[str]:
    conduct = expected.conduct
    event, node, message = (events.column(name) for name in ("event", "node", "message"))
    times, sent = events.numbers("time_ns"), event.rows("broadcast")
    sent_ns, sender = np.full(len(message.words), NEVER), np.full(len(message.words), -2)
    sent_ns[message.codes[sent]], sender[message.codes[sent]] = times[sent], node.codes[sent]
    rows = event.rows("deliver")
    what = message.codes[rows]
    least_ns = np.full(len(rows), (1 if conduct is None else 2) * least_airtime_ns(air, expected.payload_bytes or 0))
    if conduct is not None and conduct.only_connected:
        station = events.column("station")
        entered, until_ns = entries_of(events, len(message.words))
        by_wire = (entered[what] >= 0) & (entered[what] != station.codes[rows]) & (station.codes[rows] >= 0)
        least_ns[by_wire & (times[rows] < until_ns[what])] += air.wire_delay_ns
    else:
        least_ns[sender[what] == node.codes[rows]] = 0
    took_ns = times[rows] - sent_ns[what]
    for i in np.flatnonzero((took_ns >= 0) & (took_ns < least_ns)).tolist():
        row = int(rows[i])
        yield (
            f"events: at {times[row] / SECOND:.6f} s (event {row}): {events['node'][row]} delivers"
            f" {events['message'][row]} {took_ns[i]} ns after its broadcast; a delivery takes at least {least_ns[i]} ns"
        )


def entries_of(events: Table, messages: int) -> tuple[np.ndarray, np.ndarray]:
    """By message: the station that its sender is connected to when it broadcasts, -2 if there is none; until when."""
    rows = events.column("event").rows("broadcast", *OF_SESSIONS)
    names = (events.pick(name, rows) for name in ("event", "node", "time_ns"))
    stations, messages_of = (events.column(name).codes[rows].tolist() for name in ("station", "message"))
    entered, until_ns = np.full(messages, -2), np.full(messages, NEVER)
    at: dict[str, int] = {}  # host -> its station
    open_of: dict[str, list[int]] = {}  # host -> what it broadcast there
    for event, node, now_ns, station, message in zip(*names, stations, messages_of, strict=True):
        if event == "broadcast":
            entered[message] = at.get(node, -2)
            open_of.setdefault(node, []).append(message)
        else:
            until_ns[open_of.pop(node, [])] = now_ns
            at[node] = station if event in ("join", "handoff_end") else -2
    return entered, until_ns


class _Host:
    __slots__ = ("begun_ns", "begun_with", "confirmed_with", "next", "requests", "tried", "wished_ns")

    def __init__(self, plan: HostPlan) -> None:
        self.requests = plan.requests
        self.next = 0
        self.wished_ns: int | None = None  # the first wish to join since it joined last
        self.begun_ns: int | None = None  # its handoff ...
        self.begun_with: str | None = None
        self.confirmed_with: str | None = None
        self.tried: list[str | None] = []  # the stations of its handoffs before, since it was confirmed

    def hear(self, now_ns: int) -> None:
        """What has been asked of it so far."""
        while self.next < len(self.requests) and self.requests[self.next][0] <= now_ns:
            at_ns, wish = self.requests[self.next]
            self.next += 1
            if wish == "join" and self.wished_ns is None:
                self.wished_ns = at_ns


class _Sessions:
    """How soon hosts join, and end handoffs."""

    def __init__(self, events: Table, expected: Expectations) -> None:
        assert expected.hosts is not None and expected.conduct is not None and expected.air is not None
        self._events = events
        self._hosts = {f"h{number}": _Host(plan) for number, plan in enumerate(expected.hosts)}
        self._conduct: Conduct = expected.conduct
        self._exchange_ns = 2 * least_airtime_ns(expected.air)
        self._wire_ns = 2 * expected.air.wire_delay_ns

    def problem(self) -> str | None:
        """The first session that begins too soon."""
        rows = self._events.column("event").rows(*OF_SESSIONS)
        names = ("event", "node", "station", "time_ns", "detail")
        for row, *values in zip(rows.tolist(), *(self._events.pick(name, rows) for name in names), strict=True):
            event, node, station, now_ns, detail = values
            host = self._hosts.get(node)
            if host is not None and (why := self._note(host, event, station, now_ns, detail)) is not None:
                return f"events: at {now_ns / SECOND:.6f} s (event {row}): {node} {why}"
        return None

    def _note(self, host: _Host, event: str, station: str | None, now_ns: int, detail: str | None) -> str | None:
        host.hear(now_ns)
        problem = None
        if event == "join":
            problem = self._join_problem(host, now_ns)
            host.wished_ns = None
        elif event == "handoff_start":
            if host.begun_ns is not None:
                host.tried.append(host.begun_with)
            host.begun_ns, host.begun_with = now_ns, station
        elif event == "handoff_end":
            problem = self._end_problem(host, station, now_ns, detail)
        if event in ("join", "handoff_end"):
            host.confirmed_with, host.begun_ns, host.tried = station, None, []
        elif event == "leave":
            host.confirmed_with, host.begun_ns = None, None
        return problem

    def _join_problem(self, host: _Host, now_ns: int) -> str | None:
        if host.wished_ns is None or now_ns - host.wished_ns >= self._exchange_ns:
            return None
        return (
            f"joins {now_ns - host.wished_ns} ns after it is asked to; a station needs at least {self._exchange_ns} ns"
            " to hear of it and to answer"
        )

    def _end_problem(self, host: _Host, station: str | None, now_ns: int, detail: str | None) -> str | None:
        if host.begun_ns is None:
            return None  # the property's own: membership
        took_ns, least_ns, first = now_ns - host.begun_ns, self._exchange_ns, ""
        if not self._conduct.only_connected:
            if took_ns == 0 and "relayed" not in json.loads(detail or "{}"):
                return None  # back to its station, over the open connection
        elif host.confirmed_with is not None and station not in (host.confirmed_with, *host.tried):
            least_ns, first = least_ns + self._wire_ns, f", ask {host.confirmed_with}"
        if took_ns >= least_ns:
            return None
        return (
            f"ends a handoff {took_ns} ns after it began; {station} needs at least {least_ns} ns to hear of it{first}"
            " and answer"
        )
