"""Hosts and stations whose frames, wired messages and timers wait for the decisions of a test.

Model     Radio: a frame becomes one packet for each node that may hear it. A frame that a station sends to its cell
          becomes a packet for every host, because the driver decides which hosts hear it. The driver delivers a
          packet, delivers a copy and keeps the packet, or loses it. Packets may be delivered in any order, and also to
          a host that has changed its cell. Wire: a tree of FIFO links, so delivery is causal over broadcasts and
          sends. Connections: see connections.py. Timers fire when the driver decides, in any order; the clock, which
          all nodes share, then advances to the deadline, unless that has passed. Handlers run to completion. A frame
          is reported as sent at the end of the step that sent it
Units     integer nanoseconds
Errors    ValueError for a packet that is not in the air, a link that is empty or a timer that is not armed; exceptions
          of the protocol pass through
Source    ours. Example: a message overtaken on its way to a host

    >>> from mobilenet.lab.hunt.controlled import Network
    >>> from mobilenet.protocols.mobile_causal import MobileCausalParameters
    >>> from mobilenet.protocols.mobile_causal.declaration import MobileCausal
    >>> parameters = MobileCausalParameters()
    >>> network = Network(MobileCausal, parameters, cells=[0, 0])
    >>> network.join(0); network.join(1)
    >>> network.settle()
    >>> for _ in range(2):  # two messages of h0, which its station passes on
    ...     network.broadcast(0)
    ...     network.deliver(network.packet("AppHs"))
    MessageId(host=0, seq=0)
    MessageId(host=0, seq=1)
    >>> first, second = network.packets("AppSh", receiver="h1")
    >>> network.deliver(second)  # the second message overtakes the first
    >>> network.deliveries(1)  # and has to wait
    []
    >>> network.deliver(first, keep=True)
    >>> network.deliver(first)  # once more
    >>> [message.seq for message in network.deliveries(1)]
    [0, 1]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mobilenet.network.wired.network import TreeRoutes
from mobilenet.protocols.declaration import fill_in
from mobilenet.protocols.port import MessageId, association_changes

from .connections import Connections
from .node import Input, Node, Uniform, host_node, midpoint, station_node
from .port import Clock, Effects, Timer

ROUNDS = 20  # `settle` gives up after this many rounds of timers


class Packet(NamedTuple):
    number: int  # Packets are numbered in the order of sending.
    sender: str
    receiver: str
    message: Any


def matching_packets(
    packets: Iterable[Packet], kind: str | None, sender: str | None, receiver: str | None
) -> list[Packet]:
    """Return the packets that match the given message class, sender and receiver. None matches any of them."""
    return [
        packet
        for packet in packets
        if kind in (None, type(packet.message).__name__)
        and sender in (None, packet.sender)
        and receiver in (None, packet.receiver)
    ]


class WiredMessage(NamedTuple):
    source: int
    to: int | None  # receiving station, or None for all stations
    message: Any


class Event(NamedTuple):
    """A report from a node, such as 'deliver', 'joined', 'left' or 'gap', or a request to a node to broadcast."""

    node: str
    name: str
    arguments: tuple[Any, ...]


class Network:
    """A network that a driver controls. `roles` declares a protocol, as in a scenario. `cells[h]` is the cell of host
    h, and `parents[i]` is the neighbour of station i+1 towards station 0.
    """

    def __init__(
        self,
        roles: type,
        parameters: Any,
        cells: Sequence[int | None],
        parents: Sequence[int] = (),
        uniform: Uniform = midpoint,
    ) -> None:
        roles = fill_in(roles)
        count = len(parents) + 1
        self.clock = Clock()
        self.air: list[Packet] = []
        self.events: list[Event] = []
        self._associated: dict[int, int | None] = {}  # host -> the last station that was notified of it
        self._routes = TreeRoutes.of_parents(parents)
        self.links: dict[tuple[int, int], deque[WiredMessage]] = {link: deque() for link in self._routes.links}
        self.nodes: dict[str, Node] = {}
        self._sent = 0
        self.connections = Connections(lambda name, handler: self._step(name, ("channel", handler)).answer)
        connections = self.connections if "connections" in roles.needs else None
        near = self._routes.near
        if connections is not None:
            for s in range(count):  # Every node must exist before the first one asks for a connection.
                connections.of(f"s{s}", near[s])
        for s in range(count):
            self._add(station_node(s, roles, parameters, count, self.clock, uniform, connections, near[s]))
        for h, cell in enumerate(cells):
            self._associate(h, cell)
            self._add(host_node(h, cell, roles, parameters, count, self.clock, uniform, connections))

    def _add(self, node: Node) -> None:
        self.nodes[node.name] = node
        self._take(node, node.effects)

    @property
    def hosts(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.is_host]

    @property
    def stations(self) -> list[Node]:
        return [node for node in self.nodes.values() if not node.is_host]

    # --- what the driver may do to a host

    def join(self, host: int) -> None:
        self._step(f"h{host}", ("join",))

    def leave(self, host: int) -> bool:
        """Ask a host to leave. Return whether it could leave at this moment."""
        return bool(self._step(f"h{host}", ("leave",)).answer)

    def broadcast(self, host: int, body: Any = 1) -> MessageId | None:
        """Let a host broadcast. Return the identifier of the message, or None if the host refused."""
        message_id: MessageId | None = self._step(f"h{host}", ("broadcast", body)).answer
        return message_id

    def move(self, host: int, cell: int | None) -> None:
        if self.nodes[f"h{host}"].protocol is not None:
            self._associate(host, cell)
        self._step(f"h{host}", ("cell", cell))

    def crash(self, host: int) -> None:
        """Crash a host. Its channels are closed without a notification."""
        self.connections.forget(f"h{host}")
        self._step(f"h{host}", ("crash",))

    def recover(self, host: int) -> None:
        if self.nodes[f"h{host}"].protocol is None:
            self._associate(host, self.nodes[f"h{host}"].cell)
        self._step(f"h{host}", ("recover",))

    def _associate(self, host: int, cell: int | None) -> None:
        """Notify the stations that a host has changed its cell, in the same order as in a simulation run."""
        before, self._associated[host] = self._associated.get(host), cell
        for station, hook in association_changes(before, cell):
            if hasattr(self.nodes[f"s{station}"].protocol, hook):
                self._step(f"s{station}", (hook, host))

    # --- the radio

    def packets(self, kind: str | None = None, sender: str | None = None, receiver: str | None = None) -> list[Packet]:
        """Return the packets in the air, oldest first. `kind` is the name of the message's class."""
        return matching_packets(self.air, kind, sender, receiver)

    def packet(self, kind: str | None = None, sender: str | None = None, receiver: str | None = None) -> Packet:
        """Return the oldest matching packet. Raise ValueError if there is none."""
        packets = self.packets(kind, sender, receiver)
        if not packets:
            raise ValueError(
                f"no {kind or 'packet'} from {sender or 'any sender'} to {receiver or 'any receiver'} is in transit"
            )
        return packets[0]

    def deliver(self, packet: Packet, keep: bool = False) -> None:
        """Let the packet arrive. With `keep`, only a copy arrives, and the packet itself remains in the air."""
        if packet not in self.air:
            raise ValueError(f"not in transit: {packet}")
        if not keep:
            self.lose(packet)
        self._step(packet.receiver, ("receive", int(packet.sender[1:]), packet.message))

    def lose(self, packet: Packet) -> None:
        self.air = [other for other in self.air if other.number != packet.number]

    # --- the wire

    def cross(self, a: int, b: int) -> None:
        """Let the oldest message on this link arrive at b, which forwards it, and then handles it if it is addressed to
        b.
        """
        queue = self.links[a, b]
        if not queue:
            raise ValueError(f"nothing is in transit from s{a} to s{b}")
        wired = queue.popleft()
        self._spread(b, a, wired)
        if wired.to in (None, b):
            self._step(f"s{b}", ("wired", wired.source, wired.message))

    def _spread(self, at: int, before: int | None, wired: WiredMessage) -> None:
        for neighbour in self._routes.onward(at, before, wired.to):
            self.links[at, neighbour].append(wired)

    # --- time

    def timers(self) -> list[tuple[str, Timer]]:
        """Return all running timers, node by node."""
        return [(name, timer) for name, node in self.nodes.items() for timer in node.running_timers]

    def fire(self, name: str, number: int) -> None:
        """Fire a timer of a node. `number` is its index among the timers that the protocol has requested."""
        deadline = self.nodes[name].port.timers[number].deadline_ns
        self.clock.now = max(self.clock.now, deadline or 0)
        self._step(name, ("timer", number))

    # --- shortcuts

    def flush(self) -> None:
        """Deliver all messages in transit, and all messages that result. Frames arrive only in the cell of their
        sender.
        """
        while True:
            self.connections.settle()
            if self.air:
                packet = self.air[0]
                host, station = (packet.sender, packet.receiver)[:: 1 if packet.sender[0] == "h" else -1]
                if self.nodes[host].cell == int(station[1:]):
                    self.deliver(packet)
                else:
                    self.lose(packet)
                continue
            link = next((link for link, queue in self.links.items() if queue), None)
            if link is None:
                return
            self.cross(*link)

    def settle(self) -> None:
        """Deliver all messages and fire the timers in turn, until every node has settled and all buffers are empty."""
        for _ in range(ROUNDS):
            self.flush()
            protocols = [node.protocol for node in self.nodes.values() if node.protocol is not None]
            if all(p.settled() and not any(p.buffer_sizes()) for p in protocols):
                return
            for name, timer in self.timers():
                if timer.running:
                    self.fire(name, timer.number)
                    self.flush()
        raise ValueError(f"not settled after {ROUNDS} rounds of timers")

    def deliveries(self, host: int) -> list[MessageId]:
        return [event.arguments[0] for event in self.events if event.node == f"h{host}" and event.name == "deliver"]

    # --- steps

    def give(self, name: str, node_input: Input) -> Effects:
        """Apply an input (see node.py) to a node, without checking whether such a packet is in the air."""
        return self._step(name, node_input)

    def _step(self, name: str, node_input: Input) -> Effects:
        node = self.nodes[name]
        effects = node.step(node_input)
        if node_input[0] == "broadcast" and effects.answer is not None:
            self.events.append(Event(name, "broadcast", (effects.answer,)))
        self._take(node, effects)
        return effects

    def _take(self, node: Node, effects: Effects) -> None:
        for upcall in effects.upcalls:
            self.events.append(Event(node.name, *upcall))
        others = self.stations if node.is_host else self.hosts
        for to, message in effects.radio:
            for other in others:
                if to in (None, other.me):
                    self.air.append(Packet(self._sent, node.name, other.name, message))
                    self._sent += 1
        for to, message in effects.wired:
            self._spread(node.me, None, WiredMessage(node.me, to, message))
