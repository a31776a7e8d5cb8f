"""The paper's backbone, in which the stations form a tree of FIFO links.

Model     A broadcast floods the tree: a station forwards it to all neighbours except the one that it came from, and
          then handles it. A directed message is routed hop by hop. All traffic between two stations uses one FIFO path,
          so delivery is causal across both kinds of messages: if b was sent or delivered at the sender of x before x
          was sent, then b is delivered at the destination of x before x.
Shapes    positions are float64 (n, 2) in metres. edges are pairs of station numbers.
Errors    ValueError for edges that do not form a tree.
Source    Wilhelm, Arantes, Sens, A scalable causal broadcast that tolerates dynamics of mobile networks (2020),
          Sections III and IV.B; Friedman, Manor, Causal ordering in deterministic overlay networks (2004)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from math import dist
from typing import Any

import shapely

from mobilenet.engine.kernel import Kernel
from mobilenet.network.wired.network import Edge, Hop, Receive, TreeRoutes, WiredNetwork, adjacency
from mobilenet.network.wired.parameters import BackboneParameters
from mobilenet.quoting import pluralize


def star(positions: Sequence[Sequence[float]]) -> list[Edge]:
    """Connect every station to the one that is nearest to the centre of all stations."""
    centre = nearest_to_centre(positions)
    return [(centre, i) for i in range(len(positions)) if i != centre]


def chain(positions: Sequence[Sequence[float]]) -> list[Edge]:
    """Connect the stations in the order of their numbers."""
    return [(i, i + 1) for i in range(len(positions) - 1)]


def breadth_first(positions: Sequence[Sequence[float]]) -> list[Edge]:
    """Connect the stations outward from the centre, each to the nearest station that is one step closer to the centre.

    Stations are neighbours if their distance is at most 1.2 times the shortest distance between any two stations.
    Stations that are still unconnected after that are joined to the nearest connected station.
    """
    n = len(positions)
    if n == 1:
        return []
    points = shapely.points(positions)
    tree = shapely.STRtree(points)
    nearest = tree.query_nearest(points, exclusive=True).T.tolist()
    reach = 1.2 * min(dist(positions[i], positions[j]) for i, j in nearest)
    centre = nearest_to_centre(positions)
    edges: list[Edge] = []
    connected = {centre: 0}
    frontier = deque([centre])
    while len(connected) < n:
        if frontier:
            parent = frontier.popleft()
            around = tree.query(points[parent], predicate="dwithin", distance=1.01 * reach)
            near = [i for i in around.tolist() if i not in connected and dist(positions[i], positions[parent]) <= reach]
        else:
            _, parent, child = min(
                (dist(positions[i], positions[j]), i, j) for i in connected for j in range(n) if j not in connected
            )
            near = [child]
        for child in sorted(near, key=lambda i: (dist(positions[i], positions[parent]), i)):
            connected[child] = connected[parent] + 1
            edges.append((parent, child))
            frontier.append(child)
    return edges


def nearest_to_centre(positions: Sequence[Sequence[float]]) -> int:
    centre = [sum(p[axis] for p in positions) / len(positions) for axis in (0, 1)]
    return min(range(len(positions)), key=lambda i: (dist(positions[i], centre), i))


SHAPES = {"star": star, "chain": chain, "breadth_first": breadth_first}


def links(parameters: BackboneParameters, positions: Sequence[Sequence[float]]) -> list[tuple[int, int]] | None:
    """Return the pairs of stations that are connected by a wire, or None if every pair is."""
    if parameters.is_mesh:
        return None
    return (
        list(parameters.edges)
        if parameters.edges is not None
        else SHAPES[parameters.shape or "breadth_first"](positions)
    )


def mean_hops(edges: Sequence[Edge], stations: int) -> float:
    """Return the average number of links between two stations of a tree. Each station paired with itself counts as 0
    links.
    """
    near, parent, order = adjacency(edges, stations), {0: 0}, [0]
    for station in order:
        children = [j for j in near[station] if j not in parent]
        parent |= dict.fromkeys(children, station)
        order += children
    # The size of the subtree of each station, which is connected to the other stations by one link.
    below = [1] * stations
    for station in reversed(order[1:]):
        below[parent[station]] += below[station]
    return sum(2 * below[station] * (stations - below[station]) for station in order[1:]) / stations**2


def neighbours_of(edges: Sequence[Edge], stations: int) -> list[list[int]]:
    """Return the sorted neighbours of each station. Raise ValueError unless the edges form a tree over all stations."""
    if len(edges) != stations - 1:
        raise ValueError(f"{pluralize(len(edges), 'edge')} cannot be a tree of {pluralize(stations, 'station')}")
    return adjacency(edges, stations)


class Tree(WiredNetwork):
    """A wired network in which the stations form a tree."""

    def __init__(
        self,
        kernel: Kernel,
        edges: Sequence[Edge],
        stations: int,
        bits_per_s: int,
        delay_ns: int,
        header_bytes: int,
        on_hop: Hop | None = None,
    ) -> None:
        self.routes = TreeRoutes(neighbours_of(edges, stations))
        super().__init__(kernel, stations, self.routes.near, bits_per_s, delay_ns, header_bytes, on_hop)

    def port(self, station: int, receive: Receive) -> TreePort:
        """Return the port of a station. `receive(source, message)` is called with the messages that other stations
        send.
        """
        self.attach(station, receive)
        return TreePort(self, station)

    def flood(self, source: int, at: int, came_from: int, message: Any) -> None:
        for neighbour in self.routes.onward(at, came_from, None):
            self._send(at, neighbour, message, partial(self._flood, source, neighbour, at, message))

    def hop(self, a: int, b: int, message: Any, header_bytes: int, arrive: Callable[[], None]) -> None:
        """Send a packet with headers of `header_bytes` over the link from a to its neighbour b."""
        self._send(a, b, message, arrive, header_bytes)

    def _flood(self, source: int, at: int, came_from: int, message: Any) -> None:
        self.flood(source, at, came_from, message)
        self._receive[at](source, message)


class TreePort:
    """The port of one station, through which it sends messages to the other stations."""

    __slots__ = ("_station", "_tree")

    def __init__(self, tree: Tree, station: int) -> None:
        self._tree = tree
        self._station = station

    def broadcast(self, message: Any) -> None:
        self._tree.flood(self._station, self._station, self._station, message)

    def send(self, to: int, message: Any) -> None:
        self._tree.route(self._station, self._station, to, message)
