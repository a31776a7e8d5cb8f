"""Manage all TCP connections of a node, and answer segments that do not belong to any of them.

Model     Connections are identified by peer and incarnation. A segment that does not belong to a connection is answered
          with a RST, so an end that has outlived the other end learns this when it next sends. A peer has one accepted
          connection at a time. When a newer one is complete, which proves that its SYN was not an old copy, the older
          one is closed as "replaced". An accepted connection that is never completed is removed without an upcall.
          Incarnations come from the clock, like initial sequence numbers: the current time, or the last incarnation
          plus one if that is higher. A node that crashes and returns never repeats an incarnation, provided that its
          downtime in nanoseconds exceeds the number of connections that it began in its last instant.
Units     Times are integer nanoseconds.
Source    RFC 9293, 3.4.1, 3.5.1-3.5.3, 3.10.7.1-2; ours: docs/models/tcp.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from mobilenet.network.tcp.connection import Connection
from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.network.tcp.port import Counts, Reason
from mobilenet.network.tcp.segment import SYN, UNKNOWN, HasSize, Segment, reset_of
from mobilenet.protocols.port import Timer


class Owner(Protocol):
    """The node to which an endpoint belongs. `peer` is the number of the other node."""

    @property
    def now(self) -> int: ...

    def timer(self, action: Callable[[], None]) -> Timer: ...

    def send(self, to: int, message: Any) -> None:
        """Hand over a segment to the network."""

    def accepts(self, peer: int) -> bool:
        """Return whether the node accepts a connection that this peer requests."""

    def on_open(self, link: Link) -> None: ...
    def on_message(self, link: Link, message: Any) -> None: ...
    def on_closed(self, link: Link, reason: Reason) -> None: ...


class Link:
    """A connection with a given peer. The link is the port of its `connection`."""

    __slots__ = ("_endpoint", "_owner", "connection", "opened", "passive", "peer")

    def __init__(self, endpoint: Endpoint, peer: int, passive: bool) -> None:
        self._endpoint = endpoint
        self._owner = endpoint.owner
        self.peer = peer
        self.passive = passive
        self.opened = False
        self.connection = Connection(self, endpoint.parameters, endpoint.new_incarnation(), endpoint.counts)

    @property
    def now(self) -> int:
        return self._owner.now

    def timer(self, action: Callable[[], None]) -> Timer:
        return self._owner.timer(action)

    def send(self, segment: Segment) -> None:
        self._owner.send(self.peer, segment)

    def on_open(self) -> None:
        self.opened = True
        if self.passive:
            self._endpoint.replace(self)
        self._owner.on_open(self)

    def on_message(self, message: Any) -> None:
        self._owner.on_message(self, message)

    def on_closed(self, reason: Reason) -> None:
        self._endpoint.forget(self)
        if self.opened or not self.passive:
            self._owner.on_closed(self, reason)

    # --- for the owner

    @property
    def backlog(self) -> int:
        """The number of messages that the peer has not acknowledged yet."""
        return len(self.connection.backlog)

    @property
    def incoming(self) -> int:
        """The number of messages that wait for earlier bytes."""
        return len(self.connection.incoming)

    @property
    def taken(self) -> int:
        """The number of messages that the peer has acknowledged."""
        return self.connection.backlog.taken

    def say(self, message: HasSize) -> None:
        """Send a message over the connection."""
        self.connection.send(message)

    def abort(self) -> None:
        """Close the connection without notifying the other end."""
        self._endpoint.forget(self)
        self.connection.abort()

    def reset(self) -> None:
        """Close the connection, and notify the other end once."""
        self._endpoint.forget(self)
        self.connection.reset()


class Endpoint:
    """All connections of one node."""

    def __init__(self, owner: Owner, parameters: TcpParameters, counts: Counts | None = None) -> None:
        self.owner = owner
        self.parameters = parameters
        self.counts = Counts() if counts is None else counts  # totals over all connections
        self.links: dict[tuple[int, int], Link] = {}  # (peer, incarnation at this node) -> link
        # (peer, incarnation at the peer) -> link that the peer requested
        self._incoming_links: dict[tuple[int, int], Link] = {}
        self._accepted: dict[int, Link] = {}  # peer -> the last link that the peer opened
        self._last_incarnation = UNKNOWN

    def connect(self, peer: int) -> Link:
        """Begin a connection. The upcalls `on_open` and `on_closed` report the outcome."""
        link = Link(self, peer, passive=False)
        self.links[peer, link.connection.incarnation] = link
        link.connection.connect()
        return link

    def on_segment(self, peer: int, segment: Segment) -> None:
        """Handle a segment that arrived from `peer`. RFC 9293, 3.10.7.1-2"""
        if segment.target == UNKNOWN:
            link = self._incoming_links.get((peer, segment.source))
            if link is None and segment.flags == SYN and self.owner.accepts(peer):
                link = Link(self, peer, passive=True)
                self.links[peer, link.connection.incarnation] = link
                self._incoming_links[peer, segment.source] = link
                link.connection.accept(segment)
                return
        else:
            link = self.links.get((peer, segment.target))
        if link is not None:
            link.connection.on_segment(segment)
            return
        answer = reset_of(segment)
        if answer is not None:
            self.counts.segments += 1
            self.counts.resets += 1
            self.owner.send(peer, answer)

    def abort(self) -> None:
        """Close all connections without notifying the peers, because the node crashed."""
        for link in list(self.links.values()):
            link.abort()

    # --- for links

    def new_incarnation(self) -> int:
        self._last_incarnation = max(self._last_incarnation + 1, self.owner.now)
        return self._last_incarnation

    def replace(self, link: Link) -> None:
        """Replace the previous link of a peer, because `link` is complete. An older link that the peer opened no longer
        exists at its end.
        """
        older = self._accepted.get(link.peer)
        self._accepted[link.peer] = link
        if older is not None:
            older.connection.abort()
            older.on_closed("replaced")

    def forget(self, link: Link) -> None:
        connection = link.connection
        self.links.pop((link.peer, connection.incarnation), None)
        self._incoming_links.pop((link.peer, connection.peer_incarnation), None)
        if self._accepted.get(link.peer) is link:
            del self._accepted[link.peer]
