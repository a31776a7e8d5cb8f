"""The medium between a sender and all nodes that hear it: the base class for all models of reception.

Model     Positions are frozen for the duration of a frame. A sender cannot receive, except in full duplex. Frames are
          lost independently at random, and impaired nodes add further losses. The subclass decides the outcome of a
          frame at each node: by distance (unit_disk/), or by power, noise and interference (sinr/). Outcomes take
          effect when a frame starts and when its last receiver has received it, so the layers above may receive a frame
          up to one propagation delay late. All comparisons between frames, and all timing of the MAC, use the exact
          nanosecond at the node.
Units     Times are integer nanoseconds, distances are in metres, and sizes are in bytes.
Counts    Frames are counted by kind, and pairs (frame, receiver) by outcome. The subclass defines the receivers of a
          frame. Acknowledgements of the MAC have separate counters, but `airtime_ns` includes them.
Source    ours: docs/models/radio.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mobilenet.engine.event_queue import Calendar
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import RandomNumbers
from mobilenet.network.radio.frame import BIT_ERRORS, COLLISION, DATA, HALF_DUPLEX, OUTCOMES, RANDOM, RECEIVED, Frame
from mobilenet.network.radio.neighbours import Neighbours
from mobilenet.network.radio.transceiver import NEVER, Transceiver

SPEED_OF_LIGHT_M_PER_NS: Final = 0.299792458
Observer = Callable[[Frame], None]


class Medium:
    """The base class of the media for all models of reception."""

    def __init__(
        self,
        kernel: Kernel,
        neighbours: Neighbours,
        outcomes: tuple[str, ...] = OUTCOMES,
        loss: float = 0.0,
        observer: Observer | None = None,
        listens: bool = True,
        full_duplex: bool = False,
    ) -> None:
        """Set up the medium. `outcomes` are the possible outcomes of a frame at a receiver. With `full_duplex`, a node
        can receive while it sends.
        """
        self._calendar: Calendar = kernel.calendar
        self.neighbours = neighbours
        self.outcomes = outcomes
        self.airtime_ns = 0  # airtime of all frames, including the acknowledgements of the MAC
        # (sent by a station, class of the message) -> numbers of frames, bytes and payload bytes
        self.by_kind: dict[tuple[bool, type], list[int]] = {}
        self.acks = 0
        self.ack_bytes = 0
        self.retries = 0
        self.group_retries = 0  # unsolicited repetitions of broadcast frames
        self.queue_drops = 0
        self.given_up = 0  # frames for which no acknowledgement arrived
        self._started = 0
        self._in_air: dict[int, Frame] = {}  # frames by serial number
        self.pairs = [0] * len(outcomes)
        self.addressed_pairs = [0] * len(outcomes)
        self.ack_pairs = [0] * len(outcomes)
        self.addressed_ack_pairs = [0] * len(outcomes)
        self.loss = loss  # The probability of random loss. A change also affects frames that have not ended yet.
        self._impaired: dict[int, float] = {}  # index of a node -> loss of the frames that it sends and receives
        self._impaired_draws: dict[int, RandomNumbers] = {}
        self._observer = observer
        self._full_duplex = full_duplex
        # If False, frames are not handed up. This is used for beacons, which only matter for the statistics.
        self._listens = listens

    @property
    def frames(self) -> int:
        """The number of frames that have been sent. Each attempt of the MAC counts."""
        return sum(tally[0] for tally in self.by_kind.values())

    def add(self, transceiver: Transceiver) -> None:
        """Add the node to this medium."""

    def observe(self, observer: Observer | None) -> None:
        """Pass each frame to an observer from now on, as soon as it has ended at all receivers."""
        self._observer = observer

    def start(self, frame: Frame, before: Frame | None = None) -> None:
        """Begin to send the frame from the transceiver of its sender. A transceiver sends one frame at a time, and the
        same frame cannot be in the air twice at the same time.

        `before` is the last frame of the sender, if this frame may follow it without a gap. If the sender has come
        closer, the propagation delay is shorter now, but this frame cannot overtake the previous one: a receiver hears
        it only after the end of the whole previous frame.
        """
        raise NotImplementedError

    def drop_out(self, node: Transceiver) -> None:
        """Remove a node that crashes or vanishes. It loses the frame that it was receiving."""
        raise NotImplementedError

    def _let_go(self, node: Transceiver) -> None:
        """Unlock the node from its frame, which remains in the air."""
        node.lock_until = NEVER

    def _abort_reception(self, sender: Transceiver, now: int, end: int) -> None:
        """Abort a reception because the node sends. This includes a frame that has not reached the node yet."""
        if sender.lock_until > now:
            self._lose(sender, HALF_DUPLEX)
            self._let_go(sender)
        sender.transmit_until = end
        if end > sender.free_from:
            sender.free_from = end
        sender.sense(now, end)
        if sender.contending:  # The node sends an ACK while another frame waits.
            sender.mac.defer(now)

    def _lose(self, node: Transceiver, outcome: int) -> None:
        """Set the outcome of the frame that the node is locked onto, unless the frame is already lost."""
        frame = self._in_air[node.lock_frame]
        i = frame.receivers.index(node)
        if frame.outcomes[i] == RECEIVED:
            frame.outcomes[i] = outcome

    def settle(self, frame: Frame) -> bool:
        """Return whether the addressee has received the frame. This is called at the instant at which the last bit
        arrives there. Later events cannot change the outcome, so it is decided now, before the frame has ended at the
        last receiver.
        """
        assert frame.to is not None
        i = frame.receivers.index(frame.to)
        # If this is False, `finish` has already decided.
        if frame.serial in self._in_air and frame.outcomes[i] == RECEIVED:
            frame.settled = frame.to
            if self._is_lost(frame, frame.to):
                frame.outcomes[i] = RANDOM
        return frame.outcomes[i] == RECEIVED

    def impair(self, node: Transceiver, loss: float, draws: RandomNumbers) -> None:
        """Make the node lose frames that it sends or receives, each with probability `loss`. Frames that have not ended
        yet are included.
        """
        self._impaired.pop(node.index, None)
        if loss > 0:
            self._impaired[node.index] = loss
            self._impaired_draws.setdefault(node.index, draws)

    def _is_lost(self, frame: Frame, node: Transceiver) -> bool:
        """Draw whether a receiver loses a frame, because of the scenario's loss or an impairment."""
        if self.loss > 0 and node.loss_draws is not None and node.loss_draws.random() < self.loss:
            return True
        return bool(self._impaired) and (self._is_lost_at(frame.sender.index) or self._is_lost_at(node.index))

    def _is_lost_at(self, index: int) -> bool:
        loss = self._impaired.get(index, 0.0)
        return loss > 0 and self._impaired_draws[index].random() < loss

    def _decide(self, frame: Frame) -> None:
        """Decide the outcomes that are unknown until the last bit has arrived. Models based on distance do not have
        such outcomes.
        """

    def finish(self, frame: Frame) -> None:
        """Finish a frame that has ended at every receiver: count it, hand it up, and let the MACs continue."""
        del self._in_air[frame.serial]
        receivers = frame.receivers
        outcomes = frame.outcomes
        self._decide(frame)
        if self.loss > 0 or self._impaired:
            for i, node in enumerate(receivers):
                if outcomes[i] == RECEIVED and node is not frame.settled and self._is_lost(frame, node):
                    outcomes[i] = RANDOM
        self._count(frame)
        if self._observer is not None:
            self._observer(frame)
        to = frame.to
        end = frame.start_ns + frame.duration_ns
        answered = frame.acknowledged or frame.kind != DATA
        may_repeat = frame.number > 0
        frame.sender.mac.on_sent(frame)
        delays = frame.delays_ns
        listens = self._listens or answered
        # The conditions use receivers[i].contending without holding a reference to the node, which saves an access to
        # one more cache line.
        for i, outcome in enumerate(outcomes):
            if outcome == RECEIVED:
                if receivers[i].contending:
                    receivers[i].mac.on_good_frame()
                if listens:
                    node = receivers[i]
                    if answered:
                        node.mac.take_unicast(frame, end + delays[i])
                    elif (to is None or to is node) and (not may_repeat or node.mac.is_new(frame)):
                        node.hand_up(frame)
            elif outcome in (COLLISION, BIT_ERRORS) and receivers[i].contending:
                receivers[i].mac.on_fcs_error(end + delays[i])

    def _count(self, frame: Frame) -> None:
        self.airtime_ns += frame.duration_ns
        if frame.kind == DATA:
            kind = (frame.sender.is_station, frame.message.__class__)
            tally = self.by_kind.get(kind)
            if tally is None:
                tally = self.by_kind[kind] = [0, 0, 0]
            tally[0] += 1
            tally[1] += frame.psdu_bytes
            tally[2] += frame.message.payload_bytes
            pairs, addressed = self.pairs, self.addressed_pairs
        else:
            # Acknowledgements are counted when they end, like frames. An acknowledgement may still be in the air at the
            # end of a run.
            self.acks += 1
            self.ack_bytes += frame.psdu_bytes
            pairs, addressed = self.ack_pairs, self.addressed_ack_pairs
        outcomes = frame.outcomes
        _add(pairs, outcomes)
        sender = frame.sender
        to = frame.to
        if to is not None:
            if to in frame.receivers:
                addressed[outcomes[frame.receivers.index(to)]] += 1
        elif sender.is_station:
            receivers = frame.receivers
            served = [outcomes[i] for i in range(len(outcomes)) if receivers[i].serving is sender]
            _add(addressed, served)
        else:
            _add(addressed, outcomes)


def _add(counts: list[int], outcomes: list[int]) -> None:
    received = outcomes.count(RECEIVED)
    counts[RECEIVED] += received
    if received < len(outcomes):
        for outcome in outcomes:
            if outcome != RECEIVED:
                counts[outcome] += 1


class End:
    """The calendar entry for the end of a frame. An object of this class is cheaper than a closure."""

    __slots__ = ("_frame", "_medium")

    def __init__(self, medium: Medium, frame: Frame) -> None:
        self._medium = medium
        self._frame = frame

    def __call__(self) -> None:
        self._medium.finish(self._frame)
