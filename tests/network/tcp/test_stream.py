"""Tests of the contents of segments, and of when they are sent and acknowledged. A segment takes 50 ms to arrive."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.network.tcp.receive_stream import Incoming
from mobilenet.network.tcp.segment import ACK, SYN, Segment
from mobilenet.network.tcp.send_stream import Outgoing
from mobilenet.protocols.port import Message

from .wire import Note, Wire, lose, tcp


def names(segment: Segment) -> list[Any]:
    return [message.name for _, message in segment.messages]


def test_a_tcp_segment_is_accounted_for_as_a_network_message() -> None:
    message: Message = Segment(1, 2, ACK, 1, 1, 300, 240, ((101, Note(0)), (301, Note(1))))
    assert (message.size_bytes, message.payload_bytes, message.list_sizes()) == (320, 240, (("segment_messages", 2),))
    assert (Segment(1, 2, SYN, 0).size_bytes, Segment(1, 2, ACK, 1).list_sizes()) == (24, ())
    with pytest.raises(AttributeError):
        message.seq = 5  # type: ignore[attr-defined]


def test_each_kind_of_segment_has_a_separate_counter() -> None:
    """The counters of a run use the class of the message as the name."""
    wire = Wire()
    wire.a.connection.connect()
    wire.a.say(0)
    wire.run_ms(500)
    wire.a.connection.reset()
    assert [type(segment).__name__ for segment in wire.segments] == [
        "TcpSyn",
        "TcpSyn",
        "TcpData",
        "TcpAck",
        "TcpReset",
    ]


def test_a_split_message_is_delivered_with_its_last_byte() -> None:
    """The first 100 bytes of the message are its header. The payload arrives in pieces of 900, 1000 and 500 bytes."""
    wire = Wire().open()
    wire.a.connection.send(Note("large", 2500, 2400))
    assert [segment.payload_bytes for segment in wire.segments] == [900, 1000, 500]
    assert [segment.size_bytes for segment in wire.segments] == [1020, 1020, 520]
    assert [names(segment) for segment in wire.segments] == [[], [], ["large"]]
    wire.run_ms(1049)
    assert wire.b.got == []
    wire.run_ms(1050)
    assert wire.b.got == ["large"]


def test_small_messages_held_by_the_window_share_a_segment() -> None:
    wire = Wire(tcp(initial_window_segments=1)).open()
    wire.a.say(*range(25), size_bytes=100)  # The window has space for ten messages.
    assert [names(segment) for segment in wire.segments] == [[k] for k in range(10)]
    wire.run_ms(1100)
    assert [names(segment) for segment in wire.segments if segment.seq > 1000 and segment.length] == [
        list(range(10, 20)),
        list(range(20, 25)),
    ]


def test_messages_are_split_at_segment_boundaries() -> None:
    wire = Wire(tcp(nagle=True, initial_window_segments=1)).open()
    wire.a.say("first", *range(4), size_bytes=400)
    wire.run_ms(1100)
    first, second = (segment for segment in wire.segments if segment.length)
    assert (names(first), first.seq, first.length) == (["first"], 1, 400)
    # This segment also contains half of message 2.
    assert (names(second), second.seq, second.length) == ([0, 1], 401, 1000)


def test_segments_contain_one_message_without_aggregation() -> None:
    wire = Wire(tcp(aggregation=False, initial_window_segments=1), lose(("a", 1))).open()
    wire.a.say(*range(9), size_bytes=300)
    wire.run_ms(9000)
    assert all(len(segment.messages) <= 1 for segment in wire.segments)
    assert wire.words_of("a")[:5] == [
        "1000 1:301 ack 1",
        "1000 301:601 ack 1",
        "1000 601:901 ack 1",
        "1100 901:1201 ack 1",
        "1100 1201:1501 ack 1",
    ]
    assert wire.b.got == list(range(9))


def test_nagle_allows_one_short_segment_at_a_time() -> None:
    """RFC 9293, 3.7.4: at 1000, the first message and full segments are sent. The remaining bytes wait until 1100."""
    wire = Wire(tcp(nagle=True)).open()
    wire.a.say(*range(25), size_bytes=100)
    assert [(names(segment), segment.length) for segment in wire.segments] == [
        ([0], 100),
        (list(range(1, 11)), 1000),
        (list(range(11, 21)), 1000),
    ]
    wire.run_ms(2000)
    assert wire.words_of("a")[3:] == ["1100 2101:2501 ack 1"]
    assert wire.b.got == list(range(25))


def test_a_retransmission_leaves_at_once_with_later_data() -> None:
    """Segments are short and Nagle's algorithm is on. The timeout at 1300 sends the lost message together with the
    messages that waited for its acknowledgement.
    """
    wire = Wire(tcp(nagle=True), lose(("a", 1))).open()
    wire.a.say(*range(4), size_bytes=100)
    wire.run_ms(5000)
    assert wire.words_of("a") == ["1000 1:101 ack 1", "1300 1:401 ack 1"]
    assert wire.a.connection.counts.retransmissions == 1 and wire.b.got == [0, 1, 2, 3]


def test_the_number_of_messages_in_flight_is_limited() -> None:
    wire = Wire(tcp(messages_in_flight=3)).open()
    wire.a.say(*range(8), size_bytes=100)
    assert [names(segment) for segment in wire.segments] == [[0], [1], [2]]
    assert (len(wire.a.connection.backlog), wire.a.connection.backlog.flight) == (8, 300)
    wire.run_ms(1100)  # three acknowledgements
    assert [names(segment) for segment in wire.segments if segment.length][3:] == [[3], [4], [5]]
    wire.run_ms(5000)
    assert wire.b.got == list(range(8)) and len(wire.a.connection.backlog) == 0


def test_a_message_is_in_flight_until_its_last_byte_is_acked() -> None:
    wire = Wire(tcp(messages_in_flight=1, initial_window_segments=1)).open()
    wire.a.say(0, size_bytes=1500)
    wire.a.say(1, size_bytes=100)
    wire.run_ms(5000)
    assert wire.words_of("a") == ["1000 1:1001 ack 1", "1100 1001:1501 ack 1", "1200 1501:1601 ack 1"]


def test_tcp_parameters_default_to_the_published_values() -> None:
    """At most 46 messages are in flight. Further messages are combined into segments of 536 bytes."""
    parameters = TcpParameters()
    assert (
        parameters.messages_in_flight,
        parameters.rto_min_s,
        parameters.delayed_ack_s,
        parameters.connect_timeout_s,
    ) == (46, 0.2, 0.2, 75)
    wire = Wire(TcpParameters(initial_window_segments=20)).open()
    for k in range(100):
        wire.a.connection.send(Note(k, 116, 100))
    assert wire.a.connection.backlog.nxt - 1 <= 46 * 116 < wire.a.connection.backlog.nxt - 1 + 536
    wire.run_ms(60_000)
    assert wire.b.got == list(range(100))


@pytest.mark.parametrize(
    "wrong",
    [
        {"mss_bytes": 10},
        {"window_bytes": 0},
        {"messages_in_flight": 0},
        {"delayed_ack_s": 0.6},
        {"rto_min_s": float("nan")},
        {"recovery": "vegas"},
        {"rto_min_s": 2.0, "rto_max_s": 1.0},
        {"aggregation": False, "nagle": True},
        {"mss": 536},
        {"mss_bytes": 536.0},
    ],
)
def test_impossible_tcp_parameters_are_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TcpParameters(**wrong)


# --- acknowledgements


def slow(**parameters: Any) -> Wire:
    return Wire(tcp(delayed_ack_s=0.2, rto_min_s=1.0, **parameters)).open()


def test_a_lone_segment_is_acknowledged_after_the_delay() -> None:
    wire = slow()
    wire.a.say(0)
    wire.run_ms(9000)
    assert wire.log[1:] == [(1_250_000_000, "b", "ack 1001")]


def test_every_second_segment_is_acknowledged_at_once() -> None:
    wire = slow()
    wire.a.say(0)
    for time_ms, name in ((1030, 1), (1040, 2)):
        wire.at_ms(time_ms, wire.a.say, name, size_bytes=10)
    wire.run_ms(9000)
    assert wire.words_of("b") == ["1080 ack 1011", "1290 ack 1021"]  # the third segment restarts the delay


def test_the_number_of_segments_per_ack_is_configurable() -> None:
    wire = slow(ack_every_segments=3)
    wire.a.say(*range(4))
    wire.run_ms(9000)
    assert wire.words_of("b") == ["1050 ack 3001", "1250 ack 4001"]


def test_data_carries_a_pending_acknowledgement() -> None:
    wire = slow()
    wire.a.say(0)
    wire.at_ms(1100, wire.b.say, "answer")
    wire.run_ms(9000)
    assert wire.log == [
        (1_000_000_000, "a", "1:1001 ack 1"),
        (1_100_000_000, "b", "1:1001 ack 1001"),
        (1_350_000_000, "a", "ack 1001"),
    ]


def test_a_reply_in_on_message_replaces_the_pure_acknowledgement() -> None:
    wire = slow()
    answer = wire.b.say
    wire.b.on_message = lambda message: answer("answer")  # type: ignore[method-assign]
    wire.a.say(0)
    wire.run_ms(9000)
    assert wire.words_of("b") == ["1050 1:1001 ack 1001"]


def test_gaps_and_filled_gaps_are_acknowledged_immediately() -> None:
    """RFC 5681, 4.2: at 1050 the first segment waits for the second one. The third segment, which is out of order, is
    acknowledged at once.
    """
    wire = Wire(tcp(delayed_ack_s=0.2, rto_min_s=1.0), lose(("a", 1001))).open()
    wire.a.say(0, 1, 2)
    wire.run_ms(9000)
    assert wire.words_of("b") == ["1050 ack 1001", "2150 ack 3001"]
    assert wire.words_of("a")[3:] == ["2100 1001:2001 ack 1"]  # 1 s after the acknowledgement at 1100
    assert wire.b.got == [0, 1, 2]


def test_a_duplicate_acknowledgement_carries_no_data() -> None:
    wire = Wire(tcp(delayed_ack_s=0.2, rto_min_s=1.0), lose(("a", 1))).open()
    wire.a.say(0, 1)
    wire.at_ms(1050, wire.b.say, "data")
    wire.run_ms(1060)
    assert sorted(what for _, what in wire.sends_of("b")) == ["1:1001 ack 1", "ack 1"]


def test_repeated_data_is_acknowledged_at_once_and_dropped() -> None:
    wire = Wire(
        tcp(delayed_ack_s=0.2, rto_min_s=1.0), lambda end, number, segment: [50_000_000] * (2 if segment.length else 1)
    ).open()
    wire.a.say(0)
    wire.run_ms(9000)
    assert wire.words_of("b") == ["1050 ack 1001"]
    assert wire.b.got == [0] and wire.b.connection.counts.duplicates_received == 1


def test_data_beyond_the_window_is_dropped() -> None:
    wire = Wire(tcp(window_bytes=1500)).open()
    wire.b.connection.on_segment(Segment(7, 9, ACK, 1001, 1, 1000, 1000, ((2001, Note("beyond")),)))
    assert wire.words_of("b") == ["1000 ack 1"] and not wire.b.connection.incoming.gap


def test_pure_acknowledgements_are_never_acknowledged() -> None:
    wire = Wire().open()
    for ack in (1, 1, 5000, 1):
        wire.b.connection.on_segment(Segment(7, 9, ACK, 1, ack))
    # Byte 5000 was never sent, so b ignores its acknowledgement.
    assert wire.log == [] and wire.b.connection.backlog.una == 1


def test_a_message_is_buffered_until_its_last_byte_is_acked() -> None:
    outgoing = Outgoing(tcp())
    outgoing.append(Note(0, 30, 30))
    for _ in range(3):
        outgoing.take(10)
    for ack, left in ((11, [0]), (30, [0]), (31, [])):
        outgoing.acknowledge(ack)
        assert [note.name for note in outgoing] == left


# --- both halves of the stream by themselves, against their definition


@given(
    sizes=st.lists(st.tuples(st.integers(1, 60), st.floats(0, 1)), max_size=12),
    limits=st.lists(st.integers(1, 70), min_size=1, max_size=60),
    data=st.data(),
)
def test_segments_list_their_messages_after_any_resegmentation(
    sizes: list[tuple[int, float]], limits: list[int], data: st.DataObject
) -> None:
    """Segments are split, acknowledged, retransmitted and split differently at random. Their bytes, payload and
    messages must agree with a plain list.
    """
    outgoing = Outgoing(tcp())
    # for each byte: (message, whether it is payload, whether it is the last byte of the message)
    owner: list[tuple[int, bool, bool]] = []
    for number, (size, share) in enumerate(sizes):
        payload = round(share * size)
        outgoing.append(Note(number, size, payload))
        owner += [(number, k >= size - payload, k == size - 1) for k in range(size)]
    for limit in limits:
        length = outgoing.available(limit)
        assert length == min(limit, len(owner) + 1 - outgoing.nxt)
        again = data.draw(st.sampled_from(["take", "take", "again", "back", "acknowledge"]))
        if again == "back":
            outgoing.go_back()
        elif again == "acknowledge" and outgoing.flight:
            outgoing.acknowledge(data.draw(st.integers(outgoing.una, outgoing.highest)))
            assert [note.name for note in outgoing] == sorted({number for number, _, _ in owner[outgoing.una - 1 :]})
            assert len(outgoing) == len(list(outgoing))
        elif length or again == "again":
            piece = outgoing.again(limit) if again == "again" else outgoing.take(length)
            held = owner[piece.seq - 1 : piece.seq - 1 + piece.length]
            assert len(held) == piece.length
            assert piece.payload_bytes == sum(payload for _, payload, _ in held)
            ending = [(piece.seq + k + 1, number) for k, (number, _, last) in enumerate(held) if last]
            assert [(end, note.name) for end, note in piece.messages] == ending
        assert outgoing.una <= outgoing.nxt <= outgoing.highest <= outgoing.end


@given(cuts=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), max_size=60), ends=st.sets(st.integers(2, 40)))
def test_overlapping_segments_deliver_each_message_once_in_order(cuts: list[tuple[int, int]], ends: set[int]) -> None:
    """Segments overlap in arbitrary ways. The result is compared with a set of bytes."""
    incoming = Incoming()
    have: set[int] = set()
    got: list[int] = []
    for start, length in cuts:
        seq = 1 + start
        messages = [(end, end) for end in sorted(ends) if seq < end <= seq + length]
        got += incoming.take(seq, length, messages)
        have |= set(range(seq, seq + length))
        nxt = next(byte for byte in range(1, 100) if byte not in have)
        assert incoming.nxt == nxt
        assert got == [end for end in sorted(ends) if end <= nxt]
        assert incoming.gap == any(byte > nxt for byte in have)
        assert len(incoming) == sum(end > nxt and end - 1 in have for end in ends)
