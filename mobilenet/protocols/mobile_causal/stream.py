"""The numbered stream that a station sends to its cell until all hosts have it, and the recovery messages of each host.

Source      Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks (2020),
            Algorithm 2 lines 44-47 (Disseminate), and `clear` of A2:12 and A4:83
Names       seq_C -> next_number, SBuffer -> sbuf, minSeq() -> oldest, clear(SBuffer) -> collect, m_nd -> Context.rec
Assumes     one radio serves the whole cell. Numbers are assigned on arrival and never reset. A message that arrives
            while no host in the cell needs it is numbered, but neither kept nor sent
Deviations  F14      first frames are never held back, so that one silent host does not block its cell. The window of
                     the paper only limits resending (resend.py)
            A2:44    the first frame of a message that came over the wire waits U[0, forwarding jitter], in unchanged
                     order. Stations at equal depth of the tree receive it at the same instant, do not hear each other,
                     and would collide at every host between them. Ours
            A2:44-47 the paper sends before it stores and floods. Here a station floods, numbers, stores and sends.
                     Nothing happens in between
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from mobilenet.engine.clock import ns

from ..port import Port, timer_name
from .context import Context, Contexts, State
from .messages import AppCo, AppSh, Item
from .parameters import MobileCausalParameters
from .resend import Resender

CELL = -1  # stands for the host in the key of a message that is sent to the whole cell
Key = tuple[int, int]  # (number, host or CELL) identifies what a station resends; the oldest sorts first


class CellStream:
    def __init__(
        self, port: Port, send: Callable[[int, Any], None], parameters: MobileCausalParameters, contexts: Contexts,
        check: bool,
    ) -> None:  # fmt: skip
        self._port = port
        self._send = send
        self._p = parameters
        self._contexts = contexts
        self._check = check
        self._jitter_s = parameters.forwarding_jitter_s
        self._silent_ns = parameters.silent_after_s * 1e9
        self.next_number = 0
        self.sbuf: dict[int, Item] = {}  # the numbers are contiguous, and the oldest comes first
        self._waiting: deque[tuple[int, int]] = deque()  # (time, number) of first frames that wait for their jitter
        self._resender: Resender[Key] = self._new_resender()
        self._timer = port.timer(self._release)

    def _new_resender(self) -> Resender[Key]:
        return Resender(self._port, self._p, self._copy, self._transmit)

    @property
    def oldest(self) -> int:
        """The oldest number that is kept: minSeq()."""
        return next(iter(self.sbuf), self.next_number)

    # --- numbers

    def append(self, item: Item, from_wire: bool) -> None:
        """Number a message and send it to the cell. A message that no host needs is only numbered."""
        number = self.next_number  # F14 (no window holds it back)
        self.next_number = number + 1  # A2:47
        if self._contexts.floor_of is None:
            return
        self.sbuf[number] = item  # A2:45
        when = self._port.now
        if from_wire and self._jitter_s:
            when += ns(self._port.uniform(0, self._jitter_s))
        elif not self._waiting:
            self._first(number, item)
            return
        if self._waiting:
            when = max(when, self._waiting[-1][0])
        else:
            self._timer.start(when - self._port.now)
        self._waiting.append((when, number))

    def _first(self, number: int, item: Item) -> None:
        self._resender.first((number, CELL), self._app_sh(number, item))  # A2:44

    @timer_name("forwarding jitter")
    def _release(self) -> None:
        """Send the first frames whose waiting time is over."""
        now, waiting = self._port.now, self._waiting
        while waiting and waiting[0][0] <= now:
            number = waiting.popleft()[1]
            item = self.sbuf.get(number)
            if item is not None:
                self._first(number, item)
        if waiting:
            self._timer.start(waiting[0][0] - now)

    def collect(self) -> None:
        """Forget the messages that no context needs any more: clear(SBuffer)."""
        floor, sbuf = self._contexts.floor(), self.sbuf
        while sbuf and (number := next(iter(sbuf))) < floor:
            del sbuf[number]  # A2:12, A4:83
            self._resender.forget((number, CELL))
        assert not self._check or self.oldest <= floor  # I4
        assert not self._check or self.oldest + len(sbuf) == self.next_number  # I4

    # --- positions

    def advance(self, c: Context, position: int) -> None:
        """Record that h has delivered everything below `position`."""
        if position <= c.nxt:
            return
        for number in range(c.nxt, min(position, c.base)):
            if c.rec.pop(number, None) is not None:  # A2:14, A2:23
                self._resender.forget((number, c.host))
        if c.skip:
            c.skip.difference_update([q for q in c.skip if q < position])
            self._contexts.index_skip(c)
        c.nxt = position  # A2:11, A2:24
        if self._contexts.floor_of == c.host:
            self.collect()  # A2:12

    def forget_lists(self, c: Context) -> None:
        """Drop the recovery messages and the skip set."""
        for number in c.rec:
            self._resender.forget((number, c.host))
        c.rec.clear()
        c.skip.clear()
        self._contexts.index_skip(c)

    def delete(self, c: Context) -> None:
        """Forget a host: delete(h[id_h]) and clear(SBuffer) of the paper."""
        self.forget_lists(c)
        self._contexts.clear_rbuf(c)
        del self._contexts[c.host]
        self.collect()

    def begin_recovery(self, c: Context) -> None:
        """Send the remaining recovery messages, each with its own timer: BroadcastCo(msg)."""
        for number in c.rec:
            self._resender.begin((number, c.host))  # A4:91

    # --- the radio

    def _app_sh(self, number: int, item: Item) -> AppSh:
        return AppSh(number, item.id, item.body, self._contexts.delivered_elsewhere(number))

    def _copy(self, key: Key) -> Any:
        """Return the message to resend. Return None if the only hosts that need it are silent or on their way to
        another station.
        """
        number, host = key
        if host == CELL:
            is_wanted = number >= self._contexts.oldest_needed(self._port.now, self._silent_ns)
            return self._app_sh(number, self.sbuf[number]) if is_wanted else None
        c = self._contexts[host]
        if c.state is not State.OWN or self._port.now - c.heard_ns > self._silent_ns:  # F14
            return None
        item = c.rec[number]
        return AppCo(host, c.ses, number, item.id, item.body)

    def _transmit(self, message: Any) -> None:
        if isinstance(message, AppSh):
            self._port.broadcast(message)
        else:
            self._send(message.host, message)

    def on_sent(self, message: Any, given_up: bool) -> None:
        """Record that the radio has sent a copy or has given up on it."""
        if type(message) is AppSh:
            self._resender.on_sent((message.number, CELL), message, given_up)
        elif type(message) is AppCo:
            self._resender.on_sent((message.number, message.host), message, given_up)
