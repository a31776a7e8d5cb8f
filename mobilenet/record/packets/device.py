"""The current connections of one node, derived from the packets that pass its network device.

Model     packets are added one after the other, and each updates its connection. Segments that the node sends are
          measured as in connections.py. Segments to the node are known only if they arrive. Packets of other protocols
          are counted by protocol, ports and peer
Units     integer nanoseconds, bytes
Source    RFC 9293, 3.3.2; ours: docs/guide/live.md
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from mobilenet.engine.clock import SECOND
from mobilenet.record.packets.connections import Sending
from mobilenet.record.packets.labels import name_of, ports_of
from mobilenet.record.packets.segments import ACK, FIN, RST, SYN, Segment, near, segment_in

RECENT_NS = 2 * SECOND  # throughput is measured over this time
ENDED = ("closed", "reset")


class Key(NamedTuple):
    """The fields that distinguish the connections of a node."""

    protocol: int
    port: int  # the port of the node; 0 for a protocol without ports
    peer: bytes  # the IP address of the peer
    peer_port: int


class Flow:
    """The packets that a node and one peer send to each other."""

    def __init__(self, key: Key, at_ns: int) -> None:
        self.key = key
        self.begun_ns = self.last_ns = at_ns
        self.packets = [0, 0]  # numbers of packets that were sent and received
        # Numbers of payload bytes that were sent and received. Sent bytes of TCP count when they are acknowledged, and
        # received bytes when they first arrive.
        self.bytes = [0, 0]
        self.sending: Sending | None = None  # only for TCP
        self.received_again_bytes = 0
        # The first sequence number of the peer, and the offset after the peer's last data.
        self._expected: tuple[int, int] | None = None
        self._ended = [False, False]
        self._reset = False
        self._recent: deque[tuple[int, int, int]] = deque()  # (time, bytes sent until then, bytes received until then)

    @property
    def state(self) -> str:
        """Return the state of the connection in one word. Return an empty string for protocols other than TCP."""
        if self.sending is None and self._expected is None:
            return ""
        if self._reset:
            return "reset"
        if all(self._ended):
            return "closed"
        if any(self._ended):
            return "closing"
        return "open" if self.sending is not None and self._expected is not None else "opening"

    def rates(self, now_ns: int) -> tuple[float, float]:
        """Return the bytes per second that were sent and received during the last RECENT_NS."""
        while self._recent and self._recent[0][0] < now_ns - RECENT_NS:
            self._recent.popleft()
        if not self._recent:
            return 0.0, 0.0
        _, out, back = self._recent[0]
        lasted_s = min(RECENT_NS, max(1, now_ns - self.begun_ns)) / SECOND
        return (self.bytes[0] - out) / lasted_s, (self.bytes[1] - back) / lasted_s

    def add(self, packet: bytes, is_sent: bool, segment: Segment | None, at_ns: int, node: str) -> None:
        """Count a packet that passes the device."""
        self.last_ns = at_ns
        self._recent.append((at_ns, self.bytes[0], self.bytes[1]))
        self.packets[not is_sent] += 1
        if segment is None:
            self.bytes[not is_sent] += len(packet)
            return
        self._reset |= bool(segment.flags & RST)
        self._ended[not is_sent] |= bool(segment.flags & FIN)
        if is_sent:
            self._send(segment, at_ns, node)
        else:
            self._take(segment, at_ns)

    def _send(self, segment: Segment, at_ns: int, node: str) -> None:
        if segment.flags & SYN and self.sending is None:
            self.sending = Sending(node, segment.number, at_ns)
        if self.sending is not None:
            self.sending.send(segment, at_ns)

    def _take(self, segment: Segment, at_ns: int) -> None:
        if segment.flags & SYN and self._expected is None:
            self._expected = segment.number, 0
        if self.sending is not None and segment.flags & ACK:
            self.sending.take(segment, at_ns)
            self.bytes[0] = self.sending.acknowledged
        length = len(segment.payload)
        if self._expected is None or not length:
            return
        first, expected = self._expected
        start = near(segment.number, first, expected)
        again = max(0, min(expected, start + length) - start)
        self.received_again_bytes += again
        self.bytes[1] += length - again
        self._expected = first, max(expected, start + length)


class Device:
    """The network device of one node, with its current connections."""

    def __init__(self, node: str, address: bytes) -> None:
        self.node = node
        self._address = address
        self.flows: dict[Key, Flow] = {}  # ordered by the time of their last packet

    def add(self, packet: bytes, at_ns: int) -> None:
        """Count a packet that passes, in either direction."""
        is_sent = packet[12:16] == self._address
        source, to = ports_of(packet) or (0, 0)
        port, peer_port = (source, to) if is_sent else (to, source)
        key = Key(packet[9], port, packet[16:20] if is_sent else packet[12:16], peer_port)
        segment = segment_in(packet)
        flow = self.flows.pop(key, None)
        if flow is None or segment is not None and segment.flags & (SYN | ACK) == SYN and flow.state in ENDED:
            flow = Flow(key, at_ns)
        self.flows[key] = flow
        flow.add(packet, is_sent, segment, at_ns, self.node)


def protocol_of(flow: Flow) -> str:
    """Return the name of the flow's protocol."""
    return name_of(flow.key.protocol)
