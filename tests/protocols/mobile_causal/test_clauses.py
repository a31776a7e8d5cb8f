"""Tests of the repaired rules, with one small scene for each rule. The labels are those of
docs/protocols/mobile-causal.md.
"""

from mobilenet.protocols.mobile_causal import Status
from mobilenet.protocols.mobile_causal.context import State
from mobilenet.protocols.mobile_causal.messages import (
    AckC,
    AckH,
    App,
    AppCo,
    AppHs,
    AppSh,
    Chal,
    Delete,
    Init,
    InitAck,
    Join,
    Leave,
    LeaveAck,
    Nothing,
    Objection,
    Reinit,
    Req1,
    Req2,
    Request,
    Reset,
    Rsp1,
    Rsp2,
)
from mobilenet.protocols.port import MessageId

from .bench import Bench


def mid(n: int) -> MessageId:
    return MessageId(9, n)


def copy(n: int) -> AppSh:
    """Return message n with the number n in the stream of the cell."""
    return AppSh(n, mid(n), 100, ())


def bench_with_members(stations: int, cells: list[int | None], **parameters: object) -> Bench:
    b = Bench(stations, cells, forwarding_jitter_s=0, **parameters)
    b.everybody_joins()
    b.wait(0.8)
    b.lose()
    return b


def messages_to(b: Bench, to: str, kind: type) -> list[object]:
    return [p.message for p in b.wire if p.to == to and type(p.message) is kind]


# --- the host


def test_f1a_an_ack_c_does_not_change_the_position() -> None:
    b = bench_with_members(1, [0])
    host = b.hosts["h0"]
    host.co_broadcast(100)
    host.on_receive(0, AckC({0: 1}))
    assert b.stable["h0"].nxt == 0 and host.buffer_sizes() == (0, 0)
    host.on_receive(0, copy(0))
    assert b.deliveries("h0") == [(9, 0)]


def test_f2a_hosts_deliver_only_within_a_session_and_its_cell() -> None:
    b = bench_with_members(2, [0])
    host = b.hosts["h0"]
    host.on_receive(1, copy(0))
    assert host.buffer_sizes() == (0, 0)
    b.move("h0", 1)
    host.on_receive(1, copy(0))
    assert b.deliveries("h0") == [] and host.buffer_sizes() == (0, 1)


def test_f2b_messages_buffered_for_the_old_cell_are_dropped() -> None:
    b = bench_with_members(2, [0])
    host = b.hosts["h0"]
    host.on_receive(0, copy(7))
    assert host.buffer_sizes() == (0, 1)
    b.move("h0", 1)
    assert host.buffer_sizes() == (0, 0)
    host.on_receive(1, InitAck(0, 2, 7, 7, (), 0, False))
    assert b.deliveries("h0") == []


def test_f5_a_stream_copy_cannot_pass_for_a_recovery_message() -> None:
    b = bench_with_members(2, [0])
    host = b.hosts["h0"]
    b.move("h0", 1)
    host.on_receive(1, copy(3))  # an old copy with the number 3 of the stream
    host.on_receive(1, AppCo(0, 2, 4, mid(14), 100))
    host.on_receive(1, InitAck(0, 2, 3, 5, (5, 6), 0, False))
    assert b.deliveries("h0") == []
    host.on_receive(1, AppCo(0, 1, 3, mid(99), 100))  # This message belongs to an earlier session.
    host.on_receive(1, AppCo(0, 2, 3, mid(13), 100))
    assert b.deliveries("h0") == [(9, 13), (9, 14)]
    assert b.stable["h0"].nxt == 7  # messages 5 and 6 were delivered elsewhere


def test_f8_a_crash_after_a_delivery_does_not_repeat_it() -> None:
    b = bench_with_members(1, [0])
    b.broadcast("h0")
    b.pass_on(AppHs)
    b.pass_on(AppSh)
    assert b.crash_and_recover("h0") == [MessageId(0, 0)]
    b.lose()
    b.run(3)
    assert b.deliveries("h0") == [] and b.is_empty()
    assert [u[:1] + u[3:] for u in b.lives["h0"].upcalls[:2]] == [
        ("session_opened", "recovery"),
        ("session_confirmed", {"recovered": 0, "skipped": 0}),
    ]


