"""Whether all that was sampled is something that runs of this protocol measure.

Checks    the network has its running totals; hosts and stations have their buffers, and the lists of their messages
          no sample of a buffer repeats the size before it: see basis/repeated.py
Model     only for protocols whose messages are known; over VCube those between stations are not
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mobilenet.clock import SECOND
from mobilenet.expected.expectations import Expectations
from mobilenet.rundir.schema import buffers_of
from mobilenet.rundir.table import Table
from mobilenet.verify.basis.repeated import repeated_problem

NETWORK = "network"
TOTALS = ("radio_", "wired_", "pairs_", "addressed_pairs_", "ack_pairs_", "addressed_ack_pairs_")
SENDERS = {"h": ("host",), "s": ("station", "wired")}


def quantities_problem(samples: Table, manifest: dict[str, Any], expected: Expectations | None) -> str | None:
    """The first sample of something else."""
    if expected is None or expected.hosts is None or expected.radio is None or expected.radio.kinds is None:
        return None
    known = {
        letter: {*buffers_of(manifest)[letter]}.union(
            *(kind.entries for side in sides for kind in expected.radio.kinds.get(side, {}).values())
        )
        for letter, sides in SENDERS.items()
        if expected.radio.kinds.keys() >= {*sides}
    }
    node, quantity = samples.column("node"), samples.column("quantity")
    pairs = node.codes.astype(np.int64) * len(quantity.words) + quantity.codes
    for pair, row in zip(*(column.tolist() for column in np.unique(pairs, return_index=True)), strict=True):
        who, what = node.words[pair // len(quantity.words)], quantity.words[pair % len(quantity.words)]
        is_known = what.startswith(TOTALS) if who == NETWORK else what in known.get(who[:1], (what,))
        if not is_known:
            return f"samples: row {row} gives {what} for {who}, but this quantity is not measured there"
    end_ns = round(manifest["simulated_s"] * SECOND)
    return repeated_problem(samples, {name for names in buffers_of(manifest).values() for name in names}, end_ns, 0.0)
