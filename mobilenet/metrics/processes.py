"""One flat row of numbers from a run of processes on an abstract network.

Model     latency: the largest over correct sources of the instant at which the last acknowledgement of a broadcast
          was received; for protocols without acknowledgements, of the last reception of all. Instants count from 0,
          as in the papers, whose broadcasts begin then. delivery_latency: from broadcast to delivery, at others than
          the source; reception_latency: from broadcast to the arrival of the packet, by the network's count
Units     time units (t.u.), 1 t.u. is 1 s; messages; bytes
Source    the papers on VCube; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

import json
from typing import Any

from mobilenet.metrics.registry import SECOND, Row


def process_metrics(
    events: dict[str, list[Any]], samples: dict[str, list[Any]], counters: dict[str, Any], manifest: dict[str, Any]
) -> Row:
    """One row from the columns of a run."""
    sent_at: dict[str, int] = {}
    crashed: set[str] = set()
    completed: list[tuple[str, int]] = []
    deliveries = waited_ns = longest_ns = remote = 0
    suspicions = trusts = 0
    rows = zip(events["time_ns"], events["node"], events["event"], events["message"], events["detail"], strict=True)
    for time, node, event, message, detail in rows:
        if event == "deliver":
            deliveries += 1
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
    row: Row = {
        "latency": last_ns / SECOND,
        "messages": messages["sent"],
        "messages_per_process_mean": messages["sent"] / manifest["processes"],
        "message_bytes": messages["bytes"],
        "detector_messages": counters["detector"]["sent"] if counters["detector"] else 0,
        "broadcasts": len(sent_at),
        "broadcasts_complete": len(completed),
        "deliveries": deliveries,
        "delivery_delay_mean_s": mean,
        "delivery_latency_mean": mean,
        "delivery_latency_max": longest_ns / SECOND if remote else None,
        "crashes": len(crashed),
        "suspicions": suspicions,
        "suspicions_taken_back": trusts,
    }
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
