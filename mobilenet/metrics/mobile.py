"""One flat row of numbers from what a run recorded.

Model     the window is warmup_s..duration_s. Delays are those of messages broadcast within the window, whenever they
          arrive; rates and buffers are those of the window itself. Buffers are weighted with time: those of stations
          over the window, those of hosts over the time in which they are members. Ratios without a denominator are
          null. Frames are everything above the MAC that went into the air; its ACKs do not count, and what it sent
          again counts in `frames`, but is no message sent. A pair is a frame and a node in its range. Of pairs that
          collided there are three shares: of all pairs; of those with a node that the frame is for (a station's
          broadcast is for the hosts that it serves); and of these, where the receiver had begun with the frame:
          without pairs that it never attempted, sent through, or was down for. Messages sent per delivery are counted
          in two ways: as frames; and as copies of application messages (payload in the air, divided by that of one
          message, so two in one segment count as two) plus frames that do nothing but acknowledge (a protocol's or
          TCP's own); what a MAC sends again counts here.
Units     seconds, messages, bytes, as the names say
Shapes    delays: float64 (deliveries,), seconds
Errors    none: a record that the verifier refuses need not be measured
Source    the quantities of Wilhelm, Arantes, Sens (2020), Section V; definitions ours: DESIGN.md §8
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np

from mobilenet.metrics.processes import process_metrics

SECOND = 1_000_000_000
Row = dict[str, float | int | None]

BUFFERS = {
    "station_sbuffer": ("s", "sbuffer"),
    "station_rbuffer": ("s", "rbuffer"),
    "host_sbuffer": ("h", "sbuffer"),
    "host_rbuffer": ("h", "rbuffer"),
}
LISTS = {  # what messages carry: samples' quantity -> metric
    "md": "m_d",
    "skip": "skip",
    "undelivered": "handoff_undelivered_list",
    "wanted": "handoff_wanted_list",
    "bodies": "handoff_recovered_list",
    "new_ids": "handoff_received_list",
}


def metrics(
    events: dict[str, list[Any]], samples: dict[str, list[Any]], counters: dict[str, Any], manifest: dict[str, Any]
) -> Row:
    """One row from the columns of a run; the manifest tells the window (warmup_s, duration_s)."""
    if "processes" in manifest:
        return process_metrics(events, samples, counters, manifest)
    begin, end = round(manifest["warmup_s"] * SECOND), round(manifest["duration_s"] * SECOND)
    row: Row = {"window_s": (end - begin) / SECOND}
    row |= _broadcasts(events, begin, end)
    row |= _radio(samples, begin, end, row, manifest.get("payload_bytes"))
    row |= _buffers(events, samples, begin, end)
    row |= _handoffs(events, begin, end)
    row |= _lists(samples, begin, end)
    row["mac_queue_drops"] = counters["radio"]["queue_drops"]
    return row


def _ratio(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def _mean(values: Any) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _broadcasts(events: dict[str, list[Any]], begin: int, end: int) -> Row:
    broadcast_at: dict[str, int] = {}
    refused = deliveries = gaps = crashes = 0
    delays: list[int] = []
    for time, event, message in zip(events["time_ns"], events["event"], events["message"], strict=True):
        if event == "deliver":
            sent = broadcast_at.get(message, -1)
            if begin <= sent < end:
                delays.append(time - sent)
            deliveries += begin <= time < end
        elif event == "broadcast":
            broadcast_at[message] = time
        elif begin <= time < end:
            refused += event == "refused"
            gaps += event == "gap"
            crashes += event == "crash"
    inside = sum(begin <= time < end for time in broadcast_at.values())
    delays_s = np.array(delays, dtype=np.float64) / SECOND
    p50, p95, p99 = np.percentile(delays_s, (50, 95, 99)).tolist() if delays else (None, None, None)
    return {
        "broadcasts_offered": inside + refused,
        "broadcasts": inside,
        "broadcasts_refused": refused,
        "broadcasts_undelivered": _undelivered(events),
        "deliveries": deliveries,
        "delivery_delay_mean_s": _mean(delays_s),
        "delivery_delay_p50_s": p50,
        "delivery_delay_p95_s": p95,
        "delivery_delay_p99_s": p99,
        "delivery_delay_max_s": float(delays_s.max()) if delays else None,
        "gaps": gaps,
        "deliveries_missed_by_gaps": _missed_by_gaps(events, begin, end),
        "crashes": crashes,
    }


def _undelivered(events: dict[str, list[Any]]) -> int:
    """Pairs (member at the end, message broadcast since it joined or had its last gap) without a delivery."""
    since: dict[str, int] = {}  # members -> how many broadcasts there were when they joined
    order: list[str] = []
    delivered: dict[str, set[str]] = defaultdict(set)
    for event, node, message in zip(events["event"], events["node"], events["message"], strict=True):
        if event == "deliver":
            delivered[node].add(message)
        elif event == "broadcast":
            order.append(message)
        elif event in ("join", "gap"):
            since[node] = len(order)
        elif event == "leave":
            since.pop(node, None)
    return sum(message not in delivered[node] for node, first in since.items() for message in order[first:])


def _missed_by_gaps(events: dict[str, list[Any]], begin: int, end: int) -> int:
    """Pairs (member with a gap in the window, message broadcast between its join or last gap and this one) without a
    delivery.
    """
    rows = list(zip(events["time_ns"], events["event"], events["node"], events["message"], strict=True))
    delivered: dict[str, set[str]] = defaultdict(set)
    for _, event, node, message in rows:
        if event == "deliver":
            delivered[node].add(message)
    since: dict[str, int] = {}
    order: list[str] = []
    missed = 0
    for time, event, node, message in rows:
        if event == "broadcast":
            order.append(message)
        elif event in ("join", "gap"):
            if event == "gap" and begin <= time < end:
                missed += sum(m not in delivered[node] for m in order[since.get(node, len(order)) :])
            since[node] = len(order)
    return missed


def _radio(samples: dict[str, list[Any]], begin: int, end: int, row: Row, payload_bytes: int | None) -> Row:
    """From the running totals, which were sampled at both ends of the window; `payload_bytes` of one application
    message.
    """
    at: dict[int, dict[str, float]] = {begin: {}, end: {}}
    for time, node, quantity, value in zip(
        samples["time_ns"], samples["node"], samples["quantity"], samples["value"], strict=True
    ):
        if node == "network" and time in at:
            at[time][quantity] = value
    total = {name: at[end].get(name, 0.0) - at[begin].get(name, 0.0) for name in at[end]}

    def lost(prefix: str) -> float | None:
        pairs = sum(value for name, value in total.items() if name.startswith(prefix))
        return _ratio(total.get(prefix + "collision", 0) + total.get(prefix + "never_attempted", 0), pairs)

    begun = sum(total.get(f"addressed_pairs_{fate}", 0) for fate in ("received", "collision", "random"))
    copies_and_acks = None
    if payload_bytes and "radio_acknowledgements" in total:  # not in records of older versions
        copies_and_acks = total["radio_payload_bytes"] / payload_bytes + total["radio_acknowledgements"]
    window_s = (end - begin) / SECOND
    frames = total.get("radio_frames", 0)
    return {
        "frames": int(frames),
        "frames_per_s": _ratio(frames, window_s),
        "messages_sent_per_delivery": _ratio(frames - total.get("radio_mac_retries", 0), row["deliveries"]),
        "copies_and_acks_per_delivery": _ratio(copies_and_acks, row["deliveries"]),
        "receivers_in_range_per_frame": _ratio(sum(v for n, v in total.items() if n.startswith("pairs_")), frames),
        "collision_ratio": lost("pairs_"),
        "collision_ratio_addressed": lost("addressed_pairs_"),
        "collision_ratio_addressed_begun": _ratio(total.get("addressed_pairs_collision", 0), begun),
        "radio_bytes": int(total.get("radio_bytes", 0)),
        "radio_bytes_per_s": _ratio(total.get("radio_bytes", 0), window_s),
        "control_bytes_per_broadcast": _ratio(total.get("radio_control_bytes", 0), row["broadcasts"]),
        "wired_messages": int(total.get("wired_messages", 0)),
        "wired_bytes": int(total.get("wired_bytes", 0)),
    }


def time_weighted_mean(times: list[int], values: list[float], begin: int, end: int) -> float:
    """Of a step function that is 0 before its first value."""
    if end <= begin:
        return 0.0
    first, last = bisect_right(times, begin), bisect_left(times, end)
    edges = [begin, *times[first:last], end]
    levels = [values[first - 1] if first else 0.0, *values[first:last]]
    return sum(level * (b - a) for level, a, b in zip(levels, edges[:-1], edges[1:], strict=True)) / (end - begin)


def steps(samples: dict[str, list[Any]], kind: str, quantity: str) -> dict[str, tuple[list[int], list[float]]]:
    """The step functions (times, values) of one quantity at all nodes whose names begin with `kind`."""
    found: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
    for time, node, name, value in zip(
        samples["time_ns"], samples["node"], samples["quantity"], samples["value"], strict=True
    ):
        if name == quantity and node.startswith(kind):
            times, values = found[node]
            times.append(time)
            values.append(value)
    return found


def _buffers(events: dict[str, list[Any]], samples: dict[str, list[Any]], begin: int, end: int) -> Row:
    members = memberships(events, end)
    row: Row = {}
    for metric, (kind, quantity) in BUFFERS.items():
        found = steps(samples, kind, quantity)
        spans = members if kind == "h" else {node: [(begin, end)] for node in sorted(found)}
        area = highest = 0.0
        time = 0
        for node, times in spans.items():
            moments, values = found.get(node, ([], []))
            for start, stop in times:
                first, last = max(begin, start), min(end, stop)
                if first < last:
                    area += time_weighted_mean(moments, values, first, last) * (last - first)
                    time += last - first
                    highest = max(
                        [highest, *values[max(0, bisect_right(moments, first) - 1) : bisect_left(moments, last)]]
                    )
        row[f"{metric}_mean"] = _ratio(area, time)
        row[f"{metric}_max"] = highest
    return row


def memberships(events: dict[str, list[Any]], end: int) -> dict[str, list[tuple[int, int]]]:
    """Of each host: from when to when it was a member."""
    spans: dict[str, list[tuple[int, int]]] = {}
    since: dict[str, int] = {}
    for time, event, node in zip(events["time_ns"], events["event"], events["node"], strict=True):
        if event == "join":
            since[node] = time
        elif event == "leave" and node in since:
            spans.setdefault(node, []).append((since.pop(node), time))
    for node, time in since.items():
        spans.setdefault(node, []).append((time, max(time, end)))
    return dict(sorted(spans.items()))


def _handoffs(events: dict[str, list[Any]], begin: int, end: int) -> Row:
    """A handoff lasts from the new session to its confirmation; the next session supersedes one that is not
    confirmed, a leave ends it. Interruptions during which the host crashed or left say nothing of the handoff, and
    are left out.
    """
    ends: dict[str, list[int]] = defaultdict(list)  # of what a host can hear without a break: crashes and leaves
    deliveries: dict[str, list[int]] = defaultdict(list)
    spans: list[tuple[str, int, int, dict[str, Any]]] = []
    under_way: dict[str, tuple[int, Any, str]] = {}
    superseded = recoveries = 0
    for time, node, event, session, detail in zip(
        events["time_ns"], events["node"], events["event"], events["session"], events["detail"], strict=True
    ):
        if event == "deliver":
            deliveries[node].append(time)
        elif event in ("crash", "leave"):
            ends[node].append(time)
            if event == "leave":
                under_way.pop(node, None)
        elif event == "handoff_start":
            superseded += node in under_way and begin <= under_way[node][0] < end
            under_way[node] = (time, session, json.loads(detail or "{}").get("cause", ""))
        elif event == "handoff_end" and node in under_way and under_way[node][1] == session:
            started, _, cause = under_way.pop(node)
            if begin <= started < end:
                if cause == "cell":
                    spans.append((node, started, time, json.loads(detail or "{}")))
                else:
                    recoveries += 1
    interruptions, excess = [], []
    usual: dict[str, float] = {}  # host -> mean time between two deliveries
    for node, started, ended, _ in spans:
        times = deliveries[node]
        before, after = bisect_left(times, started) - 1, bisect_left(times, ended)
        if before >= 0 and after < len(times) and not _within(ends[node], times[before], times[after]):
            interruption = (times[after] - times[before]) / SECOND
            interruptions.append(interruption)
            if node not in usual:
                usual[node] = _usual_interval(times, ends[node])
            excess.append(interruption - usual[node] / SECOND)
    durations = [(ended - started) / SECOND for _, started, ended, _ in spans]
    recovered = [detail.get("recovered", 0) for *_, detail in spans]
    skipped = [detail.get("skipped", 0) for *_, detail in spans]
    return {
        "handoffs": len(spans),
        "handoffs_superseded": superseded,
        "recoveries": recoveries,
        "handoff_duration_mean_s": _mean(durations),
        "handoff_duration_max_s": max(durations, default=None),
        "handoff_interruption_mean_s": _mean(interruptions),
        "handoff_interruption_excess_mean_s": _mean(excess),
        "handoffs_with_recovered": sum(count > 0 for count in recovered),
        "handoffs_with_skipped": sum(count > 0 for count in skipped),
        "handoff_recovered_mean": _mean(recovered),
        "handoff_skipped_mean": _mean(skipped),
    }


def _within(moments: list[int], begin: int, end: int) -> bool:
    """Whether one of the moments lies between the two."""
    return bisect_left(moments, begin) < bisect_right(moments, end)


def _usual_interval(times: list[int], ends: list[int]) -> float:
    """Mean time from one delivery to the next, without those between which the host crashed or left."""
    intervals = [b - a for a, b in pairwise(times) if not _within(ends, a, b)]
    return sum(intervals) / len(intervals) if intervals else 0.0


def _lists(samples: dict[str, list[Any]], begin: int, end: int) -> Row:
    lengths: dict[str, list[float]] = {quantity: [] for quantity in LISTS}
    for time, quantity, value in zip(samples["time_ns"], samples["quantity"], samples["value"], strict=True):
        if quantity in lengths and begin <= time < end:
            lengths[quantity].append(value)
    row: Row = {}
    for quantity, metric in LISTS.items():
        row[f"{metric}_mean"] = _mean(lengths[quantity])
        row[f"{metric}_max"] = max(lengths[quantity], default=None)
    return row
