"""The repaired rules of the mobile causal broadcast, each taken back by an edit of the lines that carry its label.

Model     RULES: name -> (label, what is wrong, flavour of the schedules or None for all, edits)
Source    docs/protocols/mobile-causal.md, Deviations; who plays them: mutants.py
"""

from __future__ import annotations

from tests.protocols.edits import Edit

Rule = tuple[str, str, str | None, tuple[Edit, ...]]


def host(old: str, new: str) -> Edit:
    return Edit("host", old, new)


def station(old: str, new: str) -> Edit:
    return Edit("station", old, new)


def handover(old: str, new: str) -> Edit:
    return Edit("handover", old, new)


EVERY_CELL = host(
    "if sender == self._cell or type(message) is AckC:  # F2a",
    "if True:",
)
APP_HS_OF_WHOM = "if c is None or c.state is not State.OWN:  # F4a, F4b"
T_OF_STATION = "self._expiry_s = parameters.expiry_s  # F15 (T; None: never)"

INIT_ACK = "init_ack = InitAck(c.host, c.ses, c.nxt, base, skip, c.seq_h, c.gap)  # F15 (gap: until it is confirmed)"

# --- numbers, and what the host believes

NUMBERS: dict[str, Rule] = {
    "ackc_sets_seqc": (
        "F1a",
        "ack_C sets the delivery counter",
        None,
        (
            host(
                "below = m.seq_h.get(self._port.me)  # F1a (a number of h's own messages: A1:35 is not done)",
                """
            below = m.seq_h.get(self._port.me)
            self.stable.nxt = m.seq_h.get(self._port.me, self.stable.nxt)
            """,
            ),
        ),
    ),
    "gt": (
        "F1b",
        "undelivered: above the next number, instead of from it on",
        None,
        (
            handover(
                "*(item.id for q, item in sbuf.items() if q >= position and q not in c.skip),  # A4:64, A4:65,"
                " A4:67, F1b",
                "*(item.id for q, item in sbuf.items() if q > position and q not in c.skip),",
            ),
        ),
    ),
    "no_state_check": (
        "F2a",
        "App_sh is delivered in any state and from any cell",
        None,
        (
            EVERY_CELL,
            host(
                """
            if self._connected:  # F2a
                if m.number >= self.stable.nxt and self._rbuf.wants(m.number):  # A1:16, A1:18
                    self._rbuf.stream[m.number] = m  # A1:17
                    self._fifo_deliver()  # A1:18-22
                if not self._ack_timer.running:
                    self._start_ack_timer()
            elif self.stable.status is Status.MEMBER and len(self._rbuf.stream) < self._p.window:
                self._rbuf.stream[m.number] = m  # F2a (for init_ACK to judge)
            """,
                """
            if (self.stable.status is Status.MEMBER and m.number >= self.stable.nxt
                    and m.number not in self._rbuf.skip):
                self._rbuf.stream[m.number] = m
                self._fifo_deliver()
            if not self._ack_timer.running:
                self._start_ack_timer()
            """,
            ),
        ),
    ),
    "no_cell_check": ("F2a", "anything from any cell is taken", None, (EVERY_CELL,)),
    "stale_rbuf": (
        "F2b",
        "RBuffer outlives the session",
        None,
        (
            host("self._rbuf.clear()  # A1:2, F2b", "pass"),
            host("self._rbuf.clear()", "pass"),
        ),
    ),
    "no_filter": (
        "F2b",
        "what was buffered before init_ACK is not looked at again",
        None,
        (host("self._rbuf.keep_from(stable.nxt)  # F2b, F3a", "pass"),),
    ),
    "md_only": (
        "F3a",
        "the host goes by the M_d of each copy, not by the skip set",
        None,
        (
            host(
                "self._rbuf.base, self._rbuf.skip = m.base, set(m.skip)  # F3a",
                """
            m = m._replace(skip=())
            self._rbuf.base, self._rbuf.skip = m.base, set()
            """,
            ),
            host(
                "if self._connected:  # F2a",
                """
            if self._connected and self._port.me in m.delivered:
                self._rbuf.skip.add(m.number)
                self._rbuf.stream.pop(m.number, None)
                self._fifo_deliver()
                if not self._ack_timer.running:
                    self._start_ack_timer()
            elif self._connected:
            """,
            ),
        ),
    ),
    "md_nobound": (
        "F3b",
        "the skip set also covers what came after Rsp1",
        None,
        (
            handover(
                "if c.base <= q < c.bound and item.id not in undelivered  # A4:88, A4:89, F3b",
                "if c.base <= q and item.id not in undelivered",
            ),
        ),
    ),
    "no_newlist": (
        "F3c",
        "Rsp2 without its second list",
        "slow_talk",
        (
            handover(
                "new_ids = tuple(item.id for q, item in sbuf.items() if q >= c.bound)  # A4:81, F1b, F3b, F3c",
                "new_ids = ()",
            ),
        ),
    ),
    "no_freeze": (
        "F4a",
        "the giver goes on accepting App_hs",
        "ping_pong",
        (station(APP_HS_OF_WHOM, "if c is None or c.state not in (State.OWN, State.REL):"),),
    ),
    "early_app": (
        "F4b",
        "App_hs sent and accepted before the handoff is over",
        None,
        (
            station(APP_HS_OF_WHOM, "if c is None:"),
            host(
                "if not self._connected or self._cell is None or self._cell != self._session_station:  # F4b",
                "if self._cell is None or self.stable.status is not Status.MEMBER:",
            ),
            host(
                "self._send_control()  # A1:9",
                """
            self._send_control()
            if self.stable.status is Status.MEMBER:
                for seq in self.stable.sbuf:
                    self._resender.soon(seq)
            """,
            ),
        ),
    ),
    "rec_numbering": (
        "F5",
        "positions among the recovery messages are counted from 0",
        "crash",
        (
            host(
                "stable.status, stable.lc, stable.nxt = Status.MEMBER, m.ses, m.start  # A1:42, F5, F8",
                """
            stable.status, stable.lc, stable.nxt = Status.MEMBER, m.ses, m.start
            self._start = m.start
            """,
            ),
            host(
                "position = stable.nxt  # F5 (one counter for both lanes)",
                "position = stable.nxt - (getattr(self, '_start', 0) if stable.nxt < self._rbuf.base else 0)",
            ),
        ),
    ),
    "lc_ignored": (
        "F6",
        "a position counts, whichever station's it is",
        "ping_pong",
        (
            handover("if request.lc == c.ses:  # A4:63, F6", "if True:"),
            station("elif m.lc == c.ses:  # A2:22, F6", "else:"),
        ),
    ),
    "rel_reinit": (
        "F7",
        "init is acknowledged while the token is being handed over",
        "ping_pong",
        (
            station(
                "elif m.ses < c.ses or c.state is not State.OWN:  # A2:20, F7",
                "elif m.ses < c.ses or c.state not in (State.OWN, State.REL):",
            ),
        ),
    ),
    "lazy_nxt": (
        "F8",
        "the position is saved with acks, not with each delivery",
        "crash",
        (
            host(
                "self.stable = stable  # F8 (lc and nxt are in it: nothing delivered is forgotten)",
                """
            self.stable = stable
            saved = self.saved.get(id(stable), (None, 0))
            if stable.status is Status.OUT:
                self.saved.pop(id(stable), None)
            elif stable.lc == saved[0]:
                stable.nxt = saved[1]
            """,
            ),
            host(
                'BUFFERS: ClassVar[tuple[str, ...]] = ("sbuffer", "rbuffer")',
                """
            BUFFERS: ClassVar[tuple[str, ...]] = ("sbuffer", "rbuffer")
            saved: ClassVar[dict[int, tuple[int, int]]] = {}  # what is on the disk
            """,
            ),
            host(
                """
            stable, rbuf = self.stable, self._rbuf
            while True:
            """,
                """
            stable, rbuf = self.stable, self._rbuf
            if self.saved.get(id(stable), (None, 0))[0] != stable.lc:
                self.saved[id(stable)] = (stable.lc, stable.nxt)
            while True:
            """,
            ),
            host(
                """
            self._ack_timer.stop()
            jitter = self._port.uniform(self._p.resend_jitter_low, self._p.resend_jitter_high)
            """,
                """
            self.saved[id(self.stable)] = (self.stable.lc, self.stable.nxt)
            self._ack_timer.stop()
            jitter = self._port.uniform(self._p.resend_jitter_low, self._p.resend_jitter_high)
            """,
            ),
        ),
    ),
    "lc_apart": (
        "F8",
        "the number of one station is sent with the session of another one",
        "ping_pong",
        (
            host(
                "return Init(me, stable.ses, stable.lc, position)  # A1:9, F8 (number and session of one station)",
                "return Init(me, stable.ses, stable.ses - 1, position)",
            ),
        ),
    ),
}

