"""Whether the samples can be what was measured, and go on to the end.

Checks    a node, a quantity and a finite number each; the times of one quantity never go back
          the network's quantities are sampled at the very end
          so is every buffer of every node that ever existed: a node has the buffers that follow from the scenario,
          and those that others of its kind have; it existed if the scenario says so, or if any event, sample or
          position names it
Units     integer nanoseconds
Source    ours: docs/run-directory.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import math
from typing import Any

BUFFERS = ("sbuffer", "rbuffer")
NETWORK = "network"
Quantity = tuple[str, str]  # node, quantity


def samples_problem(
    events: dict[str, list[Any]],
    samples: dict[str, list[Any]],
    positions: dict[str, list[Any]],
    manifest: dict[str, Any],
) -> str | None:
    """The first thing that cannot be."""
    end_ns = round(manifest["simulated_s"] * 1e9)
    last: dict[Quantity, int] = {}
    columns = (samples[name] for name in ("time_ns", "node", "quantity", "value"))
    for row, (time, node, quantity, value) in enumerate(zip(*columns, strict=True)):
        if not node or not quantity or value is None or not math.isfinite(value) or value < 0:
            return f"samples: row {row} has node {node!r}, quantity {quantity!r} and value {value!r}"
        if time is None or not last.get((node, quantity), 0) <= time <= end_ns:
            return f"samples: row {row} ({quantity} at {node}) has time {time}, not in its order or outside of the run"
        last[node, quantity] = time
    for node, quantity in _expected(events, positions, manifest, last):
        if last.get((node, quantity)) != end_ns:
            return f"samples: there is none of {quantity} at {node} at the end of the run"
    return None


def _expected(
    events: dict[str, list[Any]], positions: dict[str, list[Any]], manifest: dict[str, Any], last: dict[Quantity, int]
) -> list[Quantity]:
    """What has to be sampled at the end."""
    nodes = {node for node, quantity in last if quantity in BUFFERS} | set(events["node"]) | set(positions["node"])
    nodes |= {station for station in events["station"] if station is not None}
    nodes |= {f"s{number}" for number in range(manifest["stations"])} | {
        f"h{number}" for number in range(manifest["hosts"] or 0)
    }
    buffers = {kind: set(manifest.get("buffers", ())) for kind in "hs"}  # kind of node -> what its nodes have
    for node, quantity in last:
        if quantity in BUFFERS:
            buffers.setdefault(node[0], set()).add(quantity)
    expected = [key for key in last if key[0] == NETWORK]
    return expected + [(node, quantity) for node in sorted(nodes) for quantity in sorted(buffers.get(node[:1], ()))]
