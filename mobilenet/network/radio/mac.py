"""The MAC of every node: a queue of frames, and the response to arriving frames.

Model     The MAC holds its frames in one drop-tail queue. dcf.py (802.11's CSMA/CA) and acking_mac.py (no carrier
          sense) decide when to send the first one. The medium calls `on_sent` when a frame of this MAC has ended at all
          receivers, and `take_unicast` for each node that received an acknowledged frame. It calls `defer`,
          `on_fcs_error` and `on_good_frame` only while the transceiver is contending.
Units     Times are integer nanoseconds, and the length of the queue is in frames.
Source    ours: docs/models/radio.md
"""

from __future__ import annotations

from mobilenet.engine.kernel import Kernel
from mobilenet.engine.timer import Deadline
from mobilenet.network.radio.frame import Frame
from mobilenet.network.radio.medium import Medium
from mobilenet.network.radio.transceiver import Transceiver


class Mac(Deadline):
    """The sending side of a node, and its responses to unicast frames."""

    __slots__ = ("_medium", "_most_frames", "_number", "_queue", "_transceiver")

    def __init__(self, kernel: Kernel, medium: Medium, transceiver: Transceiver, queue_frames: int) -> None:
        super().__init__(kernel)
        self._medium = medium
        self._transceiver = transceiver
        self._most_frames = queue_frames
        self._queue: list[Frame] = []  # The queue is short, so a list takes less memory than a deque.
        self._number = 0  # number of the last repeatable frame
        transceiver.mac = self

    @property
    def queued(self) -> int:
        return len(self._queue)

    def enqueue(self, frame: Frame) -> bool:
        """Queue the frame, which is sent when its turn comes. Return False if the queue is full and the frame is
        dropped.
        """
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
        """Return whether the MAC sends unsolicited repetitions of the frame."""
        return False

    def take_turn(self) -> None:
        """Start to send the first frame of the queue."""
        raise NotImplementedError

    def reset(self) -> None:
        """Drop the queue and all timers of a node that crashed. Frames that were waiting are not sent, and their
        clients are not notified. A frame that is in the air continues.
        """
        raise NotImplementedError

    # --- called by the medium

    def on_sent(self, frame: Frame) -> None:
        """Handle the end of a frame of this MAC. The frame has already ended at all receivers."""

    def take_unicast(self, frame: Frame, end: int) -> None:
        """Handle an ACK or an acknowledged frame that ended at this node at `end`. It may be addressed to another
        node.
        """
        raise NotImplementedError

    def is_new(self, frame: Frame) -> bool:
        """Return whether a group frame that arrived intact is new to this node."""
        return True

    def defer(self, first: int) -> None:
        """Defer to energy that arrives at `first`. The transceiver knows when the energy ends."""

    def on_fcs_error(self, end: int) -> None:
        """Handle the arrival of a broken frame that ended at `end`."""

    def on_good_frame(self) -> None:
        """Handle the arrival of an intact frame."""
