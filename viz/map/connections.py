"""Collect the TCP connections of real software for the information cards of a map.

Model     A page contains at most MOST connections, those with the most bytes. Each value of the throughput is a mean
          over 1/BINS of the run.
Units     seconds, bytes; bytes per second
Shapes    The first element of a connection's `rates` belongs to the bin `first`
Errors    RunError for captures that are damaged or contradict the events
Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mobilenet.engine.clock import SECOND

from ..connections import Near, ShownConnection, connections_in
from .record import Record

MOST = 1000
BINS = 200


def connections(run: Record, end_s: float) -> dict[str, Any]:
    """Return all connections, and for each node the numbers of its connections."""
    every = connections_in(run.folder)
    largest = sorted(every, key=lambda one: -one.carried)[:MOST]
    edges = np.linspace(0, max(end_s, 1e-9) * SECOND, BINS + 1)
    return {
        "bin_s": end_s / BINS,
        "left_out": len(every) - len(largest),
        "list": [_plain(one, edges) for one in sorted(largest, key=lambda one: one.begin_ns)],
    }


def _plain(one: ShownConnection, edges: np.ndarray) -> dict[str, Any]:
    rates = np.rint(one.rates(edges)).astype(int)
    used = np.flatnonzero(rates)
    first, last = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 0)
    return {
        "ends": [[sending.node, sending.port] for sending in one.connection.sendings],
        "begin_s": one.begin_ns / SECOND, "end_s": one.end_ns / SECOND,
        "carried": one.carried, "again": one.sent_again_share, "longest_s": one.longest_stall_s,
        "stalls": [[stall.since_ns / SECOND, (stall.since_ns + stall.took_ns) / SECOND] for stall in one.stalls],
        "handoffs": [_handoff(near) for near in one.near],
        "first": first, "rates": rates[first:last].tolist(),
    }  # fmt: skip


def _handoff(near: Near) -> dict[str, Any]:
    return {
        "at_s": near.handoff.begin_ns / SECOND, "survived": near.survived, "before_s": near.before_s,
        "after_s": near.after_s,
    }  # fmt: skip
