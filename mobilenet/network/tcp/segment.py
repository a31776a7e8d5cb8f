"""The segments that the two ends of a connection send each other.

Model     A connection is named by two incarnation numbers, one chosen by each end, never chosen again by that end. They
          stand for port and initial sequence number (RFC 9293, 3.4.1), which in a real segment keep connections apart;
          what a segment of another connection meets is a RST, never the stream.
          Sequence numbers are relative to the incarnation: 0 is the SYN, 1 the first byte. They do not wrap.
          Messages travel by reference, with the segment that carries their last byte.
Units     bytes; a segment is a TCP header of 20, 4 more for the MSS option in a SYN, and its share of the messages.
          Headers below, IP's 20 included, are the caller's
Left out  FIN, URG, PSH; options: window scale (the window is given in bytes), timestamps, SACK
Source    RFC 9293, 3.1, 3.2, 3.5.2
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

HEADER_BYTES = 20
MSS_OPTION_BYTES = 4

SYN, ACK, RST = 1, 2, 4
SYN_ACK = SYN | ACK
UNKNOWN = 0  # the incarnation at the other end, before it is known


class HasSize(Protocol):
    """Anything that may be sent over a connection. It has at least one byte, and is immutable: it is not copied."""

    @property
    def size_bytes(self) -> int: ...
    @property
    def payload_bytes(self) -> int:
        """The number of payload bytes: the last bytes of the message; those before are a header."""


class Segment(NamedTuple):
    """Bytes seq to seq + length - 1 of the sender's stream, and what it has of the receiver's: all below ack."""

    source: int
    target: int
    flags: int
    seq: int
    ack: int = 0
    length: int = 0
    payload_bytes: int = 0
    messages: tuple[tuple[int, Any], ...] = ()  # (first byte after it, the message) for each that ends in this segment
    window: int = 0  # SYN only: what the sender of the SYN is ready to hold; it never changes
    mss: int = 0  # SYN only

    @property
    def size_bytes(self) -> int:
        return HEADER_BYTES + self.length + (MSS_OPTION_BYTES if self.flags & SYN else 0)

    def list_sizes(self) -> tuple[tuple[str, int], ...]:
        return (("segment_messages", len(self.messages)),) if self.messages else ()


class TcpSyn(Segment):
    """A SYN or SYN-ACK. The four kinds are one segment to TCP; they differ only for the counters."""

    __slots__ = ()


class TcpData(Segment):
    """A segment with bytes of messages, sent for the first time or again."""

    __slots__ = ()


class TcpAck(Segment):
    """A segment that only acknowledges."""

    __slots__ = ()
    acknowledges = True


class TcpReset(Segment):
    """A segment that ends the connection (RST)."""

    __slots__ = ()


def reset_of(segment: Segment) -> TcpReset | None:
    """Return the answer to a segment of a connection that does not exist here, or None to a RST.

    RFC 9293, 3.5.2, group 1
    """
    if segment.flags & RST:
        return None
    if segment.flags & ACK:
        return TcpReset(segment.target, segment.source, RST, segment.ack)
    return TcpReset(segment.target, segment.source, RST | ACK, 0, segment.seq + segment.length + (segment.flags & SYN))
