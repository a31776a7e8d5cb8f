"""Each mutant takes one repaired rule back; each must be caught by the swarm.

Model     subclasses of the two protocol classes, a few lines each, run on the adversary's network with the self-checks off.
          Each run is recorded, and the verifier judges the run directory alone. A run that raises leaves no directory
          and does not count. Mutants that lose nothing and only load the radio are caught by scenes instead
Run       python -m tests.mobile_causal.mutants [name ...] [--limit N] [--workers N]
          prints for each mutant the schedules it took, the seed that caught it, and the property that was violated
Source    the rules by number: headers of host.py, station.py, handover.py; ours: DESIGN.md §3
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from mobile_causal.crowd import deaf_host_blocks_nobody, nothing_is_resent_to_the_silent, radio_is_not_flooded
from mobilenet.experiments.fuzz.hunt import record_adversary
from mobilenet.experiments.fuzz.schedule import Schedule, draw
from mobilenet.protocols.mobile_causal import Host, MobileCausalParameters, Stable, Station, Status
from mobilenet.protocols.mobile_causal.context import Context, State
from mobilenet.protocols.mobile_causal.messages import (
    AckC,
    AckH,
    AppHs,
    AppSh,
    Delete,
    Init,
    InitAck,
    Item,
    Join,
    Leave,
    LeaveAck,
    Nothing,
    Objection,
    Req1,
    Request,
    Reset,
    Rsp1,
    Rsp2,
)
from mobilenet.verify import Verdict, verify_run

LIMIT = 6000


class Mutant(NamedTuple):
    rule: str
    what: str
    host: type[Host] = Host
    station: type[Station] = Station
    flavour: str | None = None
    scene: Callable[[type[Station]], str | None] | None = None  # instead of drawn schedules


MUTANTS: dict[str, Mutant] = {}


def mutant(rule: str, name: str, flavour: str | None = None) -> Any:
    """Register a mutant made of one class; its docstring says what is wrong."""

    def register(cls: Any) -> Any:
        parts = {"host": cls} if issubclass(cls, Host) else {"station": cls}
        MUTANTS[name] = Mutant(rule, cls.__doc__, flavour=flavour, **parts)
        return cls

    return register


# --- numbers and what the host believes


@mutant("F1a", "ackc_sets_seqc")
class AckCSetsSeqC(Host):
    """ack_C sets the delivery counter"""

    def _on_ack_c(self, m: AckC) -> None:
        super()._on_ack_c(m)
        self.stable.nxt = m.seq_h.get(self._port.me, self.stable.nxt)


@mutant("F1b", "gt")
class Gt(Station):
    """undelivered: above the next number, instead of from it on"""

    def _undelivered(self, c: Context) -> Any:
        position = max(c.nxt, c.base)
        stream = [item.id for q, item in self._stream.sbuf.items() if q > position and q not in c.skip]
        return (*(item.id for item in c.rec.values()), *stream)


@mutant("F2a", "no_state_check")
class NoStateCheck(Host):
    """App_sh is delivered in any state and from any cell"""

    def on_receive(self, sender: int, message: Any) -> None:
        self._on[type(message)](message)

    def _on_app_sh(self, m: AppSh) -> None:
        if self.stable.status is Status.MEMBER and m.number >= self.stable.nxt and m.number not in self._rbuf.skip:
            self._rbuf.stream[m.number] = Item(m.id, m.body)
            self._fifo_deliver()
        self._arm_ack()


@mutant("F2a", "no_cell_check")
class NoCellCheck(Host):
    """anything from any cell is taken"""

    def on_receive(self, sender: int, message: Any) -> None:
        self._on[type(message)](message)


@mutant("F2b", "stale_rbuf")
class StaleRBuf(Host):
    """RBuffer outlives the session"""

    def _clear_rbuf(self) -> None:
        pass


@mutant("F2b", "no_filter")
class NoFilter(Host):
    """what was buffered before init_ACK is not looked at again"""

    def _filter_rbuf(self) -> None:
        pass


@mutant("F3a", "md_only")
class MdOnly(Host):
    """the host goes by the M_d of each copy, not by the skip set"""

    def _on_init_ack(self, m: InitAck) -> None:
        super()._on_init_ack(m._replace(skip=()))

    def _on_app_sh(self, m: AppSh) -> None:
        if self._connected and self._port.me in m.delivered:
            self._rbuf.skip.add(m.number)
            self._rbuf.stream.pop(m.number, None)
            self._fifo_deliver()
            self._arm_ack()
        else:
            super()._on_app_sh(m)


@mutant("F3b", "md_nobound")
class MdNoBound(Station):
    """the skip set also covers what came after Rsp1"""

    def _skip_set(self, c: Context, m: Rsp2) -> set[int]:
        c.bound = self._stream.next_number
        return super()._skip_set(c, m)


@mutant("F3c", "no_newlist", "slow_talk")
class NoNewList(Station):
    """Rsp2 without its second list"""

    def _received_since_rsp1(self, c: Context) -> Any:
        return ()


@mutant("F4a", "no_freeze", "ping_pong")
class NoFreeze(Station):
    """the giver goes on accepting App_hs"""

    def _accepts(self, c: Context) -> bool:
        return c.state in (State.OWN, State.REL)


class _SendsInInit(Host):
    def _make_app(self, seq: int) -> AppHs | None:
        if self._cell is None or self.stable.status is not Status.MEMBER:
            return None
        return AppHs(self._port.me, seq, self.stable.sbuf[seq])

    def _new_session(self, cause: str) -> None:
        super()._new_session(cause)
        if self.stable.status is Status.MEMBER:
            for seq in self.stable.sbuf:
                self._resender.soon(seq)


class _AcceptsAlways(Station):
    def _accepts(self, c: Context) -> bool:
        return True


MUTANTS["early_app"] = Mutant("F4b", "App_hs sent and accepted before the handoff is over", _SendsInInit, _AcceptsAlways)


@mutant("F5", "rec_numbering", "crash")
class RecNumbering(Host):
    """positions among the recovery messages are counted from 0"""

    start = 0

    def _on_init_ack(self, m: InitAck) -> None:
        if not self._connected:
            self.start = m.start
        super()._on_init_ack(m)

    def _control_message(self) -> Any:
        message = super()._control_message()
        if isinstance(message, Init) and message.nxt < self._rbuf.base:
            return message._replace(nxt=message.nxt - self.start)
        return message


@mutant("F6", "lc_ignored", "ping_pong")
class LcIgnored(Station):
    """a position counts, whichever station's it is"""

    def _number_is_ours(self, c: Context, lc: int) -> bool:
        return True


