"""Whether frames were lost at random only when that was possible.

Checks    `random` needs a random loss at that time: everywhere, or of a host that sends or receives the frame
          with a loss of 1 nothing is received
Model     both change only by hand. In the nanosecond of a change a frame may end before or after it
Units     integer nanoseconds
Shapes    over rows
Errors    none
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mobilenet.expected.expectations import Expectations
from mobilenet.verify.air.nodes import Nodes, first
from mobilenet.verify.air.outcomes import RANDOM, RECEIVED
from mobilenet.verify.air.pairs import Pairs


def loss_problems(pairs: Pairs, nodes: Nodes, expected: Expectations) -> Iterator[str]:
    """The first row of each kind that cannot be."""
    assert expected.air is not None
    share, settled = _shares(expected.air.losses, pairs.end_ns, pairs.delay_ns)
    lossless, lost = settled & (share == 0), settled & (share == 1)
    for host, changes in _of_hosts(expected).items():
        rows = np.flatnonzero((pairs.sender == nodes.index(host)) | (pairs.receiver == nodes.index(host)))
        share, settled = _shares(changes, pairs.end_ns[rows], pairs.delay_ns)
        lossless[rows] &= settled & (share == 0)
        lost[rows] |= settled & (share == 1)
    if (row := first((pairs.outcome == RANDOM) & lossless)) is not None:
        yield f"{pairs.words(row)}: the fate is random, but nothing is lost at random at that time"
    if (row := first((pairs.outcome == RECEIVED) & lost)) is not None:
        yield f"{pairs.words(row)}: the fate is received, but everything is lost at random at that time"


def _shares(changes: Sequence[tuple[int, float]], end_ns: np.ndarray, delay_ns: int) -> tuple[np.ndarray, np.ndarray]:
    """The share that is lost when each frame ends, and whether it is certain."""
    since_ns, shares = np.array([at_ns for at_ns, _ in changes]), np.array([share for _, share in changes])
    begin = np.maximum(np.searchsorted(since_ns, end_ns) - 1, 0)
    end = np.searchsorted(since_ns, end_ns + delay_ns, "right") - 1
    return shares[begin], begin == end


def _of_hosts(expected: Expectations) -> dict[str, list[tuple[int, float]]]:
    losses: dict[str, list[tuple[int, float]]] = {}
    for one in expected.impairments:
        if one.other is None:
            losses.setdefault(one.node, [(-1, 0.0)]).append((one.at_ns, one.loss))
    return losses
