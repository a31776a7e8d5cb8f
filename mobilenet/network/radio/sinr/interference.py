"""The frames that are in the air, or overlapped one that is: when does each arrive at a node, and how strong?

Model     the power of a frame at a node is computed when a node there needs it, from where it was sent and where
          the node is when the frame that it receives was sent; it does not depend on the query, since fading and
          shadowing belong to the frame and the places. Nothing comes from beyond the cut-off
Units     integer nanoseconds, metres, hundredths of a dBm, zeptowatts
Source    ours: docs/models/sinr.md
"""

from __future__ import annotations

from math import sqrt
from typing import Final

from mobilenet.engine.keyed_draws import KeyedDraws
from mobilenet.network.propagation.budget import LinkBudget
from mobilenet.network.propagation.fading import Fading
from mobilenet.network.radio.frame import Frame
from mobilenet.network.radio.medium import SPEED_OF_LIGHT_M_PER_NS
from mobilenet.network.radio.sinr.decibels import zeptowatts
from mobilenet.network.radio.sinr.reception import Reception
from mobilenet.network.radio.transceiver import Transceiver

FARTHEST_NS: Final = 10_100  # light over 3 km, and a little more


class Interference:
    """The interference on one medium."""

    def __init__(self, reception: Reception, budget: LinkBudget, fading: Fading | None, seed: int) -> None:
        self._rules = reception
        self._budget = budget
        self._plain = budget.plain
        self._fading = fading
        self.gains = KeyedDraws(seed, "fading")
        self._cutoff2 = reception.cutoff_m * reception.cutoff_m
        self._near2 = (reception.cutoff_m + reception.reach_m) ** 2
        self._threshold = zeptowatts(reception.energy_cdbm)
        self._arrival_ns = 0  # set by _find: when a frame reaches a node, and how strong
        self._arrival_cdbm = 0
        self.frames: list[Frame] = []  # frames by start

    def _find(self, other: Frame, node: Transceiver, now: int) -> bool:
        """Find when a frame reaches a node, and how strong. Return False beyond the cut-off, or at its sender."""
        if other.sender is node:
            return False
        elapsed = now - node.since_ns
        x = node.x_m + node.vx * elapsed
        y = node.y_m + node.vy * elapsed
        dx = x - other.x_m
        dy = y - other.y_m
        d2 = dx * dx + dy * dy
        if d2 > self._cutoff2:
            return False
        distance_m = sqrt(d2)
        sender = other.sender
        power = self._rules.tx_cdbm(sender.is_station)
        if self._plain is not None:
            power -= self._plain[int(distance_m * 100 + 0.5)]
        else:
            power -= self._budget.loss_cdb(other.x_m, other.y_m, sender.is_station, x, y, node.is_station)
        if self._fading is not None:
            power += self._fading.gain_cdb(self.gains.draw(other.serial, node.index), distance_m)
        self._arrival_ns = other.start_ns + int(distance_m / SPEED_OF_LIGHT_M_PER_NS + 0.5)
        self._arrival_cdbm = power
        return True

    def power(self, frame: Frame, node: Transceiver, at: int) -> int:
        """Return the power of all other frames at the node at that time, in zeptowatts."""
        total = 0
        for other in self.frames:
            if other is frame or other.start_ns + other.duration_ns + FARTHEST_NS <= at:
                continue
            if (
                self._find(other, node, frame.start_ns)
                and self._arrival_ns <= at < self._arrival_ns + other.duration_ns
            ):
                total += zeptowatts(self._arrival_cdbm)
        return total

    def above_threshold(self, node: Transceiver, frame: Frame, first: int, last: int, power: int) -> int:
        """Return until when the sum of the strong frames at `first` is above the threshold; it only falls then."""
        ends = [(last, zeptowatts(power))]
        for other in self.frames:
            if (
                other is not frame
                and self._find(other, node, frame.start_ns)
                and self._arrival_cdbm >= self._rules.strong_cdbm
            ):
                end = self._arrival_ns + other.duration_ns
                if self._arrival_ns <= first < end:
                    ends.append((end, zeptowatts(self._arrival_cdbm)))
        total = sum(each for _, each in ends)
        until = first
        for at, each in sorted(ends):
            if total < self._threshold:
                break
            until = at
            total -= each
        return until

    def overlapping_frames(self, frame: Frame) -> list[Frame]:
        """Return all other frames that could have been in the air together with this one at one of its receivers."""
        start, end = frame.start_ns - FARTHEST_NS, frame.start_ns + frame.duration_ns + FARTHEST_NS
        x, y, near2 = frame.x_m, frame.y_m, self._near2
        overlaps = []
        for other in self.frames:
            if other.start_ns < end and other.start_ns + other.duration_ns > start and other is not frame:
                dx = other.x_m - x
                dy = other.y_m - y
                if dx * dx + dy * dy <= near2:
                    overlaps.append(other)
        return overlaps

    def changes(self, frame: Frame, node: Transceiver, first: int, others: list[Frame]) -> list[tuple[int, int]]:
        """Return when interference changes at a node that the frame reaches at `first`, and by how many zeptowatts."""
        last = first + frame.duration_ns
        changes: list[tuple[int, int]] = []
        for other in others:
            if not self._find(other, node, frame.start_ns):
                continue
            ends = self._arrival_ns + other.duration_ns
            if ends > first and self._arrival_ns < last:
                each = zeptowatts(self._arrival_cdbm)
                changes.append((self._arrival_ns, each))
                changes.append((ends, -each))
        return changes

    def keep_earlier(self, frame: Frame) -> None:
        """Keep the earlier frames before the MAC sends one again: the previous attempt may still be looked up."""
        for i, other in enumerate(self.frames):
            if other is frame:
                earlier = Frame(frame.sender, None, None, frame.psdu_bytes, frame.duration_ns, frame.rate_mbps)
                earlier.serial, earlier.start_ns = frame.serial, frame.start_ns
                earlier.x_m, earlier.y_m = frame.x_m, frame.y_m
                self.frames[i] = earlier

    def forget(self, before: int) -> None:
        """Forget frames that had ended everywhere by then."""
        frames = self.frames
        if frames[0].start_ns + frames[0].duration_ns + FARTHEST_NS <= before:
            self.frames = [frame for frame in frames if frame.start_ns + frame.duration_ns + FARTHEST_NS > before]
