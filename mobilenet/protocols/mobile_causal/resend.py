"""The resender: when is an unacknowledged message sent over the radio again?

Model     a message is due I(x) after the radio has sent or dropped its last copy, where x messages are pending:
              I(x) = (first - (first - full) * min(x, W) / W) * U[jitter]
          At most W messages are resent in each I(x), oldest first, in batches. At most `mac_backlog` copies wait in the
          radio at once. When all of them are sent, the resender pauses, so that resending takes `resend_share` of the
          time. W = 150 in I = 0.2 s would fill the medium: two neighbouring stations that do not hear each other would
          then silence the hosts between them permanently, even if no host broadcasts (static_heavy.yaml, seed 19).
          First transmissions are never held back, because a window that starts at the oldest pending message would let
          one silent host block its whole cell (F14)
Units     integer nanoseconds
Names     M -> key, calcTimeout() -> interval_ns, setTimer(M, ...) -> _wait
Source    Wilhelm, Arantes, Sens (2020), Algorithm 1 lines 50-52 (calcTimeout) and section V.A: 1 s, 200 ms, 150;
          the line between the end points, the jitter and the batches are ours: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

from mobilenet.engine.clock import ns

from ..port import Port, timer_name
from .parameters import MobileCausalParameters

READY, QUEUED = -1, -2  # states of a pending message; any other value is the time at which it is due
MOST_DOUBLED = 20  # After so many doublings, a wait is longer than any run.

Key = TypeVar("Key", bound=int | tuple[int, int])  # ordered by age


class Resender(Generic[Key]):
    """The pending messages of one buffer. `make` returns a new copy of a message, or None if no receiver needs it."""

    __slots__ = (
        "_batch_began",
        "_copies",
        "_heap",
        "_left",
        "_make",
        "_p",
        "_port",
        "_pumping",
        "_ready",
        "_rest_until",
        "_round_end",
        "_state",
        "_timer",
        "_transmit",
        "_waiting_copies",
    )

    def __init__(
        self,
        port: Port,
        parameters: MobileCausalParameters,
        make: Callable[[Key], Any],
        transmit: Callable[[Any], None],
    ) -> None:
        self._port: Port = port
        self._p: MobileCausalParameters = parameters
        self._make: Callable[[Key], Any] = make
        self._transmit: Callable[[Any], None] = transmit
        self._timer = port.timer(self._on_due)
        self._state: dict[Key, int] = {}
        self._copies: dict[Key, Any] = {}  # the copies that are in the radio's queue
        # The current batch of retransmitted copies in the radio's queue. forget() does not remove them.
        self._waiting_copies: dict[Key, Any] = {}
        self._heap: list[tuple[int, Key]] = []  # (due, key), with stale entries
        self._ready: list[Key] = []  # another heap, oldest message first
        self._round_end = 0
        self._left = 0
        self._batch_began = 0
        self._rest_until = 0
        self._pumping = False

    def __len__(self) -> int:
        return len(self._state)

    def first(self, key: Key, message: Any) -> None:
        """Transmit a message for the first time, without delay."""
        self._hand_over(key, message)  # F14 (regardless of what is pending)

    def soon(self, key: Key) -> None:
        """Send a copy as soon as the backlog permits, unless a copy is already in the queue."""
        if self._state.get(key) not in (READY, QUEUED):
            self._state[key] = READY
            heappush(self._ready, key)
        self._pump()

    def begin(self, key: Key) -> None:
        """Send a copy as soon() does. A message that is already pending keeps its own timer instead."""
        if key not in self._state:
            self.soon(key)

    def forget(self, key: Key) -> None:
        """Forget a message that is acknowledged, or that this node no longer has to send."""
        self._state.pop(key, None)
        self._copies.pop(key, None)

    def clear(self) -> None:
        self._state.clear()
        self._copies.clear()
        self._heap.clear()
        self._ready.clear()
        self._timer.stop()

    def on_sent(self, key: Key, message: Any, given_up: bool = False) -> None:
        """Record that the radio has sent this copy or has given up on it."""
        if self._waiting_copies.get(key) is message:
            del self._waiting_copies[key]
            if not self._waiting_copies:
                self._rest()
        if self._copies.get(key) is message:
            del self._copies[key]
            self._wait(key, given_up)
        if self._ready:
            self._pump()

    def _rest(self) -> None:
        now = self._port.now
        self._rest_until = now + round((now - self._batch_began) * (1 / self._p.resend_share - 1))

    def interval_ns(self) -> int:
        p = self._p
        share = min(len(self._state), p.window) / p.window
        mean = p.resend_first_s - (p.resend_first_s - p.resend_full_s) * share
        return ns(mean * self._port.uniform(p.resend_jitter_low, p.resend_jitter_high))

    def _hand_over(self, key: Key, message: Any) -> None:
        self._state[key] = QUEUED
        self._copies[key] = message
        self._transmit(message)

    def _wait_ns(self, key: Key, given_up: bool) -> int:
        return self.interval_ns()

    def _wait(self, key: Key, given_up: bool) -> None:
        due = self._port.now + self._wait_ns(key, given_up)  # A1:52
        self._state[key] = due
        heappush(self._heap, (due, key))
        if self._heap[0][0] == due or not self._timer.running:
            self._timer.start(self._heap[0][0] - self._port.now)

    @timer_name("resend")
    def _on_due(self) -> None:
        now = self._port.now
        heap, state = self._heap, self._state
        while heap and heap[0][0] <= now:
            due, key = heappop(heap)
            if state.get(key) == due:  # A1:50
                state[key] = READY
                heappush(self._ready, key)
        self._pump()
        self._restart_timer()

    def _restart_timer(self) -> None:
        heap, state = self._heap, self._state
        while heap and state.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        wake = heap[0][0] if heap else None
        if self._ready and not self._waiting_copies:  # otherwise on_sent() continues
            ready = max(self._rest_until, self._round_end if self._left == 0 else 0)
            wake = ready if wake is None else min(wake, ready)
        if wake is not None:
            self._timer.start(max(0, wake - self._port.now))

    def _pump(self) -> None:
        """Hand over a batch of the messages that are ready, oldest first, within the window."""
        if self._pumping or self._waiting_copies:
            return  # a copy was dropped during the hand-over, or the last batch is still in the queue
        if self._port.now < self._rest_until:
            self._restart_timer()
            return
        self._batch_began = self._port.now
        self._pumping = True
        while self._ready and len(self._waiting_copies) < self._p.mac_backlog:  # F14 (the queue of the radio is finite)
            key = heappop(self._ready)
            if self._state.get(key) != READY:
                continue
            if self._port.now >= self._round_end:
                self._round_end = self._port.now + self.interval_ns()
                self._left = self._p.window
            if self._left == 0:  # F14 (the window limits resending only)
                heappush(self._ready, key)
                self._restart_timer()
                break
            self._send_again(key)
        self._pumping = False

    def _send_again(self, key: Key) -> None:
        message = self._make(key)
        if message is None:
            self._wait(key, False)
            return
        self._left -= 1
        self._waiting_copies[key] = message
        self._hand_over(key, message)  # A1:51


class PromptResender(Resender[Key]):
    """The resender of `repair: selective`. It does not pause between batches, because it only resends what a host lacks
    (see also R6).
    """

    __slots__ = ("_times",)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._times: dict[Key, int] = {}  # message -> how many times the MAC gave up on a copy

    @property
    def is_sending(self) -> bool:
        """Return whether a copy is in the radio's queue."""
        return bool(self._copies)

    def later(self, key: Key) -> None:
        """Resend the message when its own timer expires, as if a copy had just been sent."""
        self._wait(key, False)

    def forget(self, key: Key) -> None:
        self._times.pop(key, None)
        super().forget(key)

    def clear(self) -> None:
        self._times.clear()
        super().clear()

    def _rest(self) -> None:
        self._rest_until = self._port.now

    def _wait_ns(self, key: Key, given_up: bool) -> int:
        usual_ns = super()._wait_ns(key, given_up)
        if not given_up:
            return usual_ns
        times = self._times.get(key, 0)
        self._times[key] = times + 1
        if times == 0:
            return 0
        jitter = self._port.uniform(self._p.resend_jitter_low, self._p.resend_jitter_high)
        return min(usual_ns, ns(self._p.retry_s * jitter) << min(times - 1, MOST_DOUBLED))
