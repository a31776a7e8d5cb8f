"""Tests of exact arrival times on links that do not form a tree. The links form a full mesh or follow given edges."""

from __future__ import annotations

import pytest

from mobilenet.engine.clock import MILLISECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.network.wired.network import WiredNetwork, adjacency, next_hops

from .stations import Note

MEGABIT = 1_000_000
NOTE = Note(0, None, 0, size_bytes=85)  # 0.1 ms at 10 Mb/s with 40 bytes of headers


def arrivals(
    edges: list[tuple[int, int]] | None, sends: list[tuple[int, int]], stations: int = 4
) -> list[tuple[int, int, int]]:
    """Return (station, source, time in microseconds) for each message that arrives."""
    kernel = Kernel()
    near = None if edges is None else adjacency(edges, stations)
    network = WiredNetwork(kernel, stations, near, 10 * MEGABIT, 10 * MILLISECOND, 40)
    entries: list[tuple[int, int, int]] = []
    for i in range(stations):
        network.attach(i, lambda source, message, i=i: entries.append((i, source, kernel.now // 1000)))
    for a, b in sends:
        network.route(a, a, b, NOTE)
    kernel.run_until(MILLISECOND)
    assert network.in_flight == len(sends) and not entries
    kernel.run_until(1000 * MILLISECOND)
    assert network.in_flight == 0
    return entries


def test_a_mesh_has_a_separate_link_for_each_pair_of_stations() -> None:
    assert arrivals(None, [(0, 1), (0, 2), (0, 3), (3, 0), (0, 1)]) == [
        (1, 0, 10_100),
        (2, 0, 10_100),
        (3, 0, 10_100),
        (0, 3, 10_100),
        (1, 0, 10_200),
    ]


def test_messages_on_configured_edges_are_routed_hop_by_hop() -> None:
    chain = [(0, 1), (1, 2), (2, 3)]
    assert arrivals(chain, [(0, 3), (0, 1), (2, 1)]) == [(1, 2, 10_100), (1, 0, 10_200), (3, 0, 30_300)]


def test_messages_take_the_shortest_path_in_a_ring() -> None:
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert next_hops(adjacency(ring, 4), 0) == [0, 1, 1, 3]
    assert arrivals(ring, [(0, 2), (0, 3)]) == [(3, 0, 10_100), (2, 0, 20_200)]


@pytest.mark.parametrize("edges", [[(0, 1)], [(0, 1), (1, 3)], [(0, 0), (1, 2)], [(0, 1), (1, 0), (1, 2)]])
def test_edges_that_leave_a_station_unconnected_are_rejected(edges: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="edge"):
        adjacency(edges, 3)