def test_a_session_continues_when_its_host_returns_to_the_cell() -> None:
    b = bench_with_members(1, [0])
    b.move("h0", None)
    b.broadcast("h0")
    assert not b.air
    b.move("h0", 0)
    b.run(3)
    assert b.stable["h0"].ses == 1 and b.deliveries("h0") == [(0, 0)]
    assert b.is_empty()


def test_broadcasts_between_sessions_wait_for_the_next_session() -> None:
    b = bench_with_members(2, [0])
    b.move("h0", 1)
    b.broadcast("h0")
    assert not [p for p in b.air if type(p.message) is AppHs]
    b.run(3)
    assert b.deliveries("h0") == [(0, 0)]


# --- joining and leaving


def test_a_host_rejects_broadcast_and_leave_out_of_session() -> None:
    b = Bench(2, [0])
    host = b.hosts["h0"]
    assert host.co_broadcast(1) is None
    host.join()
    assert host.leave() is False and host.co_broadcast(1) is None
    b.run(0.5)
    assert host.co_broadcast(1) == MessageId(0, 0)
    assert host.leave() is True and host.co_broadcast(1) is None


def test_f11_a_late_join_has_no_effect() -> None:
    b = Bench(2, [0])
    b.hosts["h0"].join()
    first = b.pass_on(Join)
    assert first.cookie is None and 0 not in b.stations["s0"].ctx
    b.pass_on(Chal)
    second = b.pass_on(Join)
    assert b.context("s0", 0).state is State.REQJ
    b.run(1)
    b.hosts["h0"].leave()
    b.run(1)
    assert b.stable["h0"].status is Status.OUT
    for late in (first, second):
        b.stations["s0"].on_receive(0, late)
        b.run(0.1)
        assert not b.stations["s0"].ctx and not b.stations["s1"].ctx


def test_f12_a_host_that_rejoins_starts_with_new_numbers() -> None:
    b = bench_with_members(2, [0, 0])
    b.broadcast("h0")
    b.run(2)
    b.hosts["h0"].leave()
    b.run(1)
    b.deaf.add("h1")  # h1 cannot acknowledge, so m stays in the buffer
    b.hosts["h0"].join()
    b.pass_on(Join)
    b.pass_on(Chal)
    b.pass_on(Join)
    # The message arrives before the answer, so it is not intended for this life of the host.
    b.stations["s0"].on_wired(1, App(mid(5), 100))
    assert b.context("s0", 0).state is State.REQJ
    b.cable(Req1)
    b.cable(Nothing)
    assert b.context("s0", 0).nxt == b.stations["s0"].next_number == 2
    b.run(1)
    assert b.broadcast("h0") == MessageId(0, 1)
    assert b.stable["h0"].ses == 3


def test_f13_leave_waits_for_acknowledgements() -> None:
    b = bench_with_members(2, [0])
    host = b.hosts["h0"]
    host.co_broadcast(100)
    assert host.leave() and b.stable["h0"].status is Status.MEMBER
    b.pass_on(AppHs)
    b.wait(0.8)
    b.pass_on(AckC)
    assert b.stable["h0"].status is Status.LEAVING and b.stable["h0"].ses == 2
    b.pass_on(Leave)
    b.take(LeaveAck)  # the LeaveAck is lost
    assert 0 not in b.stations["s0"].ctx
    b.move("h0", 1)
    b.pass_on(Leave, to="s1")
    b.pass_on(LeaveAck, "s1")
    assert b.stable["h0"].status is Status.OUT


# --- the token


def granting() -> Bench:
    """Return a bench on which s0 has sent Rsp1 for h0. Hosts h0 and h2 are at s1, and h1 is at s0."""
    b = bench_with_members(3, [0, 0, 1])
    b.move("h0", 1)
    b.pass_on(Init)
    b.cable(Req1, "s0")
    assert b.context("s0", 0).state is State.REL
    return b


def test_f4_no_station_accepts_messages_while_the_token_moves() -> None:
    b = granting()
    for s in ("s0", "s1"):
        b.stations[s].on_receive(0, AppHs(0, 0, 100))
    assert all(station.next_number == 0 for station in b.stations.values())


