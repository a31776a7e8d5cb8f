"""Named random streams: one for each purpose and owner, all derived from the scenario's seed.

Model     The generator is Philox, which is counter-based. The key is a hash of (seed, purpose, owner), so a stream
          depends neither on the number of draws from other streams, nor on which other streams exist.
Units     Draws are float64 in [0, 1).
Source    Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (2011), through numpy; the naming is
          ours: docs/architecture/time-and-chance.md
"""

from __future__ import annotations

import hashlib
import math
import os
from array import array
from threading import Lock
from typing import Final, Protocol, TypeVar

import numpy as np

T = TypeVar("T")

BLOCK: Final = 64  # number of draws that are fetched together

_PHILOX = np.random.Philox(key=0)
_DRAW = np.random.Generator(_PHILOX)
_NOTHING_LEFT = np.zeros(4, dtype=np.uint64)
_lock = Lock()  # in some versions of numpy, the generator's own lock cannot be held across two calls


def _new_lock() -> None:
    global _lock
    _lock = Lock()  # another thread may have held the lock when this process was forked


os.register_at_fork(after_in_child=_new_lock)


def key_of(seed: int, purpose: str, owner: str) -> bytes:
    """Return the key of the stream `(seed, purpose, owner)`, which has 16 bytes."""
    return hashlib.sha256(f"{seed}/{purpose}/{owner}".encode()).digest()[:16]


def generator(seed: int, purpose: str, owner: str = "") -> np.random.Generator:
    """Return a numpy generator at the beginning of the stream `(seed, purpose, owner)`."""
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key_of(seed, purpose, owner), "little")))


def block(key: bytes, number: int) -> array[float]:
    """Return the draws of the stream with this key from `number * BLOCK` on, in reverse order.

    All streams share one generator, which is set to the position of the stream. A separate numpy generator for each
    purpose and node would take 1.5 KB, and the streams of thousands of nodes have to fit into the cache.
    """
    place = np.array([number * (BLOCK // 4), 0, 0, 0], dtype=np.uint64)  # each step of the counter yields four draws
    with _lock:
        _PHILOX.state = {
            "bit_generator": "Philox", "state": {"counter": place, "key": np.frombuffer(key, "<u8")},
            "buffer": _NOTHING_LEFT, "buffer_pos": 4, "has_uint32": 0, "uinteger": 0,
        }  # fmt: skip
        draws = _DRAW.random(BLOCK)
    return array("d", draws[::-1].tobytes())


class RandomNumbers(Protocol):
    """The methods of a stream that the radio uses."""

    __slots__ = ()

    def random(self) -> float: ...


class Stream(RandomNumbers):
    """Yields single draws from one stream, with the same values as `generator`. They are fetched in blocks, because
    numpy is slow for single draws.
    """

    __slots__ = ("_ahead", "_key", "_next")

    def __init__(self, seed: int, purpose: str, owner: str = "") -> None:
        self._key = key_of(seed, purpose, owner)
        self._next = 0  # the number of the next block
        self._ahead = array("d")

    def random(self) -> float:
        """Return a number that is uniformly distributed in [0, 1)."""
        if not self._ahead:
            self._ahead = block(self._key, self._next)
            self._next += 1
        return self._ahead.pop()

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self.random()

    def below(self, count: int) -> int:
        """Return a whole number that is uniformly distributed in 0..count-1."""
        return int(self.random() * count)

    def exponential(self, mean: float) -> float:
        return -mean * math.log1p(-self.random())

    def one_of(self, *choices: T) -> T:
        return choices[self.below(len(choices))]

    def chance(self, probability: float) -> bool:
        return self.random() < probability
