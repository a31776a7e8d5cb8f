"""Tests of TCP at the devices of both ends. The verifier accepts correct traffic in any order, and finds each fault.

Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from mobilenet.record.packets.packet_order import PassedPacket
from mobilenet.record.packets.segments import ACK, FIN, SYN
from mobilenet.verify.packets.tcp import connections_problem

A, B = bytes((10, 77, 0, 1)), bytes((10, 77, 0, 2))


def segment(source: bytes, to: bytes, number: int, flags: int, payload: bytes = b"", acknowledged: int = 0) -> bytes:
    tcp = struct.pack(">HHIIBBHHH", 5, 6, number % 2**32, acknowledged % 2**32, 5 << 4, flags, 1000, 0, 0) + payload
    if source == B:
        tcp = tcp[2:4] + tcp[:2] + tcp[4:]
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0, source, to) + tcp


class Talk:
    """Segments between A and B. Each segment leaves one device and reaches the other one, unless it is lost."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.packets: list[PassedPacket] = []
        for source, flags in ((A, SYN), (B, SYN | ACK)):
            self.say(source, -1, flags, acknowledged=0)

    def say(
        self, source: bytes, offset: int, flags: int, payload: bytes = b"", acknowledged: int = 0,
        lost: bool = False, arrives: bytes | None = None,
    ) -> None:  # fmt: skip
        nodes = ("h0", "h1") if source == A else ("h1", "h0")
        number, peer = self.first + 1 + offset, B if source == A else A
        sent = segment(source, peer, number, flags, payload, self.first + 1 + acknowledged)
        name = f"{nodes[0]}:{len(self.packets)}"
        self.packets.append(PassedPacket(len(self.packets), nodes[0], True, name, sent))
        if not lost:
            got = sent if arrives is None else segment(source, peer, number, flags, arrives, self.first + 1)
            self.packets.append(PassedPacket(len(self.packets), nodes[1], False, name, got))


FIRST = st.integers(0, 2**32 - 1)


@given(FIRST, st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20), st.booleans()), max_size=30))
def test_tcp_retransmissions_are_accepted_in_any_order(first: int, sends: list[tuple[int, int, bool]]) -> None:
    """A sends parts of one stream in any order, some of them several times. B acknowledges all that has arrived without
    a gap.
    """
    stream, talk, got, sent_to = bytes(range(80)), Talk(first), [False] * 80, 0
    for start, length, is_lost in sends:
        start = min(start, sent_to)
        end = start + length
        sent_to = max(sent_to, end)
        talk.say(A, start, ACK, stream[start:end], lost=is_lost)
        if not is_lost:
            got[start:end] = [True] * length
        talk.say(B, 0, ACK, acknowledged=[*got, False].index(False))
    assert connections_problem(talk.packets) is None


@given(FIRST, st.integers(0, 9))
def test_tcp_violations_in_captures_are_detected(first: int, more: int) -> None:
    def problem(*says: tuple[object, ...], **last: object) -> str:
        talk = Talk(first)
        for each in says[:-1]:
            talk.say(*each)  # type: ignore[arg-type]
        talk.say(*says[-1], **last)  # type: ignore[arg-type]
        return connections_problem(talk.packets) or ""

    data = (A, 0, ACK, b"0123456789")
    assert problem(data, (B, 0, ACK, b"", 10)) == ""
    assert f"acknowledges {1 + more} more bytes than have arrived" in problem(data, (B, 0, ACK, b"", 11 + more))
    assert "never sent" in problem(data, arrives=b"0123456780")
    assert "never sent" in problem(data, arrives=b"0123456789" + b"x" * (1 + more))
    assert problem(data, (A, 0, ACK, b"0123456788")) == ""  # The file changed while sendfile() was sending it.
    assert problem(data, (A, 10, ACK | FIN), (B, 0, ACK, b"", 11)) == ""
    assert "1 more bytes than have arrived" in problem(data, (B, 0, ACK, b"", 11))
    assert "acknowledges" in problem((*data, 0, True), (B, 0, ACK, b"", 10 - more))


def test_bytes_lost_before_the_device_can_arrive_later() -> None:
    talk = Talk(7)
    talk.say(A, 5, ACK, b"56789")
    talk.say(A, 0, ACK, b"01234")
    talk.say(B, 0, ACK, acknowledged=10)
    assert connections_problem(talk.packets) is None


def test_late_segments_are_attributed_to_their_old_connection() -> None:
    """A new connection uses the same ports with another initial number while a segment of the old connection is in
    transit.
    """
    old, new = Talk(7), Talk(90_000)
    old.say(A, 0, ACK, b"0123456789")
    old.say(B, 0, ACK, acknowledged=10)
    renamed = [one._replace(name=f"{one.name}0") for one in new.packets]
    mixed = [*old.packets[:5], renamed[0], *old.packets[5:], *renamed[1:]]
    assert connections_problem(mixed) is None


def test_tcp_fragments_are_not_checked() -> None:
    talk = Talk(7)
    talk.say(A, 0, ACK, b"0123456789", lost=True)
    whole = talk.packets[-1]
    fragment = whole._replace(packet=whole.packet[:6] + b"\x20\x00" + whole.packet[8:])
    talk.packets[-1] = fragment
    talk.say(B, 0, ACK, acknowledged=10)
    assert connections_problem(talk.packets) is None
