"""The MAC that every node has: a queue, and an answer to what arrives.

Model     one drop-tail queue; its first frame is the one that the kind of MAC is busy with: dcf.py (802.11's CSMA/CA)
          or acking_mac.py (no carrier sense at all). The medium calls `on_sent` when all receivers have had a frame
          of this MAC, `take_unicast` for each that received an acknowledged one, and the other three only while the
          transceiver contends
Units     integer nanoseconds, frames
Source    ours: docs/models/radio.md
"""

from __future__ import annotations

from mobilenet.engine.kernel import Kernel
from mobilenet.engine.timer import Deadline
from mobilenet.network.radio.frame import Frame
from mobilenet.network.radio.medium import Medium
from mobilenet.network.radio.transceiver import Transceiver


class Mac(Deadline):
    """The sending side of one node, and its answers to unicast frames."""

    __slots__ = ("_medium", "_most_frames", "_number", "_queue", "_transceiver")

    def __init__(self, kernel: Kernel, medium: Medium, transceiver: Transceiver, queue_frames: int) -> None:
        super().__init__(kernel)
        self._medium = medium
        self._transceiver = transceiver
        self._most_frames = queue_frames
        self._queue: list[Frame] = []  # short: a list is smaller than a deque
        self._number = 0  # number of frames that the MAC may repeat
        transceiver.mac = self

    @property
    def queued(self) -> int:
        return len(self._queue)

    def enqueue(self, frame: Frame) -> bool:
        """Send the frame when its turn comes. Return False if the queue is full and the frame is dropped."""
        queue = self._queue
        if len(queue) >= self._most_frames:
            self._medium.queue_drops += 1
            if frame.client is not None:
                frame.client.on_dropped(frame.message)
            return False
        if frame.acknowledged or self._repeats(frame):
            self._number += 1
            frame.number = self._number
        queue.append(frame)
        if len(queue) == 1:
            self.take_turn()
        return True

    def _repeats(self, frame: Frame) -> bool:
        """Return whether the frame is repeated without being asked for."""
        return False

    def take_turn(self) -> None:
        """Take the first frame of the queue as the next to be sent."""
        raise NotImplementedError

    def reset(self) -> None:
        """Drop the queue and all timers of a node that crashed: nothing that waited is sent, without notice. A frame in
        the air goes on.
        """
        raise NotImplementedError

    # --- called by the medium

    def on_sent(self, frame: Frame) -> None:
        """Note that the frame has left, and has been received where it could be."""

    def take_unicast(self, frame: Frame, end: int) -> None:
        """Take an ACK or an acknowledged frame, for this node or overheard, that ended here at `end`."""
        raise NotImplementedError

    def is_new(self, frame: Frame) -> bool:
        """Return whether a group frame that arrived whole was not received before."""
        return True

    def defer(self, first: int) -> None:
        """Defer to energy that arrives at `first` (the transceiver knows until when)."""

    def on_fcs_error(self, end: int) -> None:
        """Note that a frame that ended at `end` arrived broken."""

    def on_good_frame(self) -> None:
        """Note that a frame arrived whole."""
