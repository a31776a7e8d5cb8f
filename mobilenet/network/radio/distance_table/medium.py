"""Receive frames that do not overlap with a probability that depends on the distance.

Model     The receivers of a frame are the nodes up to the last distance of the table. At these nodes, the frame
          interferes and is sensed as with the unit disk, whether or not it is received. For each receiver, a hash of
          the frame's number and the receiver decides whether the bits are right. A frame that would be lost for another
          reason, such as a collision, does not count as a frame with bit errors. Between two rows of the table, the
          probability is interpolated linearly. Below the first distance, it is the probability of the first row.
Units     Distances are in metres, and probabilities are in units of 2**-32.
Source    ours: docs/models/distance-table.md
"""

from __future__ import annotations

from bisect import bisect_right
from math import sqrt

from mobilenet.engine.kernel import Kernel
from mobilenet.engine.keyed_draws import KeyedDraws
from mobilenet.network.radio.frame import BIT_ERRORS, RECEIVED, SINR_OUTCOMES, Frame
from mobilenet.network.radio.medium import Observer
from mobilenet.network.radio.neighbours import Neighbours
from mobilenet.network.radio.transceiver import Transceiver
from mobilenet.network.radio.unit_disk.medium import UnitDisk

ONE = 2**32


class DistanceTable(UnitDisk):
    """The medium of a run in which a table of probabilities determines reception."""

    def __init__(
        self,
        kernel: Kernel,
        neighbours: Neighbours,
        table: list[tuple[float, float]],
        interference_range_m: float,
        detection_range_m: float | None,
        seed: int,
        loss: float = 0.0,
        capture_db: float | None = None,
        observer: Observer | None = None,
        listens: bool = True,
        full_duplex: bool = False,
    ) -> None:
        """Set up the medium. `table` consists of pairs (distance in metres, probability), sorted by distance."""
        super().__init__(
            kernel, neighbours, table[-1][0], interference_range_m, detection_range_m, loss, capture_db, observer,
            listens, full_duplex, SINR_OUTCOMES[: BIT_ERRORS + 1],
        )  # fmt: skip
        self._distances_m = [distance_m for distance_m, _ in table]
        self._chances = [chance for _, chance in table]
        self._draws = KeyedDraws(seed, "reception")

    def start(self, frame: Frame, before: Frame | None = None) -> None:
        super().start(frame, before)
        now, sender = self._calendar.now, frame.sender
        x = sender.x_m + sender.vx * (now - sender.since_ns)
        y = sender.y_m + sender.vy * (now - sender.since_ns)
        outcomes = frame.outcomes
        for i, node in enumerate(frame.receivers):
            if outcomes[i] == RECEIVED:
                elapsed = now - node.since_ns
                dx = node.x_m + node.vx * elapsed - x
                dy = node.y_m + node.vy * elapsed - y
                chance = int(self.chance(sqrt(dx * dx + dy * dy)) * ONE)
                if self._draws.draw(frame.serial, node.index) >= chance:
                    outcomes[i] = BIT_ERRORS

    def chance(self, distance_m: float) -> float:
        """Return the probability that a frame is received at this distance if there is no interference."""
        after = bisect_right(self._distances_m, distance_m)
        if after == 0:
            return self._chances[0]
        if after == len(self._distances_m):
            return self._chances[-1]
        near_m, near = self._distances_m[after - 1], self._chances[after - 1]
        share = (distance_m - near_m) / (self._distances_m[after] - near_m)
        return near + share * (self._chances[after] - near)

    def _lose(self, node: Transceiver, outcome: int) -> None:
        frame = self._in_air[node.lock_frame]
        i = frame.receivers.index(node)
        if frame.outcomes[i] in (RECEIVED, BIT_ERRORS):
            frame.outcomes[i] = outcome
