"""Who may be in range of a sender: a list that is nearly right, for nearly nothing.

Model     Square bins as wide as the longest range; around them a candidate list per node (a Verlet list):
          all nodes within range plus a margin, good until two of them can have used the margin up.
          The medium tests the exact distance of the candidates, so the list may hold too many, never too few.
Units     metres, integer nanoseconds
Source    Verlet, Computer "Experiments" on Classical Fluids I (1967) for the margin; ours: docs/models/radio.md
"""

from __future__ import annotations

from operator import attrgetter

from mobilenet.engine.kernel import SECOND
from mobilenet.network.radio.antenna import NEVER, Antenna

FOREVER = 10**18
_by_index = attrgetter("index")


class Neighbours:
    """A spatial index of antennas that move with at most `speed_mps`.

    A node's bin is renewed by `rebin` (every tick of the mobility) and may lag behind it by `lag_m`.
    """

    def __init__(self, range_m: float, speed_mps: float, tick_ns: int) -> None:
        lag_m = speed_mps * tick_ns / SECOND
        self.margin_m = max(0.1 * range_m, 4 * lag_m) if speed_mps > 0 else 0.0
        self.width_m = range_m + self.margin_m + 2 * lag_m
        self._reach2 = (range_m + self.margin_m) ** 2
        # Two nodes that approach each other use the margin up at twice the speed.
        self._good_for_ns = int(self.margin_m / (2 * speed_mps) * SECOND) if speed_mps > 0 else FOREVER
        self._bins: dict[tuple[int, int], list[Antenna]] = {}

    def add(self, antenna: Antenna, now: int) -> None:
        """The node appears, or jumps."""
        self.remove(antenna)
        x, y = antenna.position(now)
        self._put(antenna, (int(x // self.width_m), int(y // self.width_m)))
        self._forget_around(antenna)

    def remove(self, antenna: Antenna) -> None:
        """The node is gone."""
        if antenna.bin is not None:
            self._forget_around(antenna)
            self._bins[antenna.bin].remove(antenna)
            antenna.bin = None

    def rebin(self, antenna: Antenna, x_m: float, y_m: float) -> None:
        """The node walked on to (x_m, y_m)."""
        place = (int(x_m // self.width_m), int(y_m // self.width_m))
        if place != antenna.bin and antenna.bin is not None:
            self._bins[antenna.bin].remove(antenna)
            self._put(antenna, place)

    def candidates(self, antenna: Antenna, now: int) -> tuple[Antenna, ...]:
        """All others that can be in range now, by index."""
        if now >= antenna.candidates_until:
            x, y = antenna.position(now)
            reach2 = self._reach2
            found = []
            for other in self._around(antenna):
                elapsed = now - other.since_ns  # Antenna.position, without its call
                dx = other.x_m + other.vx * elapsed - x
                dy = other.y_m + other.vy * elapsed - y
                if dx * dx + dy * dy <= reach2 and other is not antenna:
                    found.append(other)
            found.sort(key=_by_index)
            antenna.candidates = tuple(found)
            antenna.candidates_until = now + self._good_for_ns
        return antenna.candidates

    def _forget_around(self, antenna: Antenna) -> None:
        """Everyone who can have the node in a list must look again."""
        for other in self._around(antenna):
            other.candidates_until = NEVER

    def _put(self, antenna: Antenna, place: tuple[int, int]) -> None:
        self._bins.setdefault(place, []).append(antenna)
        antenna.bin = place

    def _around(self, antenna: Antenna) -> list[Antenna]:
        assert antenna.bin is not None
        column, row = antenna.bin
        bins = self._bins
        return [
            other
            for near in ((column + i, row + j) for i in (-1, 0, 1) for j in (-1, 0, 1))
            if near in bins
            for other in bins[near]
        ]
