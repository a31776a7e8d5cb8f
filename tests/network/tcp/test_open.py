"""Tests of how a connection is opened and how it ends, to the nanosecond. A segment takes 50 ms to arrive."""

from __future__ import annotations

from typing import Any

import pytest

from mobilenet.engine.clock import MILLISECOND, SECOND
from mobilenet.network.tcp.connection import Connection, State
from mobilenet.network.tcp.segment import ACK, RST, SYN, UNKNOWN, Segment, reset_of

from .wire import Delays, End, Note, Wire, tcp

HERE: Delays = [50 * MILLISECOND]


def test_three_segments_open_a_connection() -> None:
    wire = Wire()
    wire.a.connection.connect()
    wire.run_ms(5000)
    assert wire.log == [(0, "a", "syn"), (50_000_000, "b", "syn ack"), (100_000_000, "a", "ack 1")]
    assert wire.a.events == [(100_000_000, "open")] and wire.b.events == [(150_000_000, "open")]
    for end in (wire.a, wire.b):  # RFC 6298, 2.2: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR
        estimator = end.connection.estimator
        assert (estimator.srtt_ns, estimator.rttvar_ns, estimator.rto_ns) == (100_000_000, 50_000_000, 300_000_000)
    syn, answer, last = wire.segments
    assert (syn.source, syn.target, answer.source, answer.target, last.source, last.target) == (7, UNKNOWN, 9, 7, 7, 9)
    assert [segment.size_bytes for segment in wire.segments] == [24, 24, 20]
    assert [segment.payload_bytes for segment in wire.segments] == [0, 0, 0]


def test_early_data_is_sent_with_the_third_handshake_segment() -> None:
    wire = Wire()
    wire.a.connection.connect()
    wire.a.say("early", "too")
    assert len(wire.a.connection.backlog) == 2
    wire.run_ms(5000)
    assert wire.words_of("a") == ["0 syn", "100 1:1001 ack 1", "100 1001:2001 ack 1"]
    assert wire.b.got == ["early", "too"] and len(wire.a.connection.backlog) == 0


def test_sending_in_on_open_saves_the_third_segment() -> None:
    wire = Wire()
    wire.a.on_open = lambda: wire.a.say("first")  # type: ignore[method-assign]
    wire.b.on_open = lambda: wire.b.say("hello")  # type: ignore[method-assign]
    wire.a.connection.connect()
    wire.run_ms(5000)
    assert wire.words_of("a") == ["0 syn", "100 1:1001 ack 1", "200 ack 1001"]
    assert wire.words_of("b") == [
        "50 syn ack",
        "150 1:1001 ack 1",
        "150 ack 1001",
    ]  # b sent hello before it had read the data
    assert (wire.a.got, wire.b.got) == (["hello"], ["first"])


def test_connecting_to_a_silent_peer_times_out_after_75_s() -> None:
    wire = Wire(fate=lambda *_: [])
    wire.a.connection.connect()
    wire.run_ms(500_000)
    assert wire.log == [(second * SECOND, "a", "syn") for second in (0, 1, 3, 7, 15, 31, 63)]
    assert wire.a.events == [(75 * SECOND, "connect_timeout")]
    assert wire.a.connection.state is State.CLOSED


def test_the_connection_timeout_is_configurable() -> None:
    wire = Wire(tcp(connect_timeout_s=2.5, rto_initial_s=0.5), fate=lambda *_: [])
    wire.a.connection.connect()
    wire.run_ms(500_000)
    assert wire.words_of("a") == ["0 syn", "500 syn", "1500 syn"]
    assert wire.a.events == [(2_500_000_000, "connect_timeout")]


def test_the_accepting_end_also_times_out() -> None:
    wire = Wire(fate=lambda end, number, segment: HERE if end == "a" and number == 0 else [])
    wire.a.connection.connect()
    wire.run_ms(500_000)
    assert [time for time, what in wire.sends_of("b")] == [50, 1050, 3050, 7050, 15050, 31050, 63050]
    assert wire.b.events == [(75_050_000_000, "connect_timeout")]


