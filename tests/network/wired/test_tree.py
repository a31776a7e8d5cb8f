"""Tests of links and trees. They check exact times, topologies, and the causal order that handoffs require."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.engine.clock import MILLISECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.network.wired.link import Link
from mobilenet.network.wired.network import next_hops
from mobilenet.network.wired.tree import Tree, breadth_first, chain, neighbours_of, star
from mobilenet.world.layout import hexagon


class Note(NamedTuple):
    source: int
    number: int
    size_bytes: int = 112


def test_a_link_is_first_in_first_out_with_bandwidth_and_delay() -> None:
    kernel = Kernel()
    link = Link(kernel, 10_000_000, 10 * MILLISECOND)
    arrived: list[tuple[str, int]] = []
    for name, size in (("a", 1250), ("b", 125)):  # 1 ms and 0.1 ms on the wire
        link.send(size, lambda name=name: arrived.append((name, kernel.now)))
    kernel.run_until(10_500_000)
    link.send(125, lambda: arrived.append(("c", kernel.now)))
    kernel.run_until(100 * MILLISECOND)
    assert arrived == [("a", 11_000_000), ("b", 11_100_000), ("c", 20_600_000)]
    assert (link.sent, link.delivered, link.bytes) == (3, 3, 1500)


def test_backbone_shapes_have_the_expected_links() -> None:
    ring = hexagon(1, 200)
    assert star(ring.tolist()) == [(0, i) for i in range(1, 7)]
    assert breadth_first(ring.tolist()) == [(0, i) for i in range(1, 7)]
    assert chain(ring.tolist()) == [(i, i + 1) for i in range(6)]
    two_rings = breadth_first(hexagon(2, 200).tolist())
    neighbours_of(two_rings, 19)
    assert sum(a == 0 or b == 0 for a, b in two_rings) == 6
    far = [(0.0, 0.0), (100.0, 0.0), (1000.0, 0.0), (1100.0, 0.0)]  # These positions form two islands.
    neighbours_of(breadth_first(far), 4)
    assert breadth_first([(0.0, 0.0)]) == []


@pytest.mark.parametrize(
    "edges", [[(0, 1)], [(0, 1), (1, 0)], [(0, 1), (1, 3)], [(0, 0), (1, 2)], [(0, 1), (1, 2), (2, 0)]]
)
def test_edges_that_do_not_form_a_tree_are_rejected(edges: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError):
        neighbours_of(edges, 3)


def random_tree(stream: Stream, stations: int) -> list[tuple[int, int]]:
    return [(stream.below(i), i) for i in range(1, stations)]


@given(seed=st.integers(0, 10**6), stations=st.integers(1, 9))
def test_next_hops_lead_to_the_destination(seed: int, stations: int) -> None:
    near = neighbours_of(random_tree(Stream(seed, "test"), stations), stations)
    for source in range(stations):
        for to in range(stations):
            at, steps = source, 0
            while at != to:
                at = next_hops(near, at)[to]
                steps += 1
                assert steps < stations


@given(seed=st.integers(0, 10**6), stations=st.integers(2, 6))
def test_delivery_is_causal_across_broadcasts_and_sends(seed: int, stations: int) -> None:
    """Suppose that the sender of x has sent or delivered b before it sends x. Then the destination of x delivers b
    before x. Each message arrives exactly once.
    """
    stream = Stream(seed, "test")
    kernel = Kernel()
    tree = Tree(kernel, random_tree(stream, stations), stations, 1_000_000, 5 * MILLISECOND, 40)
    seen: list[list[Note]] = [[] for _ in range(stations)]  # messages that were sent or delivered, in order
    past: dict[Note, list[Note]] = {}
    wanted: dict[Note, list[int]] = {}

    def act(station: int, number: int, to: int | None) -> None:
        note = Note(station, number, 40 + stream.below(2000))
        past[note] = list(seen[station])
        seen[station].append(note)
        wanted[note] = [i for i in range(stations) if i != station] if to is None else [to]
        if to is None:
            ports[station].broadcast(note)
        else:
            ports[station].send(to, note)

    def receiver(station: int) -> Any:
        def receive(source: int, note: Note) -> None:
            assert note.source == source and station in wanted[note]
            wanted[note].remove(station)
            for earlier in past[note]:
                assert station not in wanted[earlier], f"{note} before {earlier} at {station}"
            seen[station].append(note)
            if stream.random() < 0.05:
                act(station, 1000 + len(past), None)

        return receive

    ports = [tree.port(i, receiver(i)) for i in range(stations)]
    for number in range(30):
        station = stream.below(stations)
        to = stream.below(stations) if stream.random() < 0.5 else None
        kernel.at(stream.below(60 * MILLISECOND), lambda s=station, n=number, t=to: act(s, n, t if t != s else None))
    kernel.run_until(10**11)
    assert all(not left for left in wanted.values())
    assert tree.in_flight == 0
