"""Judge each TCP connection by the sequence numbers at its two devices: did both ends see what TCP permits?

Model     for each direction of a connection, the bytes that passed the sender's device are known by sequence number.
          Bytes at the receiver's device that were never sent with their numbers, or that differ, contradict the record.
          An acknowledgement that passes the device of its sender covers only bytes that have arrived there before. SYN
          and FIN take one sequence number each. Hosts that fragment TCP segments are not judged, because captures do
          not contain their segments as a whole
Units     bytes; sequence numbers modulo 2³²
Source    RFC 9293, 3.4; ours: docs/guide/real-software.md
"""

from __future__ import annotations

from collections.abc import Iterable

from mobilenet.record.packets.packet_order import PassedPacket
from mobilenet.record.packets.segments import ACK, FIN, RST, SYN, TCP, End, Segment, near, segment_in


class Direction:
    """The bytes that one end of a connection sends to the other."""

    def __init__(self, first: int) -> None:
        self.first = first  # the sequence number of its SYN
        self.sent = bytearray()  # bytes by offset, which is 0 for the first byte after the SYN
        # for each byte: 1 if it was sent, 0 if it never passed the device, 2 if it was sent with different values
        self.is_sent = bytearray()
        self.arrived_to = 0  # the offset up to which all bytes, and the FIN, have arrived at the other device
        self._ahead: dict[int, int] = {}  # start -> end of the bytes that have arrived beyond this offset
        self._near = 0  # the last offset, from which wrapped sequence numbers are resolved
        self.fin: int | None = None  # the offset of its FIN

    def offset(self, number: int) -> int:
        """Return the offset of a sequence number; -1 is the SYN."""
        return near(number, self.first, self._near)

    def _part(self, segment: Segment) -> tuple[int, bytes]:
        """Return the offset of the segment's first byte, and its bytes. A keep-alive byte before the start of the
        stream is omitted.
        """
        start = self.offset(segment.number + bool(segment.flags & SYN))
        return max(0, start), segment.payload[max(0, -start) :]

    def send(self, segment: Segment) -> None:
        """Record a segment that passes the sender's device. Earlier bytes may have been lost before the device. Bytes
        may differ when they are sent again, because sendfile(2) sends what the file contains at that time.
        """
        start, payload = self._part(segment)
        if not payload and not segment.flags & FIN:
            return  # a reset may have any number
        end = self._near = start + len(payload)
        missing = end - len(self.sent)
        if missing > 0:
            self.sent.extend(bytes(missing))
            self.is_sent.extend(bytes(missing))
        known, before = self.is_sent[start:end], self.sent[start:end]
        if any(known) and before != payload:
            triples = zip(known, before, payload, strict=True)
            known = bytearray(2 if state and old != new else state for state, old, new in triples)
        self.is_sent[start:end] = known.replace(b"\0", b"\1")
        self.sent[start:end] = payload
        if segment.flags & FIN:
            self.fin = end

    def arrive(self, segment: Segment) -> str | None:
        """Record a segment that passes the receiver's device. Return what is wrong with it, or None."""
        start, payload = self._part(segment)
        end = start + len(payload)
        known, sent = self.is_sent[start:end], self.sent[start:end]
        if 0 in known or len(known) < len(payload) or (sent != payload and _differs(known, sent, payload)):
            return "has bytes that its sender never sent"
        if segment.flags & FIN and self.fin != end:
            return "has a FIN that its sender never sent"
        end += bool(segment.flags & FIN)
        if end > start:
            self._ahead[start] = max(end, self._ahead.get(start, 0))
        while (begin := next((each for each in self._ahead if each <= self.arrived_to), None)) is not None:
            self.arrived_to = max(self.arrived_to, self._ahead.pop(begin))
        return None


class Connections:
    """All connections of a run whose SYNs were captured. A port may be used again: a segment belongs to the connection
    in which it was sent, and an acknowledgement may belong to any connection that has reached its sender.
    """

    def __init__(self) -> None:
        self._sending: dict[tuple[End, End], Direction] = {}
        self._sent_in: dict[str, Direction] = {}  # packet -> the direction in which it was sent
        self._reached: dict[tuple[End, End], list[Direction]] = {}

    def take(self, one: PassedPacket, segment: Segment) -> str | None:
        """Process a segment that passes a device. Return what is wrong with it, or None."""
        key = segment.source, segment.to
        if not one.is_sent:
            direction = self._sent_in.get(one.name)
            if direction is None:
                return None
            reached = self._reached.setdefault(key, [])
            if direction not in reached:
                reached.append(direction)
            return direction.arrive(segment)
        direction = self._sending.get(key)
        if segment.flags & SYN and (direction is None or direction.first != segment.number):
            direction = self._sending[key] = Direction(segment.number)
        if direction is None:
            return None
        self._sent_in[one.name] = direction
        direction.send(segment)
        return self._ack_problem(segment) if segment.flags & ACK and not segment.flags & RST else None

    def _ack_problem(self, segment: Segment) -> str | None:
        reached = self._reached.get((segment.to, segment.source), ())
        excess = min((reverse.offset(segment.acknowledged) - reverse.arrived_to for reverse in reached), default=0)
        return f"acknowledges {excess} more bytes than have arrived" if excess > 0 else None


def _differs(known: bytearray, sent: bytearray, payload: bytes) -> bool:
    """Return whether a byte differs from the value that was sent with its number, if only one value was sent."""
    return any(state == 1 and a != b for state, a, b in zip(known, sent, payload, strict=True))


def connections_problem(packets: Iterable[PassedPacket]) -> str | None:
    """Return the first segment that contradicts TCP, in a sentence, or None."""
    connections = Connections()
    fragmented: set[frozenset[bytes]] = set()  # pairs of addresses with fragmented segments, which are not judged
    for one in packets:
        segment, ends = segment_in(one.packet), frozenset((one.packet[12:16], one.packet[16:20]))
        if segment is None and one.packet[9] == TCP:
            fragmented.add(ends)
        if ends in fragmented:
            continue
        if segment is not None and (problem := connections.take(one, segment)) is not None:
            how = "leaves" if one.is_sent else "reaches"
            return f"packets: the TCP segment {one.name} that {how} {one.node} at {one.at_ns / 1e9:.6f} s {problem}"
    return None
