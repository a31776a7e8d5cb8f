"""Handover: which station owns a host, and how the ownership moves.

Source      Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks (2020),
            Algorithm 4 lines 54-103 and section IV.D; the repaired rules: docs/protocols/mobile-causal.md
Names       Req_1 Rsp_1 Req_2 Rsp_2 Delete as in the paper; Nothing and Objection are answers that the paper lacks; see
            context.py
Assumes     a causal backbone: what was sent or delivered at the sender of x before x is delivered before x, for
            broadcasts and unicasts together. A FIFO tree is causal if its nodes forward a message before they handle
            it, and if control messages use the same links
Invariant   there is one token for each host: its OWN context, or the pair REL -> FETCH while the token moves (I3).
            Only OWN grants a request or objects to an init
Deviations  F1b  A4:65,81    `seq > seqC` drops the message whose number is "next". Here it is >= everywhere
            F3b  A4:62,73,88 the paper takes the HOST's number as the boundary of the skip set. A message that reached
                             the new station between Rsp1 and Rsp2 is then marked as delivered, and is lost. Here the
                             boundary is the station's own counter at Rsp1, at both stations
            F3c  A4:81       the second list of Rsp2 looks redundant, but is needed: a message that reached the new
                             station after Req1 and the old one after Rsp1 is not in the first list, and would be lost
            F5   A4:91-96    in print, init_ACK waits until the recovery messages are acknowledged. Here it comes first
            F6   A4:62       the paper uses the number in Req1 before A4:63 checks which station it belongs to. Here it
                             is used only if LC = ses
            F9a  A4:55       the paper drops a request that reaches a station which is not ready, and the host hangs.
                             Here the request is kept in pend
            F9b  A4:56-57    the paper has one slot for requests. The station of a replaced request keeps its structure
                             forever. Here all requests are kept; the owner grants the highest and objects to the others
            F9c  A4:58-60    in print, a station that is not the owner deletes a requester to which the token is already
                             on its way. Here only the owner objects to init requests
            F9d  A4:99       Delete names a session, and the test is strict, so that a stale requester never goes away.
                             Here an objection names the exact request
            F9e  -           two requesters wait for each other if no station owns the host. Here the one with the lower
                             session receives Nothing at once
            F10  A4:54,69    a session does not identify a request: a late init after a leave creates the requester
                             again, the old Rsp1 fits, and the requester waits forever. Here the identity is (Ses,
                             station counter)
            F12b A2:35       in print, a join starts at minSeq(), the oldest stored message, which the host may have
                             delivered in an earlier life. Here it starts at the next number
            F12c A2:35       the paper answers a join at once, while messages that the host delivered in an earlier life
                             may still be on their way to this station. Here n-1 stations answer first
            F16  A4:70-71,78-79,86-87,103
                             in print, a station relays a message for another station without returning before the code
                             that follows, and repeats Delete. Here the backbone does both
            F17  A2:31-38    in one reading of A2:36, a station that knows the host already does not send Delete. Here a
                             join asks all stations, and each drops its state of older sessions
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..port import StationPort, WiredPort
from .context import Context, Contexts, State
from .cookies import Cookies
from .messages import Delete, InitAck, Nothing, Objection, Req1, Req2, Request, Reset, Rsp1, Rsp2
from .stream import CellStream

REQUESTING = (State.REQ, State.REQJ)


class Handover:
    """The part of a station that handles handovers. `numbers` generates the numbers of its requests and cookies."""

    def __init__(
        self, port: StationPort, send: Callable[[int, Any], None], wired: WiredPort, contexts: Contexts,
        stream: CellStream, cookies: Cookies,
        numbers: Iterator[int], stations: int, check: bool,
    ) -> None:  # fmt: skip
        self._port = port
        self._send = send
        self._wired = wired
        self._contexts = contexts
        self._stream = stream
        self._cookies = cookies
        self._numbers = numbers
        self._n = stations
        self._check = check

    # --- the requester

    def request(self, state: State, host: int, ses: int, seq_h: int, lc: int, nxt: int) -> None:
        """Create a waiting context and request a handover from all stations. The stream is kept from now on."""
        rq = Request(ses, next(self._numbers))  # F10
        c = Context(
            host, state, ses, rq, seq_h=seq_h, heard_ns=self._port.now,
            pin=self._stream.oldest,  # A2:32 (IV.D: all messages from now on are kept for h)
        )  # fmt: skip
        self._contexts[host] = c
        self._stream.collect()
        self._wired.broadcast(Req1(host, rq, lc, nxt, state is State.REQJ, self._port.me))  # A2:36, A2:38, F17
        if self._n == 1:  # F12c (otherwise a join waits for all answers)
            self._all_answered(c)

    def _waiting(self, host: int, rq: Request, *states: State) -> Context | None:
        """Return the context to which an answer belongs, if it is still waiting for this exact request."""
        c = self._contexts.get(host)
        return c if c is not None and c.state in states and c.rq == rq else None  # F10

    def on_nothing(self, source: int, m: Nothing) -> None:
        """upon reception of Nothing: `source` has no state of h (any more)"""
        c = self._waiting(m.host, m.rq, *REQUESTING)
        if c is not None:
            c.answers.add(source)
            if len(c.answers) == self._n - 1:
                self._all_answered(c)

    def _all_answered(self, c: Context) -> None:
        """Complete the request. All older messages on the wire arrived before the last answer."""
        if c.state is State.REQJ:
            c.base = c.nxt = self._stream.next_number  # A2:35, F12b
            self._become_owner(c)
        else:  # no station owns h, or this request was superseded
            self._send(c.host, Reset(c.host, c.ses))  # F15
            self.drop(c)

    def on_objection(self, source: int, m: Objection) -> None:
        """upon reception of Objection: h is elsewhere with a higher session"""
        c = self._waiting(m.host, m.rq, *REQUESTING)  # A4:99, F9d
        if c is not None:
            self.drop(c)  # A4:102

    def on_rsp1(self, source: int, m: Rsp1) -> None:
        """upon reception of Rsp_1                                       A4:69-76"""
        c = self._waiting(m.host, m.rq, State.REQ)
        if c is None:
            return
        c.state, c.peer, c.seq_h = State.FETCH, source, m.seq_h  # A4:72
        c.gap = m.gap  # F15
        c.undelivered = frozenset(m.undelivered)  # A4:74
        c.bound = self._stream.next_number  # A4:73, F3b
        if m.expired:  # F15
            c.pin = c.bound
            self._stream.collect()
        here = {item.id for item in self._stream.sbuf.values()}
        wanted_ids = tuple(mid for mid in m.undelivered if mid not in here)  # A4:75
        self._wired.send(source, Req2(c.host, c.rq, wanted_ids))  # A4:76

    def on_rsp2(self, source: int, m: Rsp2) -> None:
        """upon reception of Rsp_2                                       A4:85-96"""
        c = self._waiting(m.host, m.rq, State.FETCH)
        if c is None:
            return
        c.base = c.pin
        c.nxt = c.base - len(m.bodies)  # F5
        c.rec = dict(enumerate(m.bodies, c.nxt))
        undelivered = c.undelivered.union(m.new_ids)  # A4:88, F3c
        c.skip = {
            q for q, item in self._stream.sbuf.items()
            if c.base <= q < c.bound and item.id not in undelivered  # A4:88, A4:89, F3b
        }  # fmt: skip
        self._contexts.index_skip(c)
        c.ses = c.rq.ses
        assert not self._check or all(c.base <= q < self._stream.next_number for q in c.skip)  # I6
        self._become_owner(c)

    def _become_owner(self, c: Context) -> None:
        c.state = State.OWN  # A2:34, A4:90
        self._stream.collect()
        if not c.pend:  # A4:92
            self.send_init_ack(c)
            return
        requests = sorted(c.pend, key=lambda request: request.rq)  # F9b
        c.pend = []
        for request in requests[:-1]:
            self._wired.send(request.source, Objection(c.host, request.rq))  # F9b
        self._grant(c, requests[-1])  # A4:93 (no init_ACK: the host is elsewhere)

    # --- the owner, and the others

    def on_req1(self, source: int, m: Req1) -> None:
        """upon reception of Req_1                                       A4:54-68"""
        c = self._contexts.get(m.host)
        if m.join:
            self._cookies.forget(m.host, m.rq.ses)  # F11
            if c is not None and c.ses < m.rq.ses:  # A4:99, F17
                self.drop(c)
                c = None
        if c is None or c.state is State.REL:
            self._wired.send(m.source, Nothing(m.host, m.rq))
        elif c.state is State.OWN:
            if m.rq.ses > c.ses:  # A4:55
                self._grant(c, m)
            else:
                self._wired.send(m.source, Objection(m.host, m.rq))  # A4:59, A4:60, F9d
        elif m.rq.ses > c.ses:
            c.pend.append(m)  # A4:57, F9a, F9b
        elif m.join:
            self._wired.send(m.source, Objection(m.host, m.rq))  # A4:59, A4:60
        else:
            self._wired.send(m.source, Nothing(m.host, m.rq))  # F9c, F9e

    def _grant(self, c: Context, request: Req1) -> None:
        """Answer with Rsp_1, and from now on ignore h's own messages, acks and init               A4:62-68"""
        assert not self._check or request.lc <= c.ses  # I1
        if request.lc == c.ses:  # A4:63, F6
            self._stream.advance(c, request.nxt)  # A4:62
        position, sbuf = max(c.nxt, c.base), self._stream.sbuf
        undelivered = (
            *(item.id for item in c.rec.values()),
            *(item.id for q, item in sbuf.items() if q >= position and q not in c.skip),  # A4:64, A4:65, A4:67, F1b
        )
        if c.expired:  # F15
            undelivered = ()
        c.state, c.peer, c.grq = State.REL, request.source, request.rq
        c.bound = self._stream.next_number  # A4:62, F3b
        self._contexts.clear_rbuf(c)
        answer = Rsp1(c.host, request.rq, undelivered, c.seq_h, c.gap or c.expired, c.expired)
        self._wired.send(request.source, answer)  # A4:68

    def on_req2(self, source: int, m: Req2) -> None:
        """upon reception of Req_2                                       A4:77-84"""
        c = self._contexts.get(m.host)
        if c is None or c.state is not State.REL or c.grq != m.rq or c.peer != source:
            return
        wanted_ids, sbuf = set(m.wanted), self._stream.sbuf
        bodies = tuple(item for lane in (c.rec, sbuf) for item in lane.values() if item.id in wanted_ids)  # A4:80
        assert not self._check or len(bodies) == len(m.wanted)  # I2
        new_ids = tuple(item.id for q, item in sbuf.items() if q >= c.bound)  # A4:81, F1b, F3b, F3c
        self._wired.send(source, Rsp2(c.host, m.rq, bodies, new_ids))  # A4:84
        self._stream.delete(c)  # A4:82, A4:83

    def on_delete(self, source: int, m: Delete) -> None:
        """upon reception of Delete                                      A4:97-103"""
        self._cookies.forget(m.host, m.ses)  # F11
        c = self._contexts.get(m.host)
        if c is not None and c.ses < m.ses:  # A4:98, A4:99
            self.drop(c)

    def drop(self, c: Context) -> None:
        """Delete a context, and answer Nothing to the stations that are waiting for it."""
        for request in c.pend:  # A4:100, F9b
            self._wired.send(request.source, Nothing(c.host, request.rq))  # A4:101
        self._stream.delete(c)  # A2:41, A4:102

    # --- notifying the host

    def send_init_ack(self, c: Context) -> None:
        """Send init_ACK, and then the recovery messages that the host still needs."""
        skip = tuple(sorted(c.skip))  # F3a
        base = max(c.base, c.nxt)
        init_ack = InitAck(c.host, c.ses, c.nxt, base, skip, c.seq_h, c.gap)  # F15 (gap: until it is confirmed)
        self._send(c.host, init_ack)  # A2:17, A2:30, A2:35, A4:95, A4:96, F5
        self._stream.begin_recovery(c)  # A4:91
