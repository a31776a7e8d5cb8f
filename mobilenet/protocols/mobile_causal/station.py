"""A station: it accepts its hosts' messages, numbers all messages for its cell, and handles joins, moves and leaves.

Source      Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks (2020),
            Algorithms 2 and 3, and Algorithm 4 lines 51-53; the repaired rules: docs/protocols/mobile-causal.md
Names       see context.py. The parts of a station, each of which uses only the earlier ones: contexts (context.py), the
            cell's stream (stream.py), cookies (cookies.py), the wired half of a handoff (handover.py)
Assumes     stations do not crash; the backbone of handover.py
Deviations  F4a  A2:2      in print, the old station accepts App_hs after Rsp1, and both stations disseminate the
                           message. Here it is accepted in OWN only
            F4b  A2:32     in print, a new structure has seq_h = 0 and accepts App_hs at once. A message that another
                           station accepted, and whose ack was lost, is disseminated twice. Here as F4a
            F5   A2:13-17,27-30
                           in print, init_ACK follows the recovery messages: see host.py. Here it comes first
                           (handover.py)
            F6   A2:26-28  the paper uses a number outside the test of LC in A2:22 (as far as the indentation shows),
                           although it may belong to another station. Here only if it came with this context's session
            F7   A2:20     in print, init at a station that is handing over finds a "locked" structure and is
                           acknowledged. The structure then goes, and the host hangs. Here init is ignored until the
                           token is gone, and the host repeats it
            F11  A2:31-36  the paper answers every join: see cookies.py. Here only a join that carries the cookie
            F12b A2:32,35  in print, a join starts at minSeq(), the oldest stored message, and a host that leaves and
                           returns delivers it again. Here it starts at the next number, after all answers (handover.py)
            F13a A2:40     the paper answers leave only if the host is registered. If the first answer is lost, the host
                           can never leave. Here leave is always answered
            F13b A2:42     Delete carries the current session, and the test is strict, so that the owner elsewhere
                           stays. Here leave has a fresh session
            F15  IV.E      the paper forgets everything after T, and a message that was disseminated but not
                           acknowledged comes again with the host. Here a stub (ses, seq_h) remains, the old session is
                           answered
                           with reinit, and the host's application gets Gap()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from mobilenet.engine.clock import ns

from ..port import MessageId, StationPort, WiredPort, timer_name
from .context import Context, Contexts, State
from .cookies import Cookies, Numbers
from .handover import Handover
from .messages import (
    ACKS_PER_FRAME,
    NO_SESSION,
    AckC,
    AckH,
    App,
    AppHs,
    Delete,
    Have,
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
from .parameters import LOOKS, MobileCausalParameters
from .stream import CellStream


class Station:
    BUFFERS: ClassVar[tuple[str, ...]] = ("sbuffer", "rbuffer")

    def __init__(
        self, port: StationPort, wired: WiredPort, parameters: MobileCausalParameters, stations: int, check: bool = True
    ) -> None:
        self._port = port
        self._send = self._send_of(port)
        self._wired = wired
        self._p = parameters
        self._check = check
        self._expiry_s = parameters.expiry_s  # F15 (T; None: never)
        numbers = Numbers()
        self.ctx = Contexts()
        self._stream = self._new_stream(check)
        self._cookies = Cookies(port, self._send, parameters, numbers)
        self._handover = Handover(
            port, self._send, wired, self.ctx, self._stream, self._cookies, numbers, stations, check
        )
        self._ack_timer = port.timer(self._on_ack_timer)
        self._expiry_timer = port.timer(self._on_expiry_timer)
        if self._expiry_s is not None:
            self._expiry_timer.start(ns(self._expiry_s / LOOKS))
        self._from_host: dict[type, Callable[[Any], None]] = {
            AppHs: self._on_app_hs,  # A2:2
            AckH: self._on_ack_h,  # A2:9
            Join: self._on_join,  # A2:18
            Init: self._on_init,  # A2:18
            Leave: self._on_leave,  # A2:39
        }
        handover = self._handover
        self._from_station: dict[type, Callable[[int, Any], None]] = {
            App: self._on_app,  # A4:52
            Req1: handover.on_req1,  # A4:54
            Nothing: handover.on_nothing,  # F9c, F9e
            Objection: handover.on_objection,  # F9d
            Rsp1: handover.on_rsp1,  # A4:69
            Req2: handover.on_req2,  # A4:77
            Rsp2: handover.on_rsp2,  # A4:85
            Delete: handover.on_delete,  # A4:97
        }

    def _send_of(self, port: StationPort) -> Callable[[int, Any], None]:
        """Return the function that sends a message to one host."""
        return port.send

    def _new_stream(self, check: bool) -> CellStream:
        return CellStream(self._port, self._send, self._p, self.ctx, check)

    @property
    def next_number(self) -> int:
        """The number of the next message of the stream (seq_C), for measuring and checks."""
        return self._stream.next_number

    def buffer_sizes(self) -> tuple[int, ...]:
        return len(self._stream.sbuf), self.ctx.rbuf_total

    def settled(self) -> bool:
        """Return whether no join and no handoff is in progress here."""
        return all(c.state is State.OWN for c in self.ctx.values())

    def serves(self, host: int) -> bool:
        """Return whether this station owns the host, has not given up on it and has sent it all recovery messages."""
        c = self.ctx.get(host)
        return c is not None and c.state is State.OWN and not c.rec and not c.expired

    def context_of(self, host: int) -> Context | None:
        """Return the context of a host, for display."""
        return self.ctx.get(host)

    # --- from hosts

    def on_receive(self, sender: int, message: Any) -> None:
        """upon reception of m from h_i                                  A2:1-43"""
        c = self.ctx.get(sender)
        if c is not None:
            c.heard_ns = self._port.now
        self._from_host[type(message)](message)  # A2:1

    def _on_app_hs(self, m: AppHs) -> None:
        """Handle App_hs, which only the owner accepts (A2:2-8, A2:44-47)."""
        c = self.ctx.get(m.host)
        if c is None or c.state is not State.OWN:  # F4a, F4b
            return
        is_new = m.seq >= c.seq_h
        if c.seq_h <= m.seq < c.seq_h + self._p.window and m.seq not in c.rbuf:  # A2:3, A2:7
            c.rbuf[m.seq] = m.body  # A2:8
            self.ctx.rbuf_total += 1
            while (body := c.rbuf.pop(c.seq_h, None)) is not None:  # A2:6
                self.ctx.rbuf_total -= 1
                item = Item(MessageId(c.host, c.seq_h), body)
                c.seq_h += 1  # A2:5
                self._wired.broadcast(App(item.id, item.body))  # A2:4, A2:46
                self._stream.append(item, from_wire=False)  # A2:4, A2:44-47
        self._start_ack_timer(is_new)  # also after a duplicate, because the earlier ack was lost

    def _start_ack_timer(self, is_new: bool) -> None:
        if not self._ack_timer.running:
            self._ack_timer.start(ns(self._port.uniform(self._p.ack_min_s, self._p.ack_max_s)))  # A3:50

    def _on_ack_h(self, m: AckH | Have) -> None:
        """Handle ack_h: the host has received all messages up to a number (A2:9-17)."""
        c = self.ctx.get(m.host)
        if c is None:  # harmless if the ack is stale: the host ignores an answer to another session
            self._send(m.host, Reinit(m.host, m.ses))  # F15 (the stub is gone)
        elif m.ses == c.ses and c.state is State.OWN:  # A2:10
            if c.expired:
                self._send(m.host, Reinit(m.host, m.ses))  # F15 (expired)
            else:
                c.gap = False  # F15 (the session that announced it is confirmed)
                self._stream.advance(c, m.nxt)  # A2:11-14

    def _on_join(self, m: Join) -> None:
        """Handle join: a host wants to become a member (A2:18-36)."""
        c = self.ctx.get(m.host)
        if c is not None and m.ses <= c.ses:  # A2:19
            if m.ses == c.ses and c.state is State.OWN:
                self._handover.send_init_ack(c)  # A2:30
        elif self._cookies.admits(m):  # F11
            if c is not None:
                self._handover.drop(c)
            self._handover.request(State.REQJ, m.host, m.ses, m.first_seq, lc=NO_SESSION, nxt=0)  # A2:31-36, F12c

    def _on_init(self, m: Init) -> None:
        """Handle init: a host has entered this cell (A2:18-38)."""
        c = self.ctx.get(m.host)
        if c is None:
            self._handover.request(State.REQ, m.host, m.ses, 0, m.lc, m.nxt)  # A2:31, A2:32, A2:37, A2:38
        elif m.ses < c.ses or c.state is not State.OWN:  # A2:20, F7
            pass  # The token is on its way, in one direction or the other; the host repeats its init.
        elif m.ses > c.ses:  # A2:21
            self._new_session(c, m)
        elif c.expired:  # a session cannot be confirmed twice with different contents
            self._send(m.host, Reinit(m.host, m.ses))  # F15 (same session)
        else:
            self._handover.send_init_ack(c)  # A2:30

    def _new_session(self, c: Context, m: Init) -> None:
        """Continue to serve an owned host under a new session (A2:21-30)."""
        assert not self._check or m.lc <= c.ses  # I1
        if c.expired:  # F15 (a new session begins at the next number, with a gap)
            c.expired, c.gap = False, True
            c.base = c.nxt = self._stream.next_number  # F15 (next number)
            self._stream.collect()
        elif m.lc == c.ses:  # A2:22, F6
            self._stream.advance(c, m.nxt)  # A2:23, A2:24
        c.ses = m.ses  # A2:25
        self.ctx.clear_rbuf(c)
        self._handover.send_init_ack(c)  # A2:30

    def _on_leave(self, m: Leave) -> None:
        """Handle leave, which is always answered (A2:39-43)."""
        c = self.ctx.get(m.host)  # F13a
        self._cookies.forget(m.host, m.ses)
        if c is not None and c.ses < m.ses:  # A2:40, F13b
            self._handover.drop(c)  # A2:41
        self._wired.broadcast(Delete(m.host, m.ses))  # A2:42
        self._send(m.host, LeaveAck(m.host, m.ses))  # A2:43

    # --- from stations

    def on_wired(self, source: int, message: Any) -> None:
        """upon reception of m from a station                            A4:51-103"""
        self._from_station[type(message)](source, message)  # A4:51

    def _on_app(self, source: int, m: App) -> None:
        """Handle App_ss, which the backbone has flooded (A4:52-53)."""
        self._stream.append(Item(m.id, m.body), from_wire=True)  # A4:53, F16

    # --- long failures: the T extension

    @timer_name("expiry")
    def _on_expiry_timer(self) -> None:
        """Check all hosts. The timer expires eight times in each T."""
        assert self._expiry_s is not None
        self._expiry_timer.start(ns(self._expiry_s / LOOKS))
        now, limit = self._port.now, ns(self._expiry_s)
        stub = self._p.stub_lifetime_s
        for c in list(self.ctx.values()):
            silent = now - c.heard_ns
            if c.state is State.OWN and not c.expired and silent >= limit:  # F15
                self._port.expired(c.host)  # F15 (the network is notified)
                self._expire(c)
            elif c.state is State.OWN and c.expired and stub is not None and silent >= limit + ns(stub):
                self._handover.drop(c)

    def _expire(self, c: Context) -> None:
        """Forget what h was to receive. Keep ses and seq_h, so that its messages are not disseminated again."""
        c.expired = True  # F15 (a stub)
        self._stream.forget_lists(c)
        self.ctx.clear_rbuf(c)
        self._stream.collect()

    # --- timers and the radio

    @timer_name("acknowledgement")
    def _on_ack_timer(self) -> None:
        """upon expiration of ackTimeout                                 A3:48-50"""
        owned = [(c.host, c.seq_h) for c in self.ctx.values() if c.state is State.OWN]  # A3:48
        for i in range(0, len(owned), ACKS_PER_FRAME):
            self._port.broadcast(AckC(dict(owned[i : i + ACKS_PER_FRAME])))  # A3:49

    def on_sent(self, message: Any) -> None:
        self._stream.on_sent(message, given_up=False)

    def on_dropped(self, message: Any) -> None:
        self._stream.on_sent(message, given_up=True)
