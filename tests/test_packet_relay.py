"""A forwarded packet is handed up once: what a host remembers of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mobilenet.protocols.packet_relay import PacketMemory, packet

SENT = st.lists(st.tuples(st.sampled_from(("h0", "h1", "s0")), st.integers(0, 200)))


@given(SENT)
def test_only_the_first_copy_of_a_packet_is_new(sent: list[tuple[str, int]]) -> None:
    memory, seen = PacketMemory(), set[tuple[str, int]]()
    for source, number in sent:
        assert memory.is_first(packet(source, number, "h9", b"")) == ((source, number) not in seen)
        seen.add((source, number))
