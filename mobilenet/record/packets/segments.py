"""TCP segments in IP packets.

Units     bytes; sequence numbers modulo 2³²
Source    RFC 791, RFC 9293, 3.1
"""

from __future__ import annotations

import struct
from typing import NamedTuple

TCP = 6
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
ROUND = 1 << 32
End = tuple[bytes, int]  # IP address and port


class Segment(NamedTuple):
    """A TCP segment: its two ends, its header fields and its data."""

    source: End
    to: End
    number: int
    acknowledged: int
    flags: int
    payload: bytes

    @property
    def length(self) -> int:
        """The amount by which the segment advances the sequence number."""
        return len(self.payload) + bool(self.flags & SYN) + bool(self.flags & FIN)


def is_fragment(packet: bytes) -> bool:
    """Return whether an IP packet of at least 20 bytes is a fragment: it has an offset, or a flag that announces more
    fragments.
    """
    return bool(struct.unpack_from(">H", packet, 6)[0] & 0x3FFF)


def segment_in(packet: bytes) -> Segment | None:
    """Return the TCP segment in an IP packet, or None if the packet contains no complete segment."""
    head = (packet[0] & 15) * 4
    if packet[9] != TCP or len(packet) < head + 20 or is_fragment(packet):
        return None
    total = struct.unpack_from(">H", packet, 2)[0]
    source, to, number, acknowledged, offset, flags = struct.unpack_from(">HHIIBB", packet, head)
    payload = packet[head + (offset >> 4) * 4 : total]
    return Segment((packet[12:16], source), (packet[16:20], to), number, acknowledged, flags, payload)


def near(number: int, first: int, last: int) -> int:
    """Convert a sequence number to an offset in a stream whose SYN has the number `first`. Of all possible offsets,
    return the nearest to `last`. The offset -1 is the SYN, and 0 is the first byte.
    """
    return last + (number - first - 1 - last + ROUND // 2) % ROUND - ROUND // 2
