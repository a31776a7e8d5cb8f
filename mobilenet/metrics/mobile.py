"""One flat row of numbers from what a run of hosts and stations recorded.

Model     the window is warmup_s..duration_s. Delays are those of messages broadcast within the window, whenever they
          arrive; rates and buffers are those of the window itself. Ratios without a denominator are null. Interruptions
          during which the host crashed or left say nothing of the handoff, and are left out
Units     seconds, messages, bytes, as the names say
Shapes    delays: float64 (deliveries,), seconds
Errors    none: a record that the verifier refuses need not be measured
Source    the quantities of Wilhelm, Arantes, Sens (2020), section V; ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import Any

import numpy as np

from mobilenet.metrics.buffers import buffers, lists
from mobilenet.metrics.fold import Columns, EventFold
from mobilenet.metrics.network import network
from mobilenet.metrics.registry import SECOND, Row, mean


def mobile_metrics(events: Columns, samples: Columns, counters: dict[str, Any], manifest: dict[str, Any]) -> Row:
    """One row from the columns of a run; the manifest tells the window (warmup_s, duration_s)."""
    begin, end = round(manifest["warmup_s"] * SECOND), round(manifest["duration_s"] * SECOND)
    fold = EventFold(begin, end).take(events)
    row: Row = {"window_s": (end - begin) / SECOND}
    broadcasts = sum(begin <= time < end for time in fold.broadcast_at.values())
    row |= _messages(fold, broadcasts)
    row |= network(samples, begin, end, broadcasts, fold.deliveries_inside, manifest.get("payload_bytes"))
    row |= buffers(fold, samples)
    row |= _handoffs(fold)
    row |= lists(samples, begin, end)
    row["mac_queue_drops"] = counters["radio"]["queue_drops"]
    return row


def _messages(fold: EventFold, broadcasts: int) -> Row:
    refused = fold.counts["refused"]
    delays_s = np.array(fold.delays_ns, dtype=np.float64) / SECOND
    some = len(delays_s) > 0
    p50, p95, p99 = np.percentile(delays_s, (50, 95, 99)).tolist() if some else (None, None, None)
    return {
        "broadcasts_offered": broadcasts + refused,
        "broadcasts": broadcasts,
        "broadcasts_refused": refused,
        "broadcasts_undelivered": len(fold.owed()),
        "deliveries": fold.deliveries_inside,
        "delivery_delay_mean_s": mean(delays_s),
        "delivery_delay_p50_s": p50,
        "delivery_delay_p95_s": p95,
        "delivery_delay_p99_s": p99,
        "delivery_delay_max_s": float(delays_s.max()) if some else None,
        "gaps": fold.counts["gap"],
        "deliveries_missed_by_gaps": fold.missed_by_gaps(),
        "crashes": fold.counts["crash"],
    }


def _handoffs(fold: EventFold) -> Row:
    """Those from one cell to another; the same procedure after a crash, or a restart, is a recovery."""
    handoffs = [handoff for handoff in fold.handoffs if handoff.cause == "cell"]
    interruptions, excess = [], []
    usual: dict[str, float] = {}  # host -> mean time between two deliveries
    for handoff in handoffs:
        node = handoff.node
        times, breaks = fold.deliveries[node], fold.breaks[node]
        before, after = bisect_left(times, handoff.begin_ns) - 1, bisect_left(times, handoff.end_ns)
        if before >= 0 and after < len(times) and not _within(breaks, times[before], times[after]):
            interruption = (times[after] - times[before]) / SECOND
            interruptions.append(interruption)
            if node not in usual:
                usual[node] = _usual_interval(times, breaks)
            excess.append(interruption - usual[node] / SECOND)
    durations = [(handoff.end_ns - handoff.begin_ns) / SECOND for handoff in handoffs]
    recovered = [handoff.detail.get("recovered", 0) for handoff in handoffs]
    skipped = [handoff.detail.get("skipped", 0) for handoff in handoffs]
    return {
        "handoffs": len(handoffs),
        "handoffs_superseded": fold.superseded,
        "recoveries": len(fold.handoffs) - len(handoffs),
        "handoff_duration_mean_s": mean(durations),
        "handoff_duration_max_s": max(durations, default=None),
        "handoff_interruption_mean_s": mean(interruptions),
        "handoff_interruption_excess_mean_s": mean(excess),
        "handoffs_with_recovered": sum(count > 0 for count in recovered),
        "handoffs_with_skipped": sum(count > 0 for count in skipped),
        "handoff_recovered_mean": mean(recovered),
        "handoff_skipped_mean": mean(skipped),
    }


def _within(moments: list[int], begin: int, end: int) -> bool:
    """Whether one of the moments lies between the two."""
    return bisect_left(moments, begin) < bisect_right(moments, end)


def _usual_interval(times: list[int], ends: list[int]) -> float:
    """Mean time from one delivery to the next, without those between which the host crashed or left."""
    intervals = [b - a for a, b in pairwise(times) if not _within(ends, a, b)]
    return sum(intervals) / len(intervals) if intervals else 0.0
