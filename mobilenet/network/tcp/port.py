"""The interface between a connection and its user: calls, upcalls and counters.

Model     `send` hands a segment to the network and returns before the segment arrives. An upcall may immediately call
          `send`, `reset` or `abort` of the connection.
Units     Times are integer nanoseconds.
Source    ours: docs/models/tcp.md; the user interface of RFC 9293, 3.9.1, as far as needed
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from mobilenet.network.tcp.segment import Segment
from mobilenet.protocols.port import Timer

Reason = Literal[
    "connect_timeout",  # the peer did not answer the request within the time limit
    "refused",  # the other end rejects connections
    "reset",  # the other end does not know this connection, or no longer knows it
    "retransmissions",  # the other end did not answer during too many timeouts
    "replaced",  # the same peer has opened a newer connection (only with an endpoint)
]


class Port(Protocol):
    """The environment of one end of a connection."""

    @property
    def now(self) -> int: ...

    def timer(self, action: Callable[[], None]) -> Timer: ...

    def send(self, segment: Segment) -> None:
        """Send a segment to the other end. It may be lost, repeated or overtaken."""

    def on_open(self) -> None:
        """Handle the completion of the connection. Messages may have been queued before."""

    def on_message(self, message: Any) -> None:
        """Handle the next message from the other end. Messages arrive exactly once and in order."""

    def on_closed(self, reason: Reason) -> None:
        """Handle the end of the connection. The messages in the backlog may or may not have arrived."""


@dataclass(slots=True)
class Counts:
    """The numbers of segments that were sent, by kind and reason. Several connections may share one object."""

    segments: int = 0  # all segments that were sent, of any kind
    data_segments: int = 0  # segments with bytes of messages, including retransmissions
    retransmissions: int = 0  # data segments whose first byte had already been sent
    pure_acks: int = 0
    syns: int = 0  # SYN and SYN-ACK, including repeated ones
    resets: int = 0
    timeouts: int = 0  # timeouts while data was in flight
    fast_retransmits: int = 0  # recoveries that duplicate acknowledgements started
    duplicates_received: int = 0  # data segments that contained only known bytes
