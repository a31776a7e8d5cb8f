"""A connection's calls and upcalls, and its counters.

Model     `send` hands a segment to the network and returns; it must not arrive anywhere within that call.
          An upcall may call `send`, `reset` or `abort` of the connection at once.
Units     integer nanoseconds
Source    ours: docs/models/tcp.md; the user interface of RFC 9293, 3.9.1, as far as needed
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from mobilenet.network.tcp.segment import Segment
from mobilenet.protocols.port import Timer

Reason = Literal[
    "connect_timeout",  # the peer did not answer the set-up in time
    "refused",  # the other end does not accept connections
    "reset",  # the other end does not know this connection (any more)
    "retransmissions",  # it was silent through too many timeouts
    "replaced",  # the same peer has opened a newer one (endpoint only)
]


class Port(Protocol):
    """The outside world of one end of one connection."""

    @property
    def now(self) -> int: ...

    def timer(self, action: Callable[[], None]) -> Timer: ...

    def send(self, segment: Segment) -> None:
        """Send a segment to the other end; it may be lost, repeated and overtaken."""

    def on_open(self) -> None:
        """Handle the completion of the connection; messages may have been queued before."""

    def on_message(self, message: Any) -> None:
        """Handle the next message of the other end; each arrives once, and in order."""

    def on_closed(self, reason: Reason) -> None:
        """Handle the end of the connection. What is in its backlog may or may not have arrived."""


@dataclass(slots=True)
class Counts:
    """The counts of what was sent, and why. Several connections may share one."""

    segments: int = 0  # all segments that were sent, of whatever kind
    data_segments: int = 0  # with bytes of messages, retransmissions included
    retransmissions: int = 0  # data segments whose first byte had been sent before
    pure_acks: int = 0
    syns: int = 0  # SYN and SYN-ACK, repeated ones included
    resets: int = 0
    timeouts: int = 0  # timeouts of data
    fast_retransmits: int = 0  # recoveries begun by duplicate acknowledgements
    duplicates_received: int = 0  # data segments that contained nothing new
