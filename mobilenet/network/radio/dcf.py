"""Decide when a node may send: CSMA/CA with back-off, and acknowledged unicast.

Model     802.11 DCF without RTS. Each frame is preceded by DIFS (EIFS after a broken frame) and a back-off of 0..CW
          slots. Idle time that has already elapsed counts, so after a long silence a frame leaves at once. When the
          medium becomes busy, the remaining slots are kept, rounded up, and DIFS has to pass again. A node whose timer
          expires at the instant at which energy arrives still sends. The end of every frame in the air is known, so
          deferring only moves a deadline. Broadcast frames, and unicast frames without `acknowledged`, are neither
          acknowledged nor retried, and CW stays at CWmin. In groupcast with unsolicited retries, a station sends each
          broadcast frame with data several times, each time after a back-off from CWmin. An acknowledged frame is
          answered by an ACK after SIFS. If the ACK is missing, CW doubles up to CWmax, and slots are counted from the
          timeout. There are at most retry_limit attempts. Other nodes respect the NAV. Receivers drop duplicates.
Units     Times are integer nanoseconds or numbers of slots.
Source    IEEE 802.11-2016, 10.3; IEEE 802.11-2020, 10.23.2.12, for groupcast; the semantics of INET 4.5's Contention
          module; or ours: docs/models/radio.md
"""

from __future__ import annotations

from typing import NamedTuple

from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import RandomNumbers
from mobilenet.engine.timer import Timer
from mobilenet.network.radio.frame import ACK, Frame
from mobilenet.network.radio.mac import Mac
from mobilenet.network.radio.medium import Medium
from mobilenet.network.radio.phy import ACK_BYTES, DSSS_PREAMBLE_NS, DSSS_RATES, OFDM_PREAMBLE_NS, Mode
from mobilenet.network.radio.transceiver import NEVER, Transceiver


class Acknowledgement(NamedTuple):
    """The acknowledgement of frames at one rate. An ACK must have begun to arrive within `wait_ns`, which consists of
    SIFS, a slot and the preamble.
    """

    rate_mbps: float
    airtime_ns: int
    wait_ns: int


class Rules:
    """The rules that all MACs of a network share. They are computed once for the network."""

    __slots__ = (
        "acks", "difs_ns", "eifs_ns", "group_retries", "mode", "queue_frames", "retry_limit", "sifs_ns", "slot_ns",
        "windows",
    )  # fmt: skip

    def __init__(self, mode: Mode, eifs: bool, queue_frames: int, retry_limit: int, group_retries: int = 0) -> None:
        self.slot_ns = mode.slot_ns
        self.sifs_ns = mode.sifs_ns
        self.difs_ns = mode.difs_ns
        self.eifs_ns = mode.eifs_ns if eifs else 0  # If this is 0, a node does not wait after a broken frame.
        # The largest number of slots that may be drawn, indexed by the number of failed attempts.
        self.windows = [mode.cw_min]
        for _ in range(retry_limit):
            self.windows.append(min(2 * self.windows[-1] + 1, mode.cw_max))
        self.mode = mode
        self.queue_frames = queue_frames
        self.retry_limit = retry_limit
        self.group_retries = group_retries
        self.acks: dict[float, Acknowledgement] = {}  # maps the rate of an acknowledged frame to the acknowledgement

    def ack(self, rate_mbps: float) -> Acknowledgement:
        known = self.acks.get(rate_mbps)
        if known is None:
            own_mbps = self.mode.ack_rate_mbps(rate_mbps)
            preamble_ns = DSSS_PREAMBLE_NS if own_mbps in DSSS_RATES else OFDM_PREAMBLE_NS
            known = self.acks[rate_mbps] = Acknowledgement(
                own_mbps, self.mode.airtime_ns(ACK_BYTES, own_mbps), self.sifs_ns + self.slot_ns + preamble_ns
            )
        return known


