"""The sizes of buffers and other quantities over the time of a run.

Model     a sample is valid until the next one of its node. The results are means over BUCKETS equal parts of the
          simulated time
Units     nanoseconds; messages
Source    Wilhelm, Arantes, Sens (2020), section V, for the quantities
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.buffers import BUFFERS
from mobilenet.record.table import Table

if TYPE_CHECKING:
    import pandas as pd

BUCKETS = 60

Series = list[float | None]  # one value for each bucket; None if no node with such a buffer existed


def buffers_over_time(
    events: Table, samples: Table, end_s: float, buffers: Mapping[str, tuple[str, str]] = BUFFERS
) -> dict[str, Series]:
    """Return the mean number of messages per node in each bucket. Hosts count while they are members. `buffers` has the
    form of BUFFERS in buffers.py, and determines the order of the result.
    """
    edges = np.linspace(0, end_s * SECOND, BUCKETS + 1)
    times, event, node = events.numbers("time_ns"), events.column("event"), events.column("node")
    either, leaves = event.rows("join", "leave"), event.rows("leave")
    is_join = (event.codes[either] == event.code("join")).astype(np.float64)
    membership = (times[either], node.codes[either], is_join)
    sampled, sampled_at = samples.column("node"), samples.numbers("time_ns")
    place = {name: code for code, name in enumerate(sampled.words)}
    of_event = np.array([place.setdefault(name, len(place)) for name in node.words], dtype=np.int64)
    left = (times[leaves], of_event[node.codes[leaves]], np.zeros(len(leaves)))
    series: dict[str, Series] = {}
    for name, (kind, quantity) in buffers.items():
        of_kind = sampled.map([word.startswith(kind) for word in sampled.words], nothing=False)
        own = np.flatnonzero((samples.column("quantity").codes == samples.column("quantity").code(quantity)) & of_kind)
        rows = (sampled_at[own], sampled.codes[own], samples.numbers("value")[own])
        if kind == "h":  # the buffers of a host no longer count after it has left or vanished
            together = tuple(np.concatenate(pair) for pair in zip(rows, left, strict=True))
            order = np.argsort(together[0], kind="stable")
            rows = (together[0][order], together[1][order], together[2][order])
            time = np.diff(integral(*membership, edges))
        else:
            time = np.diff(edges) * len(np.unique(rows[1]))
        area = np.diff(integral(*rows, edges))
        series[name] = [float(area[b] / time[b]) if time[b] > 0 else None for b in range(BUCKETS)]
    return series


def integral(
    times_ns: NDArray[np.int64], node: NDArray[np.int64], value: NDArray[np.float64], edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Integrate the sum of a step function over all nodes, from 0 to each edge, in units of value times nanoseconds.

    `times_ns` must be in ascending order. Each row sets the value of its node.
    """
    if not len(times_ns):
        return np.zeros(len(edges))
    times = times_ns.astype(np.float64)
    by_node = np.argsort(node, kind="stable")
    before = np.concatenate([[0.0], value[by_node][:-1]])
    before[np.concatenate([[True], np.diff(node[by_node]) != 0])] = 0.0
    steps = np.empty(len(value))
    steps[by_node] = value[by_node] - before
    level = np.cumsum(steps)
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(times))])
    place = np.searchsorted(times, edges, side="right") - 1
    integrals: NDArray[np.float64] = np.where(place >= 0, area[place] + level[place] * (edges - times[place]), 0.0)
    return integrals


def integral_of(rows: pd.DataFrame, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Integrate the samples in a data frame as `integral` does."""
    nodes = rows["node"].factorize()[0].astype(np.int64)
    return integral(rows["time_ns"].to_numpy(), nodes, rows["value"].to_numpy().astype(np.float64), edges)
