"""Which nodes may be in range of a sender? A nearly exact list, at nearly no cost.

Model     Square bins as wide as the longest range; around them a candidate list per node (a Verlet list):
          all nodes within range plus a margin, good until two of them could have used the margin up.
          The medium tests the exact distance of the candidates, so the list may hold too many, never too few.
Units     metres, integer nanoseconds
Source    Verlet, Computer "Experiments" on Classical Fluids I (1967) for the margin; ours: docs/models/radio.md
"""

from __future__ import annotations

from operator import attrgetter

from mobilenet.engine.clock import SECOND
from mobilenet.network.radio.transceiver import NEVER, Transceiver

FOREVER = 10**18
_by_index = attrgetter("index")


class Neighbours:
    """A spatial index of transceivers that move at most at `speed_mps`.

    A node's bin is renewed by `rebin` (every tick of the mobility) and may lag behind it by `lag_m`.
    """

    def __init__(self, range_m: float, speed_mps: float, tick_ns: int) -> None:
        lag_m = speed_mps * tick_ns / SECOND
        self.margin_m = max(0.1 * range_m, 4 * lag_m) if speed_mps > 0 else 0.0
        self.width_m = range_m + self.margin_m + 2 * lag_m
        self._reach2 = (range_m + self.margin_m) ** 2
        # Two nodes that approach each other use the margin up at twice the speed.
        self._good_for_ns = int(self.margin_m / (2 * speed_mps) * SECOND) if speed_mps > 0 else FOREVER
        self._bins: dict[tuple[int, int], list[Transceiver]] = {}

    def add(self, transceiver: Transceiver, now: int) -> None:
        """Add a node that appears, or jumps."""
        self.remove(transceiver)
        x, y = transceiver.position(now)
        self._put(transceiver, (int(x // self.width_m), int(y // self.width_m)))
        self._forget_around(transceiver)

    def remove(self, transceiver: Transceiver) -> None:
        """Remove a node that has left."""
        if transceiver.bin is not None:
            self._forget_around(transceiver)
            self._bins[transceiver.bin].remove(transceiver)
            transceiver.bin = None

    def rebin(self, transceiver: Transceiver, x_m: float, y_m: float) -> None:
        """Move a node that walked on to (x_m, y_m)."""
        place = (int(x_m // self.width_m), int(y_m // self.width_m))
        if place != transceiver.bin and transceiver.bin is not None:
            self._bins[transceiver.bin].remove(transceiver)
            self._put(transceiver, place)

    def candidates(self, transceiver: Transceiver, now: int) -> tuple[Transceiver, ...]:
        """Return all other nodes that can be in range now, by index."""
        if now >= transceiver.candidates_until:
            x, y = transceiver.position(now)
            reach2 = self._reach2
            candidates = []
            for other in self._around(transceiver):
                elapsed = now - other.since_ns  # Transceiver.position, without its call
                dx = other.x_m + other.vx * elapsed - x
                dy = other.y_m + other.vy * elapsed - y
                if dx * dx + dy * dy <= reach2 and other is not transceiver:
                    candidates.append(other)
            candidates.sort(key=_by_index)
            transceiver.candidates = tuple(candidates)
            transceiver.candidates_until = now + self._good_for_ns
        return transceiver.candidates

    def _forget_around(self, transceiver: Transceiver) -> None:
        """Mark all lists that can contain the node for renewal."""
        for other in self._around(transceiver):
            other.candidates_until = NEVER

    def _put(self, transceiver: Transceiver, place: tuple[int, int]) -> None:
        self._bins.setdefault(place, []).append(transceiver)
        transceiver.bin = place

    def _around(self, transceiver: Transceiver) -> list[Transceiver]:
        assert transceiver.bin is not None
        column, row = transceiver.bin
        bins = self._bins
        return [
            other
            for near in ((column + i, row + j) for i in (-1, 0, 1) for j in (-1, 0, 1))
            if near in bins
            for other in bins[near]
        ]
