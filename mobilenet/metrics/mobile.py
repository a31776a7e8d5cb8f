"""Compute one flat row of metrics from the record of a run of hosts and stations.

Model     the window is warmup_s..duration_s. Delays are measured for all messages that were broadcast in the window,
          whenever they arrived. Rates and buffer sizes are measured in the window only. A ratio without a denominator
          is null. Interruptions during which the host crashed or left say nothing about the handoff, and are left out.
          If a protocol has no handoffs, or no lists in its messages, the corresponding metrics do not exist
Units     seconds, messages, bytes
Shapes    delays: float64 (deliveries,), seconds
Errors    none: a record that the verifier refuses need not be measured
Source    the quantities of Wilhelm, Arantes, Sens (2020), section V; ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.buffers import buffers, lists
from mobilenet.metrics.connections import CONNECTIONS, Connections
from mobilenet.metrics.datagrams import DATAGRAMS, Datagrams
from mobilenet.metrics.declaration import Metric, OfDelays, Row, mean, only, percentile, ratio, values
from mobilenet.metrics.fold import EventFold, Handoff
from mobilenet.metrics.network import NETWORK, Network
from mobilenet.record.packets.connections import connections_of
from mobilenet.record.packets.packet_order import Captures, Mismatch, packets_of
from mobilenet.record.table import Columns, Table


def mobile_metrics(
    events: Columns,
    samples: Columns,
    counters: dict[str, Any],
    manifest: dict[str, Any],
    captures: Captures | None = None,
) -> Row:
    """Compute one row from the columns of a run. `manifest` contains the window (warmup_s, duration_s)."""
    begin, end = round(manifest["warmup_s"] * SECOND), round(manifest["duration_s"] * SECOND)
    events, samples = Table.of(events), Table.of(samples)
    fold = EventFold(events, begin, end)
    events.forget()
    messages = Messages(fold)
    of_network = Network(
        samples, begin, end, messages.broadcasts, fold.deliveries_inside, manifest.get("payload_bytes")
    )
    samples.forget()
    # the traits that the protocol declares, and those that the record contains
    traits = {*manifest.get("measures", ()), *fold.traits}
    row = values(MESSAGES, messages) | values(NETWORK, of_network, of_network.traits)
    del messages  # freed early, because the delays take as much memory as a column
    row |= buffers(fold, samples, manifest)
    if "handoffs" in traits:
        row |= values(HANDOFFS, Handoffs(fold), traits)
    row |= lists(samples, begin, end, "lists" in traits)
    if "datagrams" in traits:
        row |= values(DATAGRAMS, Datagrams(events, begin, end), traits)
    if captures is not None:
        with suppress(Mismatch):  # the verifier refuses captures that do not match
            connections = connections_of(packets_of(events, captures))
            row |= values(CONNECTIONS, Connections(connections, fold.handoffs), ("connections",))
    return row | values(QUEUES, counters)


class Messages:
    """The delays and losses of the messages of a run."""

    def __init__(self, fold: EventFold) -> None:
        self.fold = fold
        self.broadcasts = sum(fold.begin_ns <= time < fold.end_ns for time in fold.broadcast_at.values())
        self.owed, self.done = fold.obligations()
        deliveries = fold.deliveries
        sent_ns = deliveries.sent_ns
        inside = (fold.begin_ns <= sent_ns) & (sent_ns < fold.end_ns) & deliveries.was_broadcast
        del sent_ns  # freed early, because it takes as much memory as a column
        delays_ns = deliveries.delay_ns
        at_others_ns = delays_ns[inside & ~deliveries.is_own]
        count = len(at_others_ns)
        self.mean_at_others_s = int(at_others_ns.sum()) / count / SECOND if count else None
        self.delays_s = delays_ns[inside] / SECOND


def _delay(name: str, words: str, symbol: str, statistic: Callable[[Any], float | None]) -> Metric[Messages]:
    """Declare a statistic of the delays of all deliveries."""
    return Metric(
        name, words, lambda m: statistic(m.delays_s), "s", symbol=symbol, better="lower", of_delays=OfDelays(statistic)
    )


MESSAGES: tuple[Metric[Messages], ...] = (
    Metric(
        "window_s",
        "length of the measurement period",
        lambda m: (m.fold.end_ns - m.fold.begin_ns) / SECOND,
        "s",
        symbol="measurement period",
    ),
    Metric(
        "deliveries_owed",
        "pairs of a message and a host that is a member from the broadcast to the end",
        lambda m: m.owed,
        symbol="deliveries owed",
    ),
    Metric(
        "delivery_ratio",
        "share of owed deliveries that took place (reachability)",
        lambda m: ratio(m.done, m.owed),
        symbol="delivery ratio",
        better="higher",
    ),
    Metric(
        "broadcasts_offered",
        "messages that applications wanted to broadcast",
        lambda m: m.broadcasts + m.fold.counts["refused"],
        symbol="broadcasts offered",
    ),
    Metric(
        "broadcasts",
        "messages broadcast by hosts during the measurement period",
        lambda m: m.broadcasts,
        symbol="broadcasts",
    ),
    Metric(
        "broadcasts_refused",
        "broadcasts refused because the host was down or not a member",
        lambda m: m.fold.counts["refused"],
        symbol="broadcasts refused",
        better="lower",
    ),
    Metric(
        "broadcasts_undelivered",
        "pairs of a member and a message that is still owed to it at the end",
        lambda m: m.fold.how_many_owed(),
        symbol="deliveries missing",
        better="lower",
    ),
    Metric(
        "deliveries",
        "deliveries at members during the measurement period",
        lambda m: m.fold.deliveries_inside,
        symbol="deliveries",
    ),
    _delay(
        "delivery_delay_mean_s",
        "mean delay from broadcast to delivery, including the sender's own delivery",
        "mean delay",
        mean,
    ),
    Metric(
        "delivery_delay_others_mean_s",
        "mean delay from broadcast to delivery at another host",
        lambda m: m.mean_at_others_s,
        "s",
        symbol="mean delay to others",
        better="lower",
        of_delays=OfDelays(mean, at_sender=False),
    ),
    _delay("delivery_delay_p50_s", "median delay from broadcast to delivery", "median delay", partial(percentile, 50)),
    _delay(
        "delivery_delay_p95_s",
        "95th percentile of the delay from broadcast to delivery",
        "95th percentile of the delay",
        partial(percentile, 95),
    ),
    _delay(
        "delivery_delay_p99_s",
        "99th percentile of the delay from broadcast to delivery",
        "99th percentile of the delay",
        partial(percentile, 99),
    ),
    _delay("delivery_delay_max_s", "longest delay", "longest delay", partial(percentile, 100)),
    Metric(
        "gaps",
        "gaps (notifications to a host that it has missed messages)",
        lambda m: m.fold.counts["gap"],
        symbol="gaps",
        better="lower",
    ),
    Metric(
        "deliveries_missed_by_gaps",
        "pairs of a member and a message that it missed in a gap",
        lambda m: m.fold.missed_by_gaps(),
        symbol="missed by gaps",
        better="lower",
    ),
    Metric("crashes", "crashes", lambda m: m.fold.counts["crash"], symbol="crashes"),
)
QUEUES: tuple[Metric[dict[str, Any]], ...] = (
    Metric(
        "mac_queue_drops",
        "frames dropped because the queue of the radio was full",
        lambda counters: counters["radio"]["queue_drops"],
        symbol="queue drops",
        better="lower",
    ),
)


class InterruptedHandoff(NamedTuple):
    """A handoff, and the time for which its host delivered nothing."""

    handoff: Handoff
    # the times of the deliveries before and after it; None if one is missing, or if the host crashed or left in between
    between_ns: tuple[int, int] | None
    excess_s: float | None  # by how much the interruption exceeds the host's usual time between deliveries

    @property
    def interruption_s(self) -> float | None:
        return None if self.between_ns is None else (self.between_ns[1] - self.between_ns[0]) / SECOND

    def row(self) -> dict[str, Any]:
        """Return the handoff as a row of a table."""
        handoff = self.handoff
        return {
            "host": handoff.node, "begin_s": handoff.begin_ns / SECOND,
            "duration_s": (handoff.end_ns - handoff.begin_ns) / SECOND, "interruption_s": self.interruption_s,
            "cause": handoff.cause,
        }  # fmt: skip


def interruptions(fold: EventFold) -> list[InterruptedHandoff]:
    """Return all confirmed handoffs that began in the window, including new sessions that have other causes."""
    delivery_times: dict[str, np.ndarray] = {}  # host -> times of its deliveries
    usual: dict[str, float] = {}  # host -> mean time between deliveries
    gaps = []
    for handoff in fold.handoffs:
        node = handoff.node
        if node not in delivery_times:
            delivery_times[node] = fold.deliveries.time_ns[fold.deliveries.places_of(node)]
        times, breaks = delivery_times[node], fold.breaks[node]
        before, after = (int(np.searchsorted(times, ns)) for ns in (handoff.begin_ns, handoff.end_ns))
        between = excess = None
        if before > 0 and after < len(times) and not _within(breaks, times[before - 1], times[after]):
            between = int(times[before - 1]), int(times[after])
            if node not in usual:
                usual[node] = _usual_interval(times, breaks)
            excess = (between[1] - between[0]) / SECOND - usual[node] / SECOND
        gaps.append(InterruptedHandoff(handoff, between, excess))
    return gaps


class Handoffs:
    """The handoffs from one cell to another. A new session for any other cause counts as a recovery."""

    def __init__(self, fold: EventFold) -> None:
        self.rows = [row for row in interruptions(fold) if row.handoff.cause == "cell"]
        self.began, self.returned = fold.cell_changes()
        self.confirmed = [row.handoff for row in self.rows]
        self.recoveries, self.superseded = len(fold.handoffs) - len(self.confirmed), fold.superseded
        self.durations = [(handoff.end_ns - handoff.begin_ns) / SECOND for handoff in self.confirmed]
        self.interruptions = [row.interruption_s for row in self.rows if row.interruption_s is not None]
        self.excess = [row.excess_s for row in self.rows if row.excess_s is not None]

    def interruption(self, share: float) -> float | None:
        """Return a percentile of the interruptions, or None if there were none."""
        return float(np.percentile(self.interruptions, share)) if self.interruptions else None

    def values_of(self, detail: str) -> list[int]:
        """Return the values of this key that the protocol reported for handoffs."""
        return [handoff.detail.get(detail, 0) for handoff in self.confirmed]

    def how_many_with(self, detail: str) -> int:
        return sum(count > 0 for count in self.values_of(detail))


HANDOFFS: tuple[Metric[Handoffs], ...] = only(
    "handoffs",
    Metric(
        "handoffs",
        "confirmed changes of station that began during the measurement period",
        lambda h: len(h.confirmed),
        symbol="handoffs",
    ),
    Metric(
        "handoff_return_ratio",
        "share of changes of station after which the host delivered a message again, or was owed none",
        lambda h: ratio(h.returned, h.began),
        symbol="return ratio",
        better="higher",
    ),
    Metric(
        "handoffs_superseded",
        "handoffs that had not ended when the next session began",
        lambda h: h.superseded,
        symbol="handoffs superseded",
    ),
    Metric(
        "recoveries",
        "confirmed new sessions with a cause other than a change of station",
        lambda h: h.recoveries,
        symbol="recoveries",
    ),
    Metric(
        "handoff_duration_mean_s",
        "mean duration of a handoff",
        lambda h: mean(h.durations),
        "s",
        symbol="handoff time",
        better="lower",
    ),
    Metric(
        "handoff_duration_max_s",
        "longest handoff",
        lambda h: max(h.durations, default=None),
        "s",
        symbol="longest handoff",
        better="lower",
    ),
    Metric(
        "handoff_interruption_mean_s",
        "mean time from the last delivery before a handoff to the first after it",
        lambda h: mean(h.interruptions),
        "s",
        symbol="interruption",
        better="lower",
    ),
    Metric(
        "handoff_interruption_p50_s",
        "median time from the last delivery before a handoff to the first after it",
        lambda h: h.interruption(50),
        "s",
        symbol="median interruption",
        better="lower",
    ),
    Metric(
        "handoff_interruption_p95_s",
        "95th percentile of the time from the last delivery before a handoff to the first after it",
        lambda h: h.interruption(95),
        "s",
        symbol="95th percentile of the interruption",
        better="lower",
    ),
    Metric(
        "handoff_interruption_max_s",
        "longest time from the last delivery before a handoff to the first after it",
        lambda h: h.interruption(100),
        "s",
        symbol="longest interruption",
        better="lower",
    ),
    Metric(
        "handoff_interruption_excess_mean_s",
        "mean interruption in excess of a host's usual time between deliveries",
        lambda h: mean(h.excess),
        "s",
        signed=True,
        symbol="excess interruption",
        better="lower",
    ),
    Metric(
        "handoffs_with_recovered",
        "handoffs in which messages were sent again",
        lambda h: h.how_many_with("recovered"),
        of="recovered",
        symbol="handoffs, sent again",
    ),
    Metric(
        "handoffs_with_skipped",
        "handoffs whose confirmation listed messages that the host already had",
        lambda h: h.how_many_with("skipped"),
        of="skipped",
        symbol="handoffs, skipped",
    ),
    Metric(
        "handoff_recovered_mean",
        "mean number of messages sent again per handoff",
        lambda h: mean(h.values_of("recovered")),
        "messages",
        of="recovered",
        symbol="sent again per handoff",
    ),
    Metric(
        "handoff_skipped_mean",
        "mean number of messages to skip per confirmed handoff",
        lambda h: mean(h.values_of("skipped")),
        "messages",
        of="skipped",
        symbol="skipped per handoff",
    ),
)


def _within(moments: list[int], begin: int, end: int) -> bool:
    """Return whether any of the moments lies between these two times."""
    return bisect_left(moments, begin) < bisect_right(moments, end)


def _usual_interval(times: np.ndarray, breaks: list[int]) -> float:
    """Return the mean time between deliveries over the whole run, without intervals in which the host crashed or
    left.
    """
    before, after = np.searchsorted(breaks, times[:-1], "left"), np.searchsorted(breaks, times[1:], "right")
    intervals = np.diff(times)[before >= after]
    return int(intervals.sum()) / len(intervals) if len(intervals) else 0.0
