"""Judge causal broadcast whose members join and leave, event by event.

Model     happened-before is computed only from broadcasts and deliveries, as vector clocks over senders: past[m][o] is
          the number of messages of o that causally precede m. A member is entitled to every message that is broadcast
          after it joined (or after its last gap), and must deliver all of them in causal order. It may deliver some
          older messages, but none that precedes a message which it has delivered already. Where gaps are allowed, a
          host may give up messages when no station knows the host any more. These need not be delivered to any host,
          and do not count in any past: see exemptions.py
Checks    creation      a delivered message was broadcast before, exactly once, by the host named in its id
          duplication   no host delivers a message twice, over all its memberships
          membership    only members broadcast, deliver and have gaps, and a crashed host does nothing
          causal_order  no message is delivered before its causal past (as far as the host is entitled to it), or after
                        a message that it precedes
          gaps          occur only if the run allows them, and only for a host that a station gave up on after a long
                        enough silence: see silence.py
          delivery      at the end every member has delivered all messages that it is entitled to (liveness)
Shapes    clocks: int64 (number of senders,)
Source    Lamport, Time, clocks, and the ordering of events in a distributed system (1978); Mattern, Virtual time and
          global states of distributed systems (1988); ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.record.table import Columns, Table
from mobilenet.verify.broadcasts.exemptions import forgotten_rows, messages_given_up
from mobilenet.verify.broadcasts.reach import Reach
from mobilenet.verify.broadcasts.silence import Silence

# the sender's column in the clocks, and the position among its messages that were not given up
MessageKey = tuple[int, int]
SAFETY = ("creation", "duplication", "membership", "causal_order", "gaps")


class Violation(Exception):
    """Raised for the first event that violates a property."""

    def __init__(self, check: str, explanation: str) -> None:
        super().__init__(explanation)
        self.check = check
        self.explanation = explanation


class Host:
    """The state of one host, according to the trace so far."""

    __slots__ = (
        "clock", "crashed", "delivered", "entitled", "last_handoff", "member", "name", "next", "past_of_delivered",
        "silence",
    )  # fmt: skip

    def __init__(self, name: str, senders: int, silence: Silence) -> None:
        self.name = name
        self.member = False
        self.crashed = False
        self.delivered: dict[MessageKey, int] = {}  # message -> row of its delivery
        # for each sender, the number of messages that will precede the host's next broadcast
        self.clock = np.zeros(senders, dtype=np.int64)
        self.past_of_delivered = np.zeros(senders, dtype=np.int64)
        # for each sender, the first position that the host is entitled to
        self.entitled = np.zeros(senders, dtype=np.int64)
        # for each sender, the first position that the host is entitled to and has not delivered
        self.next = np.zeros(senders, dtype=np.int64)
        self.last_handoff = "no handoff before"
        self.silence = silence


class BroadcastJudge:
    """A judge that reads events in order. `violations` contains the first violation of each check, and `rows` the rows
    of these violations.
    """

    def __init__(
        self,
        events: Columns,
        gap_after_s: float | None,
        heard_every_s: float,
        asks_order: bool = True,
        senders: Sequence[str] | None = None,
        reach: Reach | None = None,
    ) -> None:
        """Prepare the judge. `asks_order`: whether to check causal order, because it is promised. `senders`: the
        possible senders, or None for all senders in `events`, which must then be complete. `reach`: when hosts were
        within reach of stations; None means whenever they were in coverage.
        """
        self._events = events
        self._gap_after_ns = None if gap_after_s is None else round(gap_after_s * SECOND)
        self._heard_every_ns = round(heard_every_s * SECOND)
        self._reach = reach
        self.violations: dict[str, str] = {}
        self.rows: dict[str, int] = {}
        if senders is None:
            senders = sorted({m.rpartition(":")[0] for m in Table.of(events).column("message").words})
        self._senders = list(senders)
        self._column = {name: i for i, name in enumerate(self._senders)}
        self._asks_order = asks_order
        self._forgotten = set() if gap_after_s is None else forgotten_rows(events)
        self._given_up = messages_given_up(events, self._forgotten)
        self._hosts: dict[str, Host] = {}
        self._keys: dict[str, MessageKey] = {}  # the key of each message that was broadcast and not given up
        self._names: list[list[str]] = [[] for _ in self._senders]  # column, position -> message
        self._past: dict[MessageKey, np.ndarray] = {}
        self._numbers = [0] * len(self._senders)  # for each sender, the number of its next broadcast
        # for each sender, the number of broadcasts so far that were not given up
        self._count = np.zeros(len(self._senders), dtype=np.int64)
        self._off: set[str] = set()  # stations whose radio a user has switched off
        self._row = -1
        self.deliveries = 0

    def judge(self) -> None:
        """Judge all events that were added since the last call."""
        events, handlers = self._events, self.HANDLERS
        first = self._row + 1
        for row, (event, node) in enumerate(zip(events["event"][first:], events["node"][first:], strict=True), first):
            self._row = row
            if event in self.AT_STATIONS:
                self.AT_STATIONS[event](self, node)
                continue
            handler = handlers.get(event)
            if handler is None:
                continue
            try:
                handler(self, self._host(node))
            except Violation as violation:
                self._note_violation(violation.check, violation.explanation)

    def _note_violation(self, check: str, explanation: str) -> None:
        if check not in self.violations:
            self.violations[check] = explanation
            self.rows[check] = self._row

    def _host(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            silence = Silence(name, self._gap_after_ns, self._heard_every_ns, self._reach)
            host = self._hosts[name] = Host(name, len(self._senders), silence)
        return host

    # --- events

    def _join(self, host: Host) -> None:
        if host.member:
            raise Violation("membership", f"{self._when()}: {host.name} joins although it is a member")
        host.member = True
        self._on_confirmation(host)
        self._entitle(host)
        self._require_up(host, "joins")

    def _leave(self, host: Host) -> None:
        if not host.member:
            raise Violation("membership", f"{self._when()}: {host.name} leaves although it is not a member")
        host.member = False
        host.silence.on_leave(self._now())
        self._require_up(host, "leaves")

    def _broadcast(self, host: Host) -> None:
        name = self._events["message"][self._row]
        origin, _, number = name.rpartition(":")
        if origin != host.name:
            raise Violation(
                "creation", f"{self._when()}: {host.name} broadcasts {name}, which is an id of another host"
            )
        sender = self._column[origin]
        if int(number) != self._numbers[sender]:
            raise Violation(
                "creation",
                f"{self._when()}: {host.name} broadcasts {name}, but its next number is {self._numbers[sender]}",
            )
        self._numbers[sender] += 1
        if name not in self._given_up:
            position = int(self._count[sender])
            self._keys[name] = sender, position
            self._names[sender].append(name)
            self._past[sender, position] = host.clock.copy()
            self._count[sender] = host.clock[sender] = position + 1
        self._require_member(host, f"broadcasts {name}")

    def _deliver(self, host: Host) -> None:
        self.deliveries += 1
        name = self._events["message"][self._row]
        key = self._keys.get(name)
        if key is None:
            raise Violation("creation", f"{self._when()}: {host.name} delivers {name}, which had not been broadcast")
        if key in host.delivered:
            first = self._when(host.delivered[key])
            raise Violation(
                "duplication",
                f"{host.name} delivers {name} twice:\n  {first}\n  {self._when()}\n  {host.last_handoff}",
            )
        past = self._past[key]
        asks_order = self._asks_order and "causal_order" not in self.violations  # only the first violation is reported
        problem = self._order_problem(host, key, past) if asks_order else None
        sender, position = key
        host.delivered[key] = self._row
        np.maximum(host.past_of_delivered, past, out=host.past_of_delivered)
        np.maximum(host.clock, past, out=host.clock)
        host.clock[sender] = max(host.clock[sender], position + 1)
        while (sender, int(host.next[sender])) in host.delivered:
            host.next[sender] += 1
        try:
            self._require_member(host, f"delivers {name}")
        finally:
            if problem is not None:
                self._note_violation("causal_order", problem)

    def _crash(self, host: Host) -> None:
        if host.crashed:
            raise Violation("membership", f"{self._when()}: {host.name} crashes although it is down")
        host.crashed = True
        host.silence.set("up", False, self._now())

    def _recover(self, host: Host) -> None:
        if not host.crashed:
            raise Violation("membership", f"{self._when()}: {host.name} recovers although it is up")
        host.crashed = False
        host.silence.set("up", True, self._now())

    def _gap(self, host: Host) -> None:
        self._require_member(host, "has a gap")
        problem = host.silence.gap(self._now())
        if problem is not None:
            raise Violation("gaps", f"{self._when()}: {host.name} has a gap, {problem}\n  {host.last_handoff}")
        self._entitle(host)

    def _expire(self, station: str) -> None:
        detail = json.loads(self._events["detail"][self._row])
        host = self._host(detail["host"])
        problem = host.silence.expire(station, round(detail["silent_s"] * SECOND), self._now())
        if problem is not None:
            self._note_violation(
                "gaps", f"{self._when()}: {station} gives up on {host.name} {problem}\n  {host.last_handoff}"
            )

    def _radio_off(self, station: str) -> None:
        self._off.add(station)
        self._answers(station, False)

    def _radio_on(self, station: str) -> None:
        self._off.discard(station)
        self._answers(station, True)

    def _answers(self, station: str, does: bool) -> None:
        for host in self._hosts.values():
            if host.silence.confirmed_by == station:
                host.silence.set("answered", does, self._now())

    def _on_confirmation(self, host: Host) -> None:
        station = self._events["station"][self._row]
        host.silence.set("answered", station not in self._off, self._now())
        host.silence.on_confirmation(station, self._now())

    def _handoff_start(self, host: Host) -> None:
        host.last_handoff = f"handoff of session {self._events['session'][self._row]} begun {self._when()}"
        host.silence.set("connected", False, self._now())
        self._require_up(host, "begins a handoff")

    def _handoff_end(self, host: Host) -> None:
        host.last_handoff = f"handoff of session {self._events['session'][self._row]} ended {self._when()}"
        self._on_confirmation(host)
        self._require_up(host, "ends a handoff")

    def _out_of_coverage(self, host: Host) -> None:
        host.silence.set("covered", False, self._now())

    def _in_coverage(self, host: Host) -> None:
        host.silence.set("covered", True, self._now())

    HANDLERS: ClassVar[dict[str, Callable[[BroadcastJudge, Host], None]]] = {
        "join": _join,
        "leave": _leave,
        "broadcast": _broadcast,
        "deliver": _deliver,
        "crash": _crash,
        "recover": _recover,
        "gap": _gap,
        "handoff_start": _handoff_start,
        "handoff_end": _handoff_end,
        "out_of_coverage": _out_of_coverage,
        "in_coverage": _in_coverage,
    }
    AT_STATIONS: ClassVar[dict[str, Callable[[BroadcastJudge, str], None]]] = {
        "expire": _expire,
        "radio_off": _radio_off,
        "radio_on": _radio_on,
    }

    # --- rules

    def _entitle(self, host: Host) -> None:
        """Entitle the host to every message that is broadcast from now on, and to no older one."""
        host.entitled = self._count.copy()
        host.next = self._count.copy()

    def _order_problem(self, host: Host, key: MessageKey, past: np.ndarray) -> str | None:
        sender, position = key
        # the message comes too late, because the host has delivered a message that depends on it
        if host.past_of_delivered[sender] > position:
            late = next(k for k in host.delivered if self._past[k][sender] > position)
            return self._overtaken(host, late, key)
        missing = np.flatnonzero(past > host.next)
        if len(missing) == 0:
            return None
        o = int(missing[0])
        return self._overtaken(host, key, (o, int(host.next[o])))

    def _overtaken(self, host: Host, late: MessageKey, early: MessageKey) -> str:
        """Describe how `late`, which the host has delivered, overtook `early`, which it should have delivered first."""
        first, second = self._name(early), self._name(late)
        delivered = self._when(host.delivered.get(late))
        return (
            f"{second} overtook {first} at {host.name}:\n"
            f"  {first} was broadcast {self._when(self._row_of_broadcast(first))}\n"
            f"  {second} was broadcast {self._when(self._row_of_broadcast(second))}, causally after it\n"
            f"  {host.name} delivered {second} {delivered}, but had not delivered {first}\n"
            f"  {host.last_handoff}"
        )

    def _require_member(self, host: Host, does: str) -> None:
        if not host.member:
            raise Violation("membership", f"{self._when()}: {host.name} {does} although it is not a member")
        self._require_up(host, does)

    def _require_up(self, host: Host, does: str) -> None:
        if host.crashed:
            raise Violation("membership", f"{self._when()}: {host.name} {does} although it is down")

    def missing_deliveries(self) -> Iterator[str]:
        """Yield an explanation for each message that a member still lacks at the end."""
        for name in sorted(self._hosts):
            host = self._hosts[name]
            if not host.member:
                continue
            for o in np.flatnonzero(host.next < self._count):
                missing = self._name((int(o), int(host.next[o])))
                yield (
                    f"{name} is a member at the end, but never delivered {missing}\n"
                    f"  it was broadcast {self._when(self._row_of_broadcast(missing))}\n  {host.last_handoff}"
                )

    # --- reading

    def _name(self, key: MessageKey) -> str:
        return self._names[key[0]][key[1]]

    def _now(self) -> int:
        return int(self._events["time_ns"][self._row])

    def _when(self, row: int | None = None) -> str:
        if row is None:
            row = self._row
        return f"at {self._events['time_ns'][row] / SECOND:.6f} s (event {row})"

    def _row_of_broadcast(self, message: str) -> int:
        """Return the row of a broadcast. Only explanations need this search."""
        pairs = zip(self._events["event"], self._events["message"], strict=True)
        return next(row for row, pair in enumerate(pairs) if pair == ("broadcast", message))
