"""Tests of causal broadcast with aggregation: it is safe in any order of arrival, and never delivers later than without
aggregation.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.engine.random_streams import Stream
from mobilenet.protocols.vcube import causal_printed
from mobilenet.protocols.vcube.causal import CausalBroadcast, Message, Packet, routes
from mobilenet.protocols.vcube.causal_printed import PrintedCausalBroadcast
from mobilenet.protocols.vcube.port import MessageId
from mobilenet.protocols.vcube.topology import children, dimension

from .readings import MUTANTS, BitsForAnyNumber
from .world import World, wrong


def play(
    n: int,
    seed: int,
    each: int = 1,
    fixed: bool = False,
    contention: bool = True,
    kind: type = CausalBroadcast,
    **options: Any,
) -> World:
    world = World(n, seed, lambda port, count: kind(port, count, **options), fixed, contention)
    world.broadcasts(seed, each)
    world.run()
    return world


@settings(max_examples=60)
@given(
    st.sampled_from([2, 3, 4, 5, 8, 13, 16]),
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from(["packet", "message"]),
    st.sampled_from(["per_source", "single"]),
    st.sampled_from([100, 200, 1500]),
)
def test_the_vcube_causal_broadcast_violates_nothing(
    n: int, seed: int, each: int, aggregate: bool, release: str, trees: str, mtu: int
) -> None:
    world = play(n, seed, each, aggregate=aggregate, release=release, trees=trees, mtu_bytes=mtu)
    assert wrong(world.events, n) is None
    assert all(p.buffer_sizes() == (0,) and not p._held and not p._waiting and not p._beyond for p in world.processes)


@pytest.mark.parametrize("n", [2, 4, 8, 16, 32, 5, 19])
@pytest.mark.parametrize("release", ["packet", "message"])
def test_aggregation_does_not_delay_deliveries(n: int, release: str) -> None:
    """With fixed delays and without contention, aggregation does not change any delivery time."""
    for seed in range(3):
        plain = play(n, seed, 3, fixed=True, contention=False, aggregate=False)
        packed = play(n, seed, 3, fixed=True, contention=False, release=release)
        assert sorted(plain.events) == sorted(packed.events)


@pytest.mark.parametrize("n", [4, 16, 64])
def test_packet_count_without_aggregation_matches_the_formula(n: int) -> None:
    world = play(n, 1, aggregate=False)
    assert world.net.packets == n * (n - 1)
    single = play(n, 1, aggregate=False, trees="single")
    assert single.net.packets == n * n - 1


@pytest.mark.parametrize(("n", "expected"), [(16, 2.3), (32, 4.7), (64, 8.8), (128, 12.9)])
def test_the_share_of_saved_packets_agrees_with_expectations(n: int, expected: float) -> None:
    saved = [1 - play(n, seed).net.packets / (n * (n - 1)) for seed in range(1, 7)]
    assert 100 * sum(saved) / len(saved) == pytest.approx(expected, abs=1.5)


def test_the_vector_clock_carries_only_changed_entries() -> None:
    world = World(4, 1, CausalBroadcast)
    sizes = []
    send = world.net.send

    def note(i: int, to: int, packet: Any) -> None:
        sizes.append(packet.messages[0].size_bytes)
        send(i, to, packet)

    world.net.send = note  # type: ignore[method-assign]
    world.broadcast(0)
    world.run()
    world.broadcast(1)
    world.run()
    world.broadcast(1)
    assert (sizes[0], sizes[3], sizes[-1]) == (54, 58, 54)


def test_a_message_larger_than_the_mtu_is_sent_in_its_own_packet() -> None:
    world = play(8, 3, 3, mtu_bytes=60)
    assert wrong(world.events, 8) is None


def test_routes_for_powers_of_two_follow_from_bits() -> None:
    """Process i forwards messages of s to i xor 2^b if and only if i and s agree in their b+1 low bits."""
    for i, sources_of in enumerate(routes(16)):
        for b in range(4):
            assert sources_of[i ^ (1 << b)] == sum(1 << s for s in range(16) if (i ^ s) & ((2 << b) - 1) == 0)


@pytest.mark.parametrize("n", [2, 3, 5, 8, 13, 19, 32, 45])
def test_routes_agree_with_the_trees_of_all_roots(n: int) -> None:
    walked: list[dict[int, int]] = [{} for _ in range(n)]
    for root in range(n):
        waiting: list[tuple[int, int | None]] = [(root, None)]
        for i, parent in waiting:
            for child in children(i, parent, dimension(n), range(n)):
                walked[i][child] = walked[i].get(child, 0) | 1 << root
                waiting.append((child, i))
    assert routes(n) == walked


@settings(max_examples=30)
@given(st.sampled_from([2, 3, 4, 8, 13]), st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([100, 200, 1500]))
def test_the_published_causal_broadcast_keeps_causal_order(n: int, seed: int, each: int, mtu: int) -> None:
    world = play(n, seed, each, kind=PrintedCausalBroadcast, mtu_bytes=mtu)
    assert wrong(world.events, n) is None and all(p.buffer_sizes() == (0,) for p in world.processes)


@pytest.mark.parametrize("n", [2, 3, 5, 8, 13, 19, 32])
def test_children_in_algorithm_1_agree_with_the_routes(n: int) -> None:
    for i, sources_of in enumerate(routes(n)):
        for root in range(n):
            expected = {child for child, sources in sources_of.items() if sources >> root & 1}
            assert set(causal_printed.children(i, root, dimension(n), n)) == expected


class Hands:
    """A port for a single process. The test inspects its messages and forwards them by hand."""

    def __init__(self, kind: type, me: int, n: int, **options: Any) -> None:
        self.me = me
        self.sent: list[tuple[int, Any]] = []
        self.delivered: list[MessageId] = []
        self.process = kind(self, n, **options)

    def send(self, to: int, packet: Any) -> None:
        self.sent.append((to, packet))

    def deliver(self, message: MessageId, body: Any) -> None:
        self.delivered.append(message)

    def takes(self, sender: int, packet: Any) -> list[tuple[int, list[MessageId]]]:
        """Return the messages that the process forwards when it receives the packet, with their receivers."""
        self.sent.clear()
        self.process.on_receive(sender, packet)
        return sorted((to, sorted(m.id for m in handed.messages)) for to, handed in self.sent)


@pytest.mark.parametrize(
    ("kind", "options"),
    [(CausalBroadcast, {}), (CausalBroadcast, {"release": "message"}), (PrintedCausalBroadcast, {})],
)
def test_the_causal_example_of_the_paper_is_reproduced(kind: type, options: dict[str, str]) -> None:
    """In the section on aggregation, process 2 broadcasts three messages and process 0 then broadcasts one message. The
    second message is the last to reach process 4.
    """
    two, zero, six, four = (Hands(kind, me, 8, **options) for me in (2, 0, 6, 4))
    for _ in range(3):
        two.process.broadcast(None)
    for to, packet in list(two.sent):
        if to in (0, 6):
            (zero if to == 0 else six).process.on_receive(2, packet)
    from_six = [packet for to, packet in six.sent if to == 4]
    zero.process.broadcast(None)
    from_zero = [packet for to, packet in zero.sent if to == 4][-1]
    assert four.takes(6, from_six[0]) == [(5, [(2, 0)])]
    assert four.takes(6, from_six[2]) == []
    assert four.takes(0, from_zero) == [(6, [(0, 0)])]
    assert four.takes(6, from_six[1]) == [(5, [(0, 0), (2, 1), (2, 2)])]


@settings(max_examples=150)
@given(st.sampled_from([2, 3, 4, 5, 8, 13, 16]), st.integers(1, 6), st.sampled_from([150, 1500]), st.integers(0, 2**32))
def test_fast_and_printed_causal_broadcast_behave_identically(n: int, each: int, mtu: int, seed: int) -> None:
    """Step by step and in any order of arrival, both versions deliver the same messages, and send the same packets of
    the same size to the same children.
    """
    stream = Stream(seed, "order")
    printed = [Hands(PrintedCausalBroadcast, i, n, mtu_bytes=mtu) for i in range(n)]
    fast = [Hands(CausalBroadcast, i, n, release="message", mtu_bytes=mtu) for i in range(n)]
    due = [i for i in range(n) for _ in range(each)]
    under_way: list[tuple[int, int, Any, Packet]] = []  # (from, to, packet, packet of the fast version)
    while due or under_way:
        if due and (not under_way or stream.random() < 0.3):
            i = due.pop(stream.below(len(due)))
            for hands in (printed[i], fast[i]):
                hands.sent.clear()
                hands.process.broadcast(None)
        else:
            sender, i, packet, twin = under_way.pop(stream.below(len(under_way)))
            assert fast[i].takes(sender, twin) == printed[i].takes(sender, packet)
        assert sorted(fast[i].delivered) == sorted(printed[i].delivered)
        pairs = zip(sorted(printed[i].sent, key=_to), sorted(fast[i].sent, key=_to), strict=True)
        for (to, packet), (other, twin) in pairs:
            assert to == other and [m.id for m in packet.messages] == [m.id for m in twin.messages]
            assert packet.size_bytes == twin.size_bytes
            under_way.append((i, to, packet, twin))
    assert all(len(hands.delivered) == n * each for hands in printed)


def _to(sent: tuple[int, Any]) -> int:
    return sent[0]


class HighestInsteadOfPrefix(CausalBroadcast):
    """A faulty process that bases its deliveries on the messages received instead of the messages delivered."""

    def _deliver_when_ready(self, m: Message) -> None:
        if m.depends & ~self._received:
            super()._deliver_when_ready(m)
        else:
            self._deliver(m)


class SendsTwice(CausalBroadcast):
    """A faulty process that forwards every packet twice."""

    def _hand_on(self, h: int, packet: Packet) -> None:
        for child in self._children[h]:
            self._send_to(child, packet)
        super()._hand_on(h, packet)


@pytest.mark.parametrize(
    "kind",
    [*(kind for _, kind in MUTANTS.values() if kind is not BitsForAnyNumber), HighestInsteadOfPrefix, SendsTwice],
)
def test_a_broken_vcube_causal_broadcast_is_detected(kind: type) -> None:
    """The printed form does not deliver a repeated message twice: the message stays in pending (l.30)."""
    worlds = [play(16, seed, 4, kind=kind, mtu_bytes=150) for seed in range(6)]
    assert any(wrong(world.events, 16) or any(p.buffer_sizes() != (0,) for p in world.processes) for world in worlds)


def test_routes_are_correct_if_n_is_not_a_power_of_two() -> None:
    """For n = 19, the child of 3 in cluster 5 is 18, because 19 does not exist."""
    assert routes(19)[3].keys() == {2, 1, 7, 11, 18}
    assert wrong(play(19, 1).events, 19) is None and wrong(play(19, 1, kind=BitsForAnyNumber).events, 19)
