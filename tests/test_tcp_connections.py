"""Tests that compare the measurements of TCP connections with values computed by hand.

Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

import pytest

from mobilenet.engine.clock import MILLISECOND, SECOND
from mobilenet.metrics.connections import Connections
from mobilenet.metrics.fold import Handoff
from mobilenet.record.packets.connections import Connection, connections_of
from mobilenet.record.packets.packet_order import PassedPacket
from mobilenet.record.packets.segments import ACK, SYN
from tests.verify.test_tcp_at_devices import A, B, segment

FIRST = 2**32 - 5  # Sequence numbers start near the limit, so they wrap around.


def download(*, again_ms: int | None = None) -> list[Connection]:
    """Return packets in which B sends ten bytes at 100 ms and ten at 200 ms. Each packet is acknowledged after 30 ms.
    With `again_ms`, the second packet is lost and sent again at that time.
    """
    packets: list[PassedPacket] = []

    def pass_by(at_ms: int, source: bytes, offset: int, flags: int, payload: bytes = b"", acknowledged: int = -1,
                lost: bool = False) -> None:  # fmt: skip
        nodes, peer = (("h0", "s0"), B) if source == A else (("s0", "h0"), A)
        data = segment(source, peer, FIRST + 1 + offset, flags, payload, FIRST + 1 + acknowledged)
        name = f"{nodes[0]}:{len(packets)}"
        packets.append(PassedPacket(at_ms * MILLISECOND, nodes[0], True, name, data))
        if not lost:
            packets.append(PassedPacket((at_ms + 15) * MILLISECOND, nodes[1], False, name, data))

    pass_by(0, A, -1, SYN)
    pass_by(20, B, -1, SYN | ACK, acknowledged=0)
    pass_by(100, B, 0, ACK, b"0123456789")
    pass_by(115, A, 0, ACK, acknowledged=10)
    pass_by(200, B, 10, ACK, b"0123456789", lost=again_ms is not None)
    if again_ms is not None:
        pass_by(again_ms, B, 10, ACK, b"0123456789")
    pass_by((again_ms or 200) + 15, A, 0, ACK, acknowledged=20)
    return connections_of(packets)


def handoff(begin_ms: int, end_ms: int, node: str = "h0", cause: str = "cell") -> Handoff:
    return Handoff(node, begin_ms * MILLISECOND, end_ms * MILLISECOND, 1, cause, {})


def test_statistics_of_lossless_tcp_connections_are_correct() -> None:
    connections = Connections(download(), [])
    assert len(connections.connections) == 1
    assert connections.sent_again_share() == 0
    assert connections.round_trip_s() == pytest.approx(0.030)
    assert connections.longest_stall_s() == pytest.approx(0.030)
    assert connections.goodput() == pytest.approx(20 / 0.230)
    assert connections.near_handoffs_s(is_after=True) is None


def test_retransmitted_bytes_yield_no_round_trip_time() -> None:
    connections = Connections(download(again_ms=900), [])
    assert connections.sent_again_share() == pytest.approx(10 / 30)
    assert connections.round_trip_s() == pytest.approx(0.030)
    assert connections.longest_stall_s() == pytest.approx(0.730)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (handoff(150, 160), (1, 1)),
        (handoff(205, 240), (1, 0)),
        (handoff(150, 160, node="h1"), (0, 0)),
        (handoff(150, 160, cause="recovery"), (0, 0)),
        (handoff(5000, 5010), (0, 0)),
    ],
)
def test_a_connection_survives_a_handoff_if_bytes_follow(one: Handoff, expected: tuple[int, int]) -> None:
    connections = Connections(download(), [one])
    assert (len(connections.moved), connections.survivals()) == expected


def test_round_trip_times_around_a_handoff_are_measured() -> None:
    connections = Connections(download(), [handoff(150, 160)])
    assert connections.near_handoffs_s(is_after=False) == pytest.approx(0.030)
    assert connections.near_handoffs_s(is_after=True) == pytest.approx(0.030)
    assert Connections(download(), [handoff(231, 2 * SECOND)]).near_handoffs_s(is_after=True) is None
