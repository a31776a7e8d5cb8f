"""Buffer sizes of stations and hosts, and the lists that messages carry.

Model     a buffer's size is a step function of time. Those of stations are weighted over the window, those of hosts
          over the time in which they are members
Units     messages; integer nanoseconds
Source    the quantities of Wilhelm, Arantes, Sens (2020), section V; ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict

from mobilenet.metrics.fold import Columns, EventFold
from mobilenet.metrics.registry import Row, mean, ratio

BUFFERS = {
    "station_sbuffer": ("s", "sbuffer"),
    "station_rbuffer": ("s", "rbuffer"),
    "host_sbuffer": ("h", "sbuffer"),
    "host_rbuffer": ("h", "rbuffer"),
}
LISTS = {  # what messages carry: samples' quantity -> metric
    "md": "m_d",
    "skip": "skip",
    "undelivered": "handoff_undelivered_list",
    "wanted": "handoff_wanted_list",
    "bodies": "handoff_recovered_list",
    "new_ids": "handoff_received_list",
}


def buffers(fold: EventFold, samples: Columns) -> Row:
    begin, end, members = fold.begin_ns, fold.end_ns, fold.memberships()
    row: Row = {}
    for metric, (kind, quantity) in BUFFERS.items():
        found = steps(samples, kind, quantity)
        spans = members if kind == "h" else {node: [(begin, end)] for node in sorted(found)}
        area = highest = 0.0
        time = 0
        for node, times in spans.items():
            moments, values = found.get(node, ([], []))
            for start, stop in times:
                first, last = max(begin, start), min(end, stop)
                if first < last:
                    area += time_weighted_mean(moments, values, first, last) * (last - first)
                    time += last - first
                    highest = max(
                        [highest, *values[max(0, bisect_right(moments, first) - 1) : bisect_left(moments, last)]]
                    )
        row[f"{metric}_mean"] = ratio(area, time)
        row[f"{metric}_max"] = highest
    return row


def lists(samples: Columns, begin: int, end: int) -> Row:
    lengths: dict[str, list[float]] = {quantity: [] for quantity in LISTS}
    for time, quantity, value in zip(samples["time_ns"], samples["quantity"], samples["value"], strict=True):
        if quantity in lengths and begin <= time < end:
            lengths[quantity].append(value)
    row: Row = {}
    for quantity, metric in LISTS.items():
        row[f"{metric}_mean"] = mean(lengths[quantity])
        row[f"{metric}_max"] = max(lengths[quantity], default=None)
    return row


def time_weighted_mean(times: list[int], values: list[float], begin: int, end: int) -> float:
    """Of a step function that is 0 before its first value."""
    if end <= begin:
        return 0.0
    first, last = bisect_right(times, begin), bisect_left(times, end)
    edges = [begin, *times[first:last], end]
    levels = [values[first - 1] if first else 0.0, *values[first:last]]
    return sum(level * (b - a) for level, a, b in zip(levels, edges[:-1], edges[1:], strict=True)) / (end - begin)


def steps(samples: Columns, kind: str, quantity: str) -> dict[str, tuple[list[int], list[float]]]:
    """The step functions (times, values) of one quantity at all nodes whose names begin with `kind`."""
    found: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
    for time, node, name, value in zip(
        samples["time_ns"], samples["node"], samples["quantity"], samples["value"], strict=True
    ):
        if name == quantity and node.startswith(kind):
            times, values = found[node]
            times.append(time)
            values.append(value)
    return found
