"""The deliveries that two runs of one world both made, and what their delays are.

Model     in paired worlds, hosts plan their broadcasts for the same times, whatever the protocol does. So two
          deliveries are the same if they have the same sender, receiver and planned time of the broadcast. The number
          of a message shifts after a refused broadcast, and is not compared. Two runs are paired if, for each host, the
          planned times of one run are the first of the other, because a host that leaves later plans more. The first
          delivery of a message to a host counts
Shapes    columns (deliveries,)
Units     integer nanoseconds; delays in seconds
Errors    NotPaired; RunError for a run that cannot be read
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.declaration import OfDelays
from mobilenet.metrics.deliveries import Deliveries
from mobilenet.record.kinds import run_kind
from mobilenet.record.reader import read_coded, read_json

KEPT_RUNS = 64  # the baseline of a pair is often that of the next
OTHER_BROADCASTS, USES_RUN = "not paired", "processes use the run"  # why two settings are not paired, as verdicts
UNPAIRED = {
    OTHER_BROADCASTS: "their hosts planned different broadcasts",
    USES_RUN: "custom processes depend on the run (uses_run)",
}  # in words


class PlannedDeliveries(NamedTuple):
    """The deliveries of messages broadcast in a run's measurement period, and all times at which hosts planned one."""

    planned: Mapping[str, NDArray[np.int64]]  # host -> times of its broadcasts, made or refused
    nodes: tuple[str, ...]  # by code
    sender: NDArray[np.int64]  # codes
    receiver: NDArray[np.int64]
    sent_ns: NDArray[np.int64]
    delay_ns: NDArray[np.int64]


class CommonDeliveries(NamedTuple):
    """The delays of the same deliveries in two runs."""

    delays_s: NDArray[np.float64]
    other_delays_s: NDArray[np.float64]
    is_own: NDArray[np.bool_]  # at the sender

    def count(self, metric: OfDelays) -> int:
        """Return the number of deliveries that the metric is taken over."""
        return len(self.is_own) if metric.at_sender else int(np.count_nonzero(~self.is_own))

    def compare(self, metric: OfDelays) -> tuple[float, float] | None:
        """Return the metric of either run; None without deliveries."""
        counts = np.ones_like(self.is_own) if metric.at_sender else ~self.is_own
        own, other = metric.statistic(self.delays_s[counts]), metric.statistic(self.other_delays_s[counts])
        return None if own is None or other is None else (own, other)


class NotPaired(Exception):
    """Two runs are not of one world. Its text is a key of UNPAIRED."""


def common_deliveries(run: Path, other: Path, from_s: float = 0.0) -> CommonDeliveries:
    """Match the deliveries of two run directories. `from_s`: when the measurement period begins, if it is later than
    the scenario states. Raises NotPaired, RunError.
    """
    a, b = (
        _planned_deliveries(one.absolute(), read_json(one, "manifest.json").get("fingerprint")) for one in (run, other)
    )
    shared = ((a.planned[host], b.planned[host]) for host in a.planned.keys() & b.planned.keys())
    if not all(np.array_equal(x[: len(y)], y[: len(x)]) for x, y in shared):
        raise NotPaired(OTHER_BROADCASTS)
    codes = {name: code for code, name in enumerate(dict.fromkeys((*a.nodes, *b.nodes)))}
    times = np.unique(np.concatenate((a.sent_ns, b.sent_ns)))
    _, here, there = np.intersect1d(_keys(a, codes, times), _keys(b, codes, times), return_indices=True)
    later = a.sent_ns[here] >= round(from_s * SECOND)
    here, there = here[later], there[later]
    return CommonDeliveries(a.delay_ns[here] / SECOND, b.delay_ns[there] / SECOND, a.sender[here] == a.receiver[here])


def _keys(run: PlannedDeliveries, codes: Mapping[str, int], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number each delivery by planned time, sender and receiver, the same way in both runs."""
    joint = np.array([codes[name] for name in run.nodes], dtype=np.int64)
    planned: NDArray[np.int64] = np.searchsorted(times, run.sent_ns).astype(np.int64)
    return (planned * len(codes) + joint[run.sender]) * len(codes) + joint[run.receiver]


@lru_cache(maxsize=KEPT_RUNS)
def _planned_deliveries(run: Path, fingerprint: str | None) -> PlannedDeliveries:
    """Read a run; `fingerprint`: another run may have taken its name since."""
    manifest, events = read_json(run, "manifest.json"), read_coded(run, "events")
    begin_ns, end_ns = run_kind(manifest).window_ns(manifest)
    times, event, node = events.numbers("time_ns"), events.column("event"), events.column("node")
    wishes = event.rows("broadcast", "refused")
    planned = {
        name: times[own]
        for code, name in enumerate(node.words)
        if len(own := wishes[node.codes[wishes] == code])
    }  # fmt: skip
    deliveries = Deliveries(events)
    senders = np.full(deliveries.messages, -1, dtype=np.int64)
    senders[deliveries.broadcast_message] = node.codes[deliveries.broadcasts]
    inside = deliveries.was_broadcast & (begin_ns <= deliveries.sent_ns) & (deliveries.sent_ns < end_ns)
    columns = (senders[deliveries.message], deliveries.node, deliveries.sent_ns, deliveries.delay_ns)
    sender, receiver, sent_ns, delay_ns = (column[inside].astype(np.int64) for column in columns)
    return PlannedDeliveries(planned, tuple(node.words), sender, receiver, sent_ns, delay_ns)
