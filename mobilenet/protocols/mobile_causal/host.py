"""A mobile host: it broadcasts and delivers, and opens a new session in every cell that it enters.

Source      Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks (2020),
            Algorithm 1 and section IV; the repaired rules: docs/protocols/mobile-causal.md
Names       seq_h -> stable.seq_h, Ses -> stable.ses, Ses_LC -> stable.lc, seq_C -> stable.nxt (the number of the
            NEXT message to deliver, everywhere), SBuffer -> stable.sbuf, RBuffer -> _rbuf,
            state -> stable.status and _connected (the paper's estab), id_C -> _cell
Assumes     radio packets may be lost, duplicated, reordered and delayed for any time, and may come from earlier cells.
            They are not corrupted. Stable storage survives crashes, and one group of statements writes it atomically
Deviations  F1a  A1:35  the paper sets the delivery counter from ack_C, which acknowledges the host's OWN broadcasts. A
                        host that has delivered nothing and broadcast once then loses the next message. Here ack_C only
                        trims SBuffer
            F2a  A1:15  the paper accepts App_sh in any state. Number 3 of the new cell is then delivered at once,
                        although the host has already delivered that message in the old cell. Here the host accepts it
                        only when it is connected, and only from its own cell
            F2b  A1:17  in print, RBuffer survives a change of cell, although numbers belong to a station: number 7 of
                        the old cell is delivered as number 7 of the new one. Here it is cleared at each new session and
                        filtered at init_ACK
            F3a  A1:20  in print, the M_d of each copy decides. A copy that was sent before the end of the handoff has
                        an empty M_d, waits in RBuffer and is delivered again. Here the skip set comes with init_ACK
            F5   A1:26  the paper numbers recovery messages from 0 and has a fourth state. A host that moves on after
                        one of them asks for "1", which the next station takes for a number of its stream. Here recovery
                        messages have the numbers base-k..base-1, and their own lane in RBuffer
            F8   IV.E   the paper saves seq_C with acks (A1:49), so that a host delivers, crashes, recovers and delivers
                        again. It saves Ses_LC apart from seq_C, so that the session of one station can meet the number
                        of another. Here (LC, nxt) is one record, which is written at each delivery
            F11  A2:31-36  the paper answers every join: see cookies.py. Here a join carries a station's cookie (A1:5)
            F12a A1:1   in print, a join resets the counters. Ids are used again, and later messages are taken for
                        duplicates. Here the counters are never reset
            F13b A1:13  in print, leave carries the current session. The owner elsewhere is asked to forget lower
                        sessions, and keeps this one. Here leave has a fresh session, and is repeated until acknowledged
            F13c A1:13  in print, a host leaves at once. Its own messages are lost, or resent in its next life. Here it
                        leaves when SBuffer is empty
            F15  IV.E   here reinit and reset tell a host that a station forgot it after T, and the host gets Gap()
            A1:48       a heartbeat in addition to the acknowledgement timer, which each acknowledgement restarts. A
                        host that receives nothing would otherwise never learn that it was forgotten. Each interval is
                        drawn at random: with equal intervals, two hosts that do not hear each other would collide again
                        in every period, and one of them would be taken for silent
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from mobilenet.engine.clock import ns

from ..port import HostPort, MessageId, timer_name
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
from .resend import Resender
from .stable_storage import Stable, Status


class Host:
    BUFFERS: ClassVar[tuple[str, ...]] = ("sbuffer", "rbuffer")
    STABLE_BUFFERS: ClassVar[tuple[str, ...]] = ("sbuffer",)  # these survive a crash

    def __init__(
        self, port: HostPort, stable: Stable, parameters: MobileCausalParameters, stations: int, check: bool = True
    ) -> None:
        """Set up the host. It uses neither `stations` nor `check`, which stations need."""
        self._port = port
        self.stable = stable  # F8 (it includes lc and nxt, so that no delivery is forgotten)
        self._p = parameters
        self._send: Callable[[int, Any], None] = port.send
        self._recovering = stable.status is not Status.OUT  # until on_recover is called
        self._connected = False  # the paper's estab; in status MEMBER, False is its init
        self._rbuf = RBuffer()
        self._cell: int | None = None
        self._session_station: int | None = None  # the station this session was opened with
        self._cookie: int | None = None
        self._want_leave = False
        self._control_timer = port.timer(self._send_control)
        self._ack_timer = port.timer(self._send_ack)
        self._heartbeat_timer = port.timer(self._send_heartbeat)
        self._resender: Resender[int] = self._new_resender()
        self._on: dict[type, Callable[[Any], None]] = {
            AppSh: self._on_app_sh,  # A1:15
            AppCo: self._on_app_co,  # A1:23
            AckC: self._on_ack_c,  # A1:33
            Chal: self._on_chal,  # F11
            InitAck: self._on_init_ack,  # A1:36
            LeaveAck: self._on_leave_ack,  # A1:45
            Reinit: self._on_reinit,  # F15
            Reset: self._on_reset,  # F15
        }

    def _new_resender(self) -> Resender[int]:
        return Resender(self._port, self._p, self._make_app, self._to_cell)

    def buffer_sizes(self) -> tuple[int, ...]:
        rbuf = self._rbuf
        return len(self.stable.sbuf), len(rbuf.stream) + len(rbuf.recovery)

    def settled(self) -> bool:
        """Return whether the host is out, or is connected and not about to leave."""
        return self.is_out() or (self._connected and not self._want_leave)

    def is_out(self) -> bool:
        return self.stable.status is Status.OUT

    # --- the application

    def join(self) -> None:
        """Join the system: Join() (A1:1-5)."""
        if self.stable.status is Status.OUT:
            self.stable.status = Status.JOIN  # A1:4
            self.stable.lc = NO_SESSION  # A1:1, F12a (seq_h and Ses keep growing)
            self._new_session("join")  # A1:2, A1:3, A1:5

    def leave(self) -> bool:
        """Leave the system: Leave(). Refused before Joined() (A1:13)."""
        if self.stable.status is Status.JOIN:
            return False
        if self.stable.status is Status.MEMBER:
            self._want_leave = True
            self._try_leave()  # A1:13, F13c (as soon as it can)
        return True

    def co_broadcast(self, body: int) -> MessageId | None:
        """Broadcast a message: CoBroadcast(m). It is stored, and sent at once if the host is connected (A1:10-12)."""
        stable = self.stable
        if stable.status is not Status.MEMBER or self._want_leave:
            return None
        seq = stable.seq_h
        stable.seq_h, stable.sbuf[seq] = seq + 1, body  # A1:12
        message = self._make_app(seq)  # A1:10
        if message is not None:
            self._resender.first(seq, message)  # A1:11
        elif self._connected:  # otherwise the host is out of coverage, and sends the message when it returns
            self._resender.soon(seq)
        return MessageId(self._port.me, seq)

    # --- where the host is

    def on_cell(self, station: int | None) -> None:
        """upon changing cell                                            A1:6-9"""
        self._cell = station  # A1:3, A1:6
        if station is None:
            self._control_timer.stop()
        elif self._recovering:
            pass  # on_recover will be called next
        elif self.stable.status is Status.LEAVING:
            self._send_control()
        elif self.stable.status is not Status.OUT:
            if station != self._session_station:
                self._new_session("cell")  # A1:7-9
            elif not self._connected:
                self._send_control()

    def on_recover(self) -> None:
        """upon recovery: the volatile state is lost                     IV.E"""
        self._recovering = False
        if self.stable.status is Status.LEAVING:
            self._send_control()
        elif self.stable.status is not Status.OUT:
            self._new_session("recovery")  # A1:7-9

    # --- sessions

    def _new_session(self, cause: str) -> None:
        stable = self.stable
        stable.ses += 1  # A1:8
        self._connected = False  # A1:7
        self._session_station = self._cell
        self._cookie = None
        self._rbuf.clear()  # A1:2, F2b
        self._resender.clear()
        self._ack_timer.stop()
        self._heartbeat_timer.stop()
        opened_by = "join" if stable.status is Status.JOIN else cause
        self._port.session_opened(stable.ses, self._session_station, opened_by)
        self._send_control()  # A1:9

    def _control_message(self) -> Join | Init | Leave | None:
        """Return the message that the host repeats in this state until it is answered."""
        stable, me = self.stable, self._port.me
        if stable.status is Status.JOIN:
            return Join(me, stable.ses, next(iter(stable.sbuf), stable.seq_h), self._cookie)  # A1:5, F11
        if stable.status is Status.LEAVING:
            return Leave(me, stable.ses)  # A1:13
        if stable.status is Status.MEMBER and not self._connected:
            position = stable.nxt  # F5 (both lanes have one counter)
            return Init(me, stable.ses, stable.lc, position)  # A1:9, F8 (both are of the same station)
        return None

    @timer_name("control")
    def _send_control(self) -> None:
        message = self._control_message()
        if message is None or self._cell is None:
            return
        self._send(self._cell, message)  # A1:5, A1:9, A1:13, A1:51
        jitter = self._port.uniform(self._p.resend_jitter_low, self._p.resend_jitter_high)
        self._control_timer.start(ns(self._p.control_interval_s * jitter))  # A1:52

    def _try_leave(self) -> None:
        """Leave as soon as all messages of this host are acknowledged."""
        stable = self.stable
        if self._want_leave and stable.status is Status.MEMBER and not stable.sbuf:  # F13c
            stable.status = Status.LEAVING
            stable.ses += 1  # F13b
            self._clear_volatile()
            self._port.left(stable.ses)
            self._send_control()  # A1:13

    def _clear_volatile(self) -> None:
        self._connected = False  # F13b (the host delivers nothing from now on)
        self._want_leave = False
        self._session_station = None
        self._rbuf.skip.clear()
        self._rbuf.clear()
        self._resender.clear()
        for timer in (self._ack_timer, self._heartbeat_timer, self._control_timer):
            timer.stop()

    # --- from stations

    def on_receive(self, sender: int, message: Any) -> None:
        """upon reception of m from a station                            A1:14-47"""
        if sender == self._cell or type(message) is AckC:  # F2a
            self._on[type(message)](message)  # A1:14

    def _on_app_sh(self, m: AppSh) -> None:
        """Handle App_sh, a message of the cell's stream (A1:15-22)."""
        if self._connected:  # F2a
            if m.number >= self.stable.nxt and self._rbuf.wants(m.number):  # A1:16, A1:18
                self._rbuf.stream[m.number] = m  # A1:17
                self._fifo_deliver()  # A1:18-22
            if not self._ack_timer.running:
                self._start_ack_timer()
        elif self.stable.status is Status.MEMBER and len(self._rbuf.stream) < self._p.window:
            self._rbuf.stream[m.number] = m  # F2a (init_ACK will decide)

    def _on_app_co(self, m: AppCo) -> None:
        """Handle App_Co, a message that the new station had discarded (A1:23-32)."""
        if m.host != self._port.me or m.ses != self.stable.ses or self.stable.status is not Status.MEMBER:  # A1:24
            return
        if not self._connected:  # A1:25, A1:26, F5 (print counts from 0; here the numbers begin at the one in init_ACK)
            self._rbuf.recovery[m.number] = m  # A1:28
            return
        if self.stable.nxt <= m.number < self._rbuf.base:  # A1:27, A1:29, F5
            self._rbuf.recovery[m.number] = m  # A1:28
            self._fifo_deliver()  # A1:29-32
        if not self._ack_timer.running:
            self._start_ack_timer()

    def _fifo_deliver(self) -> None:
        """Deliver all messages up to the first missing one: FIFODeliver() (A1:19-22, A1:30-32)."""
        stable, rbuf = self.stable, self._rbuf
        while True:
            if rbuf.skip:
                stable.nxt = rbuf.after_skipped(stable.nxt)  # A1:19, A1:20, F3a
            item = rbuf.take(stable.nxt)
            if item is None:
                return
            stable.nxt += 1  # A1:19, A1:30, F8 (with the upcall)
            self._port.deliver(item.id, item.body)  # A1:21, A1:31

    def _on_chal(self, m: Chal) -> None:
        """Handle chal: a station asks for the proof that a join is not an old copy."""
        if m.host == self._port.me and m.ses == self.stable.ses and self.stable.status is Status.JOIN:
            self._cookie = m.cookie  # F11
            self._send_control()

    def _on_init_ack(self, m: InitAck) -> None:
        """Handle init_ACK: the session is confirmed (A1:36-44)."""
        stable = self.stable
        if m.host != self._port.me or m.ses != stable.ses or self._connected:  # A1:37
            return
        if stable.status not in (Status.JOIN, Status.MEMBER):
            return
        joining = stable.status is Status.JOIN
        station = self._cell
        assert station is not None
        stable.status, stable.lc, stable.nxt = Status.MEMBER, m.ses, m.start  # A1:42, F5, F8
        self._rbuf.base, self._rbuf.skip = m.base, set(m.skip)  # F3a
        self._connected = True  # A1:42
        self._control_timer.stop()  # A1:40, A1:41
        detail = {"recovered": m.base - m.start, "skipped": len(m.skip)}
        self._port.session_confirmed(m.ses, station, detail)
        self._announce(joining, m.gap, station)
        self._forget_below(m.seq_h)  # A1:43
        self._rbuf.keep_from(stable.nxt)  # F2b, F3a
        self._fifo_deliver()  # A1:44
        self._try_leave()
        if self._connected:
            self._send_ack()  # A1:38, A1:39, F5 (sent at once, although recovery messages may still come)
            self._heartbeat_timer.start(ns(self._port.uniform(0, self._p.heartbeat_s)))
            for seq in stable.sbuf:
                self._resender.soon(seq)

    def _announce(self, joining: bool, gap: bool, station: int) -> None:
        """Call Joined() or Gap() if either applies."""
        ses = self.stable.ses
        if joining and not self.stable.gap_on_join:
            self._port.joined(ses, station)
        elif joining or gap:
            self._port.gap(ses, station)  # F15
        self.stable.gap_on_join = False

    def _on_ack_c(self, m: AckC) -> None:
        """Handle ack_C, from any station in any state (A1:33-35)."""
        below = m.seq_h.get(self._port.me)  # F1a (it numbers h's own messages: A1:35 is not done)
        if below is not None and self.stable.sbuf:
            self._forget_below(below)  # A1:34
            self._try_leave()

    def _forget_below(self, below: int) -> None:
        sbuf = self.stable.sbuf
        while sbuf and (seq := next(iter(sbuf))) < below:  # F1b (`below` is the next expected number)
            del sbuf[seq]  # A1:34, A1:43
            self._resender.forget(seq)

    def _on_leave_ack(self, m: LeaveAck) -> None:
        """Handle leave_ACK: the host is no longer a member (A1:45-47)."""
        if m.host == self._port.me and m.ses == self.stable.ses and self.stable.status is Status.LEAVING:  # A1:46
            self.stable.status = Status.OUT  # A1:47
            self._clear_volatile()

    def _on_reinit(self, m: Reinit) -> None:
        """Handle reinit: the station has forgotten this session."""
        if m.host == self._port.me and m.ses == self.stable.ses and self.stable.status is Status.MEMBER:
            self._new_session("reinit")  # F15

    def _on_reset(self, m: Reset) -> None:
        """Handle reset: no station knows this host any more. The host drops its pending messages."""
        stable = self.stable
        if m.host != self._port.me or m.ses != stable.ses or stable.status is not Status.MEMBER or self._connected:
            return
        stable.sbuf.clear()  # F15
        stable.lc, stable.status, stable.gap_on_join = NO_SESSION, Status.JOIN, True
        assert self._cell is not None
        self._port.gap(stable.ses, self._cell)
        self._new_session("join")

    # --- timers and the radio

    def _start_ack_timer(self) -> None:
        self._ack_timer.start(ns(self._port.uniform(self._p.ack_min_s, self._p.ack_max_s)))  # A1:38, A1:39

    @timer_name("acknowledgement")
    def _send_ack(self, is_heartbeat: bool = False) -> None:
        """upon expiration of ackTimeout                                 A1:48-49"""
        self._ack_timer.stop()
        jitter = self._port.uniform(self._p.resend_jitter_low, self._p.resend_jitter_high)
        self._heartbeat_timer.start(ns(self._p.heartbeat_s * jitter))
        if self._connected and self._cell is not None and self._cell == self._session_station:  # A1:48
            self._acknowledge(self._cell, is_heartbeat)  # A1:49

    @timer_name("heartbeat")
    def _send_heartbeat(self) -> None:
        self._send_ack(is_heartbeat=True)  # A1:48

    def _acknowledge(self, station: int, is_heartbeat: bool) -> None:
        self._send(station, AckH(self._port.me, self.stable.ses, self.stable.nxt))

    def _make_app(self, seq: int) -> AppHs | None:
        """Return a copy of a message of this host, or None if it has no station to send it to (A1:10, A1:50-52)."""
        if not self._connected or self._cell is None or self._cell != self._session_station:  # F4b
            return None
        return AppHs(self._port.me, seq, self.stable.sbuf[seq])  # A1:10

    def _to_cell(self, message: AppHs) -> None:
        assert self._cell is not None
        self._send(self._cell, message)  # A1:11, A1:51

    def on_sent(self, message: Any, given_up: bool = False) -> None:
        if type(message) is AppHs:
            self._resender.on_sent(message.seq, message, given_up)

    def on_dropped(self, message: Any) -> None:
        self.on_sent(message, given_up=True)