def test_f7_an_init_at_the_granting_station_waits() -> None:
    b = granting()
    b.move("h0", 0)
    b.lose()
    b.stations["s0"].on_receive(0, Init(0, 3, 1, 0))
    assert not [p for p in b.air if type(p.message) is InitAck]
    b.run(2)
    assert b.context("s0", 0).ses == 3 and 0 not in b.stations["s1"].ctx


def test_f3b_messages_after_rsp1_count_as_new() -> None:
    b = granting()
    b.cable(Rsp1)
    b.cable(Req2)
    b.stations["s0"].on_wired(2, App(mid(1), 100))
    b.stations["s1"].on_wired(2, App(mid(1), 100))
    b.cable(Rsp2)
    assert b.context("s1", 0).skip == set()


def test_f3a_delivered_messages_are_skipped_without_m_d() -> None:
    b = bench_with_members(2, [0, 1])
    for s in ("s0", "s1"):
        b.stations[s].on_wired(9, App(mid(1), 100))
    b.pass_on(AppSh, "s0")
    early = b.take(AppSh, "s1").message
    b.move("h0", 1)
    b.hosts["h0"].on_receive(1, early)  # The message waits in RBuffer, because its M_d is empty.
    b.pass_on(Init)
    for kind in (Req1, Rsp1, Req2, Rsp2):
        b.cable(kind)
    assert b.pass_on(InitAck, to="h0").skip == (0,)
    assert b.deliveries("h0") == [(9, 1)] and b.hosts["h0"].buffer_sizes() == (0, 0)


def test_f6_a_position_applies_only_to_its_session() -> None:
    b = bench_with_members(2, [0, 0])
    station = b.stations["s0"]
    for n in range(3):
        station.on_wired(1, App(mid(n), 100))
    station.on_receive(0, Init(0, 2, 0, 3))  # LC is 0, so the position 3 refers to another station
    assert station.ctx[0].nxt == 0 and station.ctx[0].ses == 2
    station.on_receive(0, Init(0, 3, 2, 3))
    assert station.ctx[0].nxt == 3


def test_f9_competing_requests_at_a_waiting_station_are_resolved() -> None:
    b = granting()
    s1 = b.stations["s1"]
    s1.on_wired(2, Req1(0, Request(4, 7), 1, 0, False, 2))  # s1 keeps this init, because it has a higher number.
    s1.on_wired(2, Req1(0, Request(3, 6), 1, 0, False, 2))  # s1 also keeps this init, because its number is higher.
    s1.on_wired(2, Req1(0, Request(1, 5), 0, 0, False, 2))  # s1 discards this init, because its number is lower.
    s1.on_wired(2, Req1(0, Request(1, 4), 0, 0, True, 2))  # This join has a lower number and is superseded.
    assert messages_to(b, "s2", Nothing) == [Nothing(0, Request(1, 5))]
    assert messages_to(b, "s2", Objection) == [Objection(0, Request(1, 4))]
    b.cable(Rsp1)
    b.cable(Req2)
    b.lose()
    b.cable(Rsp2)
    assert messages_to(b, "s2", Objection)[1:] == [Objection(0, Request(3, 6))]
    assert [m.rq for m in messages_to(b, "s2", Rsp1)] == [Request(4, 7)]  # type: ignore[attr-defined]
    assert not b.air  # The station does not send init_ACK, because the host is elsewhere.


def test_f9_answers_to_outdated_requests_are_ignored() -> None:
    b = Bench(3, [])
    s0 = b.stations["s0"]
    s0.on_receive(5, Init(5, 2, 1, 0))
    rq = s0.ctx[5].rq
    for wrong in (Request(2, rq.k + 1), Request(1, rq.k)):
        s0.on_wired(1, Nothing(5, wrong))
        s0.on_wired(1, Objection(5, wrong))
        s0.on_wired(1, Rsp1(5, wrong, (), 0, False, False))
    assert s0.ctx[5].state is State.REQ and not s0.ctx[5].answers
    s0.on_wired(1, Nothing(5, rq))
    s0.on_wired(2, Nothing(5, rq))
    assert not s0.ctx and b.take(Reset).message == Reset(5, 2)


