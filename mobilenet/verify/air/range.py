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

from mobilenet.scenario.expectations import Air
from mobilenet.verify.air.nodes import SECOND, Nodes, first
from mobilenet.verify.air.pairs import Pairs
from mobilenet.verify.air.whereabouts import ROUNDING_M, Whereabouts

Bounds = tuple[np.ndarray, np.ndarray]


def range_problem(pairs: Pairs, nodes: Nodes, whereabouts: Whereabouts, air: Air, bounds_m: Bounds) -> str | None:
    """The first row that cannot be, or that is not there; `bounds_m`: the least and the most distance of each row."""
    problems = (
        _presence_problems(pairs, whereabouts),
        _distance_problems(pairs, nodes, air, bounds_m[0]),
        _absence_problems(pairs, nodes, whereabouts, air),
    )
    return next((problem for each in problems for problem in each), None)


def _presence_problems(pairs: Pairs, whereabouts: Whereabouts) -> Iterator[str]:
    for name, node in (("sender", pairs.sender), ("receiver", pairs.receiver)):
        if (row := first(pairs.start_ns < whereabouts.appears_ns[node])) is not None:
            since_s = whereabouts.appears_ns[node[row]] / SECOND
            yield f"{pairs.words(row)}: {pairs.table[name][row]} appears only at {since_s:.6f} s"
        if (row := first(whereabouts.is_gone(node, pairs.start_ns))) is not None:
            yield f"{pairs.words(row)}: {pairs.table[name][row]} has no position any more"


def _distance_problems(pairs: Pairs, nodes: Nodes, air: Air, least_m: np.ndarray) -> Iterator[str]:
    from_station, to_station = pairs.sender < nodes.stations, pairs.receiver < nodes.stations
    far_m = np.zeros(len(least_m))
    for (a, b), reach in air.strengths.items():
        far_m[(from_station == a) & (to_station == b)] = reach.far_m
    if (row := first(least_m > far_m + ROUNDING_M)) is not None:
        yield (
            f"{pairs.words(row)}: they are at least {least_m[row]:.1f} m apart, and frames reach {far_m[row]:.1f} m"
            " at most"
        )


def _absence_problems(pairs: Pairs, nodes: Nodes, whereabouts: Whereabouts, air: Air) -> Iterator[str]:
    is_station = np.arange(nodes.count) < nodes.stations
    near_m = np.zeros((nodes.count, nodes.count))
    for (a, b), reach in air.strengths.items():
        near_m[np.ix_(is_station == a, is_station == b)] = reach.near_m - ROUNDING_M
    np.fill_diagonal(near_m, -np.inf)
    spans = whereabouts.span_of(pairs.start_ns)
    order = np.argsort(spans, kind="stable")
    begins = np.searchsorted(spans[order], np.arange(whereabouts.spans + 1))
    for span in range(whereabouts.spans):
        rows = order[begins[span] : begins[span + 1]]
        if not len(rows):
            continue
        must = whereabouts.most_within_m(span) <= near_m
        frames, which = np.unique(pairs.frame[rows], return_inverse=True)
        senders = pairs.sender[pairs.first[frames]]
        wanted = must.sum(axis=1)[senders]
        found = np.bincount(which, must[pairs.sender[rows], pairs.receiver[rows]], len(frames))
        if (at := first(found < wanted)) is not None:
            head = int(pairs.first[frames[at]])
            own = pairs.receiver[pairs.frame == frames[at]]
            missing = nodes.name(int(np.setdiff1d(np.flatnonzero(must[senders[at]]), own)[0]))
            yield f"{pairs.words(head)}: there is no row of this frame at {missing}, which is surely within its reach"
