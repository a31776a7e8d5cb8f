"""Whether the rows of `frames` name the nodes that can be, and that must be, a frame's receivers.

Checks    no receiver is farther away than a frame reaches with the best luck
          each node that is surely near enough has a row of each frame that has any
          sender and receiver are there: a host has appeared, and its positions go on
Units     integer nanoseconds, metres
Shapes    over rows; over pairs of nodes, bool (nodes, nodes)
Errors    none
Source    ours: docs/models/radio.md, docs/models/sinr.md
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Air
from mobilenet.verify.air.nodes import Nodes, first
from mobilenet.verify.air.pairs import Pairs
from mobilenet.verify.air.whereabouts import ROUNDING_M, Whereabouts

Bounds = tuple[np.ndarray, np.ndarray]
MATRIX = 1 << 20  # distances at a time


def range_problem(
    pairs: Pairs, nodes: Nodes, whereabouts: Whereabouts, air: Air, bounds_m: Bounds, whole: Pairs
) -> str | None:
    """Return the first row that is impossible, or missing.

    `bounds_m`: the least and the greatest distance of each row; `whole`: rows of frames that have one at each receiver.
    """
    problems = (
        _presence_problems(pairs, nodes, whereabouts),
        _distance_problems(pairs, nodes, air, bounds_m[0]),
        _absence_problems(whole, nodes, whereabouts, air),
    )
    return next((problem for each in problems for problem in each), None)


def _presence_problems(pairs: Pairs, nodes: Nodes, whereabouts: Whereabouts) -> Iterator[str]:
    for node in (pairs.sender, pairs.receiver):
        if (row := first(pairs.start_ns < whereabouts.appears_ns[node])) is not None:
            since_s = whereabouts.appears_ns[node[row]] / SECOND
            yield f"{pairs.words(row)}: {nodes.name(int(node[row]))} does not exist before {since_s:.6f} s"
        if (row := first(whereabouts.is_gone(node, pairs.start_ns))) is not None:
            yield f"{pairs.words(row)}: {nodes.name(int(node[row]))} no longer exists at that time"


def _distance_problems(pairs: Pairs, nodes: Nodes, air: Air, least_m: np.ndarray) -> Iterator[str]:
    from_station, to_station = pairs.sender < nodes.stations, pairs.receiver < nodes.stations
    far_m = np.zeros(len(least_m))
    for (a, b), reach in air.strengths.items():
        far_m[(from_station == a) & (to_station == b)] = reach.far_m
    if (row := first(least_m > far_m + ROUNDING_M)) is not None:
        yield (
            f"{pairs.words(row)}: the two nodes are at least {least_m[row]:.1f} m apart, but frames reach at most"
            f" {far_m[row]:.1f} m"
        )


def _absence_problems(pairs: Pairs, nodes: Nodes, whereabouts: Whereabouts, air: Air) -> Iterator[str]:
    spans = whereabouts.span_of(pairs.start_ns)
    order = np.lexsort((pairs.sender, spans))
    begins = np.searchsorted(spans[order], np.arange(whereabouts.spans + 1))
    most = max(1, MATRIX // nodes.count)
    for span in range(whereabouts.spans):
        rows = order[begins[span] : begins[span + 1]]
        senders = np.unique(pairs.sender[rows])
        for some in (senders[i : i + most] for i in range(0, len(senders), most)):
            must = whereabouts.most_within_m(span, some) <= near_m(some, nodes, air)
            own = rows[slice(*np.searchsorted(pairs.sender[rows], (some[0], some[-1] + 1)))]
            frames, which = np.unique(pairs.frame[own], return_inverse=True)
            sender = np.searchsorted(some, pairs.sender[pairs.first[frames]])
            due_counts = must.sum(axis=1)[sender]
            row_counts = np.bincount(which, must[sender[which], pairs.receiver[own]], len(frames))
            if (at := first(row_counts < due_counts)) is not None:
                head = int(pairs.first[frames[at]])
                receivers = pairs.receiver[pairs.frame == frames[at]]
                missing = nodes.name(int(np.setdiff1d(np.flatnonzero(must[sender[at]]), receivers)[0]))
                yield f"{pairs.words(head)}: this frame has no row for {missing}, which is certainly within reach"


def near_m(senders: np.ndarray, nodes: Nodes, air: Air) -> np.ndarray:
    """How near each node has to be to each of these senders to be a receiver for certain, float64 (senders, nodes)."""
    is_station = np.arange(nodes.count) < nodes.stations
    near_m = np.zeros((len(senders), nodes.count))
    for (a, b), strength in air.strengths.items():
        near_m[np.ix_(is_station[senders] == a, is_station == b)] = strength.near_m - ROUNDING_M
    near_m[np.arange(len(senders)), senders] = -np.inf
    return near_m