@mutant("F7", "rel_reinit", "ping_pong")
class RelReinit(Station):
    """init is acknowledged while the token is being handed over"""

    def _answers_init(self, c: Context) -> bool:
        return c.state in (State.OWN, State.REL)


@mutant("F8", "lazy_nxt", "crash")
class LazyNxt(Host):
    """the position is saved with acks, not with each delivery"""

    saved: ClassVar[dict[int, tuple[int, int]]] = {}

    def __init__(self, port: Any, stable: Stable, *rest: Any) -> None:
        if stable.status is Status.OUT:
            self.saved.pop(id(stable), None)
        elif stable.lc == self.saved.get(id(stable), (None, 0))[0]:
            stable.nxt = self.saved[id(stable)][1]
        super().__init__(port, stable, *rest)

    def _save(self) -> None:
        self.saved[id(self.stable)] = (self.stable.lc, self.stable.nxt)

    def _fifo_deliver(self) -> None:
        if self.saved.get(id(self.stable), (None, 0))[0] != self.stable.lc:
            self._save()
        super()._fifo_deliver()

    def _send_ack(self) -> None:
        self._save()
        super()._send_ack()


@mutant("F8", "lc_apart", "ping_pong")
class LcApart(Host):
    """the position of one station goes with the session of another: nxt is kept when a session is confirmed late"""

    def _control_message(self) -> Any:
        message = super()._control_message()
        return message._replace(lc=message.ses - 1) if isinstance(message, Init) else message


# --- requests


@mutant("F9a", "req_ignored")
class ReqIgnored(Station):
    """a request is dropped while the token is on its way"""

    def _asked_while_waiting(self, c: Context, m: Req1) -> None:
        if m.rq.ses < c.ses:
            super()._asked_while_waiting(c, m)


@mutant("F9b", "drop_superseded", "slow_wire")
class DropSuperseded(Station):
    """of several requests, all but the highest are forgotten"""

    def _become_owner(self, c: Context) -> None:
        c.pend = [max(c.pend, key=lambda request: request.rq)] if c.pend else []
        super()._become_owner(c)


