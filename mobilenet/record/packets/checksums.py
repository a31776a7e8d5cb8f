"""The checksums in IP packets.

Units     bytes
Source    RFC 791, 3.1; RFC 768; RFC 792; RFC 1071; RFC 9293, 3.1
"""

from __future__ import annotations

import struct

from mobilenet.record.packets.segments import TCP, is_fragment

ICMP, UDP = 1, 17
NAMES = {ICMP: "ICMP", TCP: "TCP", UDP: "UDP"}
NO_CHECKSUM = b"\0\0"  # In UDP, this value means that there is no checksum.
# Size of an IP header without options. Options may change the destination, which TCP and UDP include in their
# checksums.
SHORTEST = 20


def wrong_checksum(packet: bytes) -> str | None:
    """Return the protocol whose checksum is wrong. Return None if every checksum is right or cannot be checked."""
    if len(packet) < SHORTEST:
        return None
    head = (packet[0] & 15) * 4
    total = struct.unpack_from(">H", packet, 2)[0]
    if not SHORTEST <= head <= total <= len(packet):
        return None
    if not _is_right(packet[:head]):
        return "IP"
    body, protocol = packet[head:total], packet[9]
    is_whole = head == SHORTEST and not is_fragment(packet)
    if not is_whole or protocol not in NAMES or (protocol == UDP and body[6:8] == NO_CHECKSUM):
        return None
    pseudo = b"" if protocol == ICMP else packet[12:20] + struct.pack(">HH", protocol, len(body))
    return None if _is_right(pseudo + body) else NAMES[protocol]


def _is_right(data: bytes) -> bool:
    """Return whether a checksum is right: the ones' complement sum of all words must be a multiple of 0xFFFF."""
    return int.from_bytes(data + bytes(len(data) % 2), "big") % 0xFFFF == 0