class Dcf(Mac):
    """The distributed coordination function of 802.11. The deadline is the end of the back-off."""

    __slots__ = (
        "_ack_timer", "_attempts", "_backoff", "_before_freeze", "_eifs_until", "_frozen_at", "_last_heard",
        "_not_before", "_rules", "_slots",
    )  # fmt: skip

    def __init__(
        self, kernel: Kernel, medium: Medium, transceiver: Transceiver, rules: Rules, backoff: RandomNumbers
    ) -> None:
        super().__init__(kernel, medium, transceiver, rules.queue_frames)
        self._rules = rules
        self._backoff = backoff
        self._start_over()
        self._ack_timer = Timer(kernel, self._ack_missed)
        self._last_heard: dict[int, int] = {}  # sender -> number of its last repeatable frame

    def _start_over(self) -> None:
        self._slots = 0
        self._attempts = 0
        self._eifs_until = NEVER
        self._not_before = NEVER  # slots are not counted before this time (the timeout of the last missing ACK)
        self._frozen_at = NEVER  # time at which the count of slots last stopped
        self._before_freeze = (0, 0)

    def reset(self) -> None:
        """Drop the queue and all timers of a node that crashed. Frames that were waiting are not sent, and their
        clients are not notified. A frame that is in the air continues.
        """
        self._queue.clear()
        self.stop()
        self._ack_timer.stop()
        self._transceiver.contending = False
        self._last_heard.clear()
        self._start_over()

    # --- contention

    def take_turn(self) -> None:
        """Draw a back-off for the first frame of the queue, and wait until it is over."""
        transceiver = self._transceiver
        rules = self._rules
        now = self._calendar.now
        self._slots = slots = int(self._backoff.random() * (rules.windows[self._attempts] + 1))
        transceiver.contending = True
        self._frozen_at = NEVER
        if now < transceiver.busy_from:  # Energy is approaching, but has not arrived here yet.
            idle_since = transceiver.idle_since
        else:
            idle_since = transceiver.busy_until
        expiry = self._after_idle(idle_since) + slots * rules.slot_ns
        self.start_at(expiry if expiry > now else now)
        if now < transceiver.busy_from:
            self.defer(transceiver.busy_from)

    def defer(self, first: int) -> None:
        """Defer to energy that arrives at `first`, and keep the remaining slots, rounded up. The transceiver knows when
        the energy ends.
        """
        expiry = self.deadline_ns
        if expiry <= first:
            # The node sends before the energy arrives or in the same instant, so it cannot have sensed the energy.
            return
        if first < self._frozen_at:
            # This energy was sent later than the energy that stopped the count, but from a shorter distance. It arrives
            # first and therefore stops the count.
            expiry, self._slots = self._before_freeze
        else:
            self._before_freeze = (expiry, self._slots)
        self._frozen_at = first
        remaining = -((first - expiry) // self._rules.slot_ns)
        if remaining < self._slots:
            self._slots = remaining
        self._wait()

    def _wait(self) -> None:
        """Start to count the slots. The count begins DIFS or more after the medium becomes idle."""
        self.start_at(self._after_idle(self._transceiver.busy_until) + self._slots * self._rules.slot_ns)

    def _after_idle(self, idle_since: int) -> int:
        """Return when the count of slots starts if the medium becomes idle at `idle_since`."""
        start = idle_since + self._rules.difs_ns
        if start < self._eifs_until:
            start = self._eifs_until
        return start if start > self._not_before else self._not_before

    def on_fcs_error(self, end: int) -> None:
        """Wait for EIFS after a frame that ended at `end` and arrived broken while this node was contending."""
        eifs_ns = self._rules.eifs_ns
        if eifs_ns > 0:
            self._eifs_until = end + eifs_ns
            self._wait()

    def on_good_frame(self) -> None:
        """End the EIFS because a frame has arrived intact while this node was contending."""
        if self._eifs_until > self._transceiver.busy_until:
            self._eifs_until = NEVER
            self._wait()

    def expire(self) -> None:
        """Send the first frame of the queue, because its back-off is over."""
        self._transceiver.contending = False
        self._medium.start(self._queue[0])

    def on_sent(self, frame: Frame) -> None:
        """Continue after the medium has reported that the frame has ended at all of its receivers."""
        if not self._queue or self._queue[0] is not frame:
            return  # The frame is an ACK, or was sent before a crash.
        if frame.acknowledged:
            self._ack_timer.start_at(frame.start_ns + frame.duration_ns + self._rules.ack(frame.rate_mbps).wait_ns)
        elif frame.number and frame.retries < self._rules.group_retries:
            frame.retries += 1
            self._medium.group_retries += 1
            self.take_turn()
        else:
            self._finish(frame, delivered=True)

    def _repeats(self, frame: Frame) -> bool:
        """Return whether this frame is a broadcast frame with data that is sent by a station."""
        if not self._rules.group_retries or frame.to is not None:
            return False
        return self._transceiver.is_station and frame.message.payload_bytes > 0

    def is_new(self, frame: Frame) -> bool:
        """Return whether a frame differs from the last repeatable frame of its sender, and remember it."""
        if self._last_heard.get(frame.sender.index) == frame.number:
            return False
        self._last_heard[frame.sender.index] = frame.number
        return True

    def _finish(self, frame: Frame, delivered: bool) -> None:
        del self._queue[0]
        self._attempts = 0
        client = frame.client
        if client is not None:
            if delivered:
                client.on_sent(frame.message)
            else:
                client.on_dropped(frame.message)
        if self._queue and not self._transceiver.contending:
            self.take_turn()

    # --- acknowledged unicast

    def take_unicast(self, frame: Frame, end: int) -> None:
        """Handle an ACK or an acknowledged frame that ended at this node at `end`. It may be addressed to another
        node.
        """
        transceiver = self._transceiver
        if frame.kind == ACK:
            if frame.to is transceiver and self._queue and self._queue[0] is frame.message and self._ack_timer.running:
                self._ack_timer.stop()
                self._finish(self._queue[0], delivered=True)
            return
        if frame.to is not transceiver:
            # Set the NAV.
            transceiver.sense(end, end + self._rules.sifs_ns + self._rules.ack(frame.rate_mbps).airtime_ns)
            if transceiver.contending:
                self.defer(end)
            return
        # The medium calls this method when the last receiver has received the frame. At distances beyond 2998 m, SIFS
        # may have ended at this node up to 7 ns earlier.
        self._calendar.at(max(end + self._rules.sifs_ns, self._calendar.now), lambda: self._acknowledge(frame))
        if self.is_new(frame):
            transceiver.hand_up(frame)

    def _acknowledge(self, frame: Frame) -> None:
        if self._transceiver.up and self._transceiver.transmit_until <= self._calendar.now:
            ack = self._rules.ack(frame.rate_mbps)
            self._medium.start(
                Frame(self._transceiver, frame.sender, frame, ACK_BYTES, ack.airtime_ns, ack.rate_mbps, kind=ACK)
            )

    def _ack_missed(self) -> None:
        now = self._calendar.now
        if self._transceiver.lock_until > now:  # A frame is arriving, and it may be the ACK.
            self._ack_timer.start_at(self._transceiver.lock_until + self._rules.slot_ns)
            return
        frame = self._queue[0]
        self._attempts += 1
        self._not_before = now
        if self._attempts >= self._rules.retry_limit:
            self._medium.given_up += 1
            self._finish(frame, delivered=False)
            return
        frame.retries += 1
        self._medium.retries += 1
        self.take_turn()
