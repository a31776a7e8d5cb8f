"""Compare the captures with the packet counters that each node's kernel keeps for its network device.

Model     if the programs of a node do not run as root, the kernel makes all packets, so that their checksums are right.
          It counts the packets that pass the device, and those that it discards because of wrong checksums. Packets
          that the emulator took from a device are in the capture, or were dropped and counted
Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from mobilenet.quoting import pluralize
from mobilenet.record.packets.checksums import wrong_checksum
from mobilenet.record.packets.packet_order import PassedPacket
from mobilenet.record.packets.segments import is_fragment

DROPPED = ("packets_malformed", "packets_spoofed", "packets_misaddressed")


def devices_problem(packets: Sequence[PassedPacket], real_time: Any) -> str | None:
    """Return the first contradiction in a sentence, or None. `real_time` is an entry of the manifest. If it does not
    contain "devices", nothing is checked.
    """
    devices = real_time.get("devices") if isinstance(real_time, dict) else None
    if not isinstance(devices, dict):
        return None
    for one in packets:
        if one.is_sent and (protocol := wrong_checksum(one.packet)) is not None:
            return f"packets: {one.node} sends {one.name} with a wrong {protocol} checksum; the kernel makes right ones"
    in_parts = {one.node for one in packets if not one.is_sent and len(one.packet) >= 20 and is_fragment(one.packet)}
    passed = Counter((one.node, one.is_sent) for one in packets)
    dropped = {node: sum(_of_node(real_time.get(reason), node) for reason in DROPPED) for node in devices}
    for node, counts in sorted(devices.items()):
        if not isinstance(counts, dict):
            continue  # the counters are unknown
        sent, received = passed[node, True] + dropped[node], passed[node, False]
        if _of_node(counts, "out") != sent:
            return _differs(node, "left", _of_node(counts, "out"), f"sends {passed[node, True]}", dropped[node])
        if _of_node(counts, "in") != received:
            return _differs(node, "entered", _of_node(counts, "in"), f"receives {received}")
        damaged = _of_node(counts, "damaged")
        if damaged and node not in in_parts:  # the kernel may have joined fragments of different packets
            what = f"{pluralize(damaged, 'packet')} with wrong checksums"
            return f"packets: the kernel of {node} discarded {what}, but all packets that it received have right ones"
    return None


def _differs(node: str, how: str, by_kernel: int, of_record: str, dropped: int = 0) -> str:
    more = f", and {dropped} were dropped" if dropped else ""
    what = f"{pluralize(by_kernel, 'packet')} {how} {node} through its device"
    return f"packets: by the kernel's count, {what}, but in the record it {of_record}{more}"


def _of_node(counts: Any, name: str) -> int:
    count = counts.get(name, 0) if isinstance(counts, dict) else 0
    return count if isinstance(count, int) else 0
