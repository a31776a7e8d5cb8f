"""The sizes of buffers at stations and hosts, and the lengths of lists in messages.

Model     a buffer's size is a step function of time. Sizes at stations are averaged over the window, and sizes at hosts
          over the time in which they are members. A metric exists only if its quantity was measured. A quantity that a
          plug-in measures has a metric with the same name
Units     messages; integer nanoseconds
Shapes    a step function consists of times, int64 (steps,), and values, float64 (steps,)
Source    the quantities of Wilhelm, Arantes, Sens (2020), section V; ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from mobilenet.metrics.declaration import Declared, Metric, Row, as_whole, mean, only, ratio
from mobilenet.metrics.fold import EventFold
from mobilenet.record.kinds import run_kind
from mobilenet.record.schema import buffers_of
from mobilenet.record.table import Columns, Table, by_code, rows_where

EXACT: Final = 2.0**53  # float64 represents smaller whole numbers, and their sums, exactly

_OURS = {  # Buffers of the built-in protocols: (kind of node, quantity) -> description.
    ("station", "sbuffer"): "messages that a station stores until they are acknowledged (SBuffer)",
    ("station", "rbuffer"): "messages that a station holds back (RBuffer)",
    ("host", "sbuffer"): "messages of a host that are not acknowledged yet (SBuffer)",
    ("host", "rbuffer"): "messages that a host holds back (RBuffer)",
}
LISTS = {  # Lists in messages: sampled quantity -> (metric, description).
    "md": ("m_d", "hosts that a station's message names because they must not deliver it (M_d)"),
    "skip": ("skip", "messages to skip in a confirmation, including repeated confirmations and joins"),
    "undelivered": ("handoff_undelivered_list", "undelivered messages in a station's answer (Rsp1)"),
    "wanted": ("handoff_wanted_list", "messages that the new station requests (Req2)"),
    "bodies": ("handoff_recovered_list", "messages that are sent to the new station (Rsp2)"),
    "new_ids": ("handoff_received_list", "messages that are listed as received in the meantime (Rsp2)"),
}

BUFFERS = {f"{who}_{quantity}": (who[0], quantity) for who, quantity in _OURS}  # metric -> kind of node, quantity


def sizes(name: str, words: str) -> tuple[Declared, ...]:
    """Declare the mean and the maximum size of a buffer as metrics, which `buffers` computes."""
    who, _, quantity = name.partition("_")
    short = f"{who} {quantity[0].upper()}Buffer" if name in BUFFERS else name.replace("_", " ")
    return (
        Metric(f"{name}_mean", f"mean number of {words}", unit="messages", symbol=f"{short}, mean"),
        Metric(f"{name}_max", f"maximum number of {words}", unit="messages", symbol=f"{short}, max"),
    )


BUFFER_SIZES: tuple[Declared, ...] = tuple(
    size for (who, quantity), words in _OURS.items() for size in sizes(f"{who}_{quantity}", words)
)
LENGTHS_OF_LISTS: tuple[Declared, ...] = only(
    "lists",
    *(
        Metric(
            f"{name}_{kind}", f"{label} number of {words}", unit="entries", symbol=f"{name.replace('_', ' ')}, {kind}"
        )
        for name, words in LISTS.values()
        for kind, label in (("mean", "mean"), ("max", "maximum"))
    ),
)


def declared_buffers(manifest: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the buffers that a run measured, by metric, in the form of BUFFERS."""
    names = buffers_of(manifest, run_kind(manifest).buffers)
    metrics = {f"{who}_{name}": (who[0], name) for who in ("station", "host") for name in names[who[0]]}
    return {metric: BUFFERS[metric] for metric in BUFFERS if metric in metrics} | metrics


