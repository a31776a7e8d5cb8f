"""What became of the datagrams of programs that live in real time.

Model     those sent in the window, whenever they arrive
Units     seconds
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.metrics.registry import Row, mean, ratio
from mobilenet.rundir.table import Columns


def datagrams(events: Columns, begin_ns: int, end_ns: int) -> Row:
    """Counts, the share that was lost, and delays."""
    sent_ns: dict[str, int] = {}
    delays_s: list[float] = []
    for event, name, at_ns in zip(events["event"], events["message"], events["time_ns"], strict=True):
        if event == "datagram" and begin_ns <= at_ns < end_ns:
            sent_ns[name] = at_ns
        elif event == "datagram_received" and name in sent_ns:
            delays_s.append((at_ns - sent_ns[name]) / SECOND)
    p50, p95, p99 = np.percentile(delays_s, (50, 95, 99)).tolist() if delays_s else (None, None, None)
    return {
        "datagrams": len(sent_ns),
        "datagrams_received": len(delays_s),
        "datagram_loss_ratio": ratio(len(sent_ns) - len(delays_s), len(sent_ns)),
        "datagram_delay_mean_s": mean(delays_s),
        "datagram_delay_p50_s": p50,
        "datagram_delay_p95_s": p95,
        "datagram_delay_p99_s": p99,
    }
