"""Mutants of the mobile causal broadcast. Each of them undoes one repaired rule in the lines that carry its label.

Model     RULES: name -> (label, what is wrong, kind of schedules, or None for all kinds, edits)
Source    docs/protocols/mobile-causal.md, Deviations; used by mutants.py
"""

from __future__ import annotations

from tests.protocols.edits import Edit

Rule = tuple[str, str, str | None, tuple[Edit, ...]]


def rule(label: str, what: str, *edits: Edit, flavour: str | None = None) -> Rule:
    return label, what, flavour, edits


def host(old: str, new: str, within: str | None = None) -> Edit:
    return Edit("host", old, new, within)


def station(old: str, new: str, within: str | None = None) -> Edit:
    return Edit("station", old, new, within)


def handover(old: str, new: str, within: str | None = None) -> Edit:
    return Edit("handover", old, new, within)


EVERY_CELL = host(
    "if sender == self._cell or type(message) is AckC:",
    "if True:",
)
APP_HS_OF_WHOM = "if c is None or c.state is not State.OWN:"
T_OF_STATION = "self._expiry_s = parameters.expiry_s"

INIT_ACK = "init_ack = InitAck(c.host, c.ses, c.nxt, base, skip, c.seq_h, c.gap)"

# --- numbers, and what the host believes