def buffers(fold: EventFold, samples: Columns, manifest: Mapping[str, Any]) -> Row:
    begin, end, members = fold.begin_ns, fold.end_ns, fold.memberships()
    row: Row = {}
    metrics = declared_buffers(manifest)
    for metric, (kind, quantity) in (BUFFERS | metrics).items():
        steps_by_node = steps(samples, kind, quantity)
        if metric not in metrics and not steps_by_node:
            continue
        spans = members if kind == "h" else {node: [(begin, end)] for node in sorted(steps_by_node)}
        area: float = 0.0
        highest: float = 0.0
        time = 0
        for node, times in spans.items():
            steps_of_node = steps_by_node.get(node, NO_STEPS)
            for start, stop in times:
                first, last = max(begin, start), min(end, stop)
                if first < last:
                    area += steps_of_node.mean(first, last) * (last - first)
                    time += last - first
                    highest = max(highest, steps_of_node.highest(first, last))
        row[f"{metric}_mean"] = ratio(area, time)
        row[f"{metric}_max"] = as_whole(highest)
    return row


def lists(samples: Columns, begin: int, end: int, are_known: bool) -> Row:
    """Measure the sampled lists. `are_known`: whether the protocol samples every list in its messages."""
    table = Table.of(samples)
    times, quantities = table.numbers("time_ns"), table.column("quantity")
    inside = (begin <= times) & (times < end)
    row: Row = {}
    for quantity, (metric, _) in LISTS.items():
        if not are_known and quantity not in quantities.words:
            continue
        lengths = table.numbers("value")[(quantities.codes == quantities.code(quantity)) & inside]
        row[f"{metric}_mean"] = mean(lengths)
        row[f"{metric}_max"] = as_whole(float(lengths.max())) if len(lengths) else None
    return row


class Steps:
    """A step function of time, whose value is 0 before the first step."""

    def __init__(self, times: np.ndarray, values: np.ndarray) -> None:
        self._times, self._values = times, values
        self._is_whole = bool((values == np.rint(values)).all())

    def mean(self, begin: int, end: int) -> float:
        """Return the mean size, weighted by time."""
        first, last = np.searchsorted(self._times, begin, "right"), np.searchsorted(self._times, end, "left")
        lengths = np.diff(np.concatenate(([begin], self._times[first:last], [end])))
        levels = np.concatenate((self._values[first - 1 : first] if first else [0.0], self._values[first:last]))
        # the result is exact, and therefore the same in any order of summation
        if self._is_whole and abs(levels).max() * (end - begin) < EXACT:
            return float(levels @ lengths) / (end - begin)
        return float(sum(level * length for level, length in zip(levels.tolist(), lengths.tolist(), strict=True))) / (
            end - begin
        )

    def highest(self, begin: int, end: int) -> float:
        """Return the largest value between these times, or 0 if the function has no value there."""
        first = max(0, int(np.searchsorted(self._times, begin, "right")) - 1)
        last = int(np.searchsorted(self._times, end, "left"))
        if first >= last:
            return 0.0
        return max(0.0, float(self._values[first:last].max()))


NO_STEPS = Steps(np.zeros(0, np.int64), np.zeros(0))


def time_weighted_mean(times: Sequence[int], values: Sequence[float], begin: int, end: int) -> float:
    """Return the time-weighted mean of a step function that is 0 before its first step."""
    if end <= begin:
        return 0.0
    return Steps(np.array(times, np.int64), np.array(values, np.float64)).mean(begin, end)


def steps(samples: Columns, kind: str, quantity: str) -> dict[str, Steps]:
    """Return the step functions of one quantity at all nodes whose names begin with `kind`."""
    table = Table.of(samples)
    nodes, quantities = table.column("node"), table.column("quantity")
    is_of_kind = nodes.map([word.startswith(kind) for word in nodes.words], nothing=False)
    rows = rows_where((quantities.codes == quantities.code(quantity)) & is_of_kind)
    rows = rows[by_code(nodes.codes[rows])]
    codes = nodes.codes[rows]
    times, values = table.numbers("time_ns")[rows], table.numbers("value")[rows]
    edges = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(rows)] if len(rows) else [0]
    return {nodes.words[codes[a]]: Steps(times[a:b], values[a:b]) for a, b in pairwise(edges)}
