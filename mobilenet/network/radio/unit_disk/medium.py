"""The unit disk: a node receives every frame from within the range, unless another frame overlaps with it.

Model     A receiver locks onto the first frame that reaches it, and does not attempt to receive another one in the
          meantime. The frame is lost if another frame overlaps with it at the receiver. Frames that merely touch do not
          collide. With capture, the locked frame survives interference that is weaker by capture_db under free-space
          attenuation. In full duplex, a sender also receives. The receivers of a frame are the nodes within the
          communication range.
Units     Times are integer nanoseconds, and distances are in metres.
Source    IEEE 802.11-2016, 10.3; the semantics of INET 4.5's unit disk radio; or ours: docs/models/radio.md
"""

from __future__ import annotations

from math import sqrt

from mobilenet.engine.kernel import Kernel
from mobilenet.network.radio.frame import (
    COLLISION,
    HALF_DUPLEX,
    NEVER_ATTEMPTED,
    OUTCOMES,
    RECEIVED,
    RECEIVER_DOWN,
    Frame,
)
from mobilenet.network.radio.medium import SPEED_OF_LIGHT_M_PER_NS, End, Medium, Observer
from mobilenet.network.radio.neighbours import Neighbours
from mobilenet.network.radio.transceiver import NEVER, Transceiver


class UnitDisk(Medium):
    """The medium of a run in which distance determines reception."""

    def __init__(
        self,
        kernel: Kernel,
        neighbours: Neighbours,
        range_m: float,
        interference_range_m: float,
        detection_range_m: float | None,
        loss: float = 0.0,
        capture_db: float | None = None,
        observer: Observer | None = None,
        listens: bool = True,
        full_duplex: bool = False,
        outcomes: tuple[str, ...] = OUTCOMES,
    ) -> None:
        """Set up the medium. If `detection_range_m` is None, the MACs do not sense the medium before they send."""
        super().__init__(kernel, neighbours, outcomes, loss, observer, listens, full_duplex)
        self._range2 = _square(range_m)
        self._interference2 = _square(max(interference_range_m, range_m))
        self._detection2 = -1.0 if detection_range_m is None else _square(max(detection_range_m, range_m))
        self._reach2 = max(self._interference2, self._detection2)
        self._capture = None if capture_db is None else 10 ** (capture_db / 10)

    def start(self, frame: Frame, before: Frame | None = None) -> None:
        now = self._calendar.now
        sender = frame.sender
        duration = frame.duration_ns
        frame.start_ns = now
        end = now + duration
        if not self._full_duplex:
            self._abort_reception(sender, now, end)
        x = sender.x_m + sender.vx * (now - sender.since_ns)
        y = sender.y_m + sender.vy * (now - sender.since_ns)
        reach2, range2, detection2 = self._reach2, self._range2, self._detection2
        receivers: list[Transceiver] = []
        outcomes: list[int] = []
        delays: list[int] = []
        latest = 0
        self._started = serial = self._started + 1
        captures = self._capture is not None
        least: dict[Transceiver, int] | None = None
        if before is not None and before.serial in self._in_air:
            least = _still_lasts(before, now)
        # A station whose radio is off does not reach any node.
        candidates = self.neighbours.candidates(sender, now) if sender.up else ()
        _touch(candidates)
        for node in candidates:
            elapsed = now - node.since_ns
            dx = node.x_m + node.vx * elapsed - x
            dy = node.y_m + node.vy * elapsed - y
            d2 = dx * dx + dy * dy
            if d2 > reach2:
                continue
            delay = int(sqrt(d2) / SPEED_OF_LIGHT_M_PER_NS + 0.5)
            if least is not None:
                delay = max(delay, least.get(node, 0))
            first = now + delay
            last = end + delay
            if d2 <= detection2:  # these lines replace a call of Transceiver.sense, to save time
                busy_until = node.busy_until
                if busy_until < first:
                    node.idle_since = busy_until
                    node.busy_from = first
                    node.busy_until = last
                else:
                    if first < node.busy_from:
                        node.busy_from = first
                    if last > busy_until:
                        node.busy_until = last
                if node.contending:
                    node.mac.defer(first)
            if d2 > range2:
                if d2 <= self._interference2:
                    self._interfere(node, first, last, d2)
                continue
            if delay > latest:
                latest = delay
            receivers.append(node)
            delays.append(delay)
            if node.free_from <= first and node.up:
                node.lock_until = node.free_from = last
                node.lock_frame = serial
                if captures:
                    node.lock_d2 = node.air_d2 = d2
                outcomes.append(RECEIVED)
            else:
                outcomes.append(self._overlap(node, first, last, d2, serial))
        frame.serial = serial
        frame.receivers = receivers
        frame.outcomes = outcomes
        frame.delays_ns = delays
        self._in_air[serial] = frame
        self._calendar.at(end + latest, End(self, frame))

    def drop_out(self, node: Transceiver) -> None:
        node.up = False
        if node.lock_until > self._calendar.now:
            self._lose(node, RECEIVER_DOWN)
        self._let_go(node)

    def _let_go(self, node: Transceiver) -> None:
        _note_locked(node)
        node.lock_until = NEVER

    def _overlap(self, node: Transceiver, first: int, last: int, d2: float, serial: int) -> int:
        """Return the outcome of a frame within range at a node that is down, is sending, or hears another frame."""
        _note_locked(node)
        if not node.up:
            outcome = RECEIVER_DOWN
        elif node.transmit_until > first:
            outcome = HALF_DUPLEX
        elif node.lock_until <= first:
            # The node is not locked onto a frame, but a frame that it did not attempt to receive is still in the air.
            outcome = RECEIVED if self._survives(d2, node.air_d2) else COLLISION
            _lock(node, serial, last, d2)
        else:
            other = self._in_air[node.lock_frame]
            i = other.receivers.index(node)
            if first >= other.start_ns + other.delays_ns[i]:
                outcome = NEVER_ATTEMPTED
                self._disturb_lock(node, d2)
            else:
                # This frame was sent later, but from a shorter distance: it arrived first, within one propagation
                # delay.
                other.outcomes[i] = NEVER_ATTEMPTED
                outcome = RECEIVED if self._survives(d2, node.lock_d2) else COLLISION
                _lock(node, serial, last, d2)
        _fill_air(node, first, last, d2)
        return outcome

    def _interfere(self, node: Transceiver, first: int, last: int, d2: float) -> None:
        """Add energy that disturbs other frames but is too weak to be received as a frame."""
        _note_locked(node)
        if node.lock_until > first:
            self._disturb_lock(node, d2)
        _fill_air(node, first, last, d2)

    def _disturb_lock(self, node: Transceiver, d2: float) -> None:
        if not self._survives(node.lock_d2, d2):
            self._lose(node, COLLISION)

    def _survives(self, wanted_d2: float, other_d2: float) -> bool:
        if self._capture is None:
            return False
        # At distance 0, the power is infinite. Such a frame is stronger than all others, except those from the same
        # position.
        if wanted_d2 == 0.0:
            return other_d2 > 0.0 or self._capture <= 1.0
        return other_d2 >= wanted_d2 * self._capture


