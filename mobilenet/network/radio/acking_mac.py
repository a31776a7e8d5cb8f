"""A MAC without carrier sense: each frame is sent at once, and a unicast frame waits for a perfect
acknowledgement.

Model     no carrier sense, no back-off, no retries. A broadcast frame, or one without `acknowledged`, is over
          when it has left, and the next one follows it without a gap. An acknowledged one blocks the queue: the
          receiver's acknowledgement is out of band, so it takes no time, is never lost, and comes in the instant in
          which the last bit arrives; without it the frame is given up `timeout_ns` after its first bit was sent (but
          not before a receiver could have had all of it). What is lost is lost: the layers above must send again.
          All datagrams are sent as broadcasts are: INET would acknowledge them as well (the
          delay of paper/static.yaml was 0.4 and 8 % longer with that, on two seeds).
          Full duplex: a sender also receives. Else sending aborts receiving, as with every other MAC
Units     integer nanoseconds
Source    the behaviour of AckingMac in INET 4 as its documentation has it (no real medium access, optional
          acknowledgement out of band); own code. Wilhelm, Arantes and Sens (2020) name no MAC, that it was this one
          is inferred: docs/validation/paper.md
"""

from __future__ import annotations

from mobilenet.engine.kernel import Kernel
from mobilenet.network.radio.frame import Frame
from mobilenet.network.radio.mac import Mac
from mobilenet.network.radio.medium import Medium
from mobilenet.network.radio.transceiver import NEVER, Transceiver


class Acking(Mac):
    """A MAC whose deadline is the end of its wait: for the frame in the air, its acknowledgement, or a timeout."""

    __slots__ = ("_arrives_at", "_in_air", "_last", "_leaves_until", "_timeout_ns")

    def __init__(
        self, kernel: Kernel, medium: Medium, transceiver: Transceiver, queue_frames: int, timeout_ns: int
    ) -> None:
        super().__init__(kernel, medium, transceiver, queue_frames)
        self._timeout_ns = timeout_ns
        self._in_air: Frame | None = None  # the first of the queue, once it is sent
        self._arrives_at = NEVER  # when the receiver has all of it; NEVER: not sent, or over
        self._leaves_until = NEVER  # the transmitter is busy: outlives a crash, as the frame in the air does
        self._last: Frame | None = None  # the previous frame, whose end may still be on its way

    def take_turn(self) -> None:
        now = self._calendar.now
        if now < self._leaves_until:  # what a crashed node was sending is still on its way
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
        if self._queue and not self.running:  # else the client has handed over another frame, and it is sent
            self.take_turn()

    def reset(self) -> None:
        self._queue.clear()
        self.stop()
        self._in_air = None

    def take_unicast(self, frame: Frame, end: int) -> None:
        """Do nothing, because the sender has the acknowledgement already."""
        if frame.to is self._transceiver:
            self._transceiver.hand_up(frame)
