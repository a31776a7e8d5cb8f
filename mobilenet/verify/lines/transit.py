"""Check that no process receives a message before the network can have brought it.

Checks    each message that a process receives was sent to it by the other process, at least the shortest transit time
          earlier, and is received at most once
Model     two messages are the same if their JSON values are equal. On a given network of wires, the shortest transit
          time is that of a shortest path
Units     integer nanoseconds
Source    ours: docs/protocols/vcube.md, docs/guide/programs.md
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mobilenet.scenario.plans.expectations import ProcessPlan
from mobilenet.verify.lines.inputs import encode

Way = tuple[int, int, str]  # sender, receiver, message


def transit_problem(rows: Iterable[Any], plan: ProcessPlan) -> str | None:
    """Return the first message that arrives too early, or None. `rows`: the lines, as in judge.py."""
    sent_ns: dict[Way, list[int]] = {}
    received: dict[Way, int] = {}
    for row, line in enumerate(rows):
        what, me = line.object, int(line.node[1:])
        if line.is_action and what["do"] == "send":
            sent_ns.setdefault((me, what["to"], encode(what["message"])), []).append(line.at_ns)
        elif not line.is_action and what["ev"] == "receive":
            way = what["from"], me, encode(what["message"])
            place = received.get(way, 0)
            received[way] = place + 1
            known_ns = sent_ns.get(way, [])
            least_ns = _least_ns(plan, what["from"], me)
            if place >= len(known_ns) or line.at_ns < known_ns[place] + least_ns:
                by_then = sum(at_ns + least_ns <= line.at_ns for at_ns in known_ns)
                return (
                    f"lines: row {row}: p{me} is notified at {line.at_ns / 1e9:.9f} t.u. of copy {place + 1}"
                    " of the same"
                    f" message from p{what['from']}, but only {by_then} could have arrived"
                )
    return None


def _least_ns(plan: ProcessPlan, one: int, other: int) -> int:
    if one == other:
        return 0
    return plan.hop_ns * (1 if plan.distances is None else plan.distances[one][other])
