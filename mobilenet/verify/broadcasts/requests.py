"""Check that hosts join, leave and broadcast as requested, and only then.

Checks    no host joins or leaves without a request, or more often than requested
          a member that was not asked to leave does not refuse a broadcast on the grounds that it is no member
          a host that knows it should leave does not broadcast any more, even before it has left
          when a run has come to rest, each host is a member if its last request was to join, and otherwise is not
Model     the requests follow from the scenario, or are in the record (`asked`) if processes of users make them. A
          request is repeated until it is fulfilled, and the last request counts. When the next request comes, a host
          may still fulfil the previous one: a leaving host waits until its own messages are accepted. A host that is
          asked to join has not been asked to leave before. For a while after all stations forgot a host, it is a member
          that may refuse broadcasts (see exemptions.py). For custom protocols only joins and leaves are judged, because
          these protocols may refuse broadcasts. They receive each request only once: a host that was up and in coverage
          from the request to the end should have fulfilled it, unless its code refuses or losses prevent it
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
    wish: str  # `join` or `leave`
    row: int = -1  # the row of the event, if it is recorded


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
        """Prepare a host's requests. `again_ns`: the interval at which an unfulfilled request is repeated."""
        self._again_ns = again_ns
        self._requests = requests
        self._next = 0
        self.wish: str | None = None  # the last request
        self.may_join = self.may_leave = False
        self.is_member, self.is_up, self.is_covered, self.is_forgotten = False, True, False, False
        self.reachable_ns: int | None = None  # start of the current period up and in coverage
        self.last_row: int | None = None  # the row of its last join or leave
        self.leave_known_ns = 0  # From this time on, the host must know that it should leave.

    def hear(self, now_ns: int, row: int) -> None:
        """Process the requests that were made up to this time and row."""
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
        """Update the host for a crash, a recovery, or a change of coverage."""
        if event in ("crash", "recover"):
            self.is_up = event == "recover"
        else:
            self.is_covered = event == "in_coverage"
        if not (self.is_up and self.is_covered):
            self.reachable_ns = None
        elif self.reachable_ns is None:
            self.reachable_ns = now_ns

    def tell_again(self, now_ns: int) -> None:
        """Repeat the request, which could not be passed to the host earlier."""
        self.leave_known_ns = now_ns + self._again_ns

    def last_wish(self, end_ns: int) -> Request | None:
        """Return the last request. Return None if there is none, if it came at the end of the active part, or if
        another request came at the same time.
        """
        wishes = self._requests
        together = [wish for wish in wishes if wish[0::2] == (wishes[-1].at_ns, wishes[-1].row)]
        return wishes[-1] if len(together) == 1 and wishes[-1].at_ns < end_ns else None

    def next_asked(self, kind: str) -> str:
        later = [request.at_ns for request in self._requests[self._next :] if request.wish == kind]
        return f"it is not asked until {later[0] / 1e9:.6f} s" if later else "it is not asked later either"


class Obedience(NamedTuple):
    """The first action that a host took without a request, and the first request that a host did not fulfil."""

    unasked: str | None = None
    ignored: str | None = None


def obedience(events: Columns, expected: Expectations | None, at_rest: bool = False) -> Obedience:
    """Compare the actions of hosts with their requests. Unfulfilled requests are only reported if the run is at
    rest.
    """
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
    """Return the requests to each host, from the events if they contain any, and otherwise from the plan."""
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
    """Return a sentence if the host did not fulfil its last request, or None if it did."""
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
