"""Check that hosts did what they were asked to do and nothing else: join, leave, broadcast.

Checks    no host joins or leaves without being asked to, and once for each time that it was asked
          no member that was not asked to leave refuses a broadcast because it is not a member
          no host broadcasts any more that was asked to leave, knows it, and is not gone yet
          when a run has come to rest, each host is what it was asked to be last: a member, or not
Model     what hosts are asked follows from the scenario, or is in the record (`asked`) where processes of users ask. A
          request is passed to a host again and again until it is fulfilled, and the last request counts; a host may
          still do what it was once asked to when the next request comes: a leaving host waits until its own messages
          are through. A host that joins has not been asked to leave before. For a while after stations forgot it a host
          is a member and yet not (see exemptions.py): it may refuse. For custom protocols only joins and leaves are
          judged: they may refuse what they like, and a request is passed to them once. If the host was up and in
          coverage from the request to the end, it should be what it was asked to be, unless its code refuses or losses
          prevent it
Units     integer nanoseconds
Source    ours: docs/protocols/mobile-causal.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from typing import NamedTuple

from mobilenet.record.table import Columns, Table
from mobilenet.scenario.plans.expectations import Expectations, HostPlan
from mobilenet.verify.broadcasts.exemptions import forgotten_rows

CHANGES = ("crash", "recover", "in_coverage", "out_of_coverage")
KINDS = ("join", "leave", "broadcast", "refused", "gap", "handoff_end", *CHANGES)


class Request(NamedTuple):
    at_ns: int
    wish: str  # join or leave
    row: int = -1  # of the event, where it is recorded


class _Host:
    __slots__ = (
        "_again_ns",
        "_next",
        "_requests",
        "is_covered",
        "is_forgotten",
        "is_member",
        "is_up",
        "last_row",
        "leave_known_ns",
        "may_join",
        "may_leave",
        "reachable_ns",
        "wish",
    )

    def __init__(self, requests: list[Request], again_ns: int) -> None:
        """Prepare a host's requests. `again_ns`: the interval at which a request is repeated."""
        self._again_ns = again_ns
        self._requests = requests
        self._next = 0
        self.wish: str | None = None  # the last one
        self.may_join = self.may_leave = False
        self.is_member, self.is_up, self.is_covered, self.is_forgotten = False, True, False, False
        self.reachable_ns: int | None = None  # since when the host is up and in coverage
        self.last_row: int | None = None  # of its last join or leave
        self.leave_known_ns = 0  # when a request to leave has surely reached it

    def hear(self, now_ns: int, row: int) -> None:
        """Read the requests that the host has had so far."""
        wishes = self._requests
        while self._next < len(wishes) and wishes[self._next].at_ns <= now_ns and wishes[self._next].row < row:
            at_ns, self.wish, _ = wishes[self._next]
            self._next += 1
            if self.wish == "join":
                self.may_join = True
            else:
                self.may_leave = True
                self.leave_known_ns = max(self.leave_known_ns, at_ns + self._again_ns)

    def change(self, event: str, now_ns: int) -> None:
        """Note that the host crashes, recovers, or enters or leaves coverage."""
        if event in ("crash", "recover"):
            self.is_up = event == "recover"
        else:
            self.is_covered = event == "in_coverage"
        if not (self.is_up and self.is_covered):
            self.reachable_ns = None
        elif self.reachable_ns is None:
            self.reachable_ns = now_ns

    def tell_again(self, now_ns: int) -> None:
        """Repeat the request, which can be passed on only now."""
        self.leave_known_ns = now_ns + self._again_ns

    def last_wish(self, end_ns: int) -> Request | None:
        """Return the request that counts when the run has come to rest, or None if no single request came last."""
        wishes = self._requests
        together = [wish for wish in wishes if wish[0::2] == (wishes[-1].at_ns, wishes[-1].row)]
        return wishes[-1] if len(together) == 1 and wishes[-1].at_ns < end_ns else None

    def next_asked(self, kind: str) -> str:
        later = [request.at_ns for request in self._requests[self._next :] if request.wish == kind]
        return f"it is not asked until {later[0] / 1e9:.6f} s" if later else "it is not asked later either"


class Obedience(NamedTuple):
    """The first thing that a host did unasked, and the first that a host was asked and did not do."""

    unasked: str | None = None
    ignored: str | None = None


