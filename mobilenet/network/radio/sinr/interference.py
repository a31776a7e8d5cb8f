"""Keep track of frames in the air and of frames that overlapped them: their arrival times and powers at each node.

Model     The power of a frame at a node is computed on demand. It depends on the position of the sender at the start of
          this frame, and on the position of the node at the start of the frame that the node receives. Frames from
          beyond the cut-off distance do not interfere.
Units     Times are integer nanoseconds, distances are in metres, and powers are in hundredths of a dBm or zeptowatts.
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

FARTHEST_NS: Final = 10_100  # slightly more than the time that light needs for 3 km


class Interference:
    """Computes the interference on one medium."""

    def __init__(self, reception: Reception, budget: LinkBudget, fading: Fading | None, seed: int) -> None:
        self._rules = reception
        self._budget = budget
        self._plain = budget.plain
        self._fading = fading
        self.gains = KeyedDraws(seed, "fading")
        self._cutoff2 = reception.cutoff_m * reception.cutoff_m
        self._near2 = (reception.cutoff_m + reception.reach_m) ** 2
        self._threshold = zeptowatts(reception.energy_cdbm)
        self._arrival_ns = 0  # `_find` stores the arrival time and the power of a frame in these attributes.
        self._arrival_cdbm = 0
        self.frames: list[Frame] = []  # frames in order of their start

    def _find(self, other: Frame, node: Transceiver, now: int) -> bool:
        """Compute the time at which a frame reaches a node, and its power there. Return False beyond the cut-off
        distance, or if the node is the sender of the frame.
        """
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
        """Return the total power of all other frames at the node at this time, in zeptowatts."""
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
        """Return the time until which the total power of the strong frames present at `first` stays at the threshold or
        above. Frames that arrive later are not included, so the sum can only decrease.
        """
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
        """Return all other frames that may have overlapped with this one at one of its receivers."""
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
        """Return pairs (time, change in zeptowatts) of the interference with a frame that begins to arrive at a node at
        `first`.
        """
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
        """Before the MAC sends the frame again, keep a copy of the previous attempt, which may still interfere with
        other frames.
        """
        for i, other in enumerate(self.frames):
            if other is frame:
                earlier = Frame(frame.sender, None, None, frame.psdu_bytes, frame.duration_ns, frame.rate_mbps)
                earlier.serial, earlier.start_ns = frame.serial, frame.start_ns
                earlier.x_m, earlier.y_m = frame.x_m, frame.y_m
                self.frames[i] = earlier

    def forget(self, before: int) -> None:
        """Remove the frames that had ended at all nodes before this time."""
        frames = self.frames
        if frames[0].start_ns + frames[0].duration_ns + FARTHEST_NS <= before:
            self.frames = [frame for frame in frames if frame.start_ns + frame.duration_ns + FARTHEST_NS > before]
