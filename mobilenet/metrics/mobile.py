"""One flat row of numbers from what a run of hosts and stations recorded.

Model     the window is warmup_s..duration_s. Delays are those of messages broadcast within the window, whenever they
          arrive; rates and buffers are those of the window itself. Ratios without a denominator are null. Interruptions
          during which the host crashed or left say nothing of the handoff, and are left out. What a protocol does not
          have, handoffs or lists in its messages, has no metric
Units     seconds, messages, bytes, as the names say
Shapes    delays: float64 (deliveries,), seconds
Errors    none: a record that the verifier refuses need not be measured
Source    the quantities of Wilhelm, Arantes, Sens (2020), section V; ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from typing import Any

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.metrics.buffers import buffers, lists
from mobilenet.metrics.datagrams import datagrams
from mobilenet.metrics.fold import EventFold
from mobilenet.metrics.network import network
from mobilenet.metrics.registry import Row, mean, ratio
from mobilenet.rundir.table import Columns, Table

# What our protocols tell of a handoff; of a plug-in its record says whether there was any, and what was told.
HANDOFF_DETAILS: dict[str | None, tuple[str, ...] | None] = {
    None: ("recovered", "skipped"),
    "mobile_causal": ("recovered", "skipped"),
    "tcp_flooding": (),
    "beacon": None,
}
WITH_LISTS = (None, "mobile_causal")  # in the messages of handoffs; of a plug-in, if it has sampled any


def mobile_metrics(events: Columns, samples: Columns, counters: dict[str, Any], manifest: dict[str, Any]) -> Row:
    """One row from the columns of a run; the manifest tells the window (warmup_s, duration_s)."""
    begin, end = round(manifest["warmup_s"] * SECOND), round(manifest["duration_s"] * SECOND)
    events, samples = Table.of(events), Table.of(samples)
    fold = EventFold(events, begin, end)
    row: Row = {"window_s": (end - begin) / SECOND}
    broadcasts = sum(begin <= time < end for time in fold.broadcast_at.values())
    row |= _messages(fold, broadcasts)
    row |= network(samples, begin, end, broadcasts, fold.deliveries_inside, manifest.get("payload_bytes"))
    row |= buffers(fold, samples, manifest)
    protocol = manifest.get("protocol")  # None: in a record that a test made up, of all that there may be
    told = HANDOFF_DETAILS.get(protocol) if protocol in HANDOFF_DETAILS else fold.handoff_details
    if told is not None:
        row |= _handoffs(fold, told)
    row |= lists(samples, begin, end, protocol in WITH_LISTS)
    if protocol == "datagrams":
        row |= datagrams(events, begin, end)
    row["mac_queue_drops"] = counters["radio"]["queue_drops"]
    return row


def _messages(fold: EventFold, broadcasts: int) -> Row:
    refused = fold.counts["refused"]
    delays_s = fold.delays_ns.astype(np.float64) / SECOND
    some = len(delays_s) > 0
    p50, p95, p99 = np.percentile(delays_s, (50, 95, 99)).tolist() if some else (None, None, None)
    others = len(fold.delays_ns) - len(fold.own_delays_ns)
    others_ns = (int(fold.delays_ns.sum()) - int(fold.own_delays_ns.sum())) / others if others else None
    owed, done = fold.obliged()
    return {
        "deliveries_owed": owed,
        "delivery_ratio": ratio(done, owed),
        "broadcasts_offered": broadcasts + refused,
        "broadcasts": broadcasts,
        "broadcasts_refused": refused,
        "broadcasts_undelivered": fold.how_many_owed(),
        "deliveries": fold.deliveries_inside,
        "delivery_delay_mean_s": mean(delays_s),
        "delivery_delay_others_mean_s": None if others_ns is None else others_ns / SECOND,
        "delivery_delay_p50_s": p50,
        "delivery_delay_p95_s": p95,
        "delivery_delay_p99_s": p99,
        "delivery_delay_max_s": float(delays_s.max()) if some else None,
        "gaps": fold.counts["gap"],
        "deliveries_missed_by_gaps": fold.missed_by_gaps(),
        "crashes": fold.counts["crash"],
    }


def _handoffs(fold: EventFold, told: Collection[str]) -> Row:
    """Those from one cell to another; a new session for any other cause is a recovery. `told`: what the protocol says
    of each.
    """
    handoffs = [handoff for handoff in fold.handoffs if handoff.cause == "cell"]
    interruptions, excess = [], []
    heard: dict[str, np.ndarray] = {}  # host -> when it delivered something
    usual: dict[str, float] = {}  # host -> mean time between two deliveries
    for handoff in handoffs:
        node = handoff.node
        if node not in heard:
            heard[node] = fold.deliveries.time_ns[fold.deliveries.of(node)]
        times, breaks = heard[node], fold.breaks[node]
        before, after = (int(np.searchsorted(times, ns)) for ns in (handoff.begin_ns, handoff.end_ns))
        if before > 0 and after < len(times) and not _within(breaks, times[before - 1], times[after]):
            interruption = int(times[after] - times[before - 1]) / SECOND
            interruptions.append(interruption)
            if node not in usual:
                usual[node] = _usual_interval(times, breaks)
            excess.append(interruption - usual[node] / SECOND)
    durations = [(handoff.end_ns - handoff.begin_ns) / SECOND for handoff in handoffs]
    row: Row = {
        "handoffs": len(handoffs),
        "handoffs_superseded": fold.superseded,
        "recoveries": len(fold.handoffs) - len(handoffs),
        "handoff_duration_mean_s": mean(durations),
        "handoff_duration_max_s": max(durations, default=None),
        "handoff_interruption_mean_s": mean(interruptions),
        "handoff_interruption_excess_mean_s": mean(excess),
    }
    counts = {
        name: [handoff.detail.get(name, 0) for handoff in handoffs] for name in ("recovered", "skipped") if name in told
    }
    row |= {f"handoffs_with_{name}": sum(count > 0 for count in own) for name, own in counts.items()}
    return row | {f"handoff_{name}_mean": mean(own) for name, own in counts.items()}


def _within(moments: list[int], begin: int, end: int) -> bool:
    """Whether one of the moments lies between the two."""
    return bisect_left(moments, begin) < bisect_right(moments, end)


def _usual_interval(times: np.ndarray, breaks: list[int]) -> float:
    """Mean time between deliveries, of the whole run, but for those between which the host crashed or left."""
    before, after = np.searchsorted(breaks, times[:-1], "left"), np.searchsorted(breaks, times[1:], "right")
    intervals = np.diff(times)[before >= after]
    return int(intervals.sum()) / len(intervals) if len(intervals) else 0.0
