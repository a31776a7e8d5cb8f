"""The medium between a sender and all nodes that hear it, for every model of reception.

Model     positions are frozen for the whole frame; a sender cannot receive, unless full duplex; an independent
          random loss, and another one for each impaired node that sends or receives the frame. What becomes of a frame
          at each node is a kind of medium's: unit_disk/ (a distance decides) or sinr/ (power, noise,
          interference). Consequences are settled when a frame starts and when the last receiver has it, so layers
          above receive at most one propagation delay late, while every comparison between frames, and all of the MAC's
          timing, uses the exact nanosecond of the node concerned
Units     integer nanoseconds, metres, bytes
Counts    frames by kind, and pairs (frame, receiver) by outcome; the kind of medium defines a frame's receivers. The
          MAC's acknowledgements have separate counters and are in no other, except `airtime_ns`
Errors    none: parameters are validated with the scenario
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
    """The medium of one run."""

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
        """Set up the medium. `outcomes`: the possible outcomes of a pair; `full_duplex`: a sender goes on receiving."""
        self._calendar: Calendar = kernel.calendar
        self.neighbours = neighbours
        self.outcomes = outcomes
        self.airtime_ns = 0  # of all frames and of the MAC's acknowledgements
        # (from a station, message class) -> frames, bytes, payload bytes
        self.by_kind: dict[tuple[bool, type], list[int]] = {}
        self.acks = 0
        self.ack_bytes = 0
        self.retries = 0
        self.group_retries = 0  # unsolicited
        self.queue_drops = 0
        self.given_up = 0  # frames that were never acknowledged
        self._started = 0
        self._in_air: dict[int, Frame] = {}  # by serial
        self.pairs = [0] * len(outcomes)
        self.addressed_pairs = [0] * len(outcomes)
        self.ack_pairs = [0] * len(outcomes)
        self.addressed_ack_pairs = [0] * len(outcomes)
        self.loss = loss  # probability of random loss, for frames that have not ended yet
        self._impaired: dict[int, float] = {}  # by index: the loss of what the node sends and receives
        self._impaired_draws: dict[int, RandomNumbers] = {}
        self._observer = observer
        self._full_duplex = full_duplex
        self._listens = listens  # False: nothing is handed up, beacons are only for the statistics

    @property
    def frames(self) -> int:
        """The number of frames that have been on the air; each attempt of the MAC counts."""
        return sum(tally[0] for tally in self.by_kind.values())

    def add(self, transceiver: Transceiver) -> None:
        """Put the node on this medium."""

    def observe(self, observer: Observer | None) -> None:
        """Show frames to an observer from now on, once all receivers have had them."""
        self._observer = observer

    def start(self, frame: Frame, before: Frame | None = None) -> None:
        """Begin to radiate the frame from the sender's transceiver; it sends one at a time, and a frame is in the air
        once at a time.

        `before`: the sender's last frame, if this one may follow it without a gap. A sender that comes closer has a
        shorter delay now, but what it sends cannot overtake what it has sent: no receiver hears it before it has the
        whole previous frame.
        """
        raise NotImplementedError

    def drop_out(self, node: Transceiver) -> None:
        """Drop a node that crashes or vanishes: what it was receiving is lost to it."""
        raise NotImplementedError

    def _let_go(self, node: Transceiver) -> None:
        """Unlock the node from its frame, which is still in the air."""
        node.lock_until = NEVER

    def _abort_reception(self, sender: Transceiver, now: int, end: int) -> None:
        """Abort receiving because the node sends, even of a frame that is still on its way here."""
        if sender.lock_until > now:
            self._lose(sender, HALF_DUPLEX)
            self._let_go(sender)
        sender.transmit_until = end
        if end > sender.free_from:
            sender.free_from = end
        sender.sense(now, end)
        if sender.contending:  # an ACK goes out while a frame waits
            sender.mac.defer(now)

    def _lose(self, node: Transceiver, outcome: int) -> None:
        """Lose the frame that the node is locked on, unless it is lost already."""
        frame = self._in_air[node.lock_frame]
        i = frame.receivers.index(node)
        if frame.outcomes[i] == RECEIVED:
            frame.outcomes[i] = outcome

    def settle(self, frame: Frame) -> bool:
        """Return whether the addressee has received the frame. Called in the instant in which the last bit arrives
        there: nothing that comes later can change the outcome, so it is decided now, before the last receiver has the
        frame.
        """
        assert frame.to is not None
        i = frame.receivers.index(frame.to)
        if frame.serial in self._in_air and frame.outcomes[i] == RECEIVED:  # otherwise `finish` was faster
            frame.settled = frame.to
            if self._is_lost(frame, frame.to):
                frame.outcomes[i] = RANDOM
        return frame.outcomes[i] == RECEIVED

    def impair(self, node: Transceiver, loss: float, draws: RandomNumbers) -> None:
        """Lose what the node sends and receives with this probability, for all frames that have not ended yet."""
        self._impaired.pop(node.index, None)
        if loss > 0:
            self._impaired[node.index] = loss
            self._impaired_draws.setdefault(node.index, draws)

    def _is_lost(self, frame: Frame, node: Transceiver) -> bool:
        """Draw whether a receiver loses a frame, by the scenario's loss or an impairment."""
        if self.loss > 0 and node.loss_draws is not None and node.loss_draws.random() < self.loss:
            return True
        return bool(self._impaired) and (self._is_lost_at(frame.sender.index) or self._is_lost_at(node.index))

    def _is_lost_at(self, index: int) -> bool:
        loss = self._impaired.get(index, 0.0)
        return loss > 0 and self._impaired_draws[index].random() < loss

    def _decide(self, frame: Frame) -> None:
        """Decide what is not known before the last bit has arrived. There is nothing to decide if distances decide."""

    def finish(self, frame: Frame) -> None:
        """Finish a frame that every receiver has had: count it, hand it up, and let the MACs go on."""
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
        # receivers[i].contending, without a hold of the node: one line of the cache less
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
        else:  # counted when it ends, like a frame: one may be in the air at the end of a run
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
    """The queue entry of a frame's end; cheaper than a closure."""

    __slots__ = ("_frame", "_medium")

    def __init__(self, medium: Medium, frame: Frame) -> None:
        self._medium = medium
        self._frame = frame

    def __call__(self) -> None:
        self._medium.finish(self._frame)
