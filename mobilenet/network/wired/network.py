"""The links between stations, and the routes of messages over several links.

Model     The network is a full mesh or a connected graph. Messages go hop by hop on a shortest path (if there are
          several, the one over the lowest numbers), with store and forward at each station. The links and paths are
          FIFO, but two paths to the same station may take different times.
Shapes    edges are pairs of station numbers.
Errors    ValueError for edges that leave stations unconnected.
Source    ours: docs/models/wires.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import RandomNumbers
from mobilenet.network.wired.link import Arrive, Link
from mobilenet.quoting import pluralize, there_are

Edge = tuple[int, int]
Receive = Callable[[int, Any], None]
Hop = Callable[[int, int, Any, int], Callable[[str], None] | None]
RECEIVED = "received"


def adjacency(edges: Sequence[Edge], stations: int) -> list[list[int]]:
    """Return the sorted neighbours of each station. Raise ValueError unless every station can reach every other."""
    near: list[list[int]] = [[] for _ in range(stations)]
    for a, b in edges:
        if not (0 <= a < stations and 0 <= b < stations) or a == b:
            raise ValueError(
                f"edge [{a}, {b}]: expected the numbers of two different stations; {there_are(stations, 'station')}"
            )
        if b in near[a]:
            raise ValueError(f"edge [{a}, {b}] is given twice")
        near[a].append(b)
        near[b].append(a)
    seen = {0}
    frontier = [0]
    while frontier:
        # `add` returns None, so each station is included only once.
        frontier = [
            j
            for i in frontier
            for j in near[i]
            if j not in seen and not seen.add(j)  # type: ignore[func-returns-value]
        ]
    if len(seen) != stations:
        raise ValueError(f"{pluralize(len(edges), 'edge')} cannot connect {pluralize(stations, 'station')}")
    return [sorted(row) for row in near]


def next_hops(near: list[list[int]], source: int) -> list[int]:
    """Return the neighbour of `source` on the path to each destination. For `source`, return itself."""
    hop = [-1] * len(near)
    hop[source] = source
    for neighbour in near[source]:
        hop[neighbour] = neighbour
    frontier = list(near[source])
    while frontier:
        ahead = []
        for node in frontier:
            for j in near[node]:
                if hop[j] < 0:
                    hop[j] = hop[node]
                    ahead.append(j)
        frontier = ahead
    return hop


class TreeRoutes:
    """The routes of a tree. A message is forwarded either to all neighbours except the one that it came from, or
    towards one station.
    """

    def __init__(self, near: list[list[int]]) -> None:
        self.near = near
        self._next = [next_hops(near, at) for at in range(len(near))]

    @classmethod
    def of_parents(cls, parents: Sequence[int]) -> Self:
        """Build the routes from the parents. `parents[i]` is the neighbour of station i+1 on the path to station 0."""
        return cls(adjacency([(parent, child) for child, parent in enumerate(parents, 1)], len(parents) + 1))

    @property
    def links(self) -> list[Edge]:
        """Both directions of each link, sorted."""
        return [(a, b) for a, around in enumerate(self.near) for b in around]

    def onward(self, at: int, before: int | None, to: int | None) -> list[int]:
        """Return the neighbours to which the message is forwarded. If `to` is None, the message is for all stations."""
        if to is None:
            return [neighbour for neighbour in self.near[at] if neighbour != before]
        return [] if to == at else [self._next[at][to]]


class WiredNetwork:
    """The links of all stations. A link is created when the first message is sent over it."""

    def __init__(
        self,
        kernel: Kernel,
        stations: int,
        near: list[list[int]] | None,
        bits_per_s: int,
        delay_ns: int,
        header_bytes: int,
        on_hop: Hop | None = None,
    ) -> None:
        """Set up the network. `near` contains the neighbours of each station, or is None for a full mesh. `on_hop(a, b,
        message, bytes)` is called for each message that is put on a link, where the bytes include headers. It may
        return a function that is called with the fate of the message.
        """
        self.kernel = kernel
        self.stations = stations
        self.links: dict[Edge, Link] = {}
        # The values of `links`, by station and neighbour.
        self._outgoing: list[dict[int, Link]] = [{} for _ in range(stations)]
        self._near = near
        # The next hops of each station. The list of a station that has not forwarded a message is empty.
        self._hops: list[list[int]] = [[] for _ in range(stations)]
        self._bits_per_s = bits_per_s
        self._delay_ns = delay_ns
        self._header_bytes = header_bytes
        self._on_hop = on_hop
        self.on_lost: Callable[[Any], None] = _ignore  # called for each message that will not arrive
        self.spares: tuple[type, ...] = ()  # types of messages that are never lost at random
        self._receive: list[Receive] = [_nobody] * stations

    def watch(self, on_hop: Hop) -> None:
        """Call another observer as well for each message that is put on a link. Both observers learn the fate of the
        message.
        """
        first = self._on_hop
        self._on_hop = on_hop if first is None else _both(first, on_hop)

    def attach(self, station: int, receive: Receive) -> None:
        """Attach a station. Its `receive(source, message)` is called with the messages that are sent to it."""
        self._receive[station] = receive

    @property
    def in_flight(self) -> int:
        return sum(link.sent - link.delivered - link.lost for link in self.links.values())

    def cut(self, a: int, b: int, loses: bool) -> None:
        """Cut the link between two neighbours in both directions."""
        for link in (self._link(a, b), self._link(b, a)):
            link.cut(loses)

    def mend(self, a: int, b: int) -> None:
        for link in (self._link(a, b), self._link(b, a)):
            link.mend()

    def impair(self, a: int, b: int, loss: float, delay_ns: int, draws: Callable[[str], RandomNumbers]) -> None:
        """Impair the link between two neighbours in both directions. `draws(owner)` returns a stream of random
        numbers.
        """
        for one, other in ((a, b), (b, a)):
            self._link(one, other).impair(loss, delay_ns, draws(f"s{one}-s{other}"))

    def route(self, source: int, at: int, to: int, message: Any) -> None:
        self._forward(_Way(self, source, at, to, message))

    def _forward(self, way: _Way) -> None:
        at, near = way.at, self._near
        way.at = way.to if near is None else self._hops_from(near, at)[way.to]
        self._send(at, way.at, way.message, way)

    def _hops_from(self, near: list[list[int]], at: int) -> list[int]:
        hops = self._hops[at]
        if not hops:
            hops = self._hops[at] = next_hops(near, at)
        return hops

    def _arrive(self, way: _Way) -> None:
        if way.at == way.to:
            self._receive[way.at](way.source, way.message)
        else:
            self._forward(way)

    def _send(self, a: int, b: int, message: Any, arrive: Arrive, header_bytes: int | None = None) -> None:
        """Send a message over a link. `arrive` is a _Way, or a partial function whose last argument is the message."""
        size_bytes = message.size_bytes + (self._header_bytes if header_bytes is None else header_bytes)
        arrived = None if self._on_hop is None else self._on_hop(a, b, message, size_bytes)
        if arrived is not None:
            arrive = _NotedArrival(arrive, arrived)
        link = self._outgoing[a].get(b)
        if link is None:
            link = self._link(a, b)
        link.send(size_bytes, arrive, isinstance(message, self.spares))

    def _link(self, a: int, b: int) -> Link:
        link = self.links.get((a, b))
        if link is None:
            link = self.links[a, b] = Link(self.kernel, self._bits_per_s, self._delay_ns, self._is_lost)
            self._outgoing[a][b] = link
        return link

    def _is_lost(self, arrive: Any, why: str) -> None:
        if isinstance(arrive, _NotedArrival):
            arrive.note(why)
            arrive = arrive.arrive
        self.on_lost(arrive.message if isinstance(arrive, _Way) else arrive.args[-1])


def _both(first: Hop, second: Hop) -> Hop:
    def note_hop(a: int, b: int, message: Any, size_bytes: int) -> Callable[[str], None] | None:
        notes = [note for hop in (first, second) if (note := hop(a, b, message, size_bytes)) is not None]

        def note_fate(fate: str) -> None:
            for note in notes:
                note(fate)

        return note_fate if notes else None

    return note_hop


class _Way:
    """A message that travels over several links in turn. Calling it handles the arrival at the next station."""

    __slots__ = ("at", "message", "network", "source", "to")

    def __init__(self, network: WiredNetwork, source: int, at: int, to: int, message: Any) -> None:
        self.network = network
        self.source = source
        self.at = at  # the station that the message has reached, or to which it is on its way
        self.to = to
        self.message = message

    def __call__(self) -> None:
        self.network._arrive(self)


class _NotedArrival:
    """The arrival of a message. Calling it notifies an observer, and then handles the arrival."""

    __slots__ = ("arrive", "note")

    def __init__(self, arrive: Arrive, note: Callable[[str], None]) -> None:
        self.arrive = arrive
        self.note = note

    def __call__(self) -> None:
        self.note(RECEIVED)
        self.arrive()


def _ignore(message: Any) -> None:
    """Ignore a lost message, because a handler has not been set."""


def _nobody(source: int, message: Any) -> None:
    raise AssertionError(f"a message from station {source} to a station that is not running")