# --- requests

REQUESTS: dict[str, Rule] = {
    "req_ignored": (
        "F9a",
        "a request is dropped while the token is on its way",
        None,
        (handover("c.pend.append(m)  # A4:57, F9a, F9b", "pass"),),
    ),
    "drop_superseded": (
        "F9b",
        "of several requests, all but the highest are forgotten",
        "slow_wire",
        (
            handover(
                "self._wired.send(request.source, Objection(c.host, request.rq))  # F9b",
                "pass",
            ),
        ),
    ),
    "req_obj_early": (
        "F9c",
        "a station that is not owner objects to lower requests",
        "slow_wire",
        (
            handover(
                "self._wired.send(m.source, Nothing(m.host, m.rq))  # F9c, F9e",
                "self._wired.send(m.source, Objection(m.host, m.rq))",
            ),
        ),
    ),
    "obj_strict": (
        "F9d",
        "an objection deletes only what is older than the objected request",
        "slow_wire",
        (
            handover(
                "c = self._waiting(m.host, m.rq, *REQUESTING)  # A4:99, F9d\nif c is not None:",
                "c = self._contexts.get(m.host)\nif c is not None and c.ses < m.rq.ses:",
            ),
        ),
    ),
    "none_late": (
        "F9e",
        "a requester keeps also lower requests until it is owner or deleted",
        "stale",
        (
            handover("self._wired.send(m.source, Nothing(m.host, m.rq))  # F9c, F9e", "c.pend.append(m)"),
            handover(
                "c.state = State.OWN  # A2:34, A4:90",
                """
            c.state = State.OWN
            for request in c.pend:
                if request.rq.ses < c.ses:
                    self._wired.send(request.source, Objection(c.host, request.rq))
            c.pend = [request for request in c.pend if request.rq.ses > c.ses]
            """,
            ),
        ),
    ),
    "unpinned": (
        "A2:32",
        "a requester keeps nothing for its host",
        "slow_talk",
        (
            handover(
                "pin=self._stream.oldest,  # A2:32 (IV.D: all that comes from now on is kept for h)",
                "pin=1 << 60 if state is State.REQ else self._stream.oldest,",
            ),
            handover(
                "c.state, c.peer, c.seq_h = State.FETCH, source, m.seq_h  # A4:72",
                """
            c.pin = self._stream.oldest
            c.state, c.peer, c.seq_h = State.FETCH, source, m.seq_h
            """,
            ),
        ),
    ),
    "no_inst": (
        "F10",
        "a request is identified by its session alone",
        "stale",
        (
            handover(
                "return c if c is not None and c.state in states and c.rq == rq else None  # F10",
                "return c if c is not None and c.state in states and c.rq.ses == rq.ses else None",
            ),
        ),
    ),
}

