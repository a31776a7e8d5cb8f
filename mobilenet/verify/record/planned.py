"""Whether what the scenario plans happened when it was planned, and nothing else of the kind.

Checks    nothing happens at a host that has not appeared yet, or of which the scenario does not know
          each time that an application wants to broadcast, its host broadcasts or refuses, in that nanosecond, and at
          no other time hosts crash when it is their turn, all that can, and recover when their time is over, or when
          the active part is
          a host of the mobile broadcast begins a handoff because of a new cell when its cell is looked at: on a tick of
          the attachment, when it appears or is dragged, or when the active part is over
Model     all this is the world's doing, whatever the protocol does: what does not fit is damage. A host that may be
          gone for good need not broadcast any more
Units     integer nanoseconds
Source    ours: docs/protocols/mobile-causal.md, docs/models/world.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Crashes, Expectations, HostPlan
from mobilenet.quoting import pluralize
from mobilenet.rundir.table import Columns, Table
from mobilenet.verify.broadcasts.given_up import cause_of

SELDOM = frozenset(("join", "leave", "broadcast", "refused", "gap", "crash", "recover", "in_coverage"))


def planned_problem(events: Columns, expected: Expectations | None) -> str | None:
    """The first event that was not planned, or is missing."""
    if expected is None or expected.hosts is None:
        return None
    plans = {f"h{number}": plan for number, plan in enumerate(expected.hosts)}
    crashes = _Crashes(expected.crashes, expected.end_ns)
    offered = dict.fromkeys(plans, 0)  # host -> how many of the times that its application wanted to broadcast are over
    for row in Table.of(events).column("event").rows(*SELDOM).tolist():
        event, node, now_ns = events["event"][row], events["node"][row], events["time_ns"][row]
        plan = plans.get(node)
        if plan is None:
            problem: str | None = f"has the event {event}, but the scenario has {pluralize(len(plans), 'host')}"
        elif now_ns < plan.appears_ns:
            problem = f"has the event {event}, although it appears only at {_s(plan.appears_ns)}"
        elif event in ("broadcast", "refused"):
            problem = _offer_problem(plan.offers_ns, offered[node], now_ns, event)
            offered[node] += 1
        elif event in ("crash", "recover"):
            problem = crashes.note(event, node, now_ns)
        else:
            continue
        if problem is not None:
            return f"events: at {_s(now_ns)} (event {row}): {node} {problem}"
    for node, plan in plans.items():
        left = (plan.offers_ns or [])[offered[node] :]
        if left and (plan.vanishes_ns is None or left[0] < plan.vanishes_ns):
            return (
                f"events: {node} neither broadcasts nor refuses at {_s(left[0])}, although its application asks it to"
            )
    return crashes.missing(plans) or _ticks_problem(Table.of(events), plans, expected)


def _ticks_problem(events: Table, plans: dict[str, HostPlan], expected: Expectations) -> str | None:
    if expected.conduct is None or not expected.conduct.only_connected or expected.places is None:
        return None
    details = events.column("detail")
    is_cell = details.map([cause_of(word) == "cell" for word in details.words], nothing=False).astype(bool)
    rows = np.flatnonzero(events.column("event").among(("handoff_start",)) & is_cell)
    times, tick_ns = events.numbers("time_ns")[rows], expected.places.tick_ns
    for row, now_ns in zip(rows[times % tick_ns != 0].tolist(), times[times % tick_ns != 0].tolist(), strict=True):
        plan = plans.get(events["node"][row])
        if plan is not None and now_ns not in (plan.appears_ns, expected.end_ns, *(drag[0] for drag in plan.drags)):
            return (
                f"events: at {_s(now_ns)} (event {row}): {events['node'][row]} begins a handoff because of a new cell,"
                f" but cells are checked only at multiples of {tick_ns / SECOND:g} s"
            )
    return None


def _offer_problem(offers_ns: list[int] | None, over: int, now_ns: int, event: str) -> str | None:
    if offers_ns is None:
        return None
    if over < len(offers_ns):
        next_ns = offers_ns[over]
        if next_ns == now_ns:
            return None
        return (
            f"has the event {event}, but its application {'next wants' if next_ns > now_ns else 'wanted'} to broadcast"
            f" at {_s(next_ns)}{'' if next_ns > now_ns else ', and nothing happened then'}"
        )
    return f"has the event {event}, but its application does not want to broadcast any more"


class _Crashes:
    """The nodes that are down, and until when."""

    def __init__(self, planned: Crashes | None, end_ns: int) -> None:
        self._planned = planned or Crashes({}, {})
        self._end_ns = end_ns
        self._up_at_ns: dict[str, list[int]] = {}  # two: a planned outage and a crash by hand at one instant
        self._times: dict[str, list[int]] = {}  # host -> when it crashed and recovered, in turns

    def note(self, event: str, node: str, now_ns: int) -> str | None:
        if event == "recover":
            due_ns = self._up_at_ns.pop(node, None)
            if due_ns is None:
                return None  # the property's own: membership
            self._times[node].append(now_ns)
            return None if now_ns in due_ns else f"recovers, but its outage ends at {_s(min(due_ns))}"
        planned = (self._planned.of_hosts.get(node, {}).get(now_ns), self._planned.of_anybody.get(now_ns))
        lasts_ns = [each for each in planned if each is not None]
        if not lasts_ns:
            return "crashes, but it is not due to crash"
        by_hand = (at_ns for at_ns in (self._planned.recoveries or {}).get(node, ()) if at_ns >= now_ns)
        latest_ns = min(self._end_ns, next(by_hand, self._end_ns))
        self._up_at_ns[node] = [min(now_ns + each, latest_ns) for each in lasts_ns]
        self._times.setdefault(node, []).append(now_ns)
        return None

    def missing(self, plans: dict[str, HostPlan]) -> str | None:
        """A node that never came up again, or should have crashed."""
        for node, due_ns in self._up_at_ns.items():
            return f"events: {node} never recovers, but its outage ends at {_s(min(due_ns))}"
        for node, planned in self._planned.of_hosts.items():
            plan = plans.get(node)
            if plan is None:
                continue
            times = self._times.get(node, [])
            for at_ns in sorted(set(planned) - set(times)):
                is_up = bisect_left(times, at_ns) % 2 == 0
                is_there = plan.appears_ns <= at_ns and (plan.vanishes_ns is None or at_ns < plan.vanishes_ns)
                if is_up and is_there:
                    return f"events: {node} does not crash at {_s(at_ns)}, but it is due to crash"
        return None


def _s(time_ns: int) -> str:
    return f"{time_ns / 1e9:.6f} s"
