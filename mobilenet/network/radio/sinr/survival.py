"""Compute the probability that a frame has no bit errors.

Model     At a constant SINR, the cost of a bit is -ln(1 - p), where p is the probability of an error. The costs of all
          pieces are added, and one lookup of an exponential gives the probability for the frame. All numbers are
          integers, so every machine makes the same decisions.
Units     SINRs are in hundredths of a dB (`_cdb`), costs in 2**-30 nats, and probabilities in 2**-32.
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from math import e
from typing import Final

LOWEST_CDB: Final = -2000  # LOWEST_CDB and HIGHEST_CDB are the first and the last SINR of a table of costs
HIGHEST_CDB: Final = 5000
NAT: Final = 2**30
CERTAIN: Final = 64 * NAT  # from this cost on, the probability of survival, e^-64, counts as 0
CHANCE: Final = 2**32


def cost_of(table: list[int], sinr_cdb: int, millibits: int) -> int:
    """Return the cost of a piece of a frame, which is the negative logarithm of its probability of survival, in 2**-30
    nats.
    """
    if sinr_cdb >= HIGHEST_CDB:
        return table[HIGHEST_CDB - LOWEST_CDB] * millibits // 1000
    return table[max(0, sinr_cdb - LOWEST_CDB)] * millibits // 1000


# Tables for e^-x in two steps, where x = (i * 2**12 + j) * 2**-20 nats.
_COARSE = [round(e ** (-i / 256) * CHANCE) for i in range(64 * 256)]
_FINE = [round(e ** (-j / 2**20) * CHANCE) for j in range(2**12)]


def chance_of(cost: int) -> int:
    """Return the probability of survival, in 2**-32. A frame survives if a uniform draw below 2**32 is less than this
    number.
    """
    steps = cost >> 10
    i = steps >> 12
    if i >= 64 * 256:
        return 0
    chance: int = _COARSE[i] * _FINE[steps & 0xFFF] // CHANCE
    return chance
