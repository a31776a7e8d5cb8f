"""Whether each TCP connection saw at both ends what TCP permits, by sequence numbers at the two devices.

Model     of each direction of a connection, the bytes that passed the sender's device are known by sequence number. At
          the receiver's device, bytes that were never sent with their numbers, or differ, contradict the record. An
          acknowledgement that passes the acknowledger's device covers only bytes that have arrived there before. SYN
          and FIN take a number each. A SYN with another first number starts a new connection
Units     bytes; sequence numbers modulo 2³²
Source    RFC 9293, 3.4; ours: docs/guide/real-software.md
"""

from __future__ import annotations

from collections.abc import Iterable

from mobilenet.packets.passed import Passed
from mobilenet.packets.segments import ACK, FIN, RST, SYN, End, Segment, near, segment_in


class Direction:
    """What one end sends to the other."""

    def __init__(self, first: int) -> None:
        self.first = first  # the number of its SYN
        self.sent = bytearray()  # by offset, from the first byte after the SYN
        self.arrived_to = 0  # offset up to which all has arrived at the other device, FIN included
        self._ahead: dict[int, int] = {}  # offsets of what has arrived beyond it -> their ends
        self._near = 0  # the last offset, to resolve wrapped numbers
        self.fin: int | None = None  # the offset of its FIN

    def offset(self, number: int) -> int:
        """The offset of a sequence number; -1 is the SYN."""
        return near(number, self.first, self._near)

    def send(self, segment: Segment) -> str | None:
        """Note what passes the sender's device."""
        if segment.flags & SYN:
            return None
        start = self._near = self.offset(segment.number)
        payload = segment.payload
        if start < 0:  # a keep-alive before the first byte
            payload, start = payload[-start:], 0
        known = self.sent[start : start + len(payload)]
        if known != payload[: len(known)]:
            return "is retransmitted with different bytes"
        if start > len(self.sent):
            self.sent.extend(bytes(start - len(self.sent)))
        self.sent[start : start + len(payload)] = payload
        if segment.flags & FIN:
            self.fin = start + len(payload)
        return None

    def arrive(self, segment: Segment) -> str | None:
        """Note what passes the receiver's device."""
        if segment.flags & SYN:
            return None
        start = self.offset(segment.number)
        payload = segment.payload
        if start < 0:
            payload, start = payload[-start:], 0
        end = start + len(payload)
        if end > len(self.sent) or self.sent[start:end] != payload:
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
    """All connections of a run, as far as their SYNs were captured."""

    def __init__(self) -> None:
        self._directions: dict[tuple[End, End], Direction] = {}

    def take(self, one: Passed, segment: Segment) -> str | None:
        """Note a segment that passes a device; what is wrong with it."""
        key = segment.source, segment.to
        if one.is_sent and segment.flags & SYN:
            known = self._directions.get(key)
            if known is None or known.first != segment.number:
                self._directions[key] = Direction(segment.number)
        direction = self._directions.get(key)
        if direction is None:
            return None
        problem = direction.send(segment) if one.is_sent else direction.arrive(segment)
        if problem is None and one.is_sent and segment.flags & ACK and not segment.flags & RST:
            problem = self._unearned(segment)
        return problem

    def _unearned(self, segment: Segment) -> str | None:
        back = self._directions.get((segment.to, segment.source))
        if back is None:
            return None
        offset = back.offset(segment.acknowledged)
        return (
            f"acknowledges {offset - back.arrived_to} more bytes than have arrived"
            if offset > back.arrived_to
            else None
        )


def connections_problem(packets: Iterable[Passed]) -> str | None:
    """The first segment that contradicts TCP, in one sentence."""
    connections = Connections()
    for one in packets:
        segment = segment_in(one.packet)
        if segment is not None and (problem := connections.take(one, segment)) is not None:
            how = "leaves" if one.is_sent else "reaches"
            return f"packets: the TCP segment {one.name} that {how} {one.node} at {one.at_ns / 1e9:.6f} s {problem}"
    return None
