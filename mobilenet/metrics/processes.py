"""Compute one flat row of metrics from a run of processes on an abstract network.

Model     latency is the largest value, over correct sources, of the time at which the last acknowledgement of a
          broadcast was received. For protocols without acknowledgements, it is the time of the last reception. Times
          count from 0, when the broadcasts of the papers begin. delivery_latency is the time from broadcast to delivery
          at processes other than the source; reception_latency is the time from broadcast to the arrival of the packet,
          as counted by the network. Metrics of a failure detector only exist if the run uses one
Units     time units (t.u.), 1 t.u. is 1 s; messages; bytes
Source    the papers on VCube; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.declaration import Metric, OfDelays, Row, as_whole, mean, percentile, ratio, values
from mobilenet.metrics.deliveries import Deliveries
from mobilenet.record.table import Columns, Table


def process_metrics(events: Columns, samples: Columns, counters: dict[str, Any], manifest: dict[str, Any]) -> Row:
    """Compute one row from the columns of a run."""
    run = Processes(Table.of(events), counters, manifest)
    row = values(OF_PROCESSES, run, run.traits)
    for kind, count in run.messages.get("by_kind", {}).items():
        row[f"messages_{kind}"] = count
    return row | _largest(samples)


class Processes:
    """The events of a run of processes, in the form that its metrics need."""

    def __init__(self, table: Table, counters: dict[str, Any], manifest: dict[str, Any]) -> None:
        self.messages, self.detector = counters["messages"], counters["detector"]
        self.processes = manifest["processes"]
        self.deliveries = deliveries = Deliveries(table)
        self.crashed: set[str] = set()
        self.completed: list[tuple[str, int]] = []
        self.suspicions = self.trusts = 0
        rest = np.flatnonzero(~table.column("event").among(("deliver", "broadcast")))
        columns = (table.pick(name, rest) for name in ("node", "event", "detail"))
        for node, event, detail in zip(*columns, strict=True):
            if event == "complete":
                self.completed.append((node, json.loads(detail)["at_ns"]))
            elif event == "crash":
                self.crashed.add(node)
            else:
                self.suspicions += event == "suspect"
                self.trusts += event == "trust"
        is_remote = deliveries.node != _sources(table)[deliveries.message]
        self.delays_ns = deliveries.delay_ns[is_remote]  # only deliveries at processes other than the source
        broadcast = np.flatnonzero(np.bincount(deliveries.broadcast_message))
        self.broadcasts = len(broadcast)
        correct = [node for node in table.column("node").words if node not in self.crashed]
        self.done = sum(int(np.count_nonzero(deliveries.got(node)[broadcast])) for node in correct)
        self.traits: set[str] = set(manifest.get("measures", ()))
        if self.completed:  # for a plug-in, the record shows whether it reports completion
            self.traits.add("completions")
        # The counters of a failure detector exist even in runs without a detector, and are then 0.
        if self.detector and (self.detector["sent"] or self.suspicions):
            self.traits.add("detector")
        if "packets_by_messages" in self.messages:
            self.traits.add("packets")

    def missing_deliveries(self) -> int:
        return self.broadcasts * int(self.processes - len(self.crashed))

    def mean_delay(self) -> float | None:
        return sum(self.delays_ns.tolist()) / len(self.delays_ns) / SECOND if len(self.delays_ns) else None

    def longest_delay(self) -> float | None:
        return int(self.delays_ns.max(initial=0)) / SECOND if len(self.delays_ns) else None

    def latency(self) -> float:
        by_sources = (at for node, at in self.completed if node not in self.crashed)
        return float(max(by_sources, default=self.messages["last_reception_ns"]) / SECOND)

    def aggregated_share(self) -> float | None:
        several = (count for size, count in self.messages["packets_by_messages"].items() if int(size) > 1)
        return ratio(sum(several), self.messages["sent"])

    def reception_latency(self) -> float | None:
        waited_ns, receptions = self.messages["receptions_waited_ns"], self.messages["receptions"]
        return waited_ns / receptions / SECOND if receptions else None


OF_PROCESSES: tuple[Metric[Processes], ...] = (
    Metric(
        "deliveries_owed",
        "pairs of a message and a process that never crashes",
        lambda p: p.missing_deliveries(),
        symbol="deliveries owed",
    ),
    Metric(
        "delivery_ratio",
        "share of owed deliveries that took place (reachability)",
        lambda p: ratio(p.done, p.missing_deliveries()),
        symbol="delivery ratio",
        better="higher",
    ),
    Metric(
        "latency",
        "time until the last broadcast is complete or, without completions, until the last reception",
        lambda p: p.latency(),
        "t.u.",
        symbol="latency",
        better="lower",
    ),
    Metric("messages", "messages sent", lambda p: p.messages["sent"], symbol="messages"),
    Metric(
        "messages_per_process_mean",
        "mean number of messages sent per process",
        lambda p: p.messages["sent"] / p.processes,
        "messages",
        symbol="messages per process",
    ),
    Metric("message_bytes", "bytes sent", lambda p: p.messages["bytes"], "bytes", symbol="bytes sent"),
    Metric("broadcasts", "messages broadcast", lambda p: p.broadcasts, symbol="broadcasts"),
    Metric(
        "deliveries",
        "deliveries in the whole run, including those at the sources",
        lambda p: len(p.deliveries.message),
        symbol="deliveries",
    ),
    Metric(
        "delivery_delay_mean_s",
        "mean delay from broadcast to delivery at another process",
        lambda p: p.mean_delay(),
        "t.u.",
        symbol="mean delay",
        better="lower",
        of_delays=OfDelays(mean, at_sender=False),
    ),
    Metric(
        "delivery_latency_mean",
        "mean delay from broadcast to delivery at another process",
        lambda p: p.mean_delay(),
        "t.u.",
        symbol="mean delay",
        better="lower",
        of_delays=OfDelays(mean, at_sender=False),
    ),
    Metric(
        "delivery_latency_max",
        "longest delay from broadcast to delivery at another process",
        lambda p: p.longest_delay(),
        "t.u.",
        symbol="longest delay",
        better="lower",
        of_delays=OfDelays(partial(percentile, 100), at_sender=False),
    ),
    Metric("crashes", "crashes", lambda p: len(p.crashed), symbol="crashes"),
    Metric(
        "detector_messages",
        "messages of the failure detector",
        lambda p: p.detector["sent"],
        of="detector",
        symbol="detector messages",
    ),
    Metric("suspicions", "suspicions", lambda p: p.suspicions, of="detector", symbol="suspicions"),
    Metric(
        "suspicions_taken_back",
        "suspicions withdrawn",
        lambda p: p.trusts,
        of="detector",
        symbol="suspicions withdrawn",
    ),
    Metric(
        "broadcasts_complete",
        "broadcasts whose source was notified that they reached all processes",
        lambda p: len(p.completed),
        of="completions",
        symbol="broadcasts complete",
    ),
    Metric("packets", "packets sent", lambda p: p.messages["sent"], of="packets", symbol="packets"),
    Metric(
        "packets_aggregated_share",
        "share of packets with several messages",
        lambda p: p.aggregated_share(),
        of="packets",
        symbol="packets aggregated",
    ),
    Metric(
        "reception_latency_mean",
        "mean delay from broadcast to reception",
        lambda p: p.reception_latency(),
        "t.u.",
        of="packets",
        symbol="reception delay",
        better="lower",
    ),
    Metric(
        "pending_max", "maximum number of messages held back by a process", unit="messages", symbol="held back, max"
    ),  # computed by _largest, like all metrics of buffers
    Metric(
        "pending_max_mean",
        "maximum number of messages held back by a process, averaged over processes",
        unit="messages",
        symbol="held back, mean of maxima",
    ),
)


def _sources(events: Table) -> np.ndarray:
    """Return for each message code the code of the process in the message's id. The last entry is for rows without a
    message.
    """
    node = {name: code for code, name in enumerate(events.column("node").words)}
    codes = [node.get(message.partition(":")[0], -1) for message in events.column("message").words]
    return np.array([*codes, -1])


def _largest(samples: Columns) -> Row:
    """Return each buffer's largest size at any process, and the mean of its largest sizes at all processes."""
    table = Table.of(samples)
    nodes, quantities = table.column("node"), table.column("quantity")
    values = table.numbers("value")
    series = quantities.codes.astype(np.int64) * len(nodes.words) + nodes.codes
    order = np.lexsort((-values, series))  # the largest value of each series first, and the earliest of equal values
    firsts = order[np.flatnonzero(np.diff(series[order], prepend=-1))]
    largest: dict[str, dict[str, float]] = {}
    columns = (table.pick(name, firsts) for name in ("node", "quantity", "value"))
    for node, quantity, value in zip(*columns, strict=True):
        largest.setdefault(quantity, {})[node] = max(value, 0.0)
    row: Row = {}
    for quantity, by_node in sorted(largest.items()):
        row[f"{quantity}_max"] = as_whole(max(by_node.values()))
        row[f"{quantity}_max_mean"] = sum(by_node.values()) / len(by_node)
    return row
