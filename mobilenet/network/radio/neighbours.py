"""Quickly find the nodes that may be in range of a sender.

Model     The plane is divided into square bins as wide as the longest range. Each node has a list of candidates (a
          Verlet list): all nodes within the range plus a margin. The list is valid until two nodes could have moved by
          the whole margin. It contains all nodes in range. It may also contain others, so the medium tests the exact
          distance.
Units     Distances are in metres, and times are integer nanoseconds.
Source    Verlet, Computer "Experiments" on Classical Fluids I (1967) for the margin; ours: docs/models/radio.md
"""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from mobilenet.engine.clock import SECOND
from mobilenet.network.radio.transceiver import NEVER, Transceiver

FOREVER: Final = 10**18
_by_index = attrgetter("index")


class Neighbours:
    """A spatial index of transceivers that move with a speed of at most `speed_mps`.

    The bin of a node is updated by `rebin` on each tick of the mobility, so the node may be up to `lag_m` away from it.
    """

    def __init__(self, range_m: float, speed_mps: float, tick_ns: int) -> None:
        lag_m = speed_mps * tick_ns / SECOND
        self.margin_m = max(0.1 * range_m, 4 * lag_m) if speed_mps > 0 else 0.0
        self.width_m = range_m + self.margin_m + 2 * lag_m
        self._reach2 = (range_m + self.margin_m) ** 2
        # Two nodes that approach each other cover the margin at twice the speed.
        self._good_for_ns = int(self.margin_m / (2 * speed_mps) * SECOND) if speed_mps > 0 else FOREVER
        self._bins: dict[tuple[int, int], list[Transceiver]] = {}

    def add(self, transceiver: Transceiver, now: int) -> None:
        """Add a node that appears, or that jumps to another position."""
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
        """Update the bin of a node that has moved to (x_m, y_m)."""
        place = (int(x_m // self.width_m), int(y_m // self.width_m))
        if place != transceiver.bin and transceiver.bin is not None:
            self._bins[transceiver.bin].remove(transceiver)
            self._put(transceiver, place)

    def candidates(self, transceiver: Transceiver, now: int) -> tuple[Transceiver, ...]:
        """Return all other nodes that may be in range now, sorted by index."""
        if now >= transceiver.candidates_until:
            x, y = transceiver.position(now)
            reach2 = self._reach2
            candidates = []
            for other in self._around(transceiver):
                elapsed = now - other.since_ns  # These lines replace a call of Transceiver.position, to save time.
                dx = other.x_m + other.vx * elapsed - x
                dy = other.y_m + other.vy * elapsed - y
                if dx * dx + dy * dy <= reach2 and other is not transceiver:
                    candidates.append(other)
            candidates.sort(key=_by_index)
            transceiver.candidates = tuple(candidates)
            transceiver.candidates_until = now + self._good_for_ns
        return transceiver.candidates

    def _forget_around(self, transceiver: Transceiver) -> None:
        """Invalidate all lists that may contain the node."""
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
