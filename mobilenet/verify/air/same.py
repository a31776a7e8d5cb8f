"""Whether `frames` and `messages`, where both are recorded, tell the same of the radio.

Checks    each row of a message over the radio is a row of `frames`, but those that were out of range; it tells the same
          kind and fate, the size that its frame carries, and an arrival within the frame's longest propagation delay
          each addressed frame of a message has its row
Units     integer nanoseconds, bytes
Shapes    over rows
Errors    none
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.network.radio.frame import SINR_OUTCOMES
from mobilenet.network.radio.framing import Framing
from mobilenet.scenario.expectations import Air
from mobilenet.verify.air.messages import NO_NS, OUT_OF_RANGE, Hops
from mobilenet.verify.air.nodes import Nodes, first
from mobilenet.verify.air.pairs import Pairs


def same_problem(pairs: Pairs, hops: Hops, nodes: Nodes, air: Air) -> str | None:
    """The first row that has no counterpart, or another one."""
    fates = hops.table.coded("fate")
    rows = np.flatnonzero(~hops.is_wired & ~fates.among((OUT_OF_RANGE,)))
    data = np.flatnonzero(~pairs.is_ack)
    of_frames = _sorted(pairs.start_ns[data], pairs.sender[data], pairs.receiver[data], nodes)
    of_messages = _sorted(hops.send_ns[rows], hops.sender[rows], hops.receiver[rows], nodes)
    moments, ranks = np.unique(np.concatenate((of_frames[0], of_messages[0])), return_inverse=True)
    width = nodes.count * nodes.count
    frame_keys = ranks[: len(data)] * width + of_frames[1]
    message_keys = ranks[len(data) :] * width + of_messages[1]
    order = np.argsort(frame_keys, kind="stable")
    found = np.searchsorted(frame_keys[order], message_keys)
    inside = np.minimum(found, max(len(data) - 1, 0))
    has_row = (found < len(data)) & (frame_keys[order][inside] == message_keys) if len(data) else found < 0
    if (at := first(~has_row)) is not None:
        return f"{hops.words(int(rows[at]))}: there is no such row of frames"
    pair = data[order][inside] if len(data) else inside
    if (at := first(np.bincount(inside, minlength=len(data))[: len(data)] > 1)) is not None:
        return f"{pairs.words(int(data[order][at]))}: messages has two rows of this frame and receiver"
    missing = pairs.addressed[data].copy()
    missing[order[inside]] = False
    if (at := first(missing)) is not None:
        return f"{pairs.words(int(data[at]))}: there is no such row of messages"
    return _difference(pairs, hops, rows, pair, air)


def _sorted(
    at_ns: np.ndarray, sender: np.ndarray, receiver: np.ndarray, nodes: Nodes
) -> tuple[np.ndarray, np.ndarray]:
    return at_ns, sender * nodes.count + receiver


def _difference(pairs: Pairs, hops: Hops, rows: np.ndarray, pair: np.ndarray, air: Air) -> str | None:
    """The first row of messages that tells something else than its row of frames."""
    known = {name: outcome for outcome, name in enumerate(SINR_OUTCOMES)}
    fates, kinds = hops.table.coded("fate"), hops.table.coded("kind")
    fate = fates.mapped([known.get(name, -1) for name in fates.words], -1)[rows]
    of_frames = pairs.table.coded("kind")
    kind = kinds.mapped([of_frames.code(name) for name in kinds.words], -1)[rows]
    framing, sizes = Framing(air.wireless), hops.size_bytes[rows]
    around = pairs.size_bytes[pair] - sizes
    late_ns = hops.receive_ns[rows] - pairs.end_ns[pair]
    arrives = hops.receive_ns[rows] != NO_NS
    carried = [carry(0)[0] for carry in (framing.datagram, framing.segment, framing.acknowledged_datagram)]
    for name, wrong in (
        ("fate", fate != pairs.fate[pair]),
        ("kind", kind != of_frames.codes[pair]),
        ("size_bytes", ~np.isin(around, carried)),
        ("receive_ns", arrives & ((late_ns < 0) | (late_ns > pairs.delay_ns))),
    ):
        if (at := first(wrong)) is not None:
            row, other = int(rows[at]), int(pair[at])
            of = {"size_bytes": "psdu_bytes", "receive_ns": "end_ns"}.get(name, name)
            return (
                f"{hops.words(row)}: {name} is {hops.table[name][row]}, and row {other} of frames has {of}"
                f" {pairs.table[of][other]}"
            )
    return None