@mutant("F9c", "req_obj_early", "slow_wire")
class ReqObjEarly(Station):
    """a station that is not owner objects to lower requests"""

    def _asked_while_waiting(self, c: Context, m: Req1) -> None:
        if m.rq.ses < c.ses:
            self._wired.send(m.source, Objection(m.host, m.rq))
        else:
            super()._asked_while_waiting(c, m)


@mutant("F9d", "obj_strict", "slow_wire")
class ObjStrict(Station):
    """an objection deletes only what is older than the objected request"""

    def _on_objection(self, source: int, m: Objection) -> None:
        c = self.ctx.get(m.host)
        if c is not None and c.ses < m.rq.ses:
            self._drop(c)


@mutant("F9e", "none_late", "stale")
class NoneLate(Station):
    """a requester keeps also lower requests until it is owner or deleted"""

    def _asked_while_waiting(self, c: Context, m: Req1) -> None:
        if m.join:
            super()._asked_while_waiting(c, m)
        else:
            c.pend.append(m)

    def _become_owner(self, c: Context) -> None:
        for request in c.pend:
            if request.rq.ses < c.ses:
                self._wired.send(request.source, Objection(c.host, request.rq))
        c.pend = [request for request in c.pend if request.rq.ses > c.ses]
        super()._become_owner(c)


@mutant("F10", "no_inst", "stale")
class NoInst(Station):
    """a request is identified by its session alone"""

    def _waiting(self, host: int, rq: Request, states: Any) -> Context | None:
        c = self.ctx.get(host)
        return c if c is not None and c.state in states and c.rq.ses == rq.ses else None


# --- join and leave


@mutant("F11", "no_cookie", "churn")
class NoCookie(Station):
    """a join needs no cookie"""

    def _cookie_is_good(self, m: Join) -> bool:
        return True


@mutant("F12a", "reset_counters", "churn")
class ResetCounters(Host):
    """a join resets the session counter"""

    def join(self) -> None:
        if self.stable.status is Status.OUT:
            self.stable.ses = 0
        super().join()


@mutant("F12a", "reset_seq_h", "churn")
class ResetSeqH(Host):
    """a join resets the message counter"""

    def join(self) -> None:
        if self.stable.status is Status.OUT:
            self.stable.seq_h = 0
        super().join()


@mutant("F12b", "join_minseq", "churn")
class JoinMinSeq(Station):
    """a join starts at the oldest stored message"""

    def _join_done(self, c: Context) -> None:
        c.base = c.nxt = c.pin
        self._become_owner(c)


@mutant("F12c", "join_nobarrier", "slow_churn")
class JoinNoBarrier(Station):
    """a join is answered at once"""

    def _request(self, state: State, host: int, *rest: Any, **named: Any) -> None:
        super()._request(state, host, *rest, **named)
        if state is State.REQJ and (c := self.ctx.get(host)) is not None and c.state is State.REQJ:
            self._join_done(c)


@mutant("F13a", "leave_ack_if_ctx", "churn")
class LeaveAckIfCtx(Station):
    """leave is acknowledged only by a station that knows the host"""

    def _on_leave(self, m: Leave) -> None:
        if m.host in self.ctx:
            super()._on_leave(m)


class _LeaveSameSesStation(Station):
    def _on_leave(self, m: Leave) -> None:
        c = self.ctx.get(m.host)
        if c is not None and c.ses <= m.ses:
            self._drop(c)
        self._wired.broadcast(Delete(m.host, m.ses))
        self._port.send(m.host, LeaveAck(m.host, m.ses))


class _LeaveSameSesHost(Host):
    def _try_leave(self) -> None:
        stable = self.stable
        if self._want_leave and stable.status is Status.MEMBER and self._may_leave():
            stable.status = Status.LEAVING
            self._clear_volatile()
            self._port.left(stable.ses)
            self._send_control()


MUTANTS["leave_same_ses"] = Mutant(
    "F13b", "leave uses the session in use", _LeaveSameSesHost, _LeaveSameSesStation, "stale")


@mutant("F13c", "leave_noflush", "churn")
class LeaveNoFlush(Host):
    """a host leaves with unacknowledged messages of its own"""

    def _may_leave(self) -> bool:
        return True


@mutant("F17", "join_keeps_old", "churn")
class JoinKeepsOld(Station):
    """a join does not destroy older contexts elsewhere"""

    def _on_req1(self, source: int, m: Req1) -> None:
        c = self.ctx.get(m.host)
        if m.join and c is not None and c.ses < m.rq.ses:
            self._wired.send(m.source, Nothing(m.host, m.rq))
        else:
            super()._on_req1(source, m)


