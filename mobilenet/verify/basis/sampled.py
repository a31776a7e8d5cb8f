"""Check that the samples can be what was measured, and go on to the end.

Checks    a node, a quantity and a whole number each; the times of one quantity never go back
          the network's quantities are sampled at the very end
          so is every buffer of every node that ever existed: a node has the buffers that follow from the scenario,
          and those that others of its kind have; it existed if it follows from the scenario, or if any event, sample or
          position names it
Units     integer nanoseconds
Source    ours: docs/run-directory.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mobilenet.rundir.schema import BUFFERS, buffers_of
from mobilenet.rundir.table import Columns, Table
from mobilenet.verify.basis.screened_samples import last_samples

NETWORK = "network"
Quantity = tuple[str, str]  # node, quantity
Examination = Callable[[Columns, int], tuple[str | None, dict[Quantity, int]]]


def samples_problem(
    events: Columns,
    samples: Columns,
    positions: Columns,
    manifest: dict[str, Any],
) -> str | None:
    """The first thing that cannot be."""
    end_ns = round(manifest["simulated_s"] * 1e9)
    problem, last = last_of(samples, end_ns, examine_samples)
    if problem is not None:
        return problem
    for node, quantity in _required_samples(events, positions, manifest, last):
        if last.get((node, quantity)) != end_ns:
            return f"samples: no sample of {quantity} at {node} at the end of the run"
    return None


def samples_so_far_problem(samples: Columns, end_ns: int) -> str | None:
    """The first thing that cannot be in a run that ended early: the samples at its end need not be there."""
    return last_of(samples, end_ns, examine_samples)[0]


def last_of(samples: Columns, end_ns: int, examine: Examination) -> tuple[str | None, dict[Quantity, int]]:
    """What is wrong, and when each quantity was last sampled; `examine` looks at row by row where not all is plainly in
    order.
    """
    last = last_samples(Table.of(samples), end_ns)
    return examine(samples, end_ns) if last is None else (None, last)


def examine_samples(samples: Columns, end_ns: int) -> tuple[str | None, dict[Quantity, int]]:
    """Row by row: the first one that cannot be; and until there, when each quantity was last sampled."""
    last: dict[Quantity, int] = {}
    columns = (samples[name] for name in ("time_ns", "node", "quantity", "value"))
    for row, (time, node, quantity, value) in enumerate(zip(*columns, strict=True)):
        if not node or not quantity or value is None or not math.isfinite(value) or value < 0 or value % 1:
            has = f"node {node!r}, quantity {quantity!r} and value {value!r}"
            return f"samples: row {row} has {has}, expected two names and a whole number ≥ 0", last
        if time is None or not last.get((node, quantity), 0) <= time <= end_ns:
            text = f"samples: row {row} ({quantity} at {node}) has time {time}, out of order or outside the run"
            return text, last
        last[node, quantity] = time
    return None, last


def _required_samples(
    events: Columns, positions: Columns, manifest: dict[str, Any], last: dict[Quantity, int]
) -> list[Quantity]:
    """What has to be sampled at the end."""
    nodes = {node for node, quantity in last if quantity in BUFFERS}
    nodes |= {node for table in (events, positions) for node in Table.of(table).column("node").words}
    nodes |= set(Table.of(events).column("station").words)
    nodes |= {f"s{number}" for number in range(manifest["stations"])} | {
        f"h{number}" for number in range(manifest["hosts"] or 0)
    }
    buffers = {kind: set(names) for kind, names in buffers_of(manifest, ()).items()}  # kind of node -> what they have
    for node, quantity in last:
        if quantity in BUFFERS:
            buffers.setdefault(node[0], set()).add(quantity)
    expected = [key for key in last if key[0] == NETWORK]
    return expected + [(node, quantity) for node in sorted(nodes) for quantity in sorted(buffers.get(node[:1], ()))]
