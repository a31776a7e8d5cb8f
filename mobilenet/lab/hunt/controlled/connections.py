"""Connections that a test drives by hand: a message on a channel waits until the driver lets it through.

Model     a channel is two ends with what is in transit in each direction, in order. It is asked for, opens when the
          driver opens it (if the other side accepts it; messages may be sent before), and closes at one end at a time:
          by the network (`break_off`), or by a reset of the other end, if the driver lets that through. What was in
          transit to or from an end that is closed is lost. Over the radio a pair of nodes may have several channels one
          after the other, of which the newest counts; neighbours on the backbone have one
Errors    RuntimeError for a message after the end; KeyError for two nodes without a channel
Source    ours; the interface is Channel, ChannelClient and Channels of mobilenet/protocols/port.py
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from mobilenet.protocols.port import ChannelClient

Run = Callable[[str, Callable[[], Any]], Any]


class End:
    """One end of a channel. `sent` is in transit to the other one."""

    def __init__(self, owner: ControlledChannels, peer: int) -> None:
        self.owner = owner
        self.peer = peer
        self.other: End
        self.sent: deque[Any] = deque()
        self.taken = 0
        self.incoming = 0  # nothing waits here for earlier bytes
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
        """End the connection here, as the network does."""
        if not self.closed:
            self.abort()
            self.owner.tell(lambda client: client.on_closed(self, reason))


class ControlledChannels:
    """The channels of a node over the radio, or of a station to its neighbours."""

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
        """Run an upcall of the listener here; it has none while the node is down."""
        client = self.client
        return None if client is None else self.connections.run(self.name, lambda: upcall(client))


class Connections:
    """All channels of all nodes. `run` runs a handler of a node: at once, or as a step of a network."""

    def __init__(self, run: Run = lambda name, handler: handler()) -> None:
        self.run = run
        self.opening: list[tuple[End, End]] = []  # the end that asked, and the other side
        self.resets: list[End] = []  # ends that have not been notified of a reset yet
        self.links: dict[tuple[str, str], tuple[End, End]] = {}  # (h1, s0) or (s0, s1) -> both ends, in this order
        self._radio: dict[str, ControlledChannels] = {}
        self._wire: dict[str, ControlledChannels] = {}

    def of(self, name: str, neighbours: Sequence[int] | None = None) -> ControlledChannels:
        """Return a node's connections over the radio or, with `neighbours`, those of a station on the backbone."""
        known = self._radio if neighbours is None else self._wire
        if name not in known:
            known[name] = ControlledChannels(self, name, neighbours)
        return known[name]

    def ask(self, asker: ControlledChannels, peer: int) -> End:
        """Ask for a channel on behalf of a node. It opens with `open`."""
        name = f"{'s' if asker.on_the_wire or asker.name[0] == 'h' else 'h'}{peer}"
        there = (self._wire if asker.on_the_wire else self._radio)[name]
        here, far = End(asker, peer), End(there, asker.me)
        here.other, far.other = far, here
        self.opening.append((here, far))
        self.links[asker.name, name], self.links[name, asker.name] = (here, far), (far, here)
        return here

    def forget(self, name: str) -> None:
        """Forget the connections of a node that has crashed, without notifying it."""
        pairs = [*self.links.values(), *self.opening, *((end, end.other) for end in self.resets)]
        for end in (end for pair in pairs for end in pair):
            if end.owner.name == name:
                end.abort()
        if name in self._radio:
            self._radio[name].client = None

    # --- what the driver may do

    def open(self) -> None:
        """Open every channel that was asked for, at both sides that still want it."""
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
        """Let what a sent to b arrive, all of it or the oldest `count`, and return the messages."""
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
        """End the channel from a to b at a, which is notified; b does not notice."""
        self.links[a, b][0].breaks(reason)

    def pass_resets(self) -> None:
        """Let the other end of each reset connection learn of it."""
        resets, self.resets = self.resets, []
        for end in resets:
            end.breaks("reset")

    @property
    def is_under_way(self) -> bool:
        """Whether anything waits here for its driver."""
        return bool(self.opening or self.resets or any(here.sent for here, _ in self.links.values()))

    def settle(self) -> None:
        """Let everything open and arrive, and what that causes."""
        while self.is_under_way:
            self.open()
            for a, b in list(self.links):
                self.pass_on(a, b)
            self.pass_resets()
