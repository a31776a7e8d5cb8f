"""The checksums in IP packets.

Units     bytes
Source    RFC 791, 3.1; RFC 768; RFC 792; RFC 1071; RFC 9293, 3.1
"""

from __future__ import annotations

import struct

from mobilenet.packets.segments import TCP

ICMP, UDP = 1, 17
NAMES = {ICMP: "ICMP", TCP: "TCP", UDP: "UDP"}
FRAGMENT = 0x3FFF  # the offset, and the flag for more
NO_CHECKSUM = b"\0\0"  # of UDP


def wrong_checksum(packet: bytes) -> str | None:
    """The protocol whose checksum is wrong; None: none is, as far as can be seen in a single packet."""
    head = (packet[0] & 15) * 4
    total, fragment = struct.unpack_from(">H2xH", packet, 2)
    if not 20 <= head <= total <= len(packet):
        return None
    if not _is_right(packet[:head]):
        return "IP"
    body, protocol = packet[head:total], packet[9]
    if fragment & FRAGMENT or protocol not in NAMES or (protocol == UDP and body[6:8] == NO_CHECKSUM):
        return None
    pseudo = b"" if protocol == ICMP else packet[12:20] + struct.pack(">HH", protocol, len(body))
    return None if _is_right(pseudo + body) else NAMES[protocol]


def _is_right(data: bytes) -> bool:
    """The ones' complement sum of its words is that of all ones: a multiple of 0xFFFF."""
    return int.from_bytes(data + bytes(len(data) % 2), "big") % 0xFFFF == 0
