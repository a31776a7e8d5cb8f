"""One flat row of numbers from a run of processes on an abstract network.

Model     latency: the largest over correct sources of the instant at which the last acknowledgement of a broadcast
          was received; for protocols without acknowledgements, of the last reception of all. Instants count from 0,
          as in the papers, whose broadcasts begin then. delivery_latency: from broadcast to delivery, at others than
          the source; reception_latency: from broadcast to the arrival of the packet, by the network's count. Without a
          failure detector nothing is measured of one
Units     time units (t.u.), 1 t.u. is 1 s; messages; bytes
Source    the papers on VCube; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.metrics.deliveries import Deliveries
from mobilenet.metrics.registry import Row, ratio
from mobilenet.rundir.table import Columns, Table

TELLS_THE_SOURCE = ("best_effort", "reliable", "all_to_all")  # of ours; of a plug-in, if it ever did


def process_metrics(events: Columns, samples: Columns, counters: dict[str, Any], manifest: dict[str, Any]) -> Row:
    """One row from the columns of a run."""
    table = Table.of(events)
    deliveries = Deliveries(table)
    crashed: set[str] = set()
    completed: list[tuple[str, int]] = []
    suspicions = trusts = 0
    rest = np.flatnonzero(~table.coded("event").among(("deliver", "broadcast")))
    for node, event, detail in zip(*(table.picked(name, rest) for name in ("node", "event", "detail")), strict=True):
        if event == "complete":
            completed.append((node, json.loads(detail)["at_ns"]))
        elif event == "crash":
            crashed.add(node)
        else:
            suspicions += event == "suspect"
            trusts += event == "trust"
    delays_ns = deliveries.delay_ns
    delays_ns = delays_ns[deliveries.node != _sources(table)[deliveries.message]]
    remote, waited_ns = len(delays_ns), sum(delays_ns.tolist())
    longest_ns = max(0, int(delays_ns.max())) if remote else 0
    broadcast = np.unique(deliveries.broadcast_message)
    messages = counters["messages"]
    last_ns = max((at for node, at in completed if node not in crashed), default=messages["last_reception_ns"])
    mean = waited_ns / remote / SECOND if remote else None
    packets = messages.get("packets_by_messages")
    owed = len(broadcast) * (manifest["processes"] - len(crashed))
    correct = [node for node in table.coded("node").words if node not in crashed]
    done = sum(int(np.count_nonzero(deliveries.got(node)[broadcast])) for node in correct)
    row: Row = {
        "deliveries_owed": owed,
        "delivery_ratio": ratio(done, owed),
        "latency": last_ns / SECOND,
        "messages": messages["sent"],
        "messages_per_process_mean": messages["sent"] / manifest["processes"],
        "message_bytes": messages["bytes"],
        "broadcasts": len(broadcast),
        "deliveries": len(deliveries.message),
        "delivery_delay_mean_s": mean,
        "delivery_latency_mean": mean,
        "delivery_latency_max": longest_ns / SECOND if remote else None,
        "crashes": len(crashed),
    }
    detector = counters["detector"]
    if detector and (detector["sent"] or suspicions):  # without one its lane is there, and silent
        row |= {
            "detector_messages": detector["sent"],
            "suspicions": suspicions,
            "suspicions_taken_back": trusts,
        }
    if completed or manifest["protocol"] in TELLS_THE_SOURCE:
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


def _sources(events: Table) -> np.ndarray:
    """By code of a message the code of the process that its id names; the last one stands for no message."""
    node = {name: code for code, name in enumerate(events.coded("node").words)}
    found = [node.get(message.partition(":")[0], -1) for message in events.coded("message").words]
    return np.array([*found, -1])


def _largest(samples: Columns) -> Row:
    """Of each buffer, the largest at any process, and the mean over processes of each one's largest."""
    table = Table.of(samples)
    nodes, quantities = table.coded("node"), table.coded("quantity")
    values = table.numbers("value")
    series = quantities.codes.astype(np.int64) * len(nodes.words) + nodes.codes
    order = np.lexsort((-values, series))  # the largest of each first, and of equals the one that came first
    firsts = order[np.flatnonzero(np.diff(series[order], prepend=-1))]
    largest: dict[str, dict[str, float]] = {}
    columns = (table.picked(name, firsts) for name in ("node", "quantity", "value"))
    for node, quantity, value in zip(*columns, strict=True):
        largest.setdefault(quantity, {})[node] = max(value, 0.0)
    row: Row = {}
    for quantity, by_node in sorted(largest.items()):
        row[f"{quantity}_max"] = max(by_node.values())
        row[f"{quantity}_max_mean"] = sum(by_node.values()) / len(by_node)
    return row
