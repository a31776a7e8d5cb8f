"""Causal broadcast with members that come and go, judged event by event.

Model     Happened-before is computed from broadcasts and deliveries alone, as vector clocks over senders: past[m][o]
          is how many messages of o causally precede m. A member is entitled to every message broadcast after it
          joined (or after its last gap); it owes them all, in causal order; of older messages it may deliver some,
          but never one that precedes what it has delivered already.
Checks    creation      what is delivered was broadcast before, by the host that its id names, once
          duplication   no host delivers a message twice, over all its memberships
          membership    only members broadcast and deliver, and nobody while crashed
          causal_order  nothing is delivered before its causal past (as far as the host is entitled to it), nor after
                        anything that it precedes
          gaps          a gap only where the run allows them, and only for a host that was unreachable for that long
          delivery      at the end every member has delivered all that it is entitled to (liveness)
Shapes    clocks: int64 (number of senders,)
Source    Lamport, Time, clocks, and the ordering of events in a distributed system (1978); Mattern, Virtual time and
          global states of distributed systems (1988); ours: DESIGN.md §8
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

SECOND = 1_000_000_000
MessageKey = tuple[int, int]  # sender's column in the clocks, number
SAFETY = ("creation", "duplication", "membership", "causal_order", "gaps")


class Violation(Exception):
    """The first thing in the trace that breaks a property."""

    def __init__(self, check: str, explanation: str) -> None:
        super().__init__(explanation)
        self.check = check
        self.explanation = explanation


class Host:
    """What the trace says of one host so far."""

    __slots__ = (
        "clock", "crashed", "delivered", "entitled", "last_handoff", "member", "name", "next", "past_of_delivered",
        "reachable", "silent_ns", "unreachable_since",
    )  # fmt: skip

    def __init__(self, name: str, senders: int) -> None:
        self.name = name
        self.member = False
        self.crashed = False
        self.delivered: dict[MessageKey, int] = {}  # message -> row of its delivery
        self.clock = np.zeros(senders, dtype=np.int64)  # all that happened before its next broadcast
        self.past_of_delivered = np.zeros(senders, dtype=np.int64)
        self.entitled = np.zeros(senders, dtype=np.int64)  # the first number of each sender it is entitled to
        self.next = np.zeros(senders, dtype=np.int64)  # all entitled numbers below are delivered
        self.last_handoff = "no handoff before"
        self.reachable = {"up": True, "covered": False, "connected": True}
        self.unreachable_since: int | None = 0
        self.silent_ns = 0  # the longest time it was unreachable since it joined or had its last gap

    def set_reachable(self, aspect: str, value: bool, now: int) -> None:
        self.reachable[aspect] = value
        if all(self.reachable.values()):
            if self.unreachable_since is not None:
                self.silent_ns = max(self.silent_ns, now - self.unreachable_since)
                self.unreachable_since = None
        elif self.unreachable_since is None:
            self.unreachable_since = now


class BroadcastJudge:
    """Reads events in order; `violations` holds the first violation of each check."""

    def __init__(self, events: dict[str, list[Any]], gap_after_s: float | None, heard_every_s: float) -> None:
        self._events = events
        self._gap_after_s = gap_after_s
        self._heard_every_s = heard_every_s
        self.violations: dict[str, str] = {}
        origins = {m.rpartition(":")[0] for m in events["message"] if m is not None}
        self._column = {name: i for i, name in enumerate(sorted(origins))}
        self._senders = sorted(origins)
        self._hosts: dict[str, Host] = {}
        self._past: dict[MessageKey, np.ndarray] = {}  # of each broadcast message
        self._count = np.zeros(len(origins), dtype=np.int64)  # broadcasts of each sender so far
        self._row = 0
        self.deliveries = 0

    def judge(self) -> None:
        events = self._events
        handlers = {
            "join": self._join,
            "leave": self._leave,
            "broadcast": self._broadcast,
            "deliver": self._deliver,
            "crash": self._crash,
            "recover": self._recover,
            "gap": self._gap,
            "handoff_start": self._handoff_start,
            "handoff_end": self._handoff_end,
            "out_of_coverage": self._out_of_coverage,
            "in_coverage": self._in_coverage,
        }
        for row, (event, node) in enumerate(zip(events["event"], events["node"], strict=True)):
            handler = handlers.get(event)
            if handler is None:
                continue
            self._row = row
            host = self._hosts.get(node)
            if host is None:
                host = self._hosts[node] = Host(node, len(self._senders))
            try:
                handler(host)
            except Violation as violation:
                self.violations.setdefault(violation.check, violation.explanation)

    # --- events

    def _join(self, host: Host) -> None:
        if host.member:
            raise Violation("membership", f"{self._when()}: {host.name} joins although it is a member")
        host.member = True
        self._entitle(host)

    def _leave(self, host: Host) -> None:
        if not host.member:
            raise Violation("membership", f"{self._when()}: {host.name} leaves although it is no member")
        host.member = False

    def _broadcast(self, host: Host) -> None:
        sender, number = self._message()
        name = self._events["message"][self._row]
        if self._senders[sender] != host.name:
            raise Violation("creation", f"{self._when()}: {host.name} broadcasts {name}, an id of another host")
        if number != self._count[sender]:
            raise Violation(
                "creation", f"{self._when()}: {host.name} broadcasts {name}; its next number is {self._count[sender]}"
            )
        self._past[sender, number] = host.clock.copy()
        self._count[sender] = number + 1
        host.clock[sender] = number + 1
        self._require_member(host, "broadcasts", name)

    def _deliver(self, host: Host) -> None:
        self.deliveries += 1
        key = sender, number = self._message()
        past = self._past.get(key)
        name = self._events["message"][self._row]
        if past is None:
            raise Violation("creation", f"{self._when()}: {host.name} delivers {name}, which nobody has broadcast before")
        if key in host.delivered:
            first = self._when(host.delivered[key])
            raise Violation(
                "duplication",
                f"{host.name} delivers {name} twice:\n  {first}\n  {self._when()}\n  {host.last_handoff}",
            )
        problem = self._order_problem(host, sender, number, past, name)
        host.delivered[key] = self._row
        np.maximum(host.past_of_delivered, past, out=host.past_of_delivered)
        np.maximum(host.clock, past, out=host.clock)
        if number >= host.clock[sender]:
            host.clock[sender] = number + 1
        if number == host.next[sender]:
            host.next[sender] = number + 1
        if problem is not None:
            raise Violation("causal_order", problem)
        self._require_member(host, "delivers", name)

    def _crash(self, host: Host) -> None:
        if host.crashed:
            raise Violation("membership", f"{self._when()}: {host.name} crashes although it is down")
        host.crashed = True
        host.set_reachable("up", False, self._now())

    def _recover(self, host: Host) -> None:
        if not host.crashed:
            raise Violation("membership", f"{self._when()}: {host.name} recovers although it is up")
        host.crashed = False
        host.set_reachable("up", True, self._now())

    def _gap(self, host: Host) -> None:
        if self._gap_after_s is None:
            raise Violation("gaps", f"{self._when()}: {host.name} has a gap, but this run promises none")
        since = host.unreachable_since
        silent_s = max(host.silent_ns, 0 if since is None else self._now() - since) / SECOND
        if silent_s + self._heard_every_s < self._gap_after_s:
            raise Violation(
                "gaps",
                f"{self._when()}: {host.name} has a gap after being unreachable for at most {silent_s:.3f} s; "
                f"gaps are allowed after {self._gap_after_s} s",
            )
        self._entitle(host)

    def _handoff_start(self, host: Host) -> None:
        host.last_handoff = f"handoff of session {self._events['session'][self._row]} begun {self._when()}"
        host.set_reachable("connected", False, self._now())

    def _handoff_end(self, host: Host) -> None:
        host.last_handoff = f"handoff of session {self._events['session'][self._row]} ended {self._when()}"
        host.set_reachable("connected", True, self._now())

    def _out_of_coverage(self, host: Host) -> None:
        host.set_reachable("covered", False, self._now())

    def _in_coverage(self, host: Host) -> None:
        host.set_reachable("covered", True, self._now())

    # --- rules

    def _entitle(self, host: Host) -> None:
        """From now on the host is owed every new message, and no older one."""
        host.entitled = self._count.copy()
        host.next = self._count.copy()
        host.silent_ns = 0

    def _order_problem(self, host: Host, sender: int, number: int, past: np.ndarray, name: str) -> str | None:
        if number < host.entitled[sender]:
            if host.past_of_delivered[sender] > number:
                return self._overtaken(host, sender, number, name)
            missing = np.flatnonzero(past > host.next)
        elif number != host.next[sender]:
            return self._overtaken(host, sender, int(host.next[sender]), f"{self._senders[sender]}:{host.next[sender]}")
        else:
            missing = np.flatnonzero(past > host.next)
        if len(missing) == 0:
            return None
        o = int(missing[0])
        early = f"{self._senders[o]}:{host.next[o]}"
        return self._overtaken(host, o, int(host.next[o]), early)

    def _overtaken(self, host: Host, sender: int, number: int, early: str) -> str:
        """`early` should have come before something that the host has delivered."""
        late = self._events["message"][self._row]
        if late == early:  # an old message, delivered after one that depends on it
            late = next(
                f"{self._senders[o]}:{n}" for o, n in host.delivered if self._past[o, n][sender] > number
            )
        return (
            f"{late} overtook {early} at {host.name}:\n"
            f"  {early} was broadcast {self._when(self._row_of('broadcast', early))}\n"
            f"  {late} was broadcast {self._when(self._row_of('broadcast', late))}, after it causally\n"
            f"  {host.name} delivered {late} {self._when(self._row_of('deliver', late, host.name))}, "
            f"and had not delivered {early}\n"
            f"  {host.last_handoff}"
        )

    def _require_member(self, host: Host, does: str, name: str) -> None:
        if not host.member:
            raise Violation("membership", f"{self._when()}: {host.name} {does} {name} although it is no member")
        if host.crashed:
            raise Violation("membership", f"{self._when()}: {host.name} {does} {name} although it is down")

    def undelivered(self) -> Iterator[str]:
        """What members still owe at the end, an explanation each."""
        for name in sorted(self._hosts):
            host = self._hosts[name]
            if not host.member:
                continue
            for o in np.flatnonzero(host.next < self._count):
                missing = f"{self._senders[o]}:{host.next[o]}"
                yield (
                    f"{name} is a member at the end and never delivered {missing}\n"
                    f"  it was broadcast {self._when(self._row_of('broadcast', missing))}\n  {host.last_handoff}"
                )

    def undelivered_count(self) -> int:
        """Pairs (member at the end, message it is entitled to and has not delivered)."""
        return sum(int((self._count - host.next).sum()) for host in self._hosts.values() if host.member)

    # --- reading

    def _message(self) -> MessageKey:
        text = self._events["message"][self._row]
        if text is None:
            raise Violation("creation", f"{self._when()}: the event names no message")
        origin, _, number = text.rpartition(":")
        return self._column[origin], int(number)

    def _now(self) -> int:
        return int(self._events["time_ns"][self._row])

    def _when(self, row: int | None = None) -> str:
        if row is None:
            row = self._row
        return f"at {self._events['time_ns'][row] / SECOND:.6f} s (event {row})"

    def _row_of(self, event: str, message: str, node: str | None = None) -> int:
        """Searched only for explanations."""
        events = self._events
        for row, (what, which, who) in enumerate(zip(events["event"], events["message"], events["node"], strict=True)):
            if what == event and which == message and (node is None or who == node):
                return row
        return self._row
