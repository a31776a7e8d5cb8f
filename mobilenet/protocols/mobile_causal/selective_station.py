"""A station with `repair: selective`: it knows which messages each host has, and sends the missing ones at once.

Source      ours: docs/protocols/repair.md; it extends station.py and stream.py, which are Wilhelm, Arantes and Sens
            (2020), Algorithms 2 and 3
Names       Context.have -> the numbers above nxt that the host has received, in the context's session only
Assumes     as station.py. A host keeps the messages that it has received in a session until it has delivered them, so
            that its reports can be merged in any order
Deviations  each has its counterexample in docs/protocols/repair.md
            R1  A2:17,43  a message for one host is a unicast frame
            R2  A2:45     in print, a message is resent while a host has not acknowledged it, even if all hosts have it.
                          Here it is resent only while a connected host that is not silent may lack it
            R3  A2:9-14   in print, a station sends nothing after ack_h. Here it sends at once what a Have leaves out,
                          unless the message is queued or was sent within `repair_rest_s`: one copy answers all hosts
                          that lack it. Numbers beyond the last one listed count as lost `doubt_s` after they were sent.
                          Batches are as large as in resend.py, without its pauses, since they contain only what a host
                          lacks
            R4  A3:48-50  in print, ack_C answers each App_hs, though the cell's stream shows it. Here it answers only a
                          repeated App_hs, within `report_s`
            R6  A2:45     a message for one host that the MAC gave up on is sent again as in selective_host.py
            R7  A2:21-25  what a host has is valid for one session, because the next session begins with an empty
                          RBuffer (F2b). A station that kept the old set would resend a lost message only when it is the
                          host's next number
            R8  A2:44     in print, every copy is for the whole cell. Here a message that a Have asks for after
                          `cell_copies` copies, or that only one host lacks, is sent only to that host (AppOne), as a
                          unicast frame
            R9  A2:44     in print, every first copy is for the whole cell. Here each host gets its own (AppOne) if only
                          one host needs it, or if at most `few_hosts` need it, one of them lacked more than
                          `lossy_share` of its session's numbers (including numbers in the queue), and no other copy is
                          in the radio's queue. The reason: a lost broadcast frame waits for a report, or for I(x) if no
                          later number shows the gap
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mobilenet.engine.clock import ns

from .context import Context, State
from .messages import AppCo, AppOne, AppSh, Have, Init, Item
from .resend import PromptResender
from .station import Station
from .stream import CELL, CellStream, Key


class SelectiveStream(CellStream):
    _resender: PromptResender[Key]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._sent_ns: dict[int, int] = {}  # number in sbuf -> time of the last copy for the cell
        # number in sbuf -> how many copies were sent to the cell, at most cell_copies
        self._copies: dict[int, int] = {}

    def _new_resender(self) -> PromptResender[Key]:
        return PromptResender(self._port, self._p, self._copy, self._transmit)  # R3

    def _first(self, number: int, item: Item) -> None:
        lacking = self._hosts_lacking(number, self._p.few_hosts + 1)
        if not self._one_by_one(lacking, number):
            super()._first(number, item)
            return
        self._resender.later((number, CELL))  # for hosts that are silent now, or are about to enter the cell
        for c in lacking:  # R9
            c.direct.add(number)
            self._resender.first((number, c.host), AppOne(c.host, number, item.id, item.body))

    def _one_by_one(self, lacking: list[Context], number: int) -> bool:
        """Return whether each of these hosts receives its own first copy."""
        if len(lacking) == 1:
            return True
        if not lacking or len(lacking) > self._p.few_hosts or self._resender.is_sending:
            return False
        return any(c.missed > self._p.lossy_share * (number - c.base) for c in lacking)

    def note(self, c: Context, have: tuple[int, ...]) -> None:
        """Record that the host has these numbers. The missing numbers between and after them are sent again."""
        c.have.update(number for number in have if number >= c.nxt)  # R2
        self._forget_direct(c, c.direct & c.have)
        p, now = self._p, self._port.now
        last = have[-1] if have else c.nxt
        released = self._waiting[0][1] if self._waiting else self.next_number  # the resender has all lower numbers
        for number in range(c.nxt, min(released, c.nxt + p.window)):
            if number in c.have or number in c.skip:
                continue
            rest_ns = ns(p.repair_rest_s if number < last else p.doubt_s)
            sent_ns = (sent[number] for sent in (c.copied, self._sent_ns) if number in sent)
            if all(now - at_ns >= rest_ns for at_ns in sent_ns):
                self._repair(c, number)  # R3
        assert not self._check or self.sbuf.keys() >= c.direct and c.direct.isdisjoint(c.have)  # I9
        assert not self._check or all(number > c.nxt for number in c.have)  # I10

    def _repair(self, c: Context, number: int) -> None:
        if number < c.base:
            self._resender.soon((number, c.host))
            return
        if number >= c.counted:
            c.missed, c.counted = c.missed + 1, number + 1
        if self._copies.get(number, 0) >= self._p.cell_copies or len(self._hosts_lacking(number, 2)) < 2:
            self._send_to(c, number)
        else:
            self._resender.soon((number, CELL))

    def _send_to(self, c: Context, number: int) -> None:
        c.direct.add(number)
        self._resender.soon((number, c.host))  # R8

    def _forget_direct(self, c: Context, numbers: set[int]) -> None:
        for number in sorted(numbers):
            self._resender.forget((number, c.host))
        c.direct = c.direct - numbers

    def begin_session(self, c: Context) -> None:
        """Forget what the host had received in the previous session, because its RBuffer is now empty."""
        self._forget_direct(c, c.direct)
        c.have, c.copied, c.missed, c.counted = set(), {}, 0, 0  # R7

    def _hosts_lacking(self, number: int, most: int) -> list[Context]:
        """Return up to `most` connected hosts that may lack this number of the stream. Silent hosts are left out."""
        now, contexts = self._port.now, list[Context]()
        for c in self._contexts.values():
            if c.state is not State.OWN or c.expired or now - c.heard_ns > self._silent_ns:
                continue
            if max(c.nxt, c.base) <= number and number not in c.have and number not in c.skip:
                contexts.append(c)
                if len(contexts) == most:
                    break
        return contexts

    def advance(self, c: Context, position: int) -> None:
        super().advance(c, position)
        self._forget_direct(c, {number for number in c.direct if number < position})
        if c.have:
            c.have = {number for number in c.have if number > position}
        if c.copied:
            c.copied = {number: at_ns for number, at_ns in c.copied.items() if number >= position}

    def forget_lists(self, c: Context) -> None:
        self._forget_direct(c, c.direct)
        super().forget_lists(c)

    def collect(self) -> None:
        before = self.oldest
        super().collect()
        for number in range(before, self.oldest):
            self._sent_ns.pop(number, None)
            self._copies.pop(number, None)

    def _copy(self, key: Key) -> Any:
        number, host = key
        if host == CELL:
            lacking = self._hosts_lacking(number, 2)
            if len(lacking) == 1:
                self._send_to(lacking[0], number)  # R8
            return self._app_sh(number, self.sbuf[number]) if len(lacking) > 1 else None  # R2
        c = self._contexts[host]
        if number in c.have:
            return None  # R2
        if number < c.base:
            return super()._copy(key)
        if c.state is not State.OWN or self._port.now - c.heard_ns > self._silent_ns:
            return None
        item = self.sbuf[number]
        return AppOne(host, number, item.id, item.body)  # R8

    def on_sent(self, message: Any, given_up: bool) -> None:
        now = self._port.now
        if type(message) is AppSh and message.number in self.sbuf:
            self._sent_ns[message.number] = now
            self._copies[message.number] = min(self._copies.get(message.number, 0) + 1, self._p.cell_copies)
        elif type(message) in (AppOne, AppCo) and (c := self._contexts.get(message.host)) is not None:
            c.copied[message.number] = now
        if type(message) is AppOne:
            self._resender.on_sent((message.number, message.host), message, given_up)
        super().on_sent(message, given_up)


class SelectiveStation(Station):
    _stream: SelectiveStream

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._from_host[Have] = self._on_have

    def _send_of(self, port: Any) -> Callable[[int, Any], None]:
        return port.unicast  # type: ignore[no-any-return]  # R1

    def _new_stream(self, check: bool) -> CellStream:
        return SelectiveStream(self._port, self._send, self._p, self.ctx, check)

    def _on_have(self, m: Have) -> None:
        """Handle ack_h with the contents of the host's RBuffer (A2:9-17)."""
        if m.station != self._port.me:  # the host is in another cell
            return
        self._on_ack_h(m)
        c = self.ctx.get(m.host)
        if c is not None and m.ses == c.ses and c.state is State.OWN and not c.expired:
            self._stream.note(c, m.have)

    def _new_session(self, c: Context, m: Init) -> None:
        self._stream.begin_session(c)  # R7
        super()._new_session(c, m)

    def _start_ack_timer(self, is_new: bool) -> None:
        if not is_new and not self._ack_timer.running:  # R4
            self._ack_timer.start(ns(self._p.report_s * self._port.uniform(0.2, 1)))