# --- acknowledgements


@mutant("§7", "ackc_fresh_only")
class AckCFreshOnly(Station):
    """a duplicate does not arm ack_C"""

    def _on_app_hs(self, m: AppHs) -> None:
        c = self.ctx.get(m.host)
        if c is not None and m.seq >= c.seq_h:
            super()._on_app_hs(m)


class _AckFreshOnly(Host):
    def _on_app_sh(self, m: AppSh) -> None:
        if not self._connected or m.number >= self.stable.nxt:
            super()._on_app_sh(m)

    def _send_ack(self) -> None:
        super()._send_ack()
        self._heartbeat_timer.stop()


MUTANTS["ack_fresh_only"] = Mutant("§7", "a duplicate does not arm ack_h, and there is no heartbeat", _AckFreshOnly)


@mutant("F9", "unpinned", "slow_talk")
class Unpinned(Station):
    """a requester keeps nothing for its host"""

    def _request(self, *arguments: Any, **named: Any) -> None:
        super()._request(*arguments, **named)
        for c in self.ctx.values():
            if c.state is State.REQ:
                c.pin = 1 << 60
        self._collect()

    def _on_rsp1(self, source: int, m: Rsp1) -> None:
        c = self._waiting(m.host, m.rq, (State.REQ,))
        if c is not None:
            c.pin = self._stream.oldest
        super()._on_rsp1(source, m)


# --- the T extension


class _ForgetAll(Station):
    def _expire(self, c: Context) -> None:
        self._drop(c)


class _KeepsOnReset(Host):
    def _on_reset(self, m: Reset) -> None:
        kept = dict(self.stable.sbuf)
        before = self.stable.status
        super()._on_reset(m)
        if before is not self.stable.status:
            self.stable.sbuf.update(kept)


MUTANTS["forget_everything"] = Mutant(
    "F15", "after T everything is forgotten, the host comes with its pending messages", _KeepsOnReset, _ForgetAll, "expiry")


@mutant("F15", "same_session_again", "expiry")
class SameSessionAgain(Station):
    """init with the same session is accepted after expiry"""

    def _init_again_after_expiry(self, c: Context, m: Init) -> None:
        self._revive(c)
        self._send_init_ack(c)


@mutant("F15", "ack_without_context", "expiry")
class AckWithoutContext(Station):
    """an ack_h without context is not answered"""

    def _on_ack_without_context(self, m: AckH) -> None:
        pass


@mutant("F15", "expired_ack_ignored", "expiry")
class ExpiredAckIgnored(Station):
    """an ack_h to an expired context is not answered"""

    def _on_ack_h(self, m: AckH) -> None:
        c = self.ctx.get(m.host)
        if c is None or not c.expired:
            super()._on_ack_h(m)


@mutant("F15", "gap_not_carried", "expiry")
class GapNotCarried(Station):
    """the gap does not travel with the token"""

    def _on_rsp1(self, source: int, m: Rsp1) -> None:
        super()._on_rsp1(source, m._replace(gap=False))


@mutant("F15", "gap_once", "expiry")
class GapOnce(Station):
    """the gap is told in one init_ACK only"""

    def _send_init_ack(self, c: Context) -> None:
        super()._send_init_ack(c)
        c.gap = False


@mutant("F15", "revive_position", "expiry")
class RevivePosition(Station):
    """a revived context goes on at its old position"""

    def _revive(self, c: Context) -> None:
        c.expired, c.gap = False, True
        self._collect()


@mutant("F15", "expires_early", "calm_expiry")
class ExpiresEarly(Station):
    """a host is given up long before T"""

    def __init__(self, port: Any, wired: Any, parameters: MobileCausalParameters, *rest: Any) -> None:
        assert parameters.expiry_s is not None
        super().__init__(port, wired, parameters.model_copy(update={"expiry_s": parameters.expiry_s / 6}), *rest)


@mutant("F15", "expires_at_half", "expiry")
class ExpiresAtHalf(Station):
    """a host is given up after half of T"""

    def __init__(self, port: Any, wired: Any, parameters: MobileCausalParameters, *rest: Any) -> None:
        assert parameters.expiry_s is not None
        super().__init__(port, wired, parameters.model_copy(update={"expiry_s": parameters.expiry_s / 2}), *rest)


