"""The metrics of datagrams that programs send in real time.

Model     all datagrams that were sent in the window count, even if they arrived later
Units     seconds
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.declaration import Metric, mean, only, ratio
from mobilenet.record.table import Columns


class Datagrams:
    """The datagrams of a run that were sent in the window."""

    def __init__(self, events: Columns, begin_ns: int, end_ns: int) -> None:
        self.sent_ns: dict[str, int] = {}
        self.delays_s: list[float] = []
        for event, name, at_ns in zip(events["event"], events["message"], events["time_ns"], strict=True):
            if event == "datagram" and begin_ns <= at_ns < end_ns:
                self.sent_ns[name] = at_ns
            elif event == "datagram_received" and name in self.sent_ns:
                self.delays_s.append((at_ns - self.sent_ns[name]) / SECOND)

    def below_s(self, share: int) -> float | None:
        return float(np.percentile(self.delays_s, share)) if self.delays_s else None


DATAGRAMS: tuple[Metric[Datagrams], ...] = only(
    "datagrams",
    Metric("datagrams", "datagrams that programs have sent", lambda d: len(d.sent_ns), symbol="datagrams"),
    Metric(
        "datagrams_received",
        "datagrams that reached the program to which they were addressed",
        lambda d: len(d.delays_s),
        symbol="datagrams received",
        better="higher",
    ),
    Metric(
        "datagram_loss_ratio",
        "share of the datagrams that were not received",
        lambda d: ratio(len(d.sent_ns) - len(d.delays_s), len(d.sent_ns)),
        symbol="datagram loss",
        better="lower",
    ),
    Metric(
        "datagram_delay_mean_s",
        "mean time that a datagram spends in transit",
        lambda d: mean(d.delays_s),
        "s",
        symbol="mean datagram delay",
        better="lower",
    ),
    Metric(
        "datagram_delay_p50_s",
        "median time that a datagram spends in transit",
        lambda d: d.below_s(50),
        "s",
        symbol="median datagram delay",
        better="lower",
    ),
    Metric(
        "datagram_delay_p95_s",
        "95th percentile of the time that a datagram spends in transit",
        lambda d: d.below_s(95),
        "s",
        symbol="95th percentile of the datagram delay",
        better="lower",
    ),
    Metric(
        "datagram_delay_p99_s",
        "99th percentile of the time that a datagram spends in transit",
        lambda d: d.below_s(99),
        "s",
        symbol="99th percentile of the datagram delay",
        better="lower",
    ),
)
