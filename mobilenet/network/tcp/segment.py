"""The segments that the two ends of a connection exchange.

Model     Two incarnation numbers identify a connection. Each end chooses one of them, and never uses it again. They
          replace ports and initial sequence numbers (RFC 9293, 3.4.1). A segment of another connection is answered with
          a RST, and never enters the stream. Sequence numbers are relative to the incarnation: 0 is the SYN, and 1 is
          the first byte. They do not wrap. Messages are passed by reference, with the segment that carries their last
          byte.
Units     Sizes are in bytes. A segment has a TCP header of 20 bytes, and 4 more for the MSS option in a SYN. The caller
          adds the headers of the lower layers, including the 20 bytes of IP.
Left out  FIN, URG and PSH; the options window scale (the window is given in bytes), timestamps and SACK.
Source    RFC 9293, 3.1, 3.2, 3.5.2
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

HEADER_BYTES = 20
MSS_OPTION_BYTES = 4

SYN, ACK, RST = 1, 2, 4
SYN_ACK = SYN | ACK
UNKNOWN = 0  # incarnation of the other end before it is known


class HasSize(Protocol):
    """Any object that can be sent over a connection. It has at least one byte, and it is immutable, because it is not
    copied.
    """

    @property
    def size_bytes(self) -> int: ...
    @property
    def payload_bytes(self) -> int:
        """The number of payload bytes. The payload is the last part of the message, after a header."""


class Segment(NamedTuple):
    """Contains bytes seq to seq + length - 1 of the sender's stream, and acknowledges all bytes below ack of the
    receiver's stream.
    """

    source: int
    target: int
    flags: int
    seq: int
    ack: int = 0
    length: int = 0
    payload_bytes: int = 0
    # (one past its last byte, message) for each message that ends in this segment
    messages: tuple[tuple[int, Any], ...] = ()
    window: int = 0  # SYN only: the number of bytes that the sender of the SYN can buffer; it never changes
    mss: int = 0  # SYN only: the maximum segment size

    @property
    def size_bytes(self) -> int:
        return HEADER_BYTES + self.length + (MSS_OPTION_BYTES if self.flags & SYN else 0)

    def list_sizes(self) -> tuple[tuple[str, int], ...]:
        return (("segment_messages", len(self.messages)),) if self.messages else ()


class TcpSyn(Segment):
    """A SYN or SYN-ACK. TCP treats the four subclasses alike. They differ only in how they are counted."""

    __slots__ = ()


class TcpData(Segment):
    """A segment with bytes of messages, which are sent for the first time or again."""

    __slots__ = ()


class TcpAck(Segment):
    """A segment that contains only an acknowledgement."""

    __slots__ = ()
    acknowledges = True


class TcpReset(Segment):
    """A segment that ends the connection (RST)."""

    __slots__ = ()


def reset_of(segment: Segment) -> TcpReset | None:
    """Return the answer to a segment of a connection that does not exist here, or None if the segment is a RST.

    RFC 9293, 3.5.2, group 1
    """
    if segment.flags & RST:
        return None
    if segment.flags & ACK:
        return TcpReset(segment.target, segment.source, RST, segment.ack)
    return TcpReset(segment.target, segment.source, RST | ACK, 0, segment.seq + segment.length + (segment.flags & SYN))
