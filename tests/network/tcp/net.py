"""A hostile network between nodes that crash, and the properties that TCP must guarantee on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mobilenet.engine.clock import MILLISECOND, SECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.engine.timer import Timer
from mobilenet.network.tcp.endpoint import Endpoint, Link
from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.network.tcp.port import Counts, Reason
from mobilenet.network.tcp.segment import Segment

from .wire import Note

PATIENT = TcpParameters(rto_max_s=2.0, max_retransmissions=1000, connect_timeout_s=3600.0)
HASTY = TcpParameters(rto_max_s=2.0, max_retransmissions=4, connect_timeout_s=5.0)


class Net:
    """A network that randomly loses, repeats and delays segments, and thereby also reorders them."""

    def __init__(
        self, seed: int, loss: float, repeat: float, least_ms: float, jitter_ms: float, late: float = 1.0
    ) -> None:
        self.kernel = Kernel()
        self.stream = Stream(seed, "test", "net")
        self.loss, self.repeat, self.least_ms, self.jitter_ms, self.late = loss, repeat, least_ms, jitter_ms, late
        self.nodes: list[Node] = []
        self.carried = 0

    def carry(self, sender: int, to: int, segment: Segment) -> None:
        self.carried += 1
        stream = self.stream
        for _ in range(2 if stream.random() < self.repeat else 1):
            if stream.random() >= self.loss:
                jitter_ms = self.jitter_ms * stream.random() if stream.random() < self.late else 0.0
                self.kernel.after(
                    round((self.least_ms + jitter_ms) * MILLISECOND), lambda: self.nodes[to].arrive(sender, segment)
                )

    def run_s(self, until_s: float) -> None:
        self.kernel.run_until(round(until_s * SECOND))


class Node:
    """The owner of an endpoint. It remembers what it has sent and received over each link, even across crashes."""

    def __init__(self, net: Net, parameters: TcpParameters, welcomes: bool = True) -> None:
        self.net = net
        self.number = len(net.nodes)
        self.parameters = parameters
        self.welcomes = welcomes
        self.names_sent: dict[int, list[Any]] = {}  # incarnation of this node -> names
        # (incarnation of the sender, incarnation of this node) -> names
        self.heard: dict[tuple[int, int], list[Any]] = {}
        self.events: list[tuple[str, int]] = []  # (kind of event, peer)
        self.links: list[Link] = []  # links that are open
        self.counts = Counts()
        self.on_open_hook: Callable[[Link], None] = lambda link: None
        self.on_closed_hook: Callable[[Link], None] = lambda link: None
        self.up = False
        self._timers: list[Timer] = []
        net.nodes.append(self)
        self.boot()

    def boot(self) -> None:
        self.up = True
        self.endpoint = Endpoint(self, self.parameters, self.counts)

    def crash(self) -> None:
        self.up = False
        self.endpoint.abort()
        for timer in self._timers:
            assert not timer.running  # abort has stopped all timers
        self._timers.clear()
        self.links.clear()

    def arrive(self, sender: int, segment: Segment) -> None:
        if self.up:
            self.endpoint.on_segment(sender, segment)
            for link in self.links:
                connection = link.connection
                assert bool(connection.backlog.flight) == connection._timer.running, (
                    "the timer runs while something is in flight"
                )

    def say(self, link: Link, size_bytes: int = 100) -> None:
        incarnation = link.connection.incarnation
        names = self.names_sent.setdefault(incarnation, [])
        names.append((self.number, incarnation, len(names)))
        link.say(Note(names[-1], size_bytes, size_bytes // 2))

    # --- the owner of an endpoint

    @property
    def now(self) -> int:
        return self.net.kernel.now

    def timer(self, action: Callable[[], None]) -> Timer:
        timer = Timer(self.net.kernel, action)
        self._timers.append(timer)
        return timer

    def send(self, to: int, message: Any) -> None:
        assert self.up, "a crashed node sends nothing"
        self.net.carry(self.number, to, message)

    def accepts(self, peer: int) -> bool:
        return self.welcomes

    def on_open(self, link: Link) -> None:
        assert self.up and link.connection.is_open
        self.events.append(("open", link.peer))
        self.links.append(link)
        self.on_open_hook(link)

    def on_message(self, link: Link, message: Any) -> None:
        assert self.up and link in self.links
        connection = link.connection
        self.heard.setdefault((connection.peer_incarnation, connection.incarnation), []).append(message.name)

    def on_closed(self, link: Link, reason: Reason) -> None:
        assert self.up
        self.events.append((reason, link.peer))
        if link in self.links:
            self.links.remove(link)
        self.on_closed_hook(link)


def check_transfer(
    parameters: TcpParameters,
    seed: int,
    loss: float,
    repeat: float,
    least_ms: float,
    jitter_ms: float,
    sizes: tuple[list[int], list[int]],
) -> tuple[Node, Node]:
    """Check a transfer in which both ends send at random times within five seconds. Every message must arrive once and
    in order, and then no segment may follow.
    """
    net = Net(seed, loss, repeat, least_ms, jitter_ms)
    a, b = Node(net, parameters), Node(net, parameters)
    stream = Stream(seed, "test", "plan")
    a.on_open_hook = b.on_open_hook = lambda link: plan(net.nodes[1 - link.peer], link)

    def plan(node: Node, link: Link) -> None:
        for size in sizes[node.number]:
            net.kernel.after(round(5 * SECOND * stream.random()), lambda size=size: node.say(link, size))

    a.endpoint.connect(b.number)
    net.run_s(20_000)
    (at_a,), (at_b,) = a.links, b.links
    ours, theirs = at_a.connection, at_b.connection
    assert b.heard.get((ours.incarnation, theirs.incarnation), []) == a.names_sent.get(ours.incarnation, [])
    assert a.heard.get((theirs.incarnation, ours.incarnation), []) == b.names_sent.get(theirs.incarnation, [])
    for connection, count in ((ours, sizes[0]), (theirs, sizes[1])):
        backlog = connection.backlog
        assert backlog.una == backlog.nxt == backlog.highest == backlog.end == 1 + sum(count)
        assert len(backlog) == len(connection.incoming) == 0 and not connection.incoming.gap
    assert (a.events, b.events) == ([("open", 1)], [("open", 0)])
    carried = net.carried
    net.run_s(40_000)
    assert net.carried == carried, "an idle connection is silent"
    return a, b


def check_crashes(
    patient: bool,
    seed: int,
    loss: float,
    repeat: float,
    jitter_ms: float,
    late: float,
    outages: list[tuple[int, float, float]],
) -> tuple[Node, Node]:
    """Check connections across crashes. Node a keeps connecting to b, both nodes send, and either of them may crash.

    Segments live for up to `jitter_ms`. `outages` contains (node, time in seconds, duration). The messages that a link
    delivers must be a prefix of the messages that were sent at its other end, even if old segments arrive late. If the
    nodes are patient, the last messages over the last pair of links must also arrive.
    """
    parameters = PATIENT if patient else HASTY
    net = Net(seed, loss, repeat, 1, jitter_ms, late)
    a, b = Node(net, parameters), Node(net, parameters)
    stream = Stream(seed, "test", "chatter")

    def connect() -> None:
        if a.up and not a.endpoint.links:
            a.endpoint.connect(b.number)

    def chatter() -> None:
        for node in (a, b):
            if node.up:
                for link in node.links:
                    node.say(link, 1 + stream.below(2000))

    a.on_closed_hook = lambda link: net.kernel.after(100 * MILLISECOND, connect)
    for number in range(200):
        net.kernel.at(number * 150 * MILLISECOND, chatter)
    for time_s in (35, 100, 1000):  # Sending at these times reveals that the other end is gone.
        net.kernel.at(time_s * SECOND, chatter)
    for who, when_s, for_s in outages:
        node = net.nodes[who]

        def crash(node: Node = node, for_s: float = for_s) -> None:
            if node.up:
                node.crash()
                net.kernel.after(round(for_s * SECOND), lambda: recover(node))

        def recover(node: Node) -> None:
            node.boot()
            connect()

        net.kernel.at(round(when_s * SECOND), crash)
    connect()
    net.run_s(20_000)

    for node, other in ((a, b), (b, a)):
        for (theirs, ours), names in node.heard.items():
            assert names == other.names_sent[theirs][: len(names)], "not the beginning of what was said"
            assert {pair for pair in node.heard if theirs in pair[:1]} == {(theirs, ours)}, "one link heard by two"
    if not patient:
        return a, b
    assert len(a.links) == len(b.links) == 1
    first, second = a.links[0].connection, b.links[0].connection
    assert (first.peer_incarnation, second.peer_incarnation) == (second.incarnation, first.incarnation)
    assert b.heard.get((first.incarnation, second.incarnation), []) == a.names_sent.get(first.incarnation, [])
    assert a.heard.get((second.incarnation, first.incarnation), []) == b.names_sent.get(second.incarnation, [])
    assert len(a.endpoint.links) == len(b.endpoint.links) == 1
    return a, b
