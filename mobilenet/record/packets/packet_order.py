"""The packets that passed the devices of nodes, in the order in which they were recorded.

Model     each event of a datagram has one packet. The n-th packet that a node sent is its datagram n, and the packets
          in a node's capture have the same order as its events
Errors    Mismatch for captures that contradict the events
Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mobilenet.record.pcap import CapturedPacket
from mobilenet.record.table import Columns

Captures = Mapping[str, Sequence[CapturedPacket]]  # name of a node -> the packets that its device captured


class PassedPacket(NamedTuple):
    """A packet that passed a node's device. It left the node if the node is its sender; otherwise it arrived there."""

    at_ns: int
    node: str
    is_sent: bool
    name: str  # the name of the datagram
    packet: bytes


class Mismatch(Exception):
    """Raised if the captures contradict the events. The message explains the contradiction in one sentence."""


def packets_of(events: Columns, captures: Captures) -> Iterator[PassedPacket]:
    """Yield the packets of all devices, in the order of the events. Raise Mismatch if the captures differ from the
    events.
    """
    left = {node: iter(packets) for node, packets in captures.items()}
    columns = (events[name] for name in ("event", "node", "message", "time_ns"))
    for row, (event, node, name, at_ns) in enumerate(zip(*columns, strict=True)):
        if event not in ("datagram", "datagram_received"):
            continue
        captured = next(left.get(node, iter(())), None)
        if captured is None:
            raise Mismatch(f"packets: the capture of {node} ends before event {row} ({event} {name})")
        if captured.at_ns != at_ns:
            raise Mismatch(
                f"packets: the capture of {node} has a packet at {captured.at_ns} ns, but event {row} ({event} {name})"
                f" is at {at_ns} ns"
            )
        yield PassedPacket(at_ns, node, event == "datagram", name, captured.packet)
    for node, rest in left.items():
        if next(rest, None) is not None:
            raise Mismatch(f"packets: the capture of {node} has more packets than the record has events")