def _still_lasts(frame: Frame, now: int) -> dict[Transceiver, int]:
    """Return how long each receiver will remain busy with the frame."""
    end = frame.start_ns + frame.duration_ns
    return {node: end + delay - now for node, delay in zip(frame.receivers, frame.delays_ns, strict=True)}


def _square(range_m: float) -> float:
    """Return the square of the range, rounded exactly as in the attachment and in the coverage."""
    return range_m * range_m


def _touch(nodes: tuple[Transceiver, ...]) -> int:
    """Read one field of every node as a prefetch, so that the nodes are loaded from memory in parallel.

    The work on one node takes longer than the processor looks ahead, so without this prefetch it would wait for each
    node in turn. Callers ignore the result, which is the latest time until which one of the nodes senses energy. It
    only prevents a compiler from removing the loop.
    """
    latest = NEVER
    for node in nodes:
        if node.busy_until > latest:
            latest = node.busy_until
    return latest


def _lock(node: Transceiver, serial: int, last: int, d2: float) -> None:
    node.lock_until = last
    node.lock_frame = serial
    node.lock_d2 = d2


def _note_locked(node: Transceiver) -> None:
    """Extend the node's busy period to the end of the frame that it is locked onto."""
    if node.lock_until > node.air_until:
        node.air_until = node.lock_until


def _fill_air(node: Transceiver, first: int, last: int, d2: float) -> None:
    if node.air_until <= first or d2 < node.air_d2:
        node.air_d2 = d2  # the nearest frame since the medium was last silent at this node
    if last > node.air_until:
        node.air_until = last
    if last > node.free_from:
        node.free_from = last