NUMBERS: dict[str, Rule] = {
    "ackc_sets_seqc": rule(
        "F1a",
        "ack_C sets the delivery counter",
        host(
            "below = m.seq_h.get(self._port.me)",
            """
            below = m.seq_h.get(self._port.me)
            self.stable.nxt = m.seq_h.get(self._port.me, self.stable.nxt)
            """,
        ),
    ),
    "gt": rule(
        "F1b",
        "undelivered: above the next number, instead of from it on",
        handover(
            "*(item.id for q, item in sbuf.items() if q >= position and q not in c.skip),",
            "*(item.id for q, item in sbuf.items() if q > position and q not in c.skip),",
        ),
    ),
    "no_state_check": rule(
        "F2a",
        "App_sh is delivered in any state and from any cell",
        EVERY_CELL,
        host(
            """
            if self._connected:
                if m.number >= self.stable.nxt and self._rbuf.wants(m.number):
                    self._rbuf.stream[m.number] = m
                    self._fifo_deliver()
                if not self._ack_timer.running:
                    self._start_ack_timer()
            elif self.stable.status is Status.MEMBER and len(self._rbuf.stream) < self._p.window:
                self._rbuf.stream[m.number] = m
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
    "no_cell_check": rule("F2a", "anything from any cell is taken", EVERY_CELL),
    "stale_rbuf": rule(
        "F2b",
        "RBuffer outlives the session",
        host("self._rbuf.clear()", "pass", "_new_session"),
        host("self._rbuf.clear()", "pass", "_clear_volatile"),
    ),
    "no_filter": rule(
        "F2b",
        "what was buffered before init_ACK is not looked at again",
        host("self._rbuf.keep_from(stable.nxt)", "pass"),
    ),
    "md_only": rule(
        "F3a",
        "the host goes by the M_d of each copy, not by the skip set",
        host(
            "self._rbuf.base, self._rbuf.skip = m.base, set(m.skip)",
            """
            m = m._replace(skip=())
            self._rbuf.base, self._rbuf.skip = m.base, set()
            """,
        ),
        host(
            "if self._connected:",
            """
            if self._connected and self._port.me in m.delivered:
                self._rbuf.skip.add(m.number)
                self._rbuf.stream.pop(m.number, None)
                self._fifo_deliver()
                if not self._ack_timer.running:
                    self._start_ack_timer()
            elif self._connected:
            """,
            "_on_app_sh",
        ),
    ),
    "md_nobound": rule(
        "F3b",
        "the skip set also covers what came after Rsp1",
        handover(
            "if c.base <= q < c.bound and item.id not in undelivered",
            "if c.base <= q and item.id not in undelivered",
        ),
    ),
    "no_newlist": rule(
        "F3c",
        "Rsp2 without its second list",
        handover(
            "new_ids = tuple(item.id for q, item in sbuf.items() if q >= c.bound)",
            "new_ids = ()",
        ),
        flavour="slow_talk",
    ),
    "no_freeze": rule(
        "F4a",
        "the giver goes on accepting App_hs",
        station(APP_HS_OF_WHOM, "if c is None or c.state not in (State.OWN, State.REL):"),
        flavour="ping_pong",
    ),
    "early_app": rule(
        "F4b",
        "App_hs sent and accepted before the handoff is over",
        station(APP_HS_OF_WHOM, "if c is None:"),
        host(
            "if not self._connected or self._cell is None or self._cell != self._session_station:",
            "if self._cell is None or self.stable.status is not Status.MEMBER:",
        ),
        host(
            "self._send_control()",
            """
            self._send_control()
            if self.stable.status is Status.MEMBER:
                for seq in self.stable.sbuf:
                    self._resender.soon(seq)
            """,
            "_new_session",
        ),
    ),
    "rec_numbering": rule(
        "F5",
        "positions among the recovery messages are counted from 0",
        host(
            "stable.status, stable.lc, stable.nxt = Status.MEMBER, m.ses, m.start",
            """
            stable.status, stable.lc, stable.nxt = Status.MEMBER, m.ses, m.start
            self._start = m.start
            """,
        ),
        host(
            "position = stable.nxt",
            "position = stable.nxt - (getattr(self, '_start', 0) if stable.nxt < self._rbuf.base else 0)",
        ),
        flavour="crash",
    ),
    "lc_ignored": rule(
        "F6",
        "a position counts, whichever station's it is",
        handover("if request.lc == c.ses:", "if True:"),
        station("elif m.lc == c.ses:", "else:"),
        flavour="ping_pong",
    ),
    "rel_reinit": rule(
        "F7",
        "init is acknowledged while the token is being handed over",
        station(
            "elif m.ses < c.ses or c.state is not State.OWN:",
            "elif m.ses < c.ses or c.state not in (State.OWN, State.REL):",
        ),
        flavour="ping_pong",
    ),
    "lazy_nxt": rule(
        "F8",
        "the position is saved with acks, not with each delivery",
        host(
            "self.stable = stable",
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
            saved: ClassVar[dict[int, tuple[int, int]]] = {}
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
        flavour="crash",
    ),
    "lc_apart": rule(
        "F8",
        "the number of one station is sent with the session of another one",
        host(
            "return Init(me, stable.ses, stable.lc, position)",
            "return Init(me, stable.ses, stable.ses - 1, position)",
        ),
        flavour="ping_pong",
    ),
}

# --- requests

REQUESTS: dict[str, Rule] = {
    "req_ignored": rule(
        "F9a", "a request is dropped while the token is on its way", handover("c.pend.append(m)", "pass")
    ),
    "drop_superseded": rule(
        "F9b",
        "of several requests, all but the highest are forgotten",
        handover(
            "self._wired.send(request.source, Objection(c.host, request.rq))",
            "pass",
        ),
        flavour="slow_wire",
    ),
    "req_obj_early": rule(
        "F9c",
        "a station that is not owner objects to lower requests",
        handover(
            "else:\n    self._wired.send(m.source, Nothing(m.host, m.rq))",
            "else:\n    self._wired.send(m.source, Objection(m.host, m.rq))",
        ),
        flavour="slow_wire",
    ),
    "obj_strict": rule(
        "F9d",
        "an objection deletes only what is older than the objected request",
        handover(
            "c = self._waiting(m.host, m.rq, *REQUESTING)\nif c is not None:",
            "c = self._contexts.get(m.host)\nif c is not None and c.ses < m.rq.ses:",
            "on_objection",
        ),
        flavour="slow_wire",
    ),
    "none_late": rule(
        "F9e",
        "a requester keeps also lower requests until it is owner or deleted",
        handover("else:\n    self._wired.send(m.source, Nothing(m.host, m.rq))", "else:\n    c.pend.append(m)"),
        handover(
            "c.state = State.OWN",
            """
            c.state = State.OWN
            for request in c.pend:
                if request.rq.ses < c.ses:
                    self._wired.send(request.source, Objection(c.host, request.rq))
            c.pend = [request for request in c.pend if request.rq.ses > c.ses]
            """,
        ),
        flavour="stale",
    ),
    "unpinned": rule(
        "A2:32",
        "a requester keeps nothing for its host",
        handover(
            "pin=self._stream.oldest,",
            "pin=1 << 60 if state is State.REQ else self._stream.oldest,",
        ),
        handover(
            "c.state, c.peer, c.seq_h = State.FETCH, source, m.seq_h",
            """
            c.pin = self._stream.oldest
            c.state, c.peer, c.seq_h = State.FETCH, source, m.seq_h
            """,
        ),
        flavour="slow_talk",
    ),
    "no_inst": rule(
        "F10",
        "a request is identified by its session alone",
        handover(
            "return c if c is not None and c.state in states and c.rq == rq else None",
            "return c if c is not None and c.state in states and c.rq.ses == rq.ses else None",
        ),
        flavour="stale",
    ),
}

# --- join and leave

MEMBERSHIP: dict[str, Rule] = {
    "no_cookie": rule(
        "F11", "a join needs no cookie", station("elif self._cookies.admits(m):", "else:"), flavour="churn"
    ),
    "reset_counters": rule(
        "F12a",
        "a join resets the session counter",
        host(
            "self.stable.lc = NO_SESSION",
            "self.stable.lc, self.stable.ses = NO_SESSION, 0",
        ),
        flavour="churn",
    ),
    "reset_seq_h": rule(
        "F12a",
        "a join resets the message counter",
        host(
            "self.stable.lc = NO_SESSION",
            "self.stable.lc, self.stable.seq_h = NO_SESSION, 0",
        ),
        flavour="churn",
    ),
    "join_minseq": rule(
        "F12b",
        "a join starts at the oldest stored message",
        handover("c.base = c.nxt = self._stream.next_number", "c.base = c.nxt = c.pin"),
        flavour="churn",
    ),
    "join_nobarrier": rule(
        "F12c",
        "a join is answered at once",
        handover(
            "if self._n == 1:",
            "if self._n == 1 or state is State.REQJ:",
        ),
        flavour="slow_churn",
    ),
    "leave_ack_if_ctx": rule(
        "F13a",
        "leave is acknowledged only by a station that knows the host",
        station(
            "c = self.ctx.get(m.host)",
            """
            c = self.ctx.get(m.host)
            if c is None:
                return
            """,
            "_on_leave",
        ),
        flavour="churn",
    ),
    "leave_same_ses": rule(
        "F13b",
        "leave uses the session in use",
        host("stable.ses += 1", "pass", "_try_leave"),
        station(
            "if c is not None and c.ses < m.ses:",
            "if c is not None and c.ses <= m.ses:",
        ),
        flavour="stale",
    ),
    "delivers_leaving": rule(
        "F13b",
        "a host that is leaving goes on delivering",
        host(
            "self._connected = False",
            "self._connected = self._connected and self.stable.status is Status.LEAVING",
            "_clear_volatile",
        ),
        flavour="churn",
    ),
    "leave_noflush": rule(
        "F13c",
        "a host leaves with unacknowledged messages of its own",
        host(
            "if self._want_leave and stable.status is Status.MEMBER and not stable.sbuf:",
            "if self._want_leave and stable.status is Status.MEMBER:",
        ),
        flavour="churn",
    ),
    "join_keeps_old": rule(
        "F17",
        "a join does not destroy older contexts elsewhere",
        handover(
            """
            if c is not None and c.ses < m.rq.ses:
                self.drop(c)
                c = None
            """,
            """
            if c is not None and c.ses < m.rq.ses:
                self._wired.send(m.source, Nothing(m.host, m.rq))
                return
            """,
        ),
        flavour="churn",
    ),
}

# --- acknowledgements

ACKNOWLEDGEMENTS: dict[str, Rule] = {
    "ackc_fresh_only": rule(
        "A3:50",
        "a duplicate does not arm ack_C",
        station(
            APP_HS_OF_WHOM,
            "if c is None or c.state is not State.OWN or m.seq < c.seq_h:",
        ),
    ),
    "ack_fresh_only": rule(
        "A1:48",
        "a duplicate does not arm ack_h, and there is no heartbeat",
        host(
            "if self._connected:",
            """
            if self._connected and m.number < self.stable.nxt:
                return
            if self._connected:
            """,
            "_on_app_sh",
        ),
        host("self._heartbeat_timer.start(ns(self._p.heartbeat_s * jitter))", "self._heartbeat_timer.stop()"),
    ),
}

# --- the T extension

EXPIRY: dict[str, Rule] = {
    "forget_everything": rule(
        "F15",
        "after T all is forgotten, the host comes with its pending messages",
        host("stable.sbuf.clear()", "pass"),
        station(
            """
            c.expired = True
            self._stream.forget_lists(c)
            self.ctx.clear_rbuf(c)
            self._stream.collect()
            """,
            "self._handover.drop(c)",
        ),
        flavour="expiry",
    ),
    "same_session_again": rule(
        "F15",
        "init with the same session is accepted after expiry",
        station(
            "self._send(m.host, Reinit(m.host, m.ses))",
            """
            c.expired, c.gap = False, True
            c.base = c.nxt = self._stream.next_number
            self._stream.collect()
            self._handover.send_init_ack(c)
            """,
            "_on_init",
        ),
        flavour="expiry",
    ),
    "ack_without_context": rule(
        "F15",
        "an ack_h without context is not answered",
        station(
            "if c is None:\n    self._send(m.host, Reinit(m.host, m.ses))",
            "if c is None:\n    pass",
            "_on_ack_h",
        ),
        flavour="expiry",
    ),
    "expired_ack_ignored": rule(
        "F15",
        "an ack_h to an expired context is not answered",
        station("if c.expired:\n    self._send(m.host, Reinit(m.host, m.ses))", "if c.expired:\n    pass"),
        flavour="expiry",
    ),
    "gap_not_carried": rule(
        "F15", "the gap does not travel with the token", handover("c.gap = m.gap", "c.gap = False"), flavour="expiry"
    ),
    "gap_once": rule(
        "F15",
        "the gap is told in one init_ACK only",
        handover(INIT_ACK, "init_ack = InitAck(c.host, c.ses, c.nxt, base, skip, c.seq_h, c.gap)\nc.gap = False"),
        flavour="expiry",
    ),
    "revive_position": rule(
        "F15",
        "a revived context goes on at its old position",
        station("c.base = c.nxt = self._stream.next_number", "pass"),
        flavour="expiry",
    ),
    "expires_early": rule(
        "F15",
        "a host is given up long before T",
        station(T_OF_STATION, "self._expiry_s = parameters.expiry_s and parameters.expiry_s / 6"),
        flavour="calm_expiry",
    ),
    "expires_at_half": rule(
        "F15",
        "a host is given up after half of T",
        station(T_OF_STATION, "self._expiry_s = parameters.expiry_s and parameters.expiry_s / 2"),
        flavour="expiry",
    ),
    "expires_in_silence": rule(
        "F15",
        "the same, and the network is not told",
        station(T_OF_STATION, "self._expiry_s = parameters.expiry_s and parameters.expiry_s / 2"),
        station("self._port.expired(c.host)", "pass"),
        flavour="expiry",
    ),
    "gap_for_nothing": rule(
        "F15",
        "every handoff announces a gap",
        handover(INIT_ACK, "c.gap = True\ninit_ack = InitAck(c.host, c.ses, c.nxt, base, skip, c.seq_h, c.gap)"),
        flavour="calm_expiry",
    ),
}

# --- windows: no message is lost without them, so scenes judge them

WINDOWS: dict[str, Rule] = {
    "send_window": rule(
        "F14",
        "a send window that starts at the oldest pending message",
        Edit(
            "stream",
            "number = self.next_number",
            """
            if self.next_number >= self.oldest + 150:
                return
            number = self.next_number
        """,
        ),
    ),
    "resend_to_silent": rule(
        "F14", "messages are resent for hosts that are not heard", Edit("context", "return lowest", "return 0")
    ),
    "no_backlog": rule(
        "F14",
        "copies are queued in the radio whatever waits there",
        Edit(
            "resend",
            "while self._ready and len(self._waiting_copies) < self._p.mac_backlog:",
            "while self._ready and len(self._waiting_copies) < 10_000:",
        ),
    ),
}

RULES: dict[str, Rule] = {**NUMBERS, **REQUESTS, **MEMBERSHIP, **ACKNOWLEDGEMENTS, **EXPIRY, **WINDOWS}
