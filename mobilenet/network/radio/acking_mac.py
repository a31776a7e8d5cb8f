"""A MAC without carrier sense, whose unicast frames may wait for a perfect acknowledgement.

Model     There is no carrier sense, no back-off and no retransmission. The layers above must repair losses. A frame
          without `acknowledged`, such as a broadcast, is finished when it has been sent. A frame with `acknowledged`
          blocks the queue until its acknowledgement, which takes no time, is never lost, and comes when the last bit
          arrives. If it does not come, the sender gives up on the frame `timeout_ns` after the first bit, but not
          before a receiver could have received the whole frame. Datagrams are never acknowledged. INET would
          acknowledge them. With two seeds, this made the delay of paper/static.yaml 0.4 % and 8 % longer. In full
          duplex, a node can receive while it sends. Otherwise, sending aborts a reception.
Units     Times are integer nanoseconds.
Source    the behaviour of AckingMac in INET 4 as its documentation has it (no real medium access, optional
          acknowledgement out of band); own code. Wilhelm, Arantes and Sens (2020) name no MAC, that it was this one is
          inferred: docs/validation/paper.md
"""

from __future__ import annotations

from mobilenet.engine.kernel import Kernel
from mobilenet.network.radio.frame import Frame
from mobilenet.network.radio.mac import Mac
from mobilenet.network.radio.medium import Medium
from mobilenet.network.radio.transceiver import NEVER, Transceiver


class Acking(Mac):
    """A MAC without carrier sense. Its deadline ends the current wait: for the end of the frame in the air, for the
    acknowledgement, or for the timeout.
    """

    __slots__ = ("_arrives_at", "_in_air", "_last", "_leaves_until", "_timeout_ns")

    def __init__(
        self, kernel: Kernel, medium: Medium, transceiver: Transceiver, queue_frames: int, timeout_ns: int
    ) -> None:
        super().__init__(kernel, medium, transceiver, queue_frames)
        self._timeout_ns = timeout_ns
        self._in_air: Frame | None = None  # the first frame of the queue, after it has been sent
        # The time at which the whole frame has reached the addressee. NEVER if no acknowledgement is expected, or once
        # this time has passed.
        self._arrives_at = NEVER
        # The transmitter is busy until this time. A crash does not change this, because the frame stays in the air.
        self._leaves_until = NEVER
        self._last: Frame | None = None  # the previous frame, whose end may not have reached all receivers yet

    def take_turn(self) -> None:
        now = self._calendar.now
        if now < self._leaves_until:  # A frame that the node sent before its crash is still being transmitted.
            self.start_at(self._leaves_until)
            return
        frame = self._queue[0]
        self._medium.start(frame, self._last)
        self._last = frame
        end = now + frame.duration_ns
        self._leaves_until = end
        self._in_air = frame
        self._arrives_at = NEVER
        if not frame.acknowledged:
            self.start_at(end)
        elif frame.to in frame.receivers:
            self._arrives_at = end + frame.delays_ns[frame.receivers.index(frame.to)]
            self.start_at(self._arrives_at)
        else:
            self.start_at(self._timeout_at_ns(frame))

    def expire(self) -> None:
        frame = self._in_air
        if frame is None:
            self.take_turn()
        elif not frame.acknowledged or self._arrives_at != NEVER and self._medium.settle(frame):
            self._finish(frame, True)
        else:
            self._arrives_at = NEVER
            if self._calendar.now < self._timeout_at_ns(frame):
                self.start_at(self._timeout_at_ns(frame))
            else:
                self._medium.given_up += 1
                self._finish(frame, False)

    def _timeout_at_ns(self, frame: Frame) -> int:
        return frame.start_ns + max(self._timeout_ns, frame.duration_ns)

    def _finish(self, frame: Frame, delivered: bool) -> None:
        del self._queue[0]
        self._in_air = None
        client = frame.client
        if client is not None:
            if delivered:
                client.on_sent(frame.message)
            else:
                client.on_dropped(frame.message)
        # If the timer is running, the client has already queued another frame, and that frame is being sent.
        if self._queue and not self.running:
            self.take_turn()

    def reset(self) -> None:
        self._queue.clear()
        self.stop()
        self._in_air = None

    def take_unicast(self, frame: Frame, end: int) -> None:
        """Hand up a frame that is addressed to this node. It is not acknowledged here, because the sender already has
        the acknowledgement.
        """
        if frame.to is self._transceiver:
            self._transceiver.hand_up(frame)
