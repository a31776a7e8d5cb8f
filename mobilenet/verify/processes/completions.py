"""Check that a source learned that its broadcast was complete when it can have, and always did.

Checks    the instant that a completion names is that of the event, or one hand-over before it
          a protocol that does not report completion reports none
          while the source does not suspect all others, a completion rests on an acknowledgement, unless the source
          suspects another process at that instant: so it has made at least two ways over the network
          in a run without suspicions an acknowledgement has come from every delivery
          at rest, every broadcast of a correct source is complete
Model     that a completion is reported twice, or for another's message, is judged by properties.py
Units     integer nanoseconds
Source    ours: docs/protocols/vcube.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from mobilenet.expected.expectations import ProcessPlan
from mobilenet.rundir.table import Table
from mobilenet.verify.processes.events import when


def completions_problem(events: Table, manifest: dict[str, Any], plan: ProcessPlan) -> str | None:
    """Return the first completion that cannot be."""
    problem = next(_problems(events, manifest["processes"], plan), None)
    return None if problem is None else f"events: {problem}"


def missing_completion(events: Table, manifest: dict[str, Any], plan: ProcessPlan) -> str | None:
    """Return a broadcast that should be complete at rest, and is not."""
    broadcasting = plan.broadcasting
    if broadcasting is None or not broadcasting.completes or not manifest["quiescent"]:
        return None
    event = events.column("event")
    complete = set(events.pick("message", event.rows("complete")))
    crashed = set(events.pick("node", event.rows("crash")))
    rows = event.rows("broadcast")
    columns = (events.pick(name, rows) for name in ("node", "message"))
    for row, node, message in zip(rows.tolist(), *columns, strict=True):
        if node not in crashed and message not in complete:
            return f"{node} broadcasts {message} {when(events, row)}, but never learns that it is complete"
    return None


def _problems(events: Table, processes: int, plan: ProcessPlan) -> Iterator[str]:
    broadcasting = plan.broadcasting
    sent_ns: dict[str, int] = {}
    suspected: dict[str, set[str]] = {}
    last_suspicion_ns: dict[str, int] = {}
    last_ns = _last_deliveries(events)
    rows = events.column("event").rows("broadcast", "complete", "suspect", "trust")
    columns = (events.pick(name, rows) for name in ("time_ns", "node", "event", "message", "detail"))
    for row, now_ns, node, event, message, detail in zip(rows.tolist(), *columns, strict=True):
        if event == "broadcast":
            sent_ns.setdefault(message, now_ns)
        elif event == "complete":
            at_ns = json.loads(detail)["at_ns"]
            does = f"{when(events, row)}: {node} learns that {message} is complete"
            if broadcasting is not None and not broadcasting.completes:
                yield f"{does}, but {broadcasting.name} does not report completion"
            if now_ns - at_ns not in (0, plan.hand_over_ns):
                yield f"{does}, but at_ns is {at_ns}, expected {_expected_times(now_ns, plan.hand_over_ns)}"
            if broadcasting is None or message not in sent_ns:
                continue
            owes = len(suspected.get(node, ())) < processes - 1 and last_suspicion_ns.get(node) != now_ns
            if owes and now_ns - at_ns != plan.hand_over_ns:
                yield f"{does} by an acknowledgement, but at_ns is {at_ns}, expected {now_ns - plan.hand_over_ns}"
            if owes and now_ns < sent_ns[message] + 2 * plan.hop_ns:
                took_ns = now_ns - sent_ns[message]
                yield f"{does}, {took_ns} ns after its broadcast; a round trip takes {2 * plan.hop_ns} ns"
            if last_ns is not None and now_ns < last_ns.get(message, now_ns - plan.hop_ns) + plan.hop_ns:
                yield f"{does}, less than {plan.hop_ns} ns after its last delivery, too early for the source to know"
        else:
            other = json.loads(detail or "{}").get("process")
            if event == "suspect":
                suspected.setdefault(node, set()).add(str(other))
                last_suspicion_ns[node] = now_ns
            else:
                suspected.setdefault(node, set()).discard(str(other))


def _expected_times(now_ns: int, hand_over_ns: int) -> str:
    return f"{now_ns}" if not hand_over_ns else f"{now_ns} or {now_ns - hand_over_ns}"


def _last_deliveries(events: Table) -> dict[str, int] | None:
    """When each message was delivered last, at another process than its source; None: not all deliveries count, as
    there were suspicions or crashes.
    """
    event, node, message = (events.column(name) for name in ("event", "node", "message"))
    if len(event.rows("suspect", "crash")):
        return None
    codes = {name: code for code, name in enumerate(node.words)}
    source = message.map([codes.get(word.partition(":")[0], -1) for word in message.words], nothing=-1)
    rows = event.rows("deliver")
    rows = rows[source[rows] != node.codes[rows]]
    last = np.full(len(message.words) + 1, -1, np.int64)
    np.maximum.at(last, message.codes[rows], events.numbers("time_ns")[rows])
    return {word: int(last[code]) for code, word in enumerate(message.words) if last[code] >= 0}