def test_f10_an_old_rsp1_does_not_answer_a_repeated_request() -> None:
    b = bench_with_members(2, [0])
    s1 = b.stations["s1"]
    s1.on_receive(0, Init(0, 2, 1, 0))
    b.cable(Req1)
    s1.on_receive(0, Leave(0, 3))
    s1.on_receive(0, Init(0, 2, 1, 0))  # an old copy
    b.cable(Rsp1)
    assert s1.ctx[0].state is State.REQ
    b.run(1)
    assert not s1.ctx


def test_an_old_context_ends_on_delete_or_a_newer_join() -> None:
    b = bench_with_members(2, [0])
    s0 = b.stations["s0"]
    s0.on_wired(1, Delete(0, 1))
    assert 0 in s0.ctx
    s0.on_wired(1, Req1(0, Request(1, 9), -1, 0, True, 1))
    assert 0 in s0.ctx and messages_to(b, "s1", Objection)
    s0.on_wired(1, Req1(0, Request(2, 9), -1, 0, True, 1))
    assert 0 not in s0.ctx and messages_to(b, "s1", Nothing)


# --- long failures


def bench_after_expiry() -> Bench:
    """Return a bench on which h0 at s0 was silent for more than T while h1 sent two messages. The first message of h0
    has not been acknowledged.
    """
    b = bench_with_members(2, [0, 0, 1], expiry_s=3.0)
    b.broadcast("h0")
    b.pass_on(AppHs)
    b.lose()
    b.deaf.add("h0")
    b.broadcast("h1")
    b.run(4)
    assert b.context("s0", 0).expired and b.stations["s0"].buffer_sizes() == (0, 0)
    b.deaf.clear()
    return b


def test_f15_an_expired_session_restarts_with_a_gap() -> None:
    b = bench_after_expiry()
    b.run(6)
    upcalls = [u for u in b.lives["h0"].upcalls if u[0] in ("gap", "session_opened")]
    assert upcalls == [("session_opened", 1, 0, "join"), ("session_opened", 2, 0, "reinit"), ("gap", 2, 0)]
    assert b.deliveries("h1") == [(0, 0), (1, 0)]  # each message is delivered only once
    assert b.is_empty()
    b.broadcast("h1")
    b.run(2)
    assert b.deliveries("h0") == [(1, 1)]


def test_f15_the_gap_is_passed_on_until_it_is_confirmed() -> None:
    b = bench_after_expiry()
    b.lose()
    b.move("h0", 1)
    b.pass_on(Init)
    b.cable(Req1)
    assert b.wire[-1].message[2:] == ((), 1, True, True)
    for kind in (Rsp1, Req2, Rsp2):
        b.cable(kind)
    assert b.take(InitAck).message.gap  # this InitAck is lost
    b.move("h0", 0)
    b.run(3)
    assert [u for u in b.lives["h0"].upcalls if u[0] == "gap"] == [("gap", 3, 0)]
    assert not b.context("s0", 0).gap


def test_f15_the_same_session_is_confirmed_only_once() -> None:
    b = bench_after_expiry()
    b.stations["s0"].on_receive(0, Init(0, 1, -1, 0))
    assert b.take(Reinit).message == Reinit(0, 1)
    assert b.context("s0", 0).expired


def test_a_host_whose_stub_was_removed_rejoins_with_a_gap() -> None:
    b = bench_with_members(2, [0, 1], expiry_s=3.0, stub_lifetime_s=1.0)
    b.deaf.add("h0")
    b.broadcast("h0")
    b.run(5)
    assert 0 not in b.stations["s0"].ctx
    b.deaf.clear()
    b.run(6)
    assert [u[0] for u in b.lives["h0"].upcalls if u[0] != "session_opened"] == [
        "session_confirmed",
        "joined",
        "gap",
        "session_confirmed",
        "gap",
    ]
    assert b.stable["h0"].status is Status.MEMBER
    assert b.is_empty()
    assert b.broadcast("h0") == MessageId(0, 1)
    b.run(3)
    assert b.deliveries("h1") == [(0, 1)]


def test_an_unexpected_ack_is_answered_with_reinit() -> None:
    b = bench_with_members(2, [0])
    b.stations["s1"].on_receive(0, AckH(0, 1, 0))
    assert b.take(Reinit).message == Reinit(0, 1)
