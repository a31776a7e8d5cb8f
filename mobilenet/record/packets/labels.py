"""Describe an IP packet in a few words: its protocol, its ports and its flags.

Source    RFC 791, RFC 792, RFC 768, RFC 9293
"""

from __future__ import annotations

import struct

from mobilenet.record.packets.segments import FIN, RST, SYN, TCP, segment_in

ICMP, IGMP, UDP = 1, 2, 17
NAMES = {ICMP: "ICMP", IGMP: "IGMP", TCP: "TCP", UDP: "UDP"}
ICMP_TYPES = {0: "echo reply", 3: "unreachable", 8: "echo request", 11: "time exceeded"}


def name_of(protocol: int) -> str:
    """Return the name of an IP protocol. For a rare protocol, return its number."""
    return NAMES.get(protocol, f"IP protocol {protocol}")


def ports_of(packet: bytes) -> tuple[int, int] | None:
    """Return the source and the destination port, or None for a packet without ports or a later fragment."""
    head = (packet[0] & 15) * 4
    if packet[9] not in (TCP, UDP) or len(packet) < head + 4 or struct.unpack_from(">H", packet, 6)[0] & 0x1FFF:
        return None
    source, to = struct.unpack_from(">HH", packet, head)
    return source, to


def label_of(packet: bytes) -> str:
    """Return the protocol and the ports, such as TCP 43210 → 5001."""
    head, name, ports = (packet[0] & 15) * 4, name_of(packet[9]), ports_of(packet)
    if packet[9] == ICMP and len(packet) > head:
        return f"{name} {ICMP_TYPES.get(packet[head], f'type {packet[head]}')}"
    if ports is None:
        return f"{name} fragment" if struct.unpack_from(">H", packet, 6)[0] & 0x1FFF else name
    segment = segment_in(packet)
    flags = 0 if segment is None else segment.flags
    special = "".join(f" {word}" for bit, word in ((SYN, "SYN"), (FIN, "FIN"), (RST, "RST")) if flags & bit)
    return f"{name} {ports[0]} → {ports[1]}{special}"


def only_acknowledges(packet: bytes) -> bool:
    """Return whether the packet is a TCP segment without data that neither opens nor ends a connection."""
    segment = segment_in(packet)
    return segment is not None and not segment.payload and not segment.flags & (SYN | FIN | RST)
