"""A mobile host: broadcasts, delivers, and opens a new session wherever it arrives.

Source      Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks (2020),
            Algorithm 1 and section IV; the repaired rules are ours: DESIGN.md §3
Names       seq_h -> stable.seq_h, Ses -> stable.ses, Ses_LC -> stable.lc, seq_C -> stable.nxt (the number of the
            NEXT message to deliver, everywhere), SBuffer -> stable.sbuf, RBuffer -> _rbuf,
            state -> stable.status and _connected (the paper's estab), id_C -> _cell
Assumes     radio packets are lost, doubled, reordered and arbitrarily late, also from cells left behind; not corrupted.
            Stable survives crashes; what one statement group writes there is written atomically
Deviations  F1a l.35  ack_C sets the delivery counter from an acknowledgement of the host's OWN broadcasts: with nothing
                      delivered and one broadcast, the next message is skipped. Here ack_C trims SBuffer only
            F2a l.15  App_sh taken in any state: number 3 of the new cell is delivered at once though the host had it
                      from the old one. Here: only when connected, only from the own cell
            F2b l.17  RBuffer outlives a cell change, but numbers belong to a station: number 7 of the old cell is
                      delivered as number 7 of the new one. Cleared at each new session, filtered at init_ACK
            F3a l.20  M_d of each copy decides: a copy sent before the handoff ended has an empty M_d, waits in RBuffer
                      and is delivered a second time. Here the skip set comes with init_ACK
            F5  l.26  recovery messages numbered from 0 on, and a 4th state: a host that moves on after one of them asks
                      with "1", which the next station reads as its stream's number. Here recovery messages have the
                      numbers base-k..base-1, and a lane of their own in RBuffer
            F8  l.49  seq_C saved with acks: deliver, crash, recover, deliver again; Ses_LC saved apart from seq_C: one
                      station's session with another one's number. Here (LC, nxt) is one record, written at each delivery
            F12 l.1   join resets the counters: ids repeat and later messages pass for duplicates. Never reset
            F13 l.13  leave at once, with the session in use: own messages are lost or resent in the next life, and the
                      owner elsewhere, asked to forget sessions below its own, does not. Here: after SBuffer is empty,
                      with a fresh session, repeated until acknowledged
            F11 -     join carries a station's cookie: a late copy of a join must not create a context nobody removes
            l.48 -    a heartbeat beside the acknowledgement timer, begun anew by each acknowledgement: a host that receives
                      nothing would else never be told that it is forgotten. Its interval is drawn each time: with equal ones
                      two hosts that do not hear each other, once they collide, collide for ever, and one of them is taken
                      for silent
            F15 -     reinit and reset: what a station forgot after T is announced to the host, which gets Gap()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ..port import HostPort, MessageId
from .messages import (
    NO_SESSION,
    AckC,
    AckH,
    AppCo,
    AppHs,
    AppSh,
    Chal,
    Init,
    InitAck,
    Join,
    Leave,
    LeaveAck,
    Reinit,
    Reset,
)
from .parameters import MobileCausalParameters
from .rbuffer import RBuffer
from .resend import Resender, ns
from .stable import Stable, Status


class Host:
    BUFFERS: ClassVar[tuple[str, ...]] = ("sbuffer", "rbuffer")
    STABLE_BUFFERS: ClassVar[tuple[str, ...]] = ("sbuffer",)  # survive a crash

    def __init__(
        self, port: HostPort, stable: Stable, parameters: MobileCausalParameters, stations: int, check: bool = True
    ) -> None:
        """`stations`, their number, is of no interest to a host; nor has it assertions for `check`."""
        self._port = port
        self.stable = stable
        self._p = parameters
        self._recovering = stable.status is not Status.OUT  # until on_recover
        self._connected = False  # the paper's estab; False in status MEMBER: its init
        self._rbuf = RBuffer()
        self._cell: int | None = None
        self._session_station: int | None = None  # the station this session was opened with
        self._cookie: int | None = None
        self._want_leave = False
        self._control_timer = port.timer(self._on_control_timer)
        self._ack_timer = port.timer(self._send_ack)
        self._heartbeat_timer = port.timer(self._send_ack)
        self._resender: Resender[int] = Resender(port, parameters, self._make_app, self._to_cell)
        self._on: dict[type, Callable[[Any], None]] = {
            AppSh: self._on_app_sh, AppCo: self._on_app_co, AckC: self._on_ack_c, Chal: self._on_chal, InitAck: self._on_init_ack,
            LeaveAck: self._on_leave_ack, Reinit: self._on_reinit, Reset: self._on_reset,
        }

    def buffer_sizes(self) -> tuple[int, ...]:
        rbuf = self._rbuf
        return len(self.stable.sbuf), len(rbuf.stream) + len(rbuf.recovery)

    def settled(self) -> bool:
        """Out, or connected and not about to leave."""
        return self.is_out() or (self._connected and not self._want_leave)

    def is_out(self) -> bool:
        return self.stable.status is Status.OUT

    # --- the application

    def join(self) -> None:
        """Join()                                                        Algorithm 1 l.1-5"""
        if self.stable.status is Status.OUT:
            self.stable.status = Status.JOIN
            self.stable.lc = NO_SESSION
            self._new_session("join")

    def leave(self) -> bool:
        """Leave(). Refused before Joined()                              Algorithm 1 l.13"""
        if self.stable.status is Status.JOIN:
            return False
        if self.stable.status is Status.MEMBER:
            self._want_leave = True
            self._try_leave()
        return True

    def co_broadcast(self, body: int) -> MessageId | None:
        """CoBroadcast(m): stored now, sent now if connected             Algorithm 1 l.10-12"""
        stable = self.stable
        if stable.status is not Status.MEMBER or self._want_leave:
            return None
        seq = stable.seq_h
        stable.seq_h, stable.sbuf[seq] = seq + 1, body
        message = self._make_app(seq)
        if message is not None:
            self._resender.first(seq, message)
        elif self._connected:  # out of coverage: when it returns
            self._resender.soon(seq)
        return MessageId(self._port.me, seq)

    # --- where the host is

    def on_cell(self, station: int | None) -> None:
        """upon changing cell                                            Algorithm 1 l.6-9"""
        self._cell = station
        if station is None:
            self._control_timer.stop()
        elif self._recovering:
            pass  # on_recover follows
        elif self.stable.status is Status.LEAVING:
            self._send_control()
        elif self.stable.status is not Status.OUT:
            if station != self._session_station:
                self._new_session("cell")
            elif not self._connected:
                self._send_control()

    def on_recover(self) -> None:
        """upon recovery: what was volatile is gone                      section IV.E"""
        self._recovering = False
        if self.stable.status is Status.LEAVING:
            self._send_control()
        elif self.stable.status is not Status.OUT:
            self._new_session("recovery")

    # --- sessions

    def _new_session(self, cause: str) -> None:
        stable = self.stable
        stable.ses += 1
        self._connected = False
        self._session_station = self._cell
        self._cookie = None
        self._clear_rbuf()
        self._resender.clear()
        self._ack_timer.stop()
        self._heartbeat_timer.stop()
        opened_by = "join" if stable.status is Status.JOIN else cause
        self._port.session_opened(stable.ses, self._session_station, opened_by)
        self._send_control()

    def _clear_rbuf(self) -> None:
        self._rbuf.clear()

    def _control_message(self) -> Join | Init | Leave | None:
        """What this state repeats until it is answered."""
        stable, me = self.stable, self._port.me
        if stable.status is Status.JOIN:
            return Join(me, stable.ses, next(iter(stable.sbuf), stable.seq_h), self._cookie)
        if stable.status is Status.LEAVING:
            return Leave(me, stable.ses)
        if stable.status is Status.MEMBER and not self._connected:
            return Init(me, stable.ses, stable.lc, stable.nxt)
        return None

    def _send_control(self) -> None:
        message = self._control_message()
        if message is None or self._cell is None:
            return
        self._port.send(self._cell, message)
        jitter = self._port.uniform(self._p.resend_jitter_low, self._p.resend_jitter_high)
        self._control_timer.start(ns(self._p.control_interval_s * jitter))

    def _on_control_timer(self) -> None:
        self._send_control()

    def _try_leave(self) -> None:
        """Leave as soon as no own message is unacknowledged."""
        stable = self.stable
        if self._want_leave and stable.status is Status.MEMBER and self._may_leave():
            stable.status = Status.LEAVING
            stable.ses += 1
            self._clear_volatile()
            self._port.left(stable.ses)
            self._send_control()

    def _may_leave(self) -> bool:
        return not self.stable.sbuf

    def _clear_volatile(self) -> None:
        self._connected = False
        self._want_leave = False
        self._session_station = None
        self._rbuf.skip.clear()
        self._clear_rbuf()
        self._resender.clear()
        for timer in (self._ack_timer, self._heartbeat_timer, self._control_timer):
            timer.stop()

    # --- from stations

    def on_receive(self, sender: int, message: Any) -> None:
        """upon reception of m from a station                            Algorithm 1 l.14-47"""
        if sender == self._cell or type(message) is AckC:
            self._on[type(message)](message)

    def _on_app_sh(self, m: AppSh) -> None:
        """App_sh: the cell's stream                                     Algorithm 1 l.15-22"""
        if self._connected:
            if m.number >= self.stable.nxt and self._rbuf.wants(m.number):  # most copies are for others
                self._rbuf.stream[m.number] = m
                self._fifo_deliver()
            if not self._ack_timer.running:  # _arm_ack(), without its call
                self._arm_ack()
        elif self.stable.status is Status.MEMBER and len(self._rbuf.stream) < self._p.window:
            self._rbuf.stream[m.number] = m  # for init_ACK to judge

    def _on_app_co(self, m: AppCo) -> None:
        """App_Co: what the new station had discarded                    Algorithm 1 l.23-32"""
        if m.host != self._port.me or m.ses != self.stable.ses or self.stable.status is not Status.MEMBER:
            return
        if not self._connected:
            self._rbuf.recovery[m.number] = m
            return
        if self.stable.nxt <= m.number < self._rbuf.base:
            self._rbuf.recovery[m.number] = m
            self._fifo_deliver()
        self._arm_ack()

    def _fifo_deliver(self) -> None:
        """FIFODeliver(): everything that follows without a hole."""
        stable, rbuf = self.stable, self._rbuf
        while True:
            if rbuf.skip:
                stable.nxt = rbuf.after_skipped(stable.nxt)
            item = rbuf.take(stable.nxt)
            if item is None:
                return
            self._deliver(stable.nxt, item)

    def _deliver(self, number: int, item: AppSh | AppCo) -> None:
        """CoDeliver(m), atomically with the counter."""
        self.stable.nxt = number + 1
        self._port.deliver(item.id, item.body)

    def _on_chal(self, m: Chal) -> None:
        """chal: a join must prove that it is not a late copy."""
        if m.host == self._port.me and m.ses == self.stable.ses and self.stable.status is Status.JOIN:
            self._cookie = m.cookie
            self._send_control()

    def _on_init_ack(self, m: InitAck) -> None:
        """init_ACK: the session is confirmed                            Algorithm 1 l.36-44"""
        stable = self.stable
        if m.host != self._port.me or m.ses != stable.ses or self._connected:
            return
        if stable.status not in (Status.JOIN, Status.MEMBER):
            return
        joining = stable.status is Status.JOIN
        station = self._cell
        assert station is not None
        stable.status, stable.lc, stable.nxt = Status.MEMBER, m.ses, m.start
        self._rbuf.base, self._rbuf.skip = m.base, set(m.skip)
        self._connected = True
        self._control_timer.stop()
        detail = {"recovered": m.base - m.start, "skipped": len(m.skip)}
        self._port.session_confirmed(m.ses, station, detail)
        self._announce(joining, m.gap, station)
        self._acknowledged(m.seq_h)
        self._filter_rbuf()
        self._fifo_deliver()
        self._try_leave()
        if self._connected:
            self._send_ack()
            self._heartbeat_timer.start(ns(self._port.uniform(0, self._p.heartbeat_s)))
            for seq in stable.sbuf:
                self._resender.soon(seq)

    def _announce(self, joining: bool, gap: bool, station: int) -> None:
        """Joined() or Gap(), or nothing."""
        ses = self.stable.ses
        if joining and not self.stable.gap_on_join:
            self._port.joined(ses, station)
        elif joining or gap:
            self._port.gap(ses, station)
        self.stable.gap_on_join = False

    def _filter_rbuf(self) -> None:
        self._rbuf.keep_from(self.stable.nxt)

    def _on_ack_c(self, m: AckC) -> None:
        """ack_C, from any station in any state                          Algorithm 1 l.33-35"""
        below = m.seq_h.get(self._port.me)
        if below is not None and self.stable.sbuf:
            self._acknowledged(below)
            self._try_leave()

    def _acknowledged(self, below: int) -> None:
        sbuf = self.stable.sbuf
        while sbuf and (seq := next(iter(sbuf))) < below:
            del sbuf[seq]
            self._resender.forget(seq)

    def _on_leave_ack(self, m: LeaveAck) -> None:
        """leave_ACK                                                     Algorithm 1 l.45-47"""
        if m.host == self._port.me and m.ses == self.stable.ses and self.stable.status is Status.LEAVING:
            self.stable.status = Status.OUT
            self._clear_volatile()

    def _on_reinit(self, m: Reinit) -> None:
        """reinit: what this session was promised is gone."""
        if m.host == self._port.me and m.ses == self.stable.ses and self.stable.status is Status.MEMBER:
            self._new_session("reinit")

    def _on_reset(self, m: Reset) -> None:
        """reset: no station knows this host any more; its own pending messages are given up."""
        stable = self.stable
        if m.host != self._port.me or m.ses != stable.ses or stable.status is not Status.MEMBER or self._connected:
            return
        stable.sbuf.clear()
        stable.lc, stable.status, stable.gap_on_join = NO_SESSION, Status.JOIN, True
        assert self._cell is not None
        self._port.gap(stable.ses, self._cell)
        self._new_session("join")

    # --- timers and the radio

    def _arm_ack(self) -> None:
        if not self._ack_timer.running:
            self._ack_timer.start(ns(self._port.uniform(self._p.ack_min_s, self._p.ack_max_s)))

    def _send_ack(self) -> None:
        """upon expiration of ackTimeout                                 Algorithm 1 l.48-49"""
        self._ack_timer.stop()
        jitter = self._port.uniform(self._p.resend_jitter_low, self._p.resend_jitter_high)
        self._heartbeat_timer.start(ns(self._p.heartbeat_s * jitter))
        if self._connected and self._cell is not None and self._cell == self._session_station:
            self._port.send(self._cell, AckH(self._port.me, self.stable.ses, self.stable.nxt))

    def _make_app(self, seq: int) -> AppHs | None:
        """upon expiration of the timeout of a message                   Algorithm 1 l.50-52"""
        if not self._connected or self._cell is None or self._cell != self._session_station:
            return None
        return AppHs(self._port.me, seq, self.stable.sbuf[seq])

    def _to_cell(self, message: AppHs) -> None:
        assert self._cell is not None
        self._port.send(self._cell, message)

    def on_sent(self, message: Any) -> None:
        if type(message) is AppHs:
            self._resender.done(message.seq, message)

    def on_dropped(self, message: Any) -> None:
        self.on_sent(message)