# --- join and leave

MEMBERSHIP: dict[str, Rule] = {
    "no_cookie": (
        "F11",
        "a join needs no cookie",
        "churn",
        (station("elif self._cookies.admits(m):  # F11", "else:"),),
    ),
    "reset_counters": (
        "F12a",
        "a join resets the session counter",
        "churn",
        (
            host(
                "self.stable.lc = NO_SESSION  # A1:1, F12a (seq_h and Ses go on)",
                "self.stable.lc, self.stable.ses = NO_SESSION, 0",
            ),
        ),
    ),
    "reset_seq_h": (
        "F12a",
        "a join resets the message counter",
        "churn",
        (
            host(
                "self.stable.lc = NO_SESSION  # A1:1, F12a (seq_h and Ses go on)",
                "self.stable.lc, self.stable.seq_h = NO_SESSION, 0",
            ),
        ),
    ),
    "join_minseq": (
        "F12b",
        "a join starts at the oldest stored message",
        "churn",
        (handover("c.base = c.nxt = self._stream.next_number  # A2:35, F12b", "c.base = c.nxt = c.pin"),),
    ),
    "join_nobarrier": (
        "F12c",
        "a join is answered at once",
        "slow_churn",
        (
            handover(
                "if self._n == 1:  # F12c (else a join waits for all answers)",
                "if self._n == 1 or state is State.REQJ:",
            ),
        ),
    ),
    "leave_ack_if_ctx": (
        "F13a",
        "leave is acknowledged only by a station that knows the host",
        "churn",
        (
            station(
                "c = self.ctx.get(m.host)  # F13a",
                """
            c = self.ctx.get(m.host)
            if c is None:
                return
            """,
            ),
        ),
    ),
    "leave_same_ses": (
        "F13b",
        "leave uses the session in use",
        "stale",
        (
            host("stable.ses += 1  # F13b", "pass"),
            station(
                "if c is not None and c.ses < m.ses:  # A2:40, F13b",
                "if c is not None and c.ses <= m.ses:",
            ),
        ),
    ),
    "delivers_leaving": (
        "F13b",
        "a host that is leaving goes on delivering",
        "churn",
        (
            host(
                "self._connected = False  # F13b (it delivers nothing more)",
                "self._connected = self._connected and self.stable.status is Status.LEAVING",
            ),
        ),
    ),
    "leave_noflush": (
        "F13c",
        "a host leaves with unacknowledged messages of its own",
        "churn",
        (
            host(
                "if self._want_leave and stable.status is Status.MEMBER and not stable.sbuf:  # F13c",
                "if self._want_leave and stable.status is Status.MEMBER:",
            ),
        ),
    ),
    "join_keeps_old": (
        "F17",
        "a join does not destroy older contexts elsewhere",
        "churn",
        (
            handover(
                """
            if c is not None and c.ses < m.rq.ses:  # A4:99, F17
                self.drop(c)
                c = None
            """,
                """
            if c is not None and c.ses < m.rq.ses:
                self._wired.send(m.source, Nothing(m.host, m.rq))
                return
            """,
            ),
        ),
    ),
}

