"""One hop through the air between a sender and everyone who hears it.

Model     unit disk; a frame is lost where any other one overlaps it at the receiver; a receiver locks on the
          first frame that reaches it and attempts no other meanwhile; whoever sends cannot receive; frames
          that only touch do not collide; positions are frozen for the whole frame. Options: an independent
          random loss, capture (the locked frame survives interference that is weaker by capture_db
          under free-space attenuation), and full duplex (who sends receives as well).
          All consequences of a frame are settled in two steps: when it starts (who locks, who collides, who
          senses it, each with its own propagation delay) and when the last receiver has it (who got it).
          So layers above receive at most one propagation delay late, while every comparison between
          frames, and all of the MAC's timing, uses the exact nanosecond of the node concerned.
Units     integer nanoseconds, metres, bytes
Counts    pairs (frame, receiver in communication range) by fate
Errors    none: parameters are validated with the scenario
Source    IEEE 802.11-2016, 10.3; the semantics of INET 4.5's unit disk radio; or ours: docs/models/radio.md
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Final

from mobilenet.engine.event_queue import Calendar
from mobilenet.engine.kernel import Kernel
from mobilenet.network.radio.antenna import NEVER, Antenna
from mobilenet.network.radio.frame import (
    COLLISION,
    DATA,
    FATES,
    HALF_DUPLEX,
    NEVER_ATTEMPTED,
    RANDOM,
    RECEIVED,
    RECEIVER_DOWN,
    Frame,
)
from mobilenet.network.radio.neighbours import Neighbours

SPEED_OF_LIGHT_M_PER_NS: Final = 0.299792458
Observer = Callable[[Frame], None]


class Medium:
    """The air of one run."""

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
    ) -> None:
        """`detection_range_m` None: no MAC listens before it sends; `full_duplex`: who sends goes on receiving."""
        self._calendar: Calendar = kernel.calendar
        self.neighbours = neighbours
        self.frames = 0
        self.bytes = 0
        # (from a station, message class) -> frames, bytes, payload bytes
        self.by_kind: dict[tuple[bool, type], list[int]] = {}
        self.acks = 0
        self.retries = 0
        self.queue_drops = 0
        self.given_up = 0  # frames of which no acknowledgement ever came
        self._started = 0
        self._in_air: dict[int, Frame] = {}  # by serial
        self.pairs = [0] * len(FATES)
        self.addressed_pairs = [0] * len(FATES)
        self._range2 = _square(range_m)
        self._interference2 = _square(max(interference_range_m, range_m))
        self._detection2 = -1.0 if detection_range_m is None else _square(max(detection_range_m, range_m))
        self._reach2 = max(self._interference2, self._detection2)
        self._loss = loss
        self._capture = None if capture_db is None else 10 ** (capture_db / 10)
        self._observer = observer
        self._full_duplex = full_duplex
        self._listens = listens  # False: nothing is handed up, beacons are for the statistics alone

    def start(self, frame: Frame, before: Frame | None = None) -> None:
        """The sender's antenna begins to radiate the frame now; it sends one at a time, and a frame is in the air
        once at a time.

        `before`: the sender's last frame, if this one may follow it without a gap. Who comes closer has a shorter
        delay now, and yet what it sends cannot overtake what it has sent: no receiver hears it before it has all of
        the one before.
        """
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
        receivers: list[Antenna] = []
        fates: list[int] = []
        delays: list[int] = []
        latest = 0
        self._started = serial = self._started + 1
        captures = self._capture is not None
        least: dict[Antenna, int] | None = None
        if before is not None and before.serial in self._in_air:
            least = _rest(before, now)
        candidates = self.neighbours.candidates(sender, now)
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
            if d2 <= detection2:  # Antenna.sense, without its call
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
                fates.append(RECEIVED)
            else:
                fates.append(self._overlap(node, first, last, d2, serial))
        frame.serial = serial
        frame.receivers = receivers
        frame.fates = fates
        frame.delays_ns = delays
        self._in_air[serial] = frame
        self._calendar.at(end + latest, _End(self, frame))

    def drop_out(self, node: Antenna) -> None:
        """The node crashes or vanishes: what it was receiving is lost to it."""
        node.up = False
        if node.lock_until > self._calendar.now:
            self._lose(node, RECEIVER_DOWN)
        _let_go(node)

    def _abort_reception(self, sender: Antenna, now: int, end: int) -> None:
        """Sending aborts receiving, also of a frame that is still on its way here."""
        if sender.lock_until > now:
            self._lose(sender, HALF_DUPLEX)
            _let_go(sender)
        sender.transmit_until = end
        if end > sender.free_from:
            sender.free_from = end
        sender.sense(now, end)
        if sender.contending:  # an ACK goes out although a frame waits
            sender.mac.defer(now)

    def _overlap(self, node: Antenna, first: int, last: int, d2: float, serial: int) -> int:
        """A receivable frame reaches a node that is down, sending, or hears something else: its fate there."""
        _note_locked(node)
        if not node.up:
            fate = RECEIVER_DOWN
        elif node.transmit_until > first:
            fate = HALF_DUPLEX
        elif node.lock_until <= first:  # the rest of a frame that was never attempted is in the air
            fate = RECEIVED if self._survives(d2, node.air_d2) else COLLISION
            _lock(node, serial, last, d2)
        else:
            other = self._in_air[node.lock_frame]
            i = other.receivers.index(node)
            if first >= other.start_ns + other.delays_ns[i]:
                fate = NEVER_ATTEMPTED
                self._disturb_lock(node, d2)
            else:  # sent later, but from nearer: it came first, within one propagation delay
                other.fates[i] = NEVER_ATTEMPTED
                fate = RECEIVED if self._survives(d2, node.lock_d2) else COLLISION
                _lock(node, serial, last, d2)
        _fill_air(node, first, last, d2)
        return fate

    def _interfere(self, node: Antenna, first: int, last: int, d2: float) -> None:
        """Energy that destroys, but is too weak to be received."""
        _note_locked(node)
        if node.lock_until > first:
            self._disturb_lock(node, d2)
        _fill_air(node, first, last, d2)

    def _disturb_lock(self, node: Antenna, d2: float) -> None:
        if not self._survives(node.lock_d2, d2):
            self._lose(node, COLLISION)

    def _lose(self, node: Antenna, fate: int) -> None:
        """What the node is locked on is lost, unless it is already."""
        frame = self._in_air[node.lock_frame]
        i = frame.receivers.index(node)
        if frame.fates[i] == RECEIVED:
            frame.fates[i] = fate

    def _survives(self, wanted_d2: float, other_d2: float) -> bool:
        if self._capture is None:
            return False
        # at the very place power has no bound: stronger than all others but those that are there as well
        if wanted_d2 == 0.0:
            return other_d2 > 0.0 or self._capture <= 1.0
        return other_d2 >= wanted_d2 * self._capture

    def settle(self, frame: Frame) -> bool:
        """Whether the one that the frame is for has received it. Asked in the instant in which its last bit arrives
        there: nothing that comes later can change that, so it is decided now, before the last of the others has the
        frame.
        """
        assert frame.to is not None
        i = frame.receivers.index(frame.to)
        if frame.serial in self._in_air and frame.fates[i] == RECEIVED:  # else `finish` was faster
            frame.settled = frame.to
            if self._is_lost(frame.to):
                frame.fates[i] = RANDOM
        return frame.fates[i] == RECEIVED

    def _is_lost(self, node: Antenna) -> bool:
        """At random."""
        return self._loss > 0 and node.loss is not None and node.loss.random() < self._loss

    def finish(self, frame: Frame) -> None:
        """Every receiver has had the whole frame: count it, hand it up, let the MACs go on."""
        del self._in_air[frame.serial]
        receivers = frame.receivers
        fates = frame.fates
        if self._loss > 0:
            for i, node in enumerate(receivers):
                if fates[i] == RECEIVED and node is not frame.settled and self._is_lost(node):
                    fates[i] = RANDOM
        self._count(frame)
        if self._observer is not None:
            self._observer(frame)
        to = frame.to
        end = frame.start_ns + frame.duration_ns
        answered = frame.acknowledged or frame.kind != DATA
        frame.sender.mac.sent(frame)
        delays = frame.delays_ns
        listens = self._listens or answered
        # receivers[i].contending, without a hold of the node: one line of the cache less
        for i, fate in enumerate(fates):
            if fate == RECEIVED:
                if receivers[i].contending:
                    receivers[i].mac.heard_well()
                if listens:
                    node = receivers[i]
                    if answered:
                        node.mac.take_unicast(frame, end + delays[i])
                    elif to is None or to is node:
                        node.hand_up(frame)
            elif fate == COLLISION and receivers[i].contending:
                receivers[i].mac.on_fcs_error(end + delays[i])

    def _count(self, frame: Frame) -> None:
        self.frames += 1
        self.bytes += frame.psdu_bytes
        if frame.kind == DATA:
            kind = (frame.sender.is_station, frame.message.__class__)
            tally = self.by_kind.get(kind)
            if tally is None:
                tally = self.by_kind[kind] = [0, 0, 0]
            tally[0] += 1
            tally[1] += frame.psdu_bytes
            tally[2] += frame.message.payload_bytes
        else:
            self.acks += 1  # with its frame and bytes, when it ends: one may be in the air at the end of a run
        fates = frame.fates
        _add(self.pairs, fates)
        sender = frame.sender
        to = frame.to
        if to is not None:
            if to in frame.receivers:
                self.addressed_pairs[fates[frame.receivers.index(to)]] += 1
        elif sender.is_station:
            receivers = frame.receivers
            served = [fates[i] for i in range(len(fates)) if receivers[i].serving is sender]
            _add(self.addressed_pairs, served)
        else:
            _add(self.addressed_pairs, fates)


def _rest(frame: Frame, now: int) -> dict[Antenna, int]:
    """How long each of its receivers will be busy with the frame from now on."""
    end = frame.start_ns + frame.duration_ns
    return {node: end + delay - now for node, delay in zip(frame.receivers, frame.delays_ns, strict=True)}


def _square(range_m: float) -> float:
    """To the last bit as the attachment and the coverage have it."""
    return range_m * range_m


def _touch(nodes: tuple[Antenna, ...]) -> int:
    """Touch every one of them once, so that they come from memory side by side.

    The work on one of them takes longer than the processor looks ahead, so it would wait for each in turn. Nobody
    asks for what is returned, until when some of them sense something: it is there so that a compiler does not drop
    the loop.
    """
    latest = NEVER
    for node in nodes:
        if node.busy_until > latest:
            latest = node.busy_until
    return latest


def _lock(node: Antenna, serial: int, last: int, d2: float) -> None:
    node.lock_until = last
    node.lock_frame = serial
    node.lock_d2 = d2


def _let_go(node: Antenna) -> None:
    """The node is locked on nothing any more; what it was locked on is still in the air."""
    _note_locked(node)
    node.lock_until = NEVER


def _note_locked(node: Antenna) -> None:
    """What came while the air was silent is not noted as being in the air before somebody asks."""
    if node.lock_until > node.air_until:
        node.air_until = node.lock_until


def _fill_air(node: Antenna, first: int, last: int, d2: float) -> None:
    if node.air_until <= first or d2 < node.air_d2:
        node.air_d2 = d2  # the nearest one since the air was last silent here
    if last > node.air_until:
        node.air_until = last
    if last > node.free_from:
        node.free_from = last


def _add(counts: list[int], fates: list[int]) -> None:
    received = fates.count(RECEIVED)
    counts[RECEIVED] += received
    if received < len(fates):
        for fate in fates:
            if fate != RECEIVED:
                counts[fate] += 1


class _End:
    """The queue entry of a frame's end; cheaper than a closure."""

    __slots__ = ("_frame", "_medium")

    def __init__(self, medium: Medium, frame: Frame) -> None:
        self._medium = medium
        self._frame = frame

    def __call__(self) -> None:
        self._medium.finish(self._frame)
