"""Tests of the two examples of the paper, packet by packet. Numbers start at 0 here and at 1 in the paper."""

from mobilenet.protocols.mobile_causal.messages import (
    AckC,
    AckH,
    App,
    AppCo,
    AppHs,
    AppSh,
    Init,
    InitAck,
    Item,
    Nothing,
    Req1,
    Req2,
    Rsp1,
    Rsp2,
)
from mobilenet.protocols.port import MessageId

from .bench import Bench

M1, M2, M3 = MessageId(1, 0), MessageId(2, 0), MessageId(2, 1)


def test_figure_4_of_the_paper_is_reproduced_packet_by_packet() -> None:
    """h0 at s0 broadcasts m1, and h1 at s1 answers with m2. The first copy of m1 from s0 and the ack of s0 do not reach
    h0.
    """
    b = Bench(2, [0, 1], forwarding_jitter_s=0)
    b.everybody_joins()
    b.wait(0.8)
    b.lose()  # the acknowledgements of the joins are lost
    m1 = b.broadcast("h0")
    b.pass_on(AppHs, "h0")
    b.take(AppSh, "s0")  # this copy is lost
    b.cable(App, "s1")
    b.pass_on(AppSh, "s1")
    assert b.lives["h1"].delivered == [m1]
    m2 = b.broadcast("h1")
    b.pass_on(AppHs, "h1")
    assert b.lives["h1"].delivered == [m1]  # h1 delivers its own message only when the message returns
    b.pass_on(AppSh, "s1")
    assert b.lives["h1"].delivered == [m1, m2]
    b.cable(App, "s0")
    b.pass_on(AppSh, "s0")  # m2 arrives at h0 out of order.
    assert b.lives["h0"].delivered == [] and b.hosts["h0"].buffer_sizes() == (1, 1)
    b.wait(0.8)  # s1 and h1 acknowledge; h0 and s0 resend m1
    assert b.pass_on(AckC, "s1").seq_h == {1: 1}
    assert b.pass_on(AckH, "h1").nxt == 2
    assert b.hosts["h1"].buffer_sizes() == (0, 0) and b.stations["s1"].buffer_sizes() == (0, 0)
    b.lose()
    b.wait(0.7)
    b.pass_on(AppHs, "h0")  # a second copy is ignored, but acknowledged
    assert not b.wire
    while b.lives["h0"].delivered == []:
        b.pass_on(AppSh, "s0")
    assert b.lives["h0"].delivered == [m1, m2]
    b.run(3)
    assert b.is_empty()


def figure_5(m3_at_s1_first: bool) -> tuple[Bench, Rsp2, InitAck]:
    """Play figure 5. Host h0 moves from s0 to s1. Station s0 keeps m2 and receives m3 from s2, and s1 keeps m1."""
    b = Bench(3, [0, 1, 0], forwarding_jitter_s=0)
    b.everybody_joins()
    b.wait(0.8)
    b.lose()
    s0, s1, h0 = b.stations["s0"], b.stations["s1"], b.hosts["h0"]
    for station, order in ((s0, (M1, M2)), (s1, (M2, M1))):
        for mid in order:
            station.on_wired(2, App(mid, 100))
    b.hosts["h2"].on_receive(0, AppSh(0, M1, 100, ()))
    b.hosts["h2"].on_receive(0, AppSh(1, M2, 100, ()))
    b.hosts["h1"].on_receive(1, AppSh(0, M2, 100, ()))
    s0.on_receive(2, AckH(2, 1, 2))  # h2 has both messages; s0 keeps m2 because h0 lacks it
    h0.on_receive(0, AppSh(0, M1, 100, ()))
    s0.on_receive(0, AckH(0, 1, 1))
    s1.on_receive(1, AckH(1, 1, 1))  # s1 keeps m1 because h1 lacks it
    assert (s0.buffer_sizes(), s1.buffer_sizes()) == ((1, 0), (1, 0))
    b.lose()
    b.move("h0", 1)
    init = b.pass_on(Init, "h0")
    assert (init.ses, init.lc, init.nxt) == (2, 1, 1)
    b.cable(Req1, "s0")
    assert b.wire[-1].message == Rsp1(0, b.wire[-1].message.rq, (M2,), 0, False, False)
    s0.on_wired(2, App(M3, 100))
    if m3_at_s1_first:
        s1.on_wired(2, App(M3, 100))
    b.cable(Rsp1, "s1")
    assert b.wire[-1].message.wanted == (M2,)
    if not m3_at_s1_first:
        s1.on_wired(2, App(M3, 100))
    b.cable(Req2, "s0")
    rsp2 = b.wire[-1].message
    assert 0 not in s0.ctx and s0.buffer_sizes() == (1, 0)  # h2 still needs m3
    b.cable(Rsp2, "s1")
    b.cable(Req1, "s2")
    b.cable(Nothing, "s1")
    return b, rsp2, b.take(InitAck, "s1", "h0").message


def test_figure_5_of_the_paper_is_reproduced_packet_by_packet() -> None:
    for m3_at_s1_first in (True, False):
        b, rsp2, init_ack = figure_5(m3_at_s1_first)
        h0, life = b.hosts["h0"], b.lives["h0"]
        assert rsp2.bodies == (Item(M2, 100),) and rsp2.new_ids == (M3,)
        assert init_ack == InitAck(0, 2, start=0, base=1, skip=(1,), seq_h=0, gap=False)
        h0.on_receive(1, init_ack)
        h0.on_receive(1, AppSh(2, M3, 100, ()))
        h0.on_receive(1, AppSh(1, M1, 100, ()))  # a copy whose M_d does not contain h0 is skipped, too
        assert life.delivered == [M1]
        recovery = b.pass_on(AppCo, "s1")
        assert recovery == AppCo(0, 2, 0, M2, 100)
        assert life.delivered == [M1, M2, M3]
        b.run(3)
        assert b.is_empty()


def test_m_d_lists_the_hosts_that_have_the_message() -> None:
    b, _, _ = figure_5(True)
    b.lose()
    b.wait(2)
    copies = {p.message.number: p.message.delivered for p in b.air if type(p.message) is AppSh and p.sender == "s1"}
    assert copies[1] == (0,) and copies[2] == ()