# --- acknowledgements

ACKNOWLEDGEMENTS: dict[str, Rule] = {
    "ackc_fresh_only": (
        "A3:50",
        "a duplicate does not arm ack_C",
        None,
        (
            station(
                APP_HS_OF_WHOM,
                "if c is None or c.state is not State.OWN or m.seq < c.seq_h:",
            ),
        ),
    ),
    "ack_fresh_only": (
        "A1:48",
        "a duplicate does not arm ack_h, and there is no heartbeat",
        None,
        (
            host(
                "if self._connected:  # F2a",
                """
            if self._connected and m.number < self.stable.nxt:
                return
            if self._connected:
            """,
            ),
            host("self._heartbeat_timer.start(ns(self._p.heartbeat_s * jitter))", "self._heartbeat_timer.stop()"),
        ),
    ),
}

# --- the T extension

EXPIRY: dict[str, Rule] = {
    "forget_everything": (
        "F15",
        "after T all is forgotten, the host comes with its pending messages",
        "expiry",
        (
            host("stable.sbuf.clear()  # F15", "pass"),
            station(
                """
            c.expired = True  # F15 (a stub)
            self._stream.forget_lists(c)
            self.ctx.clear_rbuf(c)
            self._stream.collect()
            """,
                "self._handover.drop(c)",
            ),
        ),
    ),
    "same_session_again": (
        "F15",
        "init with the same session is accepted after expiry",
        "expiry",
        (
            station(
                "self._port.send(m.host, Reinit(m.host, m.ses))  # F15 (same session)",
                """
            c.expired, c.gap = False, True
            c.base = c.nxt = self._stream.next_number
            self._stream.collect()
            self._handover.send_init_ack(c)
            """,
            ),
        ),
    ),
    "ack_without_context": (
        "F15",
        "an ack_h without context is not answered",
        "expiry",
        (station("self._port.send(m.host, Reinit(m.host, m.ses))  # F15 (the stub is gone)", "pass"),),
    ),
    "expired_ack_ignored": (
        "F15",
        "an ack_h to an expired context is not answered",
        "expiry",
        (station("self._port.send(m.host, Reinit(m.host, m.ses))  # F15 (expired)", "pass"),),
    ),
    "gap_not_carried": (
        "F15",
        "the gap does not travel with the token",
        "expiry",
        (handover("c.gap = m.gap  # F15", "c.gap = False"),),
    ),
    "gap_once": (
        "F15",
        "the gap is told in one init_ACK only",
        "expiry",
        (handover(INIT_ACK, "init_ack = InitAck(c.host, c.ses, c.nxt, base, skip, c.seq_h, c.gap)\nc.gap = False"),),
    ),
    "revive_position": (
        "F15",
        "a revived context goes on at its old position",
        "expiry",
        (station("c.base = c.nxt = self._stream.next_number  # F15 (next number)", "pass"),),
    ),
    "expires_early": (
        "F15",
        "a host is given up long before T",
        "calm_expiry",
        (station(T_OF_STATION, "self._expiry_s = parameters.expiry_s and parameters.expiry_s / 6"),),
    ),
    "expires_at_half": (
        "F15",
        "a host is given up after half of T",
        "expiry",
        (station(T_OF_STATION, "self._expiry_s = parameters.expiry_s and parameters.expiry_s / 2"),),
    ),
    "expires_in_silence": (
        "F15",
        "the same, and the network is not told",
        "expiry",
        (
            station(T_OF_STATION, "self._expiry_s = parameters.expiry_s and parameters.expiry_s / 2"),
            station("self._port.expired(c.host)  # F15 (the network is told)", "pass"),
        ),
    ),
    "gap_for_nothing": (
        "F15",
        "every handoff announces a gap",
        "calm_expiry",
        (handover(INIT_ACK, "c.gap = True\ninit_ack = InitAck(c.host, c.ses, c.nxt, base, skip, c.seq_h, c.gap)"),),
    ),
}

# --- windows: no message is lost without them, so scenes judge them

WINDOWS: dict[str, Rule] = {
    "send_window": (
        "F14",
        "a send window that starts at the oldest pending message",
        None,
        (
            Edit(
                "stream",
                "number = self.next_number  # F14 (no window holds it back)",
                """
            if self.next_number >= self.oldest + 150:
                return  # it would wait for the window to move: as good as lost while it does not
            number = self.next_number
        """,
            ),
        ),
    ),
    "resend_to_silent": (
        "F14",
        "messages are resent for hosts that are not heard",
        None,
        (Edit("context", "return lowest  # F14 (nothing is resent for those who are not heard)", "return 0"),),
    ),
    "no_backlog": (
        "F14",
        "copies are queued in the radio whatever waits there",
        None,
        (
            Edit(
                "resend",
                "while self._ready and len(self._waiting_copies) < self._p.mac_backlog:  # F14 (its queue is finite)",
                "while self._ready and len(self._waiting_copies) < 10_000:",
            ),
        ),
    ),
}

RULES: dict[str, Rule] = {**NUMBERS, **REQUESTS, **MEMBERSHIP, **ACKNOWLEDGEMENTS, **EXPIRY, **WINDOWS}
