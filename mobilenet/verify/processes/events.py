"""Check that processes did what the scenario plans, in time, and their failure detectors what they can.

Checks    a process crashes when the scenario plans it, once, and never recovers
          it broadcasts at the planned times, until it crashes, and numbers its messages from 0
          no message is delivered sooner than the network can bring it
          without a failure detector no process is suspected; a perfect one suspects every crashed process, once, and
          no other one; any detector suspects and trusts in turns, and first when a test could have failed. In a run at
          rest each process that is up suspects each crashed one
Model     all this follows from scenario and seed, from the network and from the detector, whatever the protocol does
Units     integer nanoseconds
Source    ours: docs/protocols/vcube.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from mobilenet.expected.expectations import Detecting, ProcessPlan
from mobilenet.quoting import pluralize
from mobilenet.rundir.table import Table

KINDS = frozenset(("broadcast", "deliver", "crash", "complete", "suspect", "trust"))


def process_events_problem(events: Table, manifest: dict[str, Any], plan: ProcessPlan) -> str | None:
    """Return the first event that contradicts the plan, or what is missing."""
    end_ns = round(manifest["simulated_s"] * 1e9)
    problems = chain(
        _stranger_problems(events),
        _crash_problems(events, plan, end_ns),
        _broadcast_problems(events, plan, end_ns),
        _delay_problems(events, plan),
        _Suspicions(events, manifest, plan).problems(end_ns),
    )
    problem = next(problems, None)
    return None if problem is None else f"events: {problem}"


def when(events: Table, row: int) -> str:
    """Name the time and the row of an event."""
    return f"at {events['time_ns'][row] / 1e9:g} t.u. (event {row})"


def _stranger_problems(events: Table) -> Iterator[str]:
    event = events.column("event")
    for row in np.flatnonzero(~event.among(KINDS)).tolist():
        kind = events["event"][row]
        if kind == "recover":
            yield f"{when(events, row)}: {events['node'][row]} recovers, but a crashed process stays down"
        yield f"{when(events, row)}: {events['node'][row]} has the event {kind}, which processes do not have"


def _crash_problems(events: Table, plan: ProcessPlan, end_ns: int) -> Iterator[str]:
    crashed = set()
    for row in events.column("event").rows("crash").tolist():
        node, now_ns = events["node"][row], events["time_ns"][row]
        due_ns = plan.crashes_ns.get(node)
        if due_ns is None:
            yield f"{when(events, row)}: {node} crashes, but the scenario does not crash it"
        elif node in crashed:
            yield f"{when(events, row)}: {node} crashes for the second time"
        elif now_ns != due_ns:
            yield f"{when(events, row)}: {node} crashes, but the scenario crashes it at {_tu(due_ns)}"
        crashed.add(node)
    for node, due_ns in plan.crashes_ns.items():
        if due_ns <= end_ns and node not in crashed:
            yield f"{node} does not crash, but the scenario crashes it at {_tu(due_ns)}"


def _broadcast_problems(events: Table, plan: ProcessPlan, end_ns: int) -> Iterator[str]:
    """A process that crashes at the instant of a broadcast does not send it."""
    due_times = {
        node: times_ns[: bisect_left(times_ns, plan.crashes_ns[node])] if node in plan.crashes_ns else times_ns
        for node, times_ns in plan.broadcasts_ns.items()
    }
    counts = dict.fromkeys(due_times, 0)
    rows = events.column("event").rows("broadcast")
    columns = (events.pick(name, rows) for name in ("time_ns", "node", "message"))
    for row, now_ns, node, message in zip(rows.tolist(), *columns, strict=True):
        number = counts[node]
        counts[node] += 1
        if number >= len(due_times[node]):
            planned = pluralize(len(due_times[node]), "broadcast")
            yield (f"{when(events, row)}: {node} broadcasts {message}, but the scenario plans only {planned} by {node}")
        elif now_ns != due_times[node][number]:
            due_ns = due_times[node][number]
            yield (
                f"{when(events, row)}: {node} broadcasts {message}, but the scenario plans this broadcast"
                f" at {_tu(due_ns)}"
            )
        elif message != f"{node}:{number}":
            yield f"{when(events, row)}: {node} broadcasts {message}, but its next message is {node}:{number}"
    for node, times_ns in due_times.items():
        if counts[node] < len(times_ns) and times_ns[counts[node]] <= end_ns:
            due_ns = times_ns[counts[node]]
            yield (
                f"{node} does not broadcast {node}:{counts[node]}, but the scenario plans this"
                f" broadcast at {_tu(due_ns)}"
            )


def _delay_problems(events: Table, plan: ProcessPlan) -> Iterator[str]:
    event, node, message = (events.column(name) for name in ("event", "node", "message"))
    times = events.numbers("time_ns")
    sent_ns = np.full(len(message.words) + 1, -1, np.int64)
    sent_rows = event.rows("broadcast")[::-1]
    sent_ns[message.codes[sent_rows]] = times[sent_rows]
    sources = [_number(word.partition(":")[0]) for word in message.words]
    source = message.map(sources, nothing=-1)
    process = node.map([_number(word) for word in node.words], nothing=-1)
    rows = event.rows("deliver")
    is_known = (sent_ns[message.codes[rows]] >= 0) & (source[rows] < len(plan.broadcasts_ns))
    rows = rows[is_known & (source[rows] != process[rows])]
    links: Any = 1
    if plan.distances is not None:
        links = np.array(plan.distances)[source[rows], process[rows]]
    least_ns = plan.hop_ns * links
    took_ns = times[rows] - sent_ns[message.codes[rows]]
    for i in np.flatnonzero(took_ns < least_ns).tolist():
        row, least = int(rows[i]), plan.hop_ns * (1 if plan.distances is None else int(links[i]))
        yield (
            f"{when(events, row)}: {events['node'][row]} delivers {events['message'][row]} {_tu(int(took_ns[i]))}"
            f" after its broadcast, but the network takes at least {_tu(least)}"
        )


class _Suspicions:
    def __init__(self, events: Table, manifest: dict[str, Any], plan: ProcessPlan) -> None:
        self._events = events
        self._names = {f"p{i}" for i in range(manifest["processes"])}
        self._is_quiescent = manifest["quiescent"]
        self._plan = plan
        self._crashed: dict[str, int] = {}
        self._suspected: dict[tuple[str, str], list[tuple[int, bool]]] = {}  # each change, in order

    def problems(self, end_ns: int) -> Iterator[str]:
        detector, events = self._plan.detector, self._events
        rows = events.column("event").rows("suspect", "trust", "crash").tolist()
        for row in rows:
            node, now_ns = events["node"][row], events["time_ns"][row]
            if events["event"][row] == "crash":
                self._crashed.setdefault(node, now_ns)
                continue
            does = "suspects" if events["event"][row] == "suspect" else "trusts"
            if detector is None:
                yield f"{when(events, row)}: {node} {does} a process, but the scenario has no failure detector"
                return
            other = _process_in(events["detail"][row])
            if other not in self._names or other == node:
                detail = events["detail"][row]
                yield f"{when(events, row)}: {node} {does} with the detail {detail!r}, expected another process"
                return
            problem = self._problem(detector, node, other, now_ns, does == "suspects")
            if problem is not None:
                yield f"{when(events, row)}: {node} {does} {other}, {problem}"
            self._suspected.setdefault((node, other), []).append((now_ns, does == "suspects"))
        if detector is not None:
            yield from self._missing(detector, end_ns)

    def _problem(self, detector: Detecting, node: str, other: str, now_ns: int, suspects: bool) -> str | None:
        history = self._suspected.get((node, other), [])
        if suspects == (bool(history) and history[-1][1]):
            return "which it already suspects" if suspects else "which it does not suspect"
        if detector.is_perfect and not suspects:
            return "but a perfect detector never withdraws a suspicion"
        if detector.is_perfect and other not in self._crashed:
            return "which has not crashed"
        first_ns = min(detector.timeout_ns, *(at_ns for at_ns, *_ in detector.mistakes), detector.timeout_ns)
        if suspects and now_ns < first_ns:
            return f"and no test can fail before {_tu(first_ns)}"
        return None

    def _missing(self, detector: Detecting, end_ns: int) -> Iterator[str]:
        if self._is_quiescent:
            for other in self._crashed:
                for node in sorted(self._names - set(self._crashed)):
                    history = self._suspected.get((node, other))
                    if not history or not history[-1][1]:
                        yield (
                            f"at the end of the run, {node} does not suspect {other}, which crashed, although the run"
                            " is at rest"
                        )
        for at_ns, by, about in detector.mistakes:
            history = self._suspected.get((by, about), [])
            before = [suspects for time_ns, suspects in history if time_ns < at_ns]
            is_up = self._plan.crashes_ns.get(by, end_ns + 1) > at_ns
            if at_ns <= end_ns and is_up and not (before and before[-1]) and (at_ns, True) not in history:
                yield f"{by} does not suspect {about} at {_tu(at_ns)}, although the scenario plans that mistake"


def _process_in(text: str | None) -> str | None:
    """The process that a detail names, if it names nothing else."""
    detail = json.loads(text or "{}")
    process = detail.get("process")
    return process if isinstance(process, str) and len(detail) == 1 else None


def _number(name: str) -> int:
    return int(name[1:])


def _tu(time_ns: int) -> str:
    return f"{time_ns / 1e9:.12g} t.u."
