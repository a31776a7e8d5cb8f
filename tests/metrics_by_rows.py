"""The metrics of a run worked out row by row: slow, and the reference for mobilenet/metrics, which takes columns.

What each number means stands there and in docs/verdicts-and-metrics.md.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.metrics.buffers import BUFFERS, LISTS, measured
from mobilenet.metrics.declaration import Row, mean, ratio, values
from mobilenet.metrics.network import NETWORK, Network

Columns = dict[str, list[Any]]


class Handoff(NamedTuple):
    """One that was confirmed."""

    node: str
    begin_ns: int
    end_ns: int
    cause: str
    detail: dict[str, Any]


class Owed(NamedTuple):
    """A member at the end, and a message that it is entitled to and did not get."""

    node: str
    message: str
    broadcast_ns: int


class EventFold:
    """Everything that metrics ask of the events; `begin_ns`..`end_ns` is the window that they measure."""

    def __init__(self, begin_ns: int, end_ns: int) -> None:
        self.begin_ns, self.end_ns = begin_ns, end_ns
        self.broadcast_at: dict[str, int] = {}
        self.order: list[str] = []  # messages, as they were broadcast
        self.deliveries: dict[str, list[int]] = defaultdict(list)  # node -> when
        self.delivered: dict[str, set[str]] = defaultdict(set)  # node -> messages
        self.own_delays_ns: list[int] = []  # those of them at the sender itself
        self._sender: dict[str, str] = {}
        self.delays_ns: list[int] = []  # of messages broadcast in the window
        self.deliveries_inside = 0
        self.counts: dict[str, int] = defaultdict(int)  # refused, gap, crash: in the window
        self.breaks: dict[str, list[int]] = defaultdict(list)  # node -> crashes and leaves: it hears nothing then
        self.handoffs: list[Handoff] = []  # that began in the window
        self.superseded = 0
        self._spans: dict[str, list[tuple[int, int]]] = {}
        self._member_since: dict[str, int] = {}  # node -> when it joined
        self._member_from: dict[str, int] = {}  # node -> number of the first message after its last join
        self._entitled_from: dict[str, int] = {}  # members -> number of the first message that they are entitled to
        self._missing_from: dict[str, int] = {}  # node -> the same as of its last join or gap, left or not
        self._missed: list[tuple[str, int, int]] = []  # node, and the messages between its join or gap and the next gap
        self._under_way: dict[str, tuple[int, Any, str]] = {}  # node -> handoff: begin, session, cause

    def take(self, events: Columns) -> EventFold:
        """The next batch."""
        rows = zip(
            *(events[name] for name in ("time_ns", "event", "node", "message", "session", "detail")), strict=True
        )
        deliver, handlers = self._deliver, self._HANDLERS
        for time, event, node, message, session, detail in rows:
            if event == "deliver":  # nearly all of them
                deliver(time, node, message)
            elif event in handlers:
                handlers[event](self, time, node, message, session, detail)
        return self

    # --- one kind of event each

    def _deliver(self, time: int, node: str, message: str) -> None:
        sent = self.broadcast_at.get(message, -1)
        if self.begin_ns <= sent < self.end_ns:
            self.delays_ns.append(time - sent)
            if self._sender[message] == node:
                self.own_delays_ns.append(time - sent)
        self.deliveries_inside += self.begin_ns <= time < self.end_ns
        self.deliveries[node].append(time)
        self.delivered[node].add(message)

    def _broadcast(self, time: int, node: str, message: str, *_: Any) -> None:
        self.broadcast_at[message] = time
        self._sender[message] = node
        self.order.append(message)

    def _join(self, time: int, node: str, *_: Any) -> None:
        self._member_since[node] = time
        self._member_from[node] = len(self.order)
        self._entitled_from[node] = self._missing_from[node] = len(self.order)

    def _leave(self, time: int, node: str, *_: Any) -> None:
        if node in self._member_since:
            self._spans.setdefault(node, []).append((self._member_since.pop(node), time))
        self._entitled_from.pop(node, None)
        self._under_way.pop(node, None)
        self.breaks[node].append(time)

    def _gap(self, time: int, node: str, *_: Any) -> None:
        if self._is_inside(time):
            self.counts["gap"] += 1
            self._missed.append((node, self._missing_from.get(node, len(self.order)), len(self.order)))
        self._entitled_from[node] = self._missing_from[node] = len(self.order)

    def _crash(self, time: int, node: str, *_: Any) -> None:
        self.counts["crash"] += self._is_inside(time)
        self.breaks[node].append(time)

    def _refused(self, time: int, *_: Any) -> None:
        self.counts["refused"] += self._is_inside(time)

    def _handoff_start(self, time: int, node: str, message: str, session: Any, detail: str | None) -> None:
        self.superseded += node in self._under_way and self._is_inside(self._under_way[node][0])
        self._under_way[node] = (time, session, json.loads(detail or "{}").get("cause", ""))

    def _handoff_end(self, time: int, node: str, message: str, session: Any, detail: str | None) -> None:
        if node in self._under_way and self._under_way[node][1] == session:
            began, _, cause = self._under_way.pop(node)
            if self._is_inside(began):
                self.handoffs.append(Handoff(node, began, time, cause, json.loads(detail or "{}")))

    _HANDLERS: ClassVar[dict[str, Callable[..., None]]] = {
        "broadcast": _broadcast,
        "join": _join,
        "leave": _leave,
        "gap": _gap,
        "crash": _crash,
        "refused": _refused,
        "handoff_start": _handoff_start,
        "handoff_end": _handoff_end,
    }

    def _is_inside(self, time: int) -> bool:
        return self.begin_ns <= time < self.end_ns

    # --- what is asked afterwards

    def owed(self) -> list[Owed]:
        """What members at the end are entitled to and did not get."""
        return [
            Owed(node, message, self.broadcast_at[message])
            for node, first in self._entitled_from.items()
            for message in self.order[first:]
            if message not in self.delivered[node]
        ]

    def obliged(self) -> tuple[int, int]:
        """Pairs (message of the window, host that is a member from its broadcast to the end), and how many of them were
        delivered.
        """
        number = {message: i for i, message in enumerate(self.order)}
        inside = [self._is_inside(self.broadcast_at[message]) for message in self.order]
        so_far = [0, *accumulate(inside)]  # of the window, among the first so many
        pairs = done = 0
        for node in self._member_since:
            first = self._member_from[node]
            pairs += so_far[-1] - so_far[first]
            places = (number.get(message, -1) for message in self.delivered[node])
            done += sum(place >= first and inside[place] for place in places)
        return pairs, done

    def missed_by_gaps(self) -> int:
        """Pairs (gap in the window, message that its host was entitled to until then and never got)."""
        return sum(
            message not in self.delivered[node]
            for node, first, last in self._missed
            for message in self.order[first:last]
        )

    def memberships(self) -> dict[str, list[tuple[int, int]]]:
        """Of each host: from when to when it was a member; who never left was one until the end of the window."""
        spans = {node: list(known) for node, known in self._spans.items()}
        for node, time in self._member_since.items():
            spans.setdefault(node, []).append((time, max(time, self.end_ns)))
        return dict(sorted(spans.items()))


def buffers(fold: EventFold, samples: Columns, manifest: dict[str, Any]) -> Row:
    begin, end, members = fold.begin_ns, fold.end_ns, fold.memberships()
    row: Row = {}
    told = measured(manifest)
    for metric, (kind, quantity) in (BUFFERS | told).items():
        found = steps(samples, kind, quantity)
        if metric not in told and not found:
            continue
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
        row[f"{metric}_mean"] = ratio(area, time)
        row[f"{metric}_max"] = highest
    return row


def lists(samples: Columns, begin: int, end: int) -> Row:
    lengths: dict[str, list[float]] = {quantity: [] for quantity in LISTS}
    for time, quantity, value in zip(samples["time_ns"], samples["quantity"], samples["value"], strict=True):
        if quantity in lengths and begin <= time < end:
            lengths[quantity].append(value)
    row: Row = {}
    for quantity, (metric, _) in LISTS.items():
        row[f"{metric}_mean"] = mean(lengths[quantity])
        row[f"{metric}_max"] = max(lengths[quantity], default=None)
    return row


def time_weighted_mean(times: list[int], values: list[float], begin: int, end: int) -> float:
    """Of a step function that is 0 before its first value."""
    if end <= begin:
        return 0.0
    first, last = bisect_right(times, begin), bisect_left(times, end)
    edges = [begin, *times[first:last], end]
    levels = [values[first - 1] if first else 0.0, *values[first:last]]
    return sum(level * (b - a) for level, a, b in zip(levels, edges[:-1], edges[1:], strict=True)) / (end - begin)


def steps(samples: Columns, kind: str, quantity: str) -> dict[str, tuple[list[int], list[float]]]:
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


def mobile_metrics(events: Columns, samples: Columns, counters: dict[str, Any], manifest: dict[str, Any]) -> Row:
    """One row from the columns of a run; the manifest tells the window (warmup_s, duration_s)."""
    begin, end = round(manifest["warmup_s"] * SECOND), round(manifest["duration_s"] * SECOND)
    fold = EventFold(begin, end).take(events)
    row: Row = {"window_s": (end - begin) / SECOND}
    broadcasts = sum(begin <= time < end for time in fold.broadcast_at.values())
    row |= _messages(fold, broadcasts)
    carried = Network(samples, begin, end, broadcasts, fold.deliveries_inside, manifest.get("payload_bytes"))
    row |= values(NETWORK, carried, carried.traits)
    row |= buffers(fold, samples, manifest)
    row |= _handoffs(fold)
    row |= lists(samples, begin, end)
    row["mac_queue_drops"] = counters["radio"]["queue_drops"]
    return row


def _messages(fold: EventFold, broadcasts: int) -> Row:
    refused = fold.counts["refused"]
    delays_s = np.array(fold.delays_ns, dtype=np.float64) / SECOND
    some = len(delays_s) > 0
    p50, p95, p99 = np.percentile(delays_s, (50, 95, 99)).tolist() if some else (None, None, None)
    others = len(fold.delays_ns) - len(fold.own_delays_ns)
    others_ns = (sum(fold.delays_ns) - sum(fold.own_delays_ns)) / others if others else None
    owed, done = fold.obliged()
    return {
        "deliveries_owed": owed,
        "delivery_ratio": ratio(done, owed),
        "broadcasts_offered": broadcasts + refused,
        "broadcasts": broadcasts,
        "broadcasts_refused": refused,
        "broadcasts_undelivered": len(fold.owed()),
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


def process_metrics(
    events: dict[str, list[Any]], samples: dict[str, list[Any]], counters: dict[str, Any], manifest: dict[str, Any]
) -> Row:
    """One row from the columns of a run."""
    sent_at: dict[str, int] = {}
    crashed: set[str] = set()
    has: dict[str, set[str]] = {}  # process -> what it delivered
    completed: list[tuple[str, int]] = []
    deliveries = waited_ns = longest_ns = remote = 0
    suspicions = trusts = 0
    rows = zip(events["time_ns"], events["node"], events["event"], events["message"], events["detail"], strict=True)
    for time, node, event, message, detail in rows:
        if event == "deliver":
            deliveries += 1
            has.setdefault(node, set()).add(message)
            delay = time - sent_at.get(message, time)
            if not message.startswith(node + ":"):
                remote += 1
                waited_ns += delay
                longest_ns = max(longest_ns, delay)
        elif event == "broadcast":
            sent_at[message] = time
        elif event == "complete":
            completed.append((node, json.loads(detail)["at_ns"]))
        elif event == "crash":
            crashed.add(node)
        else:
            suspicions += event == "suspect"
            trusts += event == "trust"
    messages = counters["messages"]
    last_ns = max((at for node, at in completed if node not in crashed), default=messages["last_reception_ns"])
    mean = waited_ns / remote / SECOND if remote else None
    packets = messages.get("packets_by_messages")
    owed = len(sent_at) * (manifest["processes"] - len(crashed))
    done = sum(len(delivered & sent_at.keys()) for node, delivered in has.items() if node not in crashed)
    row: Row = {
        "deliveries_owed": owed,
        "delivery_ratio": ratio(done, owed),
        "latency": last_ns / SECOND,
        "messages": messages["sent"],
        "messages_per_process_mean": messages["sent"] / manifest["processes"],
        "message_bytes": messages["bytes"],
        "broadcasts": len(sent_at),
        "deliveries": deliveries,
        "delivery_delay_mean_s": mean,
        "delivery_latency_mean": mean,
        "delivery_latency_max": longest_ns / SECOND if remote else None,
        "crashes": len(crashed),
    }
    if counters["detector"] and (counters["detector"]["sent"] or suspicions):
        row["detector_messages"] = counters["detector"]["sent"]
        row["suspicions"], row["suspicions_taken_back"] = suspicions, trusts
    if completed or manifest["protocol"] in ("best_effort", "reliable", "all_to_all"):
        row["broadcasts_complete"] = len(completed)
    if packets is not None:
        aggregated = sum(count for size, count in packets.items() if int(size) > 1)
        row |= {
            "packets": messages["sent"],
            "packets_aggregated_share": aggregated / messages["sent"] if messages["sent"] else None,
            "reception_latency_mean": messages["receptions_waited_ns"] / messages["receptions"] / SECOND
            if messages["receptions"]
            else None,
        }
    for kind, count in messages.get("by_kind", {}).items():
        row[f"messages_{kind}"] = count
    return row | _largest(samples)


def _largest(samples: dict[str, list[Any]]) -> Row:
    """Of each buffer, the largest at any process, and the mean over processes of each one's largest."""
    largest: dict[str, dict[str, float]] = {}
    for node, quantity, value in zip(samples["node"], samples["quantity"], samples["value"], strict=True):
        nodes = largest.setdefault(quantity, {})
        nodes[node] = max(value, nodes.get(node, 0.0))
    row: Row = {}
    for quantity, nodes in sorted(largest.items()):
        row[f"{quantity}_max"] = max(nodes.values())
        row[f"{quantity}_max_mean"] = sum(nodes.values()) / len(nodes)
    return row
