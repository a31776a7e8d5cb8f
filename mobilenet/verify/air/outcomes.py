"""What can become of a frame at a receiver, by number.

Source    docs/run-directory.md, "Reception outcomes"
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mobilenet.rundir.table import CodedColumn

OUTCOMES: Final = (
    "received",
    "collision",
    "never_attempted",
    "half_duplex",
    "random",
    "receiver_down",
    "bit_errors",
    "preamble_missed",
)
(RECEIVED, COLLISION, NEVER_ATTEMPTED, HALF_DUPLEX, RANDOM, RECEIVER_DOWN, BIT_ERRORS, PREAMBLE_MISSED) = range(
    len(OUTCOMES)
)


def outcome_numbers(outcomes: CodedColumn) -> np.ndarray:
    """Row by row its number; -1: not an outcome of a frame."""
    known = {name: number for number, name in enumerate(OUTCOMES)}
    return outcomes.map([known.get(name, -1) for name in outcomes.words], -1).astype(np.int64)