def test_a_lost_syn_sets_a_3_s_timeout_and_one_segment_window() -> None:
    """RFC 6298, 5.7, and RFC 5681, 3.1. The other end lost no segment, so it has measured its round trip."""
    wire = Wire(fate=lambda end, number, segment: [] if end == "a" and (number == 0 or segment.length) else HERE)
    wire.a.connection.connect()
    wire.run_ms(2000)
    assert wire.words_of("a") == ["0 syn", "1000 syn", "1100 ack 1"]
    wire.a.say(0, 1, 2)
    wire.run_ms(15_000)
    assert wire.words_of("a")[3:] == ["2000 1:1001 ack 1", "5000 1:1001 ack 1", "11000 1:1001 ack 1"]
    assert wire.a.connection.estimator.samples == 0
    assert wire.b.connection.estimator.rto_ns == 300 * MILLISECOND


def test_a_lost_syn_ack_is_requested_again() -> None:
    """Both ends retransmit. At 1000, a repeats its SYN. At 1050, b repeats its answer, because its timer expires and
    because the SYN has arrived again.
    """
    wire = Wire(fate=lambda end, number, segment: [] if end == "b" and number == 0 else HERE)
    wire.a.connection.connect()
    wire.run_ms(5000)
    assert wire.words_of("a")[:3] == ["0 syn", "1000 syn", "1100 ack 1"]
    assert wire.words_of("b") == ["50 syn ack", "1050 syn ack", "1050 syn ack"]
    assert wire.a.connection.is_open and wire.b.connection.is_open
    assert [end.connection.estimator.samples for end in (wire.a, wire.b)] == [0, 0]  # Karn's algorithm


def test_a_lost_third_handshake_segment_is_resent() -> None:
    wire = Wire(fate=lambda end, number, segment: [] if end == "a" and number == 1 else HERE)
    wire.a.connection.connect()
    wire.run_ms(5000)
    assert wire.words_of("b") == ["50 syn ack", "1050 syn ack"]
    assert wire.words_of("a") == ["0 syn", "100 ack 1", "1100 ack 1"]
    assert wire.b.events == [(1_150_000_000, "open")]


def test_a_repeated_syn_only_invalidates_the_rtt_sample() -> None:
    wire = Wire(
        fate=lambda end, number, segment: [50 * MILLISECOND, 60 * MILLISECOND] if segment.flags == SYN else HERE
    )
    wire.a.connection.connect()
    wire.run_ms(5000)
    assert wire.words_of("b") == ["50 syn ack", "60 syn ack"]
    assert wire.words_of("a") == ["0 syn", "100 ack 1", "110 ack 1"]
    assert wire.b.connection.estimator.samples == 0
    assert wire.b.connection.congestion.window == 4000
    assert wire.b.connection.estimator.rto_ns == SECOND


def test_an_old_syn_in_an_open_connection_is_only_acknowledged() -> None:
    wire = Wire(
        fate=lambda end, number, segment: [50 * MILLISECOND, 3000 * MILLISECOND] if segment.flags == SYN else HERE
    ).open()
    wire.run_ms(4000)
    assert wire.log == [(3_000_000_000, "b", "ack 1")]
    assert wire.b.connection.is_open


def test_segment_and_window_sizes_of_both_ends_are_respected() -> None:
    wire = Wire(tcp(initial_window_segments=10), server=tcp(mss_bytes=600, window_bytes=1500)).open()
    wire.a.say(0, size_bytes=5000)
    wire.b.say(1, size_bytes=1300)
    wire.run_ms(1010)
    assert wire.words_of("a") == ["1000 1:601 ack 1", "1000 601:1201 ack 1"]  # A third segment would exceed 1500 bytes.
    assert wire.words_of("b") == ["1000 1:601 ack 1", "1000 601:1201 ack 1", "1000 1201:1301 ack 1"]
    wire.run_ms(9000)
    assert (wire.b.got, wire.a.got) == ([0], [1])


def test_reset_notifies_the_other_end_and_abort_does_not() -> None:
    wire = Wire().open()
    wire.a.connection.reset()
    wire.a.connection.reset()
    wire.run_ms(2000)
    assert wire.log == [(SECOND, "a", "rst")]
    assert wire.a.events[1:] == [] and wire.b.events[1:] == [(1_050_000_000, "reset")]

    wire = Wire().open()
    wire.a.say(0)
    wire.a.connection.abort()
    wire.run_ms(2000)
    assert wire.words_of("a") == ["1000 1:1001 ack 1", "1100 rst"]  # the reset answers b's acknowledgement
    assert wire.b.got == [0] and wire.b.events[1:] == [(1_150_000_000, "reset")]


