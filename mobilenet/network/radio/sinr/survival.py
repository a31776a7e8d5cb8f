"""How likely is it that all bits of a frame are right, given what noise costs each?

Model     a bit at one SINR costs -ln(1 - p), where p is the probability of its error: pieces of a frame add, and one
          look at an exponential gives the chance of the whole. Whole numbers throughout, so every machine decides alike
Units     hundredths of a dB (`_cdb`); costs in 2**-30 nats; chances in 2**-32
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from math import e
from typing import Final

LOWEST_CDB: Final = -2000  # the first SINR of a table of costs, and the last
HIGHEST_CDB: Final = 5000
NAT: Final = 2**30
CERTAIN: Final = 64 * NAT  # a chance of e^-64 counts as 0
CHANCE: Final = 2**32


def cost_of(table: list[int], sinr_cdb: int, millibits: int) -> int:
    """Return the log of a piece's chance, in 2**-30 nats."""
    if sinr_cdb >= HIGHEST_CDB:
        return table[HIGHEST_CDB - LOWEST_CDB] * millibits // 1000
    return table[max(0, sinr_cdb - LOWEST_CDB)] * millibits // 1000


# e^-x in two steps: x = (i * 2**12 + j) * 2**-20 nats
_COARSE = [round(e ** (-i / 256) * CHANCE) for i in range(64 * 256)]
_FINE = [round(e ** (-j / 2**20) * CHANCE) for j in range(2**12)]


def chance_of(cost: int) -> int:
    """Return the probability of survival, in 2**-32. A draw, uniform below 2**32, has to be less."""
    steps = cost >> 10
    i = steps >> 12
    if i >= 64 * 256:
        return 0
    chance: int = _COARSE[i] * _FINE[steps & 0xFFF] // CHANCE
    return chance
