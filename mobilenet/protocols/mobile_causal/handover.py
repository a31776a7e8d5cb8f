"""Which station owns a host, and how the ownership moves.

Source      Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks (2020),
            Algorithm 4 lines 54-103 and section IV.D; the repaired rules are ours: DESIGN.md §3
Names       Req_1 Rsp_1 Req_2 Rsp_2 Delete as there; Nothing, Objection: the answers it lacks; see context.py
Assumes     a causal backbone: what was sent or delivered at x's sender before x is delivered before x, for broadcasts
            and sends together; a FIFO tree that forwards before it handles, control on the same links, is one
Invariant   one token per host: its OWN context, or the pair REL -> FETCH while it moves. Only OWN grants or objects
Deviations  F1b l.65,81  `seq > seqC` drops the message whose number is "next": >= everywhere
            F3b l.62,88  boundary of the skip set by the HOST's number: what reached the new station between Rsp1 and
                         Rsp2 is marked delivered and lost. Here: the station's own counter at Rsp1, on both sides
            F3c l.81     the second list of Rsp2 looks redundant: what reached the new station after Req1 and the old
                         one after Rsp1 is in no first list and would be skipped. Kept
            F6  l.59     the number in Req1 taken without looking whose it is (l.63 does): used only if LC = ses
            F9a l.55     a request reaching a station that is not ready is dropped, the host hangs: kept in pend
            F9b l.56-57  one slot for requests: the replaced one's station keeps its structure for ever. All are kept;
                         the owner serves the highest and objects to the others
            F9c l.58-60  a station that is not owner deletes a requester to which the token is already on its way:
                         only the owner objects to init requests
            F9d l.99     Delete names a session, test strict: the stale requester never goes. Exact request identity
            F9e -        two requesters wait for each other when nobody owns the host: a lower one gets Nothing at once
            F10 -        a session alone identifies a request: a late init after leave re-creates the requester, the old
                         Rsp1 fits and it waits for ever. Identity is (Ses, station counter)
            F12 l.35     a join is answered at once: messages delivered in the life before may still be under way to
                         this station. Here: n-1 answers first, then start at the next number
            F16 l.70     relaying between stations is the backbone's business
"""

from __future__ import annotations

from typing import Any

from ..port import MessageId, StationPort, WiredPort
from .context import Context, State
from .messages import (
    AppCo,
    AppSh,
    Delete,
    InitAck,
    Item,
    Nothing,
    Objection,
    Req1,
    Req2,
    Request,
    Reset,
    Rsp1,
    Rsp2,
)
from .parameters import MobileCausalParameters
from .resend import Resender
from .stream import CELL, CellStream, Key

NOBODY = 1 << 62  # above every number

REQUESTING = (State.REQ, State.REQJ)


