"""What can become of a frame at a receiver, by number.

Source    docs/run-directory.md, "Reception outcomes"
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mobilenet.rundir.table import Coded

FATES: Final = (
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
    len(FATES)
)


def numbered(fates: Coded) -> np.ndarray:
    """Row by row its number; -1: there is no such outcome of a frame."""
    known = {name: number for number, name in enumerate(FATES)}
    return fates.mapped([known.get(name, -1) for name in fates.words], -1).astype(np.int64)
