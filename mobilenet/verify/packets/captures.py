"""Whether the packets at the devices are those of the record, and arrive as they were sent.

Model     the n-th packet that a node sent is its datagram n, and the order of its capture is that of its events. A
          packet that is received has the bytes that were sent under its name, and its sender's address as its source
Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mobilenet.rundir.pcap import Captured
from mobilenet.rundir.table import Columns

Captures = Mapping[str, Sequence[Captured]]  # of each node


class Passed(NamedTuple):
    """A packet that passed a node's device: out of it if the node has sent it."""

    at_ns: int
    node: str
    is_sent: bool
    name: str  # of the datagram
    packet: bytes


class Mismatch(Exception):
    """The captures contradict the events, in one sentence."""


def passed(events: Columns, captures: Captures) -> Iterator[Passed]:
    """The packets of all devices, in the order of the events. Mismatch where captures have others."""
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
        yield Passed(at_ns, node, event == "datagram", name, captured.packet)
    for node, rest in left.items():
        if next(rest, None) is not None:
            raise Mismatch(f"packets: the capture of {node} has more packets than the record has events")


def changed_problem(packets: Sequence[Passed]) -> str | None:
    """The first packet that arrived otherwise than it was sent, or under the name of another node."""
    sent: dict[str, bytes] = {}
    address: dict[str, bytes] = {}  # of each node, in its first packet
    for one in packets:
        node = one.name.split(":")[0]
        if one.is_sent:
            sent[one.name] = one.packet
            own = address.setdefault(node, one.packet[12:16])
            if own != one.packet[12:16]:
                return f"packets: {node} sends {one.name} under another address than before"
        elif (original := sent.get(one.name)) is not None and original != one.packet:
            differing = (i for i, pair in enumerate(zip(original, one.packet, strict=False)) if pair[0] != pair[1])
            place = next(differing, min(len(original), len(one.packet)))
            return f"packets: {one.node} receives {one.name} with byte {place} changed"
    return None