def obedience(events: Columns, expected: Expectations | None, at_rest: bool = False) -> Obedience:
    """Compare what hosts did with their requests. Ignored requests show only when the run is at rest."""
    if expected is None or expected.hosts is None:
        return Obedience()
    table = Table.of(events)
    requests = _requests(expected.hosts, table if expected.processes_ask else None)
    hosts = {name: _Host(wishes, expected.asked_again_ns) for name, wishes in requests.items()}
    forgotten = forgotten_rows(events)
    is_known = expected.protocol is not None
    rows = table.column("event").rows(*KINDS)
    columns = (table.pick(name, rows) for name in ("event", "node", "time_ns", "detail"))
    for row, event, node, now_ns, detail in zip(rows.tolist(), *columns, strict=True):
        if node not in hosts:
            continue
        host = hosts[node]
        host.hear(now_ns, row)
        problem = _joins_or_leaves(host, event, now_ns)
        if event in ("join", "leave"):
            host.last_row = row
        if problem is None and is_known:
            problem = _broadcasts(host, event, detail or "", now_ns)
        if problem is not None:
            return Obedience(f"at {now_ns / 1e9:.6f} s (event {row}): {node} {problem}")
        if event in CHANGES:
            host.change(event, now_ns)
        if event == "handoff_end" and host.is_forgotten or event == "gap" and row in forgotten:
            host.is_forgotten = event == "gap"
            host.tell_again(now_ns)
        elif event in ("join", "recover"):
            host.tell_again(now_ns)
    if not at_rest:
        return Obedience()
    wishes = (_unfulfilled_wish(node, host, expected.end_ns, is_known) for node, host in hosts.items())
    return Obedience(ignored=next(filter(None, wishes), None))


def _requests(plans: list[HostPlan], events: Table | None) -> dict[str, list[Request]]:
    """Return the requests to each host, from the events if there are any, and otherwise from the plan."""
    if events is None:
        return {f"h{number}": [Request(*one) for one in plan.requests] for number, plan in enumerate(plans)}
    requests: dict[str, list[Request]] = {f"h{number}": [] for number in range(len(plans))}
    rows = events.column("event").rows("asked")
    columns = (events.pick(name, rows) for name in ("node", "time_ns", "detail"))
    for row, node, at_ns, detail in zip(rows.tolist(), *columns, strict=True):
        if node in requests:
            requests[node].append(Request(at_ns, json.loads(detail or "{}").get("wish"), row))
    return requests


def _unfulfilled_wish(node: str, host: _Host, end_ns: int, is_repeated: bool) -> str | None:
    """Return the last request that the host has not met, though no request is pending any more."""
    wish = host.last_wish(end_ns)
    if wish is None or host.is_member == (wish.wish == "join"):
        return None
    if not is_repeated and (host.reachable_ns is None or host.reachable_ns >= max(1, wish.at_ns)):
        return None
    where = "" if host.last_row is None else f" (event {host.last_row})"
    if host.is_member:
        return (
            f"{node} joins{where} and does not leave again, although it is asked at {wish.at_ns / 1e9:.6f} s to leave"
        )
    behaviour = f"leaves{where} and does not join again" if host.last_row is not None else "never joins"
    return f"{node} {behaviour}, although it is asked at {wish.at_ns / 1e9:.6f} s to join"


def _joins_or_leaves(host: _Host, event: str, now_ns: int) -> str | None:
    if event == "join":
        if not host.may_join:
            return f"joins without being asked; {host.next_asked('join')}"
        host.is_member, host.may_join, host.may_leave = True, False, host.wish == "leave"
    elif event == "leave":
        if not host.may_leave:
            return f"leaves without being asked; {host.next_asked('leave')}"
        host.is_member, host.may_leave, host.may_join = False, False, host.wish == "join"
    return None


def _broadcasts(host: _Host, event: str, detail: str, now_ns: int) -> str | None:
    if event == "refused":
        if "member" in detail and host.is_member and not host.may_leave and not host.is_forgotten:
            return "refuses a broadcast as a non-member, although it is a member and was not asked to leave"
    elif event == "broadcast":
        knows_of_leave = host.may_leave and host.wish == "leave" and now_ns > host.leave_known_ns
        if knows_of_leave and host.is_member and host.is_up and not host.is_forgotten:
            return "broadcasts although it was asked to leave"
    return None
