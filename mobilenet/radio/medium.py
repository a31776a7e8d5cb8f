"""One hop through the air between a sender and everyone who hears it.

Model     unit disk; a frame is lost where any other one overlaps it at the receiver; a receiver locks on the
          first frame that reaches it and attempts no other meanwhile; whoever sends cannot receive; frames
          that only touch do not collide; positions are frozen for the whole frame. Options: an independent
          random loss, and capture (the locked frame survives interference that is weaker by capture_db
          under free-space attenuation).
          All consequences of a frame are settled in two steps: when it starts (who locks, who collides, who
          senses it, each with its own propagation delay) and when the last receiver has it (who got it).
          So layers above receive at most one propagation delay late, while every comparison between
          frames, and all of the MAC's timing, uses the exact nanosecond of the node concerned.
Units     integer nanoseconds, metres, bytes
Counts    pairs (frame, receiver in communication range) by fate
Errors    none: parameters are validated with the scenario
Source    IEEE 802.11-2016, 10.3; the semantics of INET 4.5's unit disk radio; or ours: DESIGN.md §4
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

from mobilenet.kernel import Kernel
from mobilenet.radio.antenna import NEVER, Antenna
from mobilenet.radio.frame import (
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
from mobilenet.radio.neighbours import Neighbours

SPEED_OF_LIGHT_M_PER_NS = 0.299792458
Observer = Callable[[Frame], None]


class Medium:
    """The air of one run."""

    def __init__(
        self,
        kernel: Kernel,
        neighbours: Neighbours,
        range_m: float,
        interference_range_m: float,
        detection_range_m: float,
        loss: float = 0.0,
        capture_db: float | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.kernel = kernel
        self.neighbours = neighbours
        self.frames = 0
        self.bytes = 0
        self.by_kind: dict[tuple[bool, type], list[int]] = {}  # (from a station, message class) -> frames, bytes, payload bytes
        self.acks = 0
        self.retries = 0
        self.queue_drops = 0
        self.pairs = [0] * len(FATES)
        self.addressed_pairs = [0] * len(FATES)
        self._range2 = range_m**2
        self._interference2 = max(interference_range_m, range_m) ** 2
        self._detection2 = max(detection_range_m, range_m) ** 2
        self._reach2 = max(self._interference2, self._detection2)
        self._loss = loss
        self._capture = None if capture_db is None else 10 ** (capture_db / 10)
        self._observer = observer

    def start(self, frame: Frame) -> None:
        """The sender's antenna begins to radiate the frame now."""
        now = self.kernel._now
        sender = frame.sender
        duration = frame.duration_ns
        frame.start_ns = now
        end = now + duration
        self._fall_deaf(sender, now, end)
        x = sender.x_m + sender.vx * (now - sender.since_ns)
        y = sender.y_m + sender.vy * (now - sender.since_ns)
        reach2, range2, detection2 = self._reach2, self._range2, self._detection2
        receivers: list[Antenna] = []
        fates: list[int] = []
        delays: list[int] = []
        receive, delayed = receivers.append, delays.append
        latest = 0
        for node in self.neighbours.candidates(sender, now):
            elapsed = now - node.since_ns
            dx = node.x_m + node.vx * elapsed - x
            dy = node.y_m + node.vy * elapsed - y
            d2 = dx * dx + dy * dy
            if d2 > reach2:
                continue
            delay = int(sqrt(d2) / SPEED_OF_LIGHT_M_PER_NS + 0.5)
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
            receive(node)
            delayed(delay)
            if node.air_until <= first and node.transmit_until <= first and node.up:
                node.lock_from = first
                node.lock_until = node.air_until = last
                node.lock_fates = fates
                node.lock_index = len(fates)
                node.lock_d2 = node.air_d2 = d2
                fates.append(RECEIVED)
            else:
                self._overlap(node, first, last, d2, fates)
        frame.receivers = receivers
        frame.fates = fates
        frame.delays_ns = delays
        self.kernel.at(end + latest, _End(self, frame))

    def drop_out(self, node: Antenna) -> None:
        """The node crashes or vanishes: what it was receiving is lost to it."""
        node.up = False
        if node.lock_until > self.kernel._now and node.lock_fates[node.lock_index] == RECEIVED:
            node.lock_fates[node.lock_index] = RECEIVER_DOWN
        node.lock_until = NEVER

    def _fall_deaf(self, sender: Antenna, now: int, end: int) -> None:
        """Sending aborts receiving, also of a frame that is still on its way here."""
        if sender.lock_until > now:
            if sender.lock_fates[sender.lock_index] == RECEIVED:
                sender.lock_fates[sender.lock_index] = HALF_DUPLEX
            sender.lock_until = NEVER
        sender.transmit_until = end
        sender.sense(now, end)
        if sender.contending:  # an ACK goes out although a frame waits
            sender.mac.defer(now)

    def _overlap(self, node: Antenna, first: int, last: int, d2: float, fates: list[int]) -> None:
        """A receivable frame reaches a node that is down, sending, or hears something else."""
        if not node.up:
            fates.append(RECEIVER_DOWN)
        elif node.transmit_until > first:
            fates.append(HALF_DUPLEX)
        elif node.lock_until > first and first >= node.lock_from:
            fates.append(NEVER_ATTEMPTED)
            self._disturb_lock(node, d2)
        else:
            if node.lock_until > first:
                # Sent later, but from nearer: it came first, within one propagation delay.
                node.lock_fates[node.lock_index] = NEVER_ATTEMPTED
                fates.append(RECEIVED if self._survives(d2, node.lock_d2) else COLLISION)
            else:  # the rest of a frame that was never attempted is in the air
                fates.append(RECEIVED if self._survives(d2, node.air_d2) else COLLISION)
            node.lock_from = first
            node.lock_until = last
            node.lock_fates = fates
            node.lock_index = len(fates) - 1
            node.lock_d2 = d2
        self._fill_air(node, first, last, d2)

    def _interfere(self, node: Antenna, first: int, last: int, d2: float) -> None:
        """Energy that destroys, but is too weak to be received."""
        if node.lock_until > first:
            self._disturb_lock(node, d2)
        self._fill_air(node, first, last, d2)

    def _disturb_lock(self, node: Antenna, d2: float) -> None:
        if node.lock_fates[node.lock_index] == RECEIVED and not self._survives(node.lock_d2, d2):
            node.lock_fates[node.lock_index] = COLLISION

    def _fill_air(self, node: Antenna, first: int, last: int, d2: float) -> None:
        if node.air_until <= first or d2 < node.air_d2:
            node.air_d2 = d2  # the nearest one since the air was last silent here
        if last > node.air_until:
            node.air_until = last

    def _survives(self, wanted_d2: float, other_d2: float) -> bool:
        return self._capture is not None and other_d2 >= wanted_d2 * self._capture

    def finish(self, frame: Frame) -> None:
        """Every receiver has had the whole frame: count it, hand it up, let the MACs go on."""
        receivers = frame.receivers
        fates = frame.fates
        if self._loss > 0:
            for i, node in enumerate(receivers):
                if fates[i] == RECEIVED and node.loss is not None and node.loss.random() < self._loss:
                    fates[i] = RANDOM
        self._count(frame)
        if self._observer is not None:
            self._observer(frame)
        to = frame.to
        end = frame.start_ns + frame.duration_ns
        answered = frame.acknowledged or frame.kind != DATA
        frame.sender.mac.sent(frame)
        delays = frame.delays_ns
        for i, node in enumerate(receivers):
            fate = fates[i]
            if fate == RECEIVED:
                if node.contending:
                    node.mac.heard_well()
                if answered:
                    node.mac.take_unicast(frame, end + delays[i])
                elif to is None or to is node:
                    node.hand_up(frame)
            elif fate == COLLISION and node.contending:
                node.mac.heard_broken(end + delays[i])

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
            served = [fates[i] for i, node in enumerate(frame.receivers) if node.serving is sender]
            _add(self.addressed_pairs, served)
        else:
            _add(self.addressed_pairs, fates)


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
