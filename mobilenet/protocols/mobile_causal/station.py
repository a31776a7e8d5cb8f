"""A station: takes its hosts' messages, numbers everything for its cell, and answers joins, moves and leaves.

Source      Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks (2020),
            Algorithms 2 and 3, and Algorithm 4 lines 52-53; the repaired rules are ours: DESIGN.md §3
Names       see context.py; the wired half of a handoff is handover.py, the cell's stream stream.py
Assumes     stations do not crash; the backbone of handover.py
Deviations  F4a l.2   the giver goes on accepting App_hs after Rsp1: the message is disseminated by both stations.
                      Accepted in OWN only
            F4b l.32  a new structure has seq_h = 0 and takes App_hs at once: a message accepted elsewhere, its ack
                      lost, is disseminated twice. As F4a
            F5  l.13  init_ACK after the recovery messages: see host.py. Here init_ACK first
            F6  l.62  a position counts only if it was told with this context's session
            F7  l.20  init at a station that is handing over finds a "locked" structure and is acknowledged, then the
                      structure goes: the host hangs. Ignored until the token is gone; the host repeats
            F11 l.32  a late join after a leave creates a structure for ever: a cookie first
            F12 l.29  join starts at the oldest stored message: a host that leaves and returns delivers it again.
                      It starts at the next number, after all answers
            F13 l.40  leave answered only if registered: with the first answer lost the host can never leave.
                      Always answered
            F14       the window limits resending per interval and is no send window (resend.py)
            F11 -     an older join never replaces the cookie of a newer one: a late copy could keep the newer one out
            I(x) -    x counts the stream and all recovery messages of a station together, and so do W and the backlog (resend.py)
            F15 IV.E  after T everything is forgotten: an unacknowledged but disseminated message comes again with the
                      host. Here a stub (ses, seq_h) remains, the old session is answered by reinit, and the host's
                      application hears Gap()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from ..port import MessageId, StationPort, WiredPort
from .context import Context, State
from .handover import Handover
from .messages import (
    ACKS_PER_FRAME,
    NO_SESSION,
    AckC,
    AckH,
    App,
    AppHs,
    Chal,
    Delete,
    Init,
    Item,
    Join,
    Leave,
    LeaveAck,
    Nothing,
    Objection,
    Reinit,
    Req1,
    Req2,
    Rsp1,
    Rsp2,
)
from .parameters import MobileCausalParameters
from .resend import ns


class Cookie(NamedTuple):
    ses: int
    k: int
    issued_ns: int


class Station(Handover):
    BUFFERS: ClassVar[tuple[str, ...]] = ("sbuffer", "rbuffer")

    def __init__(
        self, port: StationPort, wired: WiredPort, parameters: MobileCausalParameters, stations: int, check: bool = True
    ) -> None:
        super().__init__(port, wired, parameters, stations, check)
        self._cookies: dict[int, Cookie] = {}  # soft: may be forgotten at any time
        self._ack_timer = port.timer(self._on_ack_timer)
        self._expiry_timer = port.timer(self._on_expiry_timer)
        if parameters.expiry_s is not None:
            self._expiry_timer.start(ns(parameters.expiry_s / 8))
        self._from_host: dict[type, Callable[[Any], None]] = {
            AppHs: self._on_app_hs, AckH: self._on_ack_h, Join: self._on_join, Init: self._on_init, Leave: self._on_leave,
        }
        self._from_station: dict[type, Callable[[int, Any], None]] = {
            App: self._on_app, Req1: self._on_req1, Nothing: self._on_nothing, Objection: self._on_objection,
            Rsp1: self._on_rsp1, Req2: self._on_req2, Rsp2: self._on_rsp2, Delete: self._on_delete,
        }

    def buffer_sizes(self) -> tuple[int, ...]:
        return len(self._stream.sbuf), self._rbuf_total

    def settled(self) -> bool:
        """No join and no handoff is under way here."""
        return all(c.state is State.OWN for c in self.ctx.values())

    def serves(self, host: int) -> bool:
        """Nothing is left of what this host missed elsewhere, and nothing was given up that it does not know of yet."""
        c = self.ctx.get(host)
        return c is not None and c.state is State.OWN and not c.rec and not c.expired

    # --- from hosts

    def on_receive(self, sender: int, message: Any) -> None:
        """upon reception of m from h_i                                  Algorithm 2 l.1-43"""
        c = self.ctx.get(sender)
        if c is not None:
            c.heard_ns = self._port.now
        self._from_host[type(message)](message)

    def on_wired(self, source: int, message: Any) -> None:
        """upon reception of m from a station                            Algorithm 4 l.51-103"""
        self._from_station[type(message)](source, message)

    def _on_app_hs(self, m: AppHs) -> None:
        """App_hs: accepted by the owner only                            Algorithm 2 l.2-8"""
        c = self.ctx.get(m.host)
        if c is None or not self._accepts(c):
            return
        if c.seq_h <= m.seq < c.seq_h + self._p.window and m.seq not in c.rbuf:
            c.rbuf[m.seq] = m.body
            self._rbuf_total += 1
            self._fifo_disseminate(c)
        if not self._ack_timer.running:  # by a duplicate too: the ack was lost
            self._ack_timer.start(ns(self._port.uniform(self._p.ack_min_s, self._p.ack_max_s)))

    def _accepts(self, c: Context) -> bool:
        return c.state is State.OWN

    def _fifo_disseminate(self, c: Context) -> None:
        while (body := c.rbuf.pop(c.seq_h, None)) is not None:
            self._rbuf_total -= 1
            item = Item(MessageId(c.host, c.seq_h), body)
            c.seq_h += 1
            self._disseminate(item)

    def _disseminate(self, item: Item) -> None:
        """Disseminate()                                                 Algorithm 2 l.44-47"""
        self._wired.broadcast(App(item.id, item.body))
        self._receive_app(item, from_wire=False)

    def _receive_app(self, item: Item, from_wire: bool) -> None:
        self._stream.append(item, from_wire, keep=self._floor_of is not None)

    def _on_app(self, source: int, m: App) -> None:
        """App_ss                                                        Algorithm 4 l.52-53"""
        self._receive_app(Item(m.id, m.body), from_wire=True)

    def _on_ack_h(self, m: AckH) -> None:
        """ack_h                                                         Algorithm 2 l.9-17"""
        c = self.ctx.get(m.host)
        if c is None:
            self._on_ack_without_context(m)
        elif m.ses == c.ses and c.state is State.OWN:
            if c.expired:
                self._port.send(m.host, Reinit(m.host, m.ses))
            else:
                c.gap = False  # the session that announced it is confirmed
                self._advance(c, m.nxt)

    def _on_ack_without_context(self, m: AckH) -> None:
        """Harmless if the ack is stale: only its own session heeds it."""
        self._port.send(m.host, Reinit(m.host, m.ses))

    def _on_join(self, m: Join) -> None:
        """join                                                          Algorithm 2 l.18-36"""
        c = self.ctx.get(m.host)
        if c is not None and m.ses <= c.ses:
            if m.ses == c.ses and c.state is State.OWN:
                self._send_init_ack(c)
        elif self._cookie_is_good(m):
            if c is not None:
                self._drop(c)
            self._request(State.REQJ, m.host, m.ses, m.first_seq, lc=NO_SESSION, nxt=0)

    def _cookie_is_good(self, m: Join) -> bool:
        """Consume the cookie, or answer with it."""
        held = self._cookies.get(m.host)
        now = self._port.now
        if held is not None and now - held.issued_ns > ns(self._p.cookie_lifetime_s):
            held = None
        if held is None or held.ses < m.ses:
            self._k += 1
            held = Cookie(m.ses, self._k, now)
            self._cookies[m.host] = held
        elif held.ses == m.ses and held.k == m.cookie:
            del self._cookies[m.host]
            return True
        if held.ses == m.ses:
            self._port.send(m.host, Chal(m.host, m.ses, held.k))
        return False

    def _forget_cookie(self, host: int, below_ses: int) -> None:
        held = self._cookies.get(host)
        if held is not None and held.ses < below_ses:
            del self._cookies[host]

    def _on_init(self, m: Init) -> None:
        """init                                                          Algorithm 2 l.18-38"""
        c = self.ctx.get(m.host)
        if c is None:
            self._request(State.REQ, m.host, m.ses, 0, m.lc, m.nxt)
        elif m.ses >= c.ses and self._answers_init(c):
            if m.ses > c.ses:
                self._new_session_here(c, m)
            elif c.expired:
                self._init_again_after_expiry(c, m)
            else:
                self._send_init_ack(c)

    def _answers_init(self, c: Context) -> bool:
        """Not while the token is on its way, in either direction: the host repeats."""
        return c.state is State.OWN

    def _new_session_here(self, c: Context, m: Init) -> None:
        """The owner goes on serving its host under a new session."""
        assert not self._check or m.lc <= c.ses
        if c.expired:
            self._revive(c)
        elif self._number_is_ours(c, m.lc):
            self._advance(c, m.nxt)
        c.ses = m.ses
        self._clear_rbuf(c)
        self._send_init_ack(c)

    def _on_leave(self, m: Leave) -> None:
        """leave: always answered                                        Algorithm 2 l.39-43"""
        c = self.ctx.get(m.host)
        self._forget_cookie(m.host, m.ses)
        if c is not None and c.ses < m.ses:
            self._drop(c)
        self._wired.broadcast(Delete(m.host, m.ses))
        self._port.send(m.host, LeaveAck(m.host, m.ses))

    # --- long failures: the T extension

    def _on_expiry_timer(self) -> None:
        """Look at everybody eight times per T."""
        assert self._p.expiry_s is not None
        self._expiry_timer.start(ns(self._p.expiry_s / 8))
        now, limit = self._port.now, ns(self._p.expiry_s)
        stub = self._p.stub_lifetime_s
        for c in list(self.ctx.values()):
            silent = now - c.heard_ns
            if c.state is State.OWN and not c.expired and silent >= limit:
                self._port.expired(c.host)
                self._expire(c)
            elif c.state is State.OWN and c.expired and stub is not None and silent >= limit + ns(stub):
                self._drop(c)

    def _expire(self, c: Context) -> None:
        """Forget what h was promised; its session and seq_h stay, or its messages would be disseminated again."""
        c.expired = True
        self._forget_lists(c)
        self._clear_rbuf(c)
        self._collect()

    def _revive(self, c: Context) -> None:
        """A new session after expiry begins at the next number, with a gap."""
        c.expired, c.gap = False, True
        c.base = c.nxt = self._stream.next_number
        self._collect()

    def _init_again_after_expiry(self, c: Context, m: Init) -> None:
        """The same session cannot be confirmed twice with different contents."""
        self._port.send(m.host, Reinit(m.host, m.ses))

    # --- timers

    def _on_ack_timer(self) -> None:
        """upon expiration of ackTimeout                                 Algorithm 3 l.48-50"""
        owned = [(c.host, c.seq_h) for c in self.ctx.values() if c.state is State.OWN]
        for i in range(0, len(owned), ACKS_PER_FRAME):
            self._port.broadcast(AckC(dict(owned[i : i + ACKS_PER_FRAME])))