class Handover:
    def __init__(
        self, port: StationPort, wired: WiredPort, parameters: MobileCausalParameters, stations: int, check: bool = True
    ) -> None:
        self._port = port
        self._wired = wired
        self._p = parameters
        self._n = stations
        self._check = check
        self.ctx: dict[int, Context] = {}
        self._k = 0  # counter of requests and cookies
        self._floor_of: int | None = None  # the host that holds back the oldest message
        self._skipping: dict[int, Context] = {}  # the contexts with a skip set
        self._rbuf_total = 0
        self._resender: Resender[Key] = Resender(port, parameters, self._make_copy, self._transmit)
        self._stream = CellStream(port, parameters, self._resender, self._delivered_elsewhere)

    @property
    def next_number(self) -> int:
        """seq_C, for measuring and checks."""
        return self._stream.next_number

    # --- what is kept for whom

    def _delivered_elsewhere(self, number: int) -> tuple[int, ...]:
        """M_d of a message."""
        if not self._skipping:
            return ()
        return tuple(sorted(host for host, c in self._skipping.items() if number in c.skip))

    def _wanted_from(self) -> int:
        """The oldest number needed by a host that is connected and not silent."""
        now, silent_ns = self._port.now, self._p.silent_after_s * 1e9
        lowest = NOBODY
        for c in self.ctx.values():
            low = c.nxt if c.nxt > c.base else c.base
            if low < lowest and now - c.heard_ns <= silent_ns and c.state is State.OWN and not c.expired:
                lowest = low
        return lowest

    def _collect(self) -> None:
        """gc(): forget what no context holds back any more."""
        floor, self._floor_of = NOBODY, None
        for host, c in self.ctx.items():
            low = c.low
            if low is not None and low < floor:
                floor, self._floor_of = low, host
        self._stream.trim(floor)
        stream = self._stream
        assert not self._check or stream.oldest <= floor
        assert not self._check or stream.oldest + len(stream.sbuf) == stream.next_number

    def _advance(self, c: Context, position: int) -> None:
        """h has delivered everything below `position`."""
        if position <= c.nxt:
            return
        for number in range(c.nxt, min(position, c.base)):
            if c.rec.pop(number, None) is not None:
                self._resender.forget((number, c.host))
        if c.skip:
            c.skip.difference_update([q for q in c.skip if q < position])
            self._index_skip(c)
        c.nxt = position
        if self._floor_of == c.host:
            self._collect()

    def _index_skip(self, c: Context) -> None:
        if c.skip:
            self._skipping[c.host] = c
        else:
            self._skipping.pop(c.host, None)

    def _forget_lists(self, c: Context) -> None:
        """No recovery messages, no skip set."""
        for number in c.rec:
            self._resender.forget((number, c.host))
        c.rec.clear()
        c.skip.clear()
        self._index_skip(c)

    def _clear_rbuf(self, c: Context) -> None:
        self._rbuf_total -= len(c.rbuf)
        c.rbuf.clear()

    def _delete(self, c: Context) -> None:
        self._forget_lists(c)
        self._clear_rbuf(c)
        del self.ctx[c.host]
        self._collect()

    def _drop(self, c: Context) -> None:
        """Delete it; whoever waits for it learns that nothing is here."""
        for request in c.pend:
            self._wired.send(request.source, Nothing(c.host, request.rq))
        self._delete(c)

    # --- requester

    def _request(self, state: State, host: int, ses: int, seq_h: int, lc: int, nxt: int) -> None:
        """A context that waits, pins the stream from here on, and asks all stations."""
        self._k += 1
        rq = Request(ses, self._k)
        c = Context(host, state, ses, rq, pin=self._stream.oldest, seq_h=seq_h, heard_ns=self._port.now)
        self.ctx[host] = c
        self._collect()
        self._wired.broadcast(Req1(host, rq, lc, nxt, state is State.REQJ, self._port.me))
        if self._n == 1:
            self._all_answered(c)

    def _waiting(self, host: int, rq: Request, states: tuple[State, ...]) -> Context | None:
        """The context to which an answer belongs, if it still waits for this very one."""
        c = self.ctx.get(host)
        return c if c is not None and c.state in states and c.rq == rq else None

    def _on_nothing(self, source: int, m: Nothing) -> None:
        c = self._waiting(m.host, m.rq, REQUESTING)
        if c is not None:
            c.answers.add(source)
            if len(c.answers) == self._n - 1:
                self._all_answered(c)

    def _all_answered(self, c: Context) -> None:
        if c.state is State.REQJ:
            self._join_done(c)
        else:  # nobody owns h, or this request is superseded
            self._port.send(c.host, Reset(c.host, c.ses))
            self._drop(c)

    def _join_done(self, c: Context) -> None:
        """Start at the next number: everything older on the wire arrived before the last answer."""
        c.base = c.nxt = self._stream.next_number
        self._become_owner(c)

    def _on_objection(self, source: int, m: Objection) -> None:
        c = self._waiting(m.host, m.rq, REQUESTING)
        if c is not None:
            self._drop(c)

    def _on_rsp1(self, source: int, m: Rsp1) -> None:
        """upon reception of Rsp_1                                       Algorithm 4 l.69-76"""
        c = self._waiting(m.host, m.rq, (State.REQ,))
        if c is None:
            return
        c.state, c.peer, c.seq_h, c.gap = State.FETCH, source, m.seq_h, m.gap
        c.undelivered = frozenset(m.undelivered)
        c.bound = self._stream.next_number
        if m.expired:
            c.pin = c.bound
            self._collect()
        here = {item.id for item in self._stream.sbuf.values()}
        self._wired.send(source, Req2(c.host, c.rq, tuple(mid for mid in m.undelivered if mid not in here)))

    def _on_rsp2(self, source: int, m: Rsp2) -> None:
        """upon reception of Rsp_2                                       Algorithm 4 l.85-96"""
        c = self._waiting(m.host, m.rq, (State.FETCH,))
        if c is None:
            return
        c.base = c.pin
        c.nxt = c.base - len(m.bodies)
        c.rec = dict(enumerate(m.bodies, c.nxt))
        c.skip = self._skip_set(c, m)
        self._index_skip(c)
        c.ses = c.rq.ses
        assert not self._check or all(c.base <= q < self._stream.next_number for q in c.skip)
        self._become_owner(c)

    def _skip_set(self, c: Context, m: Rsp2) -> set[int]:
        """What the giver had at Rsp1 and did not announce as undelivered, h has delivered."""
        undelivered = c.undelivered.union(m.new_ids)
        sbuf = self._stream.sbuf
        return {q for q, item in sbuf.items() if c.base <= q < c.bound and item.id not in undelivered}

    def _become_owner(self, c: Context) -> None:
        c.state = State.OWN
        self._collect()
        if not c.pend:
            self._send_init_ack(c)
            return
        requests = sorted(c.pend, key=lambda request: request.rq)  # the host is elsewhere
        c.pend = []
        for request in requests[:-1]:
            self._wired.send(request.source, Objection(c.host, request.rq))
        self._grant(c, requests[-1])

    # --- owner, and those who are not

    def _on_req1(self, source: int, m: Req1) -> None:
        """upon reception of Req_1                                       Algorithm 4 l.54-61"""
        c = self.ctx.get(m.host)
        if m.join:
            self._forget_cookie(m.host, m.rq.ses)
            if c is not None and c.ses < m.rq.ses:
                self._drop(c)
                c = None
        if c is None or c.state is State.REL:
            self._wired.send(m.source, Nothing(m.host, m.rq))
        elif c.state is State.OWN:
            self._asked_while_owner(c, m)
        else:
            self._asked_while_waiting(c, m)

    def _asked_while_owner(self, c: Context, m: Req1) -> None:
        if m.rq.ses > c.ses:
            self._grant(c, m)
        else:
            self._wired.send(m.source, Objection(m.host, m.rq))

    def _asked_while_waiting(self, c: Context, m: Req1) -> None:
        if m.rq.ses > c.ses:
            c.pend.append(m)
        elif m.join:
            self._wired.send(m.source, Objection(m.host, m.rq))
        else:
            self._wired.send(m.source, Nothing(m.host, m.rq))

    def _grant(self, c: Context, request: Req1) -> None:
        """Answer with Rsp_1; from here on h's own messages, acks and init are ignored    Algorithm 4 l.62-68"""
        assert not self._check or request.lc <= c.ses
        if self._number_is_ours(c, request.lc):
            self._advance(c, request.nxt)
        undelivered = () if c.expired else self._undelivered(c)
        c.state, c.peer, c.grq, c.bound = State.REL, request.source, request.rq, self._stream.next_number
        self._clear_rbuf(c)
        answer = Rsp1(c.host, request.rq, undelivered, c.seq_h, c.gap or c.expired, c.expired)
        self._wired.send(request.source, answer)

    def _number_is_ours(self, c: Context, lc: int) -> bool:
        """Whether a position told with `lc` counts in this station's numbers."""
        return lc == c.ses

    def _undelivered(self, c: Context) -> tuple[MessageId, ...]:
        """m_nd: what h has not delivered, in an order that it may be delivered in."""
        position = max(c.nxt, c.base)
        stream = [item.id for q, item in self._stream.sbuf.items() if q >= position and q not in c.skip]
        return (*(item.id for item in c.rec.values()), *stream)

    def _on_req2(self, source: int, m: Req2) -> None:
        """upon reception of Req_2                                       Algorithm 4 l.77-84"""
        c = self.ctx.get(m.host)
        if c is None or c.state is not State.REL or c.grq != m.rq or c.peer != source:
            return
        wanted, sbuf = set(m.wanted), self._stream.sbuf
        bodies = [item for lane in (c.rec, sbuf) for item in lane.values() if item.id in wanted]
        assert not self._check or len(bodies) == len(m.wanted)
        self._wired.send(source, Rsp2(c.host, m.rq, tuple(bodies), self._received_since_rsp1(c)))
        self._delete(c)

    def _received_since_rsp1(self, c: Context) -> tuple[MessageId, ...]:
        return tuple(item.id for q, item in self._stream.sbuf.items() if q >= c.bound)

    def _on_delete(self, source: int, m: Delete) -> None:
        """upon reception of Delete                                      Algorithm 4 l.97-103"""
        self._forget_cookie(m.host, m.ses)
        c = self.ctx.get(m.host)
        if c is not None and c.ses < m.ses:
            self._drop(c)

    def _forget_cookie(self, host: int, below_ses: int) -> None:
        raise NotImplementedError

    # --- telling the host

    def _send_init_ack(self, c: Context) -> None:
        """init_ACK, then what remains of the recovery messages, each by its own timer"""
        skip = tuple(sorted(c.skip))
        base = max(c.base, c.nxt)
        self._port.send(c.host, InitAck(c.host, c.ses, c.nxt, base, skip, c.seq_h, c.gap))
        for number in c.rec:
            self._resender.begin((number, c.host))

    # --- the radio

    def _make_copy(self, key: Key) -> AppSh | AppCo | None:
        """What is resent, unless only silent hosts, or hosts on their way elsewhere, still need it."""
        number, host = key
        if host == CELL:
            return self._stream.copy(number) if number >= self._wanted_from() else None
        c = self.ctx[host]
        if c.state is not State.OWN or self._port.now - c.heard_ns > self._p.silent_after_s * 1e9:
            return None
        item: Item = c.rec[number]
        return AppCo(host, c.ses, number, item.id, item.body)

    def _transmit(self, message: AppSh | AppCo) -> None:
        if isinstance(message, AppSh):
            self._port.broadcast(message)
        else:
            self._port.send(message.host, message)

    def on_sent(self, message: Any) -> None:
        if type(message) is AppSh:
            self._resender.done((message.number, CELL), message)
        elif type(message) is AppCo:
            self._resender.done((message.number, message.host), message)

    def on_dropped(self, message: Any) -> None:
        self.on_sent(message)
