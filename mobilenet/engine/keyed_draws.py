"""Random draws for pairs of numbers. The values are independent of the order of queries.

Model     A draw is a hash of (key, a, b), where the key is derived from the scenario's seed in the same way as the key
          of a stream. Such draws decide what happens to a frame at a receiver. If a node that is too far away is
          skipped, the draws of all other nodes stay the same.
Units     Draws are whole numbers, uniform in 0..2**32 - 1.
Source    the 32-bit mixing function of Chris Wellons' hash prospector (2018), constants 21f0aaad and d35a2d97; the rest
          is ours: docs/architecture/time-and-chance.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mobilenet.engine.random_streams import key_of

if TYPE_CHECKING:
    from mypy_extensions import i64

RANGE: Final = 2**32


class KeyedDraws:
    """Random draws for one purpose, one for each pair of whole numbers."""

    __slots__ = ("_first", "_second")

    def __init__(self, seed: int, purpose: str, owner: str = "") -> None:
        key = key_of(seed, purpose, owner)
        self._first: i64 = int.from_bytes(key[:4], "little")
        self._second: i64 = int.from_bytes(key[4:8], "little")

    def draw(self, a: i64, b: i64) -> i64:
        """Return the draw for a pair, 0 <= a, b < 2**31."""
        return mix(mix((a + self._first) & 0xFFFFFFFF) ^ ((b * 0x1E3779B1 + self._second) & 0xFFFFFFFF))


def mix(x: i64) -> i64:
    """Return the image of x under a bijection of 0..2**32 - 1 in which each output bit depends on all input bits."""
    x ^= x >> 16
    x = (x * 0x21F0AAAD) & 0xFFFFFFFF
    x ^= x >> 15
    # The factor is split into two parts, because a product of 64 bits does not fit into a small integer of Python.
    x = (x * 0x2D97 + ((x * 0xD35A & 0xFFFF) << 16)) & 0xFFFFFFFF
    return x ^ (x >> 15)
