"""Check that each receiver is locked on one frame at a time, the first that reaches it: with the unit disk, no capture.

Checks    `never_attempted` needs a frame that the receiver is locked on instead: one that began no later and was lost
          as `collision`, or because the receiver sends or goes down
          of two frames that overlap at a receiver only one is lost as `collision`, unless it sends or goes down between
Model     a frame that is lost as `collision` is one that the receiver is locked on until its end. A node that sends, or
          goes down, lets go; what is still in the air then destroys the next frame that it is locked on. When a frame
          arrives is known up to the longest propagation delay
Units     integer nanoseconds
Shapes    over rows
Errors    none
Source    ours: docs/models/radio.md
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mobilenet.verify.air.nodes import Nodes
from mobilenet.verify.air.outages import Outages
from mobilenet.verify.air.outcomes import COLLISION, HALF_DUPLEX, NEVER_ATTEMPTED, RECEIVER_DOWN
from mobilenet.verify.air.pairs import Pairs
from mobilenet.verify.air.possible_outcomes import Unseen

NO_NS = -(1 << 62)


def locks_problem(pairs: Pairs, nodes: Nodes, outages: Outages, unseen: Unseen) -> str | None:
    """The first frame on which its receiver cannot have been locked, or must have been."""
    concerned = np.isin(pairs.outcome, (COLLISION, NEVER_ATTEMPTED))
    for node in np.unique(pairs.receiver[concerned]).tolist():
        rows = np.flatnonzero(pairs.receiver == node)
        rows = rows[np.argsort(pairs.start_ns[rows], kind="stable")]
        outcome = pairs.outcome[rows]
        collided = rows[outcome == COLLISION]
        instead = rows[np.isin(outcome, (COLLISION, HALF_DUPLEX, RECEIVER_DOWN))]
        problems = (
            _unlocked_problems(pairs, nodes, unseen, rows[outcome == NEVER_ATTEMPTED], instead),
            _twice_problems(pairs, nodes, outages, unseen, collided),
        )
        for problem in (problem for each in problems for problem in each):
            return problem
    return None


def _unlocked_problems(
    pairs: Pairs, nodes: Nodes, unseen: Unseen, missed: np.ndarray, instead: np.ndarray
) -> Iterator[str]:
    start_ns = pairs.start_ns[missed]
    began = np.searchsorted(pairs.start_ns[instead], start_ns + pairs.delay_ns, "right")
    last_ns, _ = _last_end(pairs, instead, began)
    for row in missed[last_ns + pairs.delay_ns <= start_ns].tolist():
        node = int(pairs.receiver[row])
        if not unseen.may_reach(node, int(pairs.end_ns[row]) + pairs.around_ns):
            what = (
                f"the fate is never_attempted, but {nodes.name(node)} was not locked onto an earlier frame that it lost"
            )
            yield f"{pairs.words(row)}: {what}"


def _twice_problems(
    pairs: Pairs, nodes: Nodes, outages: Outages, unseen: Unseen, collided: np.ndarray
) -> Iterator[str]:
    start_ns = pairs.start_ns[collided]
    last_ns, which = _last_end(pairs, collided, np.arange(len(collided)))
    overlaps = last_ns > start_ns + pairs.delay_ns
    if len(collided):
        overlaps &= pairs.end_ns[collided] > start_ns[which] + pairs.delay_ns
    for at in np.flatnonzero(overlaps).tolist():
        row, other = int(collided[at]), int(collided[which[at]])
        node, since_ns, until_ns = int(pairs.receiver[row]), int(pairs.start_ns[other]), int(start_ns[at])
        span = np.array([since_ns]), np.array([until_ns + pairs.delay_ns])
        own_ns = pairs.start_ns[pairs.first[pairs.sender[pairs.first] == node]]
        if ((span[0] <= own_ns) & (own_ns <= span[1])).any() or outages.touches(node, *span)[0]:
            continue
        if unseen.may_send(node, int(span[1][0])) or unseen.may_be_hidden(since_ns, int(span[1][0])):
            continue
        name = nodes.name(node)
        what = f"the fate is collision, but {name} is locked onto another frame at that time ({pairs.words(other)})"
        yield f"{pairs.words(row)}: {what}"


def _last_end(pairs: Pairs, rows: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The last end among the first of those rows, for each number of rows, and which one has it."""
    if not len(rows):
        return np.full(len(count), NO_NS), np.zeros(len(count), np.int64)
    latest = np.maximum.accumulate(pairs.end_ns[rows])
    which = np.maximum.accumulate(np.where(pairs.end_ns[rows] == latest, np.arange(len(rows)), 0))
    return np.where(count > 0, latest[count - 1], NO_NS), which[count - 1]