def test_reset_during_the_handshake_answers_the_syn_ack() -> None:
    wire = Wire()
    wire.a.connection.connect()
    wire.a.connection.reset()
    wire.run_ms(500)
    assert wire.words_of("a") == ["0 syn", "100 rst"]  # the reset answers the SYN-ACK
    assert wire.b.events == [(150_000_000, "reset")]


def test_a_reset_during_the_handshake_closes_the_connection() -> None:
    """The other end never had such a connection, or has abandoned it."""
    for source in (UNKNOWN, 9):
        wire = Wire(fate=lambda *_: [])
        wire.a.connection.connect()
        wire.run_ms(60)
        wire.a.connection.on_segment(Segment(source, 8, RST | ACK, 0, 1))  # This segment belongs to another connection.
        assert wire.a.connection.state is State.SYN_SENT
        wire.a.connection.on_segment(Segment(source, 7, RST | ACK, 0, 1))
        wire.run_ms(100_000)
        assert wire.a.events == [(60 * MILLISECOND, "refused")]
        assert wire.words_of("a") == ["0 syn"]


def test_segments_of_other_connections_are_reset() -> None:
    wire = Wire().open()
    connection = wire.b.connection
    note = ((1001, Note("intruder", 1000, 1000)),)
    for source, target in ((7, 8), (6, 9), (6, 8)):
        connection.on_segment(Segment(source, target, ACK, 1, 1, 1000, 1000, note))
        connection.on_segment(Segment(source, target, RST, 1))
    assert [what for _, what in wire.sends_of("b")] == ["rst"] * 3
    assert [(s.source, s.target, s.seq) for s in wire.segments] == [(8, 7, 1), (9, 6, 1), (8, 6, 1)]
    assert wire.b.got == [] and connection.is_open and connection.incoming.nxt == 1
    wire.run_ms(3000)
    assert wire.a.connection.is_open  # a reset for one connection does not affect another one


def test_reset_segments_follow_rfc_9293() -> None:
    """The rules are those of RFC 9293, 3.5.2, group 1."""
    data = Segment(5, 6, ACK, 100, 200, 50)
    assert reset_of(data) == Segment(6, 5, RST, 200)
    assert reset_of(Segment(5, UNKNOWN, SYN, 0)) == Segment(UNKNOWN, 5, RST | ACK, 0, 1)
    assert reset_of(Segment(5, 6, RST, 100)) is None


def test_an_idle_connection_sends_nothing() -> None:
    wire = Wire(tcp(delayed_ack_s=0.2)).open()
    wire.a.say(0)
    wire.run_ms(3000)
    count = len(wire.log)
    wire.run_ms(10 * 3_600_000)
    assert len(wire.log) == count
    assert wire.kernel.peek() > 20 * 3_600_000 * MILLISECOND


def test_invalid_connection_calls_are_rejected() -> None:
    wire = Wire().open()
    connection = wire.a.connection
    with pytest.raises(RuntimeError, match="once"):
        connection.connect()
    for size, payload in ((0, 0), (5, 6), (5, -1)):
        with pytest.raises(ValueError, match="cannot send"):
            connection.send(Note("bad", size, payload))
    connection.abort()
    with pytest.raises(RuntimeError, match="closed"):
        wire.a.say(1)
    with pytest.raises(RuntimeError, match="once"):
        connection.connect()
    with pytest.raises(ValueError, match="only a SYN"):
        End(wire, "c", tcp(), 3).connection.accept(Segment(1, 2, ACK, 1, 1))
    with pytest.raises(ValueError, match="positive"):
        Connection(wire.a, tcp(), 0)


def test_a_callback_can_abort_its_connection() -> None:
    """The test tries every upcall except on_closed. After the abort, no message is handed up or sent."""
    for upcall in ("on_open", "on_message"):
        wire = Wire()
        handed: list[Any] = []

        def end(*arguments: Any, wire: Wire = wire, handed: list[Any] = handed) -> None:
            handed.append(arguments)
            wire.b.connection.abort()

        setattr(wire.b, upcall, end)
        wire.a.connection.connect()
        wire.a.say(0, 1, size_bytes=100)
        wire.run_ms(160)
        assert len(handed) == 1 and [what for _, what in wire.sends_of("b")] == ["syn ack"]
