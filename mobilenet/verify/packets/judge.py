"""Judge the packets of real software from the captures at all devices.

Model     a received packet has the bytes that were sent under its name, all packets of a node have its address as their
          source, and the kernel counted the same number of packets at each device
Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mobilenet.record.packets.packet_order import Captures, Mismatch, PassedPacket, packets_of
from mobilenet.record.table import Columns
from mobilenet.verify.packets.devices import devices_problem
from mobilenet.verify.packets.tcp import connections_problem


def packets_problem(events: Columns, captures: Captures, manifest: Mapping[str, Any]) -> str | None:
    """Return the first contradiction in a sentence, or None. Packets that programs craft themselves do not count as
    faults of the emulator.
    """
    try:
        packets = list(packets_of(events, captures))
    except Mismatch as error:
        return str(error)
    if manifest["promises"].get("raw_packets"):
        return changed_problem(packets)
    return (
        changed_problem(packets) or devices_problem(packets, manifest.get("real_time")) or connections_problem(packets)
    )


def changed_problem(packets: Sequence[PassedPacket]) -> str | None:
    """Return the first packet that arrived with other bytes, or under another node's name."""
    sent: dict[str, bytes] = {}
    address: dict[str, bytes] = {}  # node -> its address, as in its first packet
    for one in packets:
        node = one.name.split(":")[0]
        if one.is_sent:
            sent[one.name] = one.packet
            own = address.setdefault(node, one.packet[12:16])
            if own != one.packet[12:16]:
                return f"packets: {node} sends {one.name} from a different address than before"
        elif (original := sent.get(one.name)) is not None and original != one.packet:
            differing = (i for i, pair in enumerate(zip(original, one.packet, strict=False)) if pair[0] != pair[1])
            place = next(differing, min(len(original), len(one.packet)))
            return f"packets: {one.node} receives {one.name} with byte {place} changed"
    return None
