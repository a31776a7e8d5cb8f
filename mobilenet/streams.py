"""Named random streams: one for each purpose and owner, all derived from the scenario's seed.

Model     Philox, counter-based; the key is a hash of (seed, purpose, owner), so no stream depends on
          how many numbers another one gave, nor on which other streams exist
Units     none; draws are float64 in [0, 1)
Source    Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (2011), through numpy; the naming is ours: DESIGN.md §2
"""

from __future__ import annotations

import hashlib
import math
from typing import Protocol, TypeVar

import numpy as np

T = TypeVar("T")

BLOCK = 16  # more would be faster alone, but slower together: thousands of nodes have to fit into the cache


def generator(seed: int, purpose: str, owner: str = "") -> np.random.Generator:
    """The numpy generator of the stream `(seed, purpose, owner)`, at its beginning."""
    digest = hashlib.sha256(f"{seed}/{purpose}/{owner}".encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))


class Dice(Protocol):
    """What a stream is asked on the air."""

    def random(self) -> float: ...


class Stream:
    """Single draws from one stream, fetched in blocks because numpy is slow one by one."""

    __slots__ = ("_ahead", "_generator")

    def __init__(self, seed: int, purpose: str, owner: str = "") -> None:
        self._generator = generator(seed, purpose, owner)
        self._ahead: list[float] = []

    def random(self) -> float:
        """Uniform in [0, 1)."""
        if not self._ahead:
            self._ahead = self._generator.random(BLOCK).tolist()
            self._ahead.reverse()
        return self._ahead.pop()

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self.random()

    def below(self, count: int) -> int:
        """Uniform in 0..count-1."""
        return int(self.random() * count)

    def exponential(self, mean: float) -> float:
        return -mean * math.log1p(-self.random())

    def one_of(self, *choices: T) -> T:
        return choices[self.below(len(choices))]

    def chance(self, probability: float) -> bool:
        return self.random() < probability