@mutant("F15", "expires_in_silence", "expiry")
class ExpiresInSilence(ExpiresAtHalf):
    """the same, and the network is not told"""

    def _on_expiry_timer(self) -> None:
        limit_ns = (self._p.expiry_s or 0) * 1e9
        for c in list(self.ctx.values()):
            if c.state is State.OWN and not c.expired and self._port.now - c.heard_ns >= limit_ns:
                self._expire(c)
        super()._on_expiry_timer()


@mutant("F15", "gap_for_nothing", "calm_expiry")
class GapForNothing(Station):
    """every handoff announces a gap"""

    def _send_init_ack(self, c: Context) -> None:
        c.gap = True
        super()._send_init_ack(c)


@mutant("F13b", "delivers_leaving", "churn")
class DeliversLeaving(Host):
    """a host that is leaving goes on delivering"""

    def _clear_volatile(self) -> None:
        connected = self._connected
        super()._clear_volatile()
        self._connected = connected and self.stable.status is Status.LEAVING


# --- windows: no message is lost without them, so scenes judge them


class SendWindow(Station):
    """a send window that starts at the oldest pending message"""

    def _receive_app(self, item: Item, from_wire: bool) -> None:
        if self._stream.next_number < self._stream.oldest + self._p.window:
            super()._receive_app(item, from_wire)
        # else it would wait for the window to move; as good as lost while it does not


class ResendToSilent(Station):
    """messages are resent for hosts that are not heard"""

    def _wanted_from(self) -> int:
        return 0


class NoBacklog(Station):
    """copies are queued in the radio whatever waits there"""

    def __init__(self, port: Any, wired: Any, parameters: MobileCausalParameters, *rest: Any) -> None:
        super().__init__(port, wired, parameters.model_copy(update={"mac_backlog": 10_000}), *rest)


for _name, _class, _scene in (
    ("send_window", SendWindow, deaf_host_blocks_nobody),
    ("resend_to_silent", ResendToSilent, nothing_is_resent_to_the_silent),
    ("no_backlog", NoBacklog, radio_is_not_flooded),
):
    MUTANTS[_name] = Mutant("F14", str(_class.__doc__), station=_class, scene=_scene)


class Kill(NamedTuple):
    name: str
    schedules: int  # until it was caught, or all of them
    seed: int | None  # that caught it
    flavour: str
    check: str | None  # the first property violated; None: it lives
    explanation: str


def verdicts_on(schedule: Schedule, m: Mutant) -> dict[str, Verdict]:
    """What the verifier says of this run; nothing if it raised."""
    with tempfile.TemporaryDirectory(prefix="mobilenet-mutant-") as folder:
        try:
            record_adversary(schedule, Path(folder), m.host, m.station, check=False)
        except (AssertionError, KeyError, ValueError, IndexError):
            return {}
        return verify_run(Path(folder))


def hunt(name: str, limit: int = LIMIT) -> Kill:
    """Schedule after schedule until the mutant is caught."""
    m = MUTANTS[name]
    if m.scene is not None:
        found = m.scene(m.station)
        return Kill(name, 1, None, "scene", "load" if found else None, found or "")
    for seed in range(limit):
        schedule = draw(seed, m.flavour)
        for check, verdict in verdicts_on(schedule, m).items():
            if verdict.answer == "violated":
                return Kill(name, seed + 1, seed, schedule.flavour, check, verdict.explanation)
    return Kill(name, limit, None, m.flavour or "", None, "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(MUTANTS))
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    killed_by: Counter[str] = Counter()
    print(f"{'mutant':20} {'rule':5} {'schedules':>9} {'seed':>5}  {'flavour':12} {'property':13} explanation")
    with ProcessPoolExecutor(arguments.workers) as pool:
        for kill in pool.map(hunt, arguments.names, [arguments.limit] * len(arguments.names)):
            seed = "" if kill.seed is None else kill.seed
            first_line = kill.explanation.partition("\n")[0][:90]
            print(f"{kill.name:20} {MUTANTS[kill.name].rule:5} {kill.schedules:9} {seed:5}  {kill.flavour:12} "
                  f"{kill.check or 'SURVIVES':13} {first_line}", flush=True)
            if kill.check is not None:
                killed_by[kill.check] += 1
    alive = len(arguments.names) - killed_by.total()
    print(f"{killed_by.total()} of {len(arguments.names)} killed: {dict(killed_by.most_common())}")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
