"""Check the time of the last reception against what processes did then.

Checks    a process whose buffer changes has received something, unless it broadcasts or changes its opinion of another
          process in that instant
          in a run at rest without crashes and suspicions the last reception is the last acknowledgement, by which a
          source learns that its broadcast is complete, or where no message is acknowledged, the last that was delivered
Model     of the broadcasts over VCube. The last sample of a process is not a change
Units     integer nanoseconds
Source    ours: docs/protocols/vcube.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from mobilenet.expected.expectations import Broadcasting, ProcessPlan
from mobilenet.rundir.table import Table, by_code

WAITS = "unacknowledged"


def last_reception_problem(
    messages: dict[str, Any], events: Table, samples: Table, manifest: dict[str, Any], plan: ProcessPlan
) -> str | None:
    """Return why the counter cannot be."""
    broadcasting, last_ns = plan.broadcasting, messages["last_reception_ns"]
    if broadcasting is None or manifest["processes"] < 2:
        return None
    least_ns = _last_change_ns(events, samples) - plan.hand_over_ns if plan.samples_changes else 0
    if last_ns < least_ns:
        return (
            f"messages: last_reception_ns is {last_ns}, but a buffer changes because of a later reception, at"
            f" {least_ns}"
        )
    if not manifest["quiescent"] or len(events.column("event").rows("suspect", "crash")):
        return None
    due_ns = _quiet_ns(events, samples, broadcasting, plan)
    if due_ns is not None and last_ns != due_ns:
        return (
            f"messages: last_reception_ns is {last_ns}, but the last message that this counter covers arrives at"
            f" {due_ns}"
        )
    return None


def _last_change_ns(events: Table, samples: Table) -> int:
    """Return when a process that does nothing by itself changes a buffer last."""
    event, node = events.column("event"), events.column("node")
    number = {name: place for place, name in enumerate(node.words)}
    acts = event.rows("broadcast", "suspect", "trust")
    acted = events.numbers("time_ns")[acts] * len(number) + node.codes[acts]
    sampled = samples.column("node")
    rows = _changes(samples, np.arange(samples.rows))
    who = sampled.map([number.get(name, -1) for name in sampled.words], nothing=-1)[rows]
    times = samples.numbers("time_ns")[rows]
    times = times[(who >= 0) & ~np.isin(times * len(number) + who, acted)]
    return int(times.max(initial=0))


def _changes(samples: Table, rows: np.ndarray) -> np.ndarray:
    """Leave out the last sample of each buffer, which is not a change if its process is up at the end."""
    node, quantity = samples.column("node"), samples.column("quantity")
    series = node.codes[rows].astype(np.int64) * len(quantity.words) + quantity.codes[rows]
    order = by_code(series)
    changes: np.ndarray = rows[order][np.diff(series[order], append=-1) == 0]
    return changes


def _quiet_ns(events: Table, samples: Table, broadcasting: Broadcasting, plan: ProcessPlan) -> int | None:
    """Return when the last message arrives if all goes well; None: not known."""
    event = events.column("event")
    if broadcasting.completes:
        details = events.pick("detail", event.rows("complete"))
        return max((json.loads(detail)["at_ns"] for detail in details), default=0)
    times_ns = np.zeros(0, np.int64)
    if broadcasting.spans and plan.samples_changes:
        rows = _changes(samples, samples.column("quantity").rows(WAITS))
        times_ns = samples.numbers("time_ns")[rows]
    elif broadcasting.ends_with_delivery:
        times_ns = events.numbers("time_ns")[event.rows("deliver")]
    return int(times_ns.max()) - plan.hand_over_ns if len(times_ns) else None
