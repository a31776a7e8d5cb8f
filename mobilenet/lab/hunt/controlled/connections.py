"""Connections that a test drives by hand: a message on a channel waits until the driver lets it through.

Model     A channel has two ends, and a queue of messages in transit in each direction. A node requests a channel, which
          opens when the driver calls `open`, provided that the other node accepts it. Messages may be sent before it
          opens. Each end closes separately, by `break_off` or when the driver passes on a reset of the other end.
          Messages in transit to or from a closed end are lost. Over the radio, a pair of nodes may open several
          channels one after the other. Only the newest of them is used. Two neighbours on the backbone have one
          channel.
Errors    RuntimeError if a message is sent on a closed channel; KeyError if two nodes have never had a channel
Source    ours; the interface is Channel, ChannelClient and Channels of mobilenet/protocols/port.py
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from mobilenet.protocols.port import ChannelClient

Run = Callable[[str, Callable[[], Any]], Any]


class End:
    """Represents one end of a channel. `sent` contains the messages in transit to the other end."""

    def __init__(self, owner: ControlledChannels, peer: int) -> None:
        self.owner = owner
        self.peer = peer
        self.other: End
        self.sent: deque[Any] = deque()
        self.taken = 0
        self.incoming = 0  # always 0, because messages do not wait at this end for earlier bytes
        self.closed = False

    @property
    def backlog(self) -> int:
        return len(self.sent)

    def say(self, message: Any) -> None:
        if self.closed:
            raise RuntimeError("the connection is closed")
        self.sent.append(message)

    def abort(self) -> None:
        self.closed = True
        self.sent.clear()

    def reset(self) -> None:
        if not self.closed:
            self.abort()
            self.owner.connections.resets.append(self.other)

    def breaks(self, reason: str) -> None:
        """End the connection at this end, as the network would."""
        if not self.closed:
            self.abort()
            self.owner.tell(lambda client: client.on_closed(self, reason))


class ControlledChannels:
    """The channels of a node over the radio, or the channels of a station to its neighbours on the backbone."""

    def __init__(self, connections: Connections, name: str, neighbours: Sequence[int] | None) -> None:
        self.connections = connections
        self.name = name
        self.me = int(name[1:])
        self.on_the_wire = neighbours is not None
        self.neighbours = neighbours or ()
        self.client: ChannelClient | None = None

    def listen(self, client: ChannelClient) -> None:
        self.client = client

    def connect(self, peer: int) -> End:
        return self.connections.ask(self, peer)

    def tell(self, upcall: Callable[[Any], Any]) -> Any:
        """Call the listener of this node, unless the node is down."""
        client = self.client
        return None if client is None else self.connections.run(self.name, lambda: upcall(client))


class Connections:
    """All channels of all nodes. `run` executes a handler of a node, either directly or as a step of a network."""

    def __init__(self, run: Run = lambda name, handler: handler()) -> None:
        self.run = run
        self.opening: list[tuple[End, End]] = []  # pairs (requesting end, other end)
        self.resets: list[End] = []  # ends that have not yet been notified of a reset
        self.links: dict[tuple[str, str], tuple[End, End]] = {}  # (h1, s0) or (s0, s1) -> both ends, in this order
        self._radio: dict[str, ControlledChannels] = {}
        self._wire: dict[str, ControlledChannels] = {}

    def of(self, name: str, neighbours: Sequence[int] | None = None) -> ControlledChannels:
        """Return the connections of a node over the radio or, if `neighbours` is given, those of a station on the
        backbone.
        """
        known = self._radio if neighbours is None else self._wire
        if name not in known:
            known[name] = ControlledChannels(self, name, neighbours)
        return known[name]

    def ask(self, asker: ControlledChannels, peer: int) -> End:
        """Ask for a channel on behalf of a node. The channel opens when `open` is called."""
        name = f"{'s' if asker.on_the_wire or asker.name[0] == 'h' else 'h'}{peer}"
        there = (self._wire if asker.on_the_wire else self._radio)[name]
        here, far = End(asker, peer), End(there, asker.me)
        here.other, far.other = far, here
        self.opening.append((here, far))
        self.links[asker.name, name], self.links[name, asker.name] = (here, far), (far, here)
        return here

    def forget(self, name: str) -> None:
        """Close the connections of a node that has crashed. The node is not notified."""
        pairs = [*self.links.values(), *self.opening, *((end, end.other) for end in self.resets)]
        for end in (end for pair in pairs for end in pair):
            if end.owner.name == name:
                end.abort()
        if name in self._radio:
            self._radio[name].client = None

    # --- what the driver may do

    def open(self) -> None:
        """Open every requested channel at both ends, if both still want it."""
        opening, self.opening = self.opening, []
        for here, far in opening:
            if here.closed or far.closed or not far.owner.tell(lambda client: client.accepts(far.peer)):  # noqa: B023
                far.abort()
                here.breaks("refused")
                continue
            for end in (here, far):
                if not end.closed:
                    end.owner.tell(lambda client: client.on_open(end))  # noqa: B023

    def pass_on(self, a: str, b: str, count: int | None = None) -> list[Any]:
        """Let the messages from a to b arrive (all of them, or the oldest `count`), and return them."""
        here, far = self.links[a, b]
        passed: list[Any] = []
        while here.sent and count != len(passed):
            message = here.sent.popleft()
            passed.append(message)
            here.taken += 1
            if not far.closed:
                far.owner.tell(lambda client: client.on_message(far, message))  # noqa: B023
            if not here.closed:
                here.owner.tell(lambda client: client.on_taken(here))
        return passed

    def break_off(self, a: str, b: str, reason: str = "retransmissions") -> None:
        """Close the channel from a to b at node a, and notify node a, but not node b."""
        self.links[a, b][0].breaks(reason)

    def pass_resets(self) -> None:
        """Notify the other end of each connection that was reset."""
        resets, self.resets = self.resets, []
        for end in resets:
            end.breaks("reset")

    @property
    def is_under_way(self) -> bool:
        """Whether a channel, a reset or a message is waiting for the driver."""
        return bool(self.opening or self.resets or any(here.sent for here, _ in self.links.values()))

    def settle(self) -> None:
        """Open all requested channels and deliver all messages. Repeat this for the channels and messages that
        result.
        """
        while self.is_under_way:
            self.open()
            for a, b in list(self.links):
                self.pass_on(a, b)
            self.pass_resets()
