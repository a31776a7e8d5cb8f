"""Whether `frames` and `messages`, where both are recorded, agree on the radio.

Checks    each row of a message over the radio is a row of `frames`, but those that were out of range; it has the same
          kind and fate, the size that its frame carries, and an arrival within the frame's longest propagation delay
          each addressed frame of a message has its row, and what a host sends is addressed wherever it has one
Units     integer nanoseconds, bytes
Shapes    over rows
Errors    none
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import numpy as np

from mobilenet.expected.expectations import Air
from mobilenet.verify.air.messages import NO_NS, OUT_OF_RANGE, Hops
from mobilenet.verify.air.nodes import Nodes, first
from mobilenet.verify.air.outcomes import outcome_numbers
from mobilenet.verify.air.pairs import Pairs


def same_problem(pairs: Pairs, hops: Hops, nodes: Nodes, air: Air) -> str | None:
    """The first row that has no counterpart, or another one."""
    outcomes = hops.table.column("fate")
    rows = np.flatnonzero(~hops.is_wired & ~outcomes.among((OUT_OF_RANGE,)))
    data = np.flatnonzero(~pairs.is_ack)
    _, moments = np.unique(np.concatenate((pairs.start_ns[data], hops.send_ns[rows])), return_inverse=True)
    links = nodes.count * nodes.count
    frame_keys = moments[: len(data)] * links + pairs.sender[data] * nodes.count + pairs.receiver[data]
    message_keys = moments[len(data) :] * links + hops.sender[rows] * nodes.count + hops.receiver[rows]
    order = np.argsort(frame_keys, kind="stable")
    places = np.searchsorted(frame_keys[order], message_keys)
    inside = np.minimum(places, max(len(data) - 1, 0))
    has_row = (places < len(data)) & (frame_keys[order][inside] == message_keys) if len(data) else places < 0
    if (at := first(~has_row)) is not None:
        return f"{hops.words(int(rows[at]))}: frames has no row for this message"
    pair = data[order][inside] if len(data) else inside
    if (at := first(np.bincount(inside, minlength=len(data))[: len(data)] > 1)) is not None:
        return f"{pairs.words(int(data[order][at]))}: messages has two rows for this frame and receiver"
    missing = pairs.addressed[data].copy()
    missing[order[inside]] = False
    if (at := first(missing)) is not None:
        return f"{pairs.words(int(data[at]))}: messages has no row for this frame and receiver"
    if (at := first((hops.sender[rows] >= nodes.stations) & ~pairs.addressed[pair])) is not None:
        return f"{hops.words(int(rows[at]))}: row {int(pair[at])} of frames is not addressed to that node"
    return _difference(pairs, hops, rows, pair, air)


def _difference(pairs: Pairs, hops: Hops, rows: np.ndarray, pair: np.ndarray, air: Air) -> str | None:
    """The first row of messages that differs from its row of frames."""
    outcome, kinds = outcome_numbers(hops.table.column("fate"))[rows], hops.table.column("kind")
    of_frames = pairs.table.column("kind")
    kind = kinds.map([of_frames.code(name) for name in kinds.words], -1)[rows]
    around = pairs.size_bytes[pair] - hops.size_bytes[rows]
    late_ns = hops.receive_ns[rows] - pairs.end_ns[pair]
    arrives = hops.receive_ns[rows] != NO_NS
    carried = [carrier.around_bytes for carrier in air.carriers]
    for name, wrong in (
        ("fate", outcome != pairs.outcome[pair]),
        ("kind", kind != of_frames.codes[pair]),
        ("size_bytes", ~np.isin(around, carried)),
        ("receive_ns", arrives & ((late_ns < 0) | (late_ns > pairs.delay_ns))),
    ):
        if (at := first(wrong)) is not None:
            row, other = int(rows[at]), int(pair[at])
            of = {"size_bytes": "psdu_bytes", "receive_ns": "end_ns"}.get(name, name)
            return (
                f"{hops.words(row)}: {name} is {hops.table[name][row]}, but row {other} of frames has {of}"
                f" {pairs.table[of][other]}"
            )
    return None
