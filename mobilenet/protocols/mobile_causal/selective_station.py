"""A station with `repair: selective`: it knows what each host has, and sends what is missing at once.

Source      ours: docs/protocols/repair.md; over station.py and stream.py, which are Wilhelm, Arantes and Sens (2020),
            Algorithms 2 and 3
Names       what a host has -> Context.have: numbers above nxt, of the context's session only
Assumes     as station.py. What a host has received in a session it keeps until it has delivered it, so what two of its
            reports say may be put together
Deviations  R1  A2:17,43  as selective_host.py: what is for one host is a unicast frame
            R2  A3:52     in print a message is sent again while one host has not acknowledged it, though all may have
                          it. Here only while a host that is connected and not silent is not known to have it
            R3  A2:9-14   ack_h does not make a station send. Here the numbers that a Have leaves out are sent again at
                          once, unless they are in the queue or were sent within `repair_rest_s`: one copy answers all
                          hosts that lack it. Beyond the last number that it has, a host may not have had the time to
                          say so: they count as lost `doubt_s` after they were sent. As many at once, and in such a share
                          of the time, as by timers (resend.py)
            R4  A3:48-50  ack_C answers each App_hs, though the cell's stream shows it: only what comes again is answered
            R7  A4:62     what a host has belongs to its session: with the next one RBuffer is empty (F2b). A station that
                          kept it would never send what the host lost
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mobilenet.clock import ns

from .context import Context, State
from .messages import AppCo, AppSh, Have, Init
from .station import Station
from .stream import CELL, CellStream, Key


class SelectiveStream(CellStream):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._sent_ns: dict[Key, int] = {}  # when a copy was last sent

    def note(self, c: Context, have: tuple[int, ...]) -> None:
        """The host has these numbers, and all that is missing between them is sent again."""
        c.have.update(number for number in have if number >= c.nxt)  # R2
        last = have[-1] if have else c.nxt
        now, p = self._port.now, self._p
        for key in self._lacked(c):
            sent_ns = self._sent_ns.get(key)
            rest_s = p.repair_rest_s if key[0] < last else p.doubt_s
            if sent_ns is not None and now - sent_ns >= ns(rest_s):
                self._resender.soon(key)  # R3

    def _lacked(self, c: Context) -> Iterator[Key]:
        """What the host is not known to have, of the next window."""
        for number in range(c.nxt, min(self.next_number, c.nxt + self._p.window)):
            if number in c.have or number in c.skip:
                continue
            yield (number, c.host if number < c.base else CELL)

    def advance(self, c: Context, position: int) -> None:
        super().advance(c, position)
        if c.have:
            c.have = {number for number in c.have if number > position}

    def collect(self) -> None:
        super().collect()
        oldest = self.oldest
        if len(self._sent_ns) > 2 * len(self.sbuf) + self._p.window:
            self._sent_ns = {key: at for key, at in self._sent_ns.items() if key[1] != CELL or key[0] >= oldest}

    def _copy(self, key: Key) -> AppSh | AppCo | None:
        number, host = key
        if host == CELL:
            return self._app_sh(number, self.sbuf[number]) if self._is_wanted(number) else None
        return None if number in self._contexts[host].have else super()._copy(key)  # R2

    def _is_wanted(self, number: int) -> bool:
        """Whether a host that is connected and not silent may lack this number of the stream."""
        now = self._port.now
        return any(
            max(c.nxt, c.base) <= number and number not in c.have and number not in c.skip
            for c in self._contexts.values()
            if c.state is State.OWN and not c.expired and now - c.heard_ns <= self._silent_ns
        )

    def on_sent(self, message: Any) -> None:
        if type(message) is AppSh:
            self._sent_ns[message.number, CELL] = self._port.now
        elif type(message) is AppCo:
            self._sent_ns[message.number, message.host] = self._port.now
        super().on_sent(message)


class SelectiveStation(Station):
    _stream: SelectiveStream

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._from_host[Have] = self._on_have

    def _unicast(self, port: Any) -> Callable[[int, Any], None]:
        return port.unicast  # type: ignore[no-any-return]  # R1

    def _new_stream(self, check: bool) -> CellStream:
        return SelectiveStream(self._port, self._send, self._p, self.ctx, check)

    def on_receive(self, sender: int, message: Any) -> None:
        if type(message) is not Have or message.station == self._port.me:  # of this cell
            super().on_receive(sender, message)

    def _on_have(self, m: Have) -> None:
        """ack_h, with what is in the host's RBuffer                     A2:9-17"""
        self._on_ack_h(m)
        c = self.ctx.get(m.host)
        if c is not None and m.ses == c.ses and c.state is State.OWN and not c.expired:
            self._stream.note(c, m.have)

    def _new_session(self, c: Context, m: Init) -> None:
        c.have = set()  # R7
        super()._new_session(c, m)

    def _start_ack_timer(self, is_new: bool) -> None:
        if not is_new and not self._ack_timer.running:  # R4
            self._ack_timer.start(ns(self._p.report_s * self._port.uniform(0.2, 1)))
