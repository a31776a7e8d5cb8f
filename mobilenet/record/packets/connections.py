"""TCP connections as seen by their ends: retransmissions, stalls, round-trip times, and handoffs during a connection.

Model     each direction of a connection is measured at the device of its sender. Bytes are outstanding from the first
          time that they are sent until their acknowledgement arrives there. A stall is a period with outstanding bytes
          and without progress. A round-trip time is measured on bytes that were sent once (Karn's algorithm)
Units     integer nanoseconds, bytes
Source    RFC 9293, RFC 6298, 3; ours: docs/guide/real-software.md
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mobilenet.record.packets.packet_order import PassedPacket
from mobilenet.record.packets.segments import ACK, SYN, Segment, near, segment_in

LONG_NS = 200_000_000  # the minimum length of a stall: the shortest timeout of TCP in Linux


class RoundTrip(NamedTuple):
    """One measurement of the round-trip time."""

    at_ns: int  # when the acknowledgement arrived
    took_ns: int


class Stall(NamedTuple):
    """A period without progress. It ends with the next progress, or with the last packet of the connection."""

    since_ns: int
    took_ns: int


class Sending:
    """One direction of a connection, measured at its sender's device."""

    def __init__(self, node: str, first: int, at_ns: int, port: int = 0) -> None:
        self.node = node
        self.port = port
        self.first = first
        self.begun_ns = self.last_ns = at_ns
        self.sent_bytes = 0
        self.sent_again_bytes = 0
        self.acknowledged = 0  # the offset up to which bytes are acknowledged
        self.acknowledged_ns: list[int] = []  # the times at which bytes were acknowledged
        self.offsets: list[int] = []  # for each of these times, the offset up to which bytes were acknowledged
        self.round_trips: list[RoundTrip] = []
        self.longest_stall = Stall(at_ns, 0)
        self.stalls: list[Stall] = []  # the stalls of at least LONG_NS
        self._sent = 0  # the offset up to which bytes were sent
        # (offset of the end of bytes that were sent only once, time at which they were sent)
        self._timed: list[tuple[int, int]] = []
        self.waits_since_ns: int | None = None  # start of the current wait for progress, while bytes are outstanding

    def send(self, segment: Segment, at_ns: int) -> None:
        self.last_ns = at_ns
        length = len(segment.payload)
        if not length:
            return
        start = near(segment.number, self.first, self._sent)
        again = max(0, min(self._sent, start + length) - start)
        self.sent_bytes += length
        self.sent_again_bytes += again
        if again:
            self._timed.clear()
        else:
            self._timed.append((start + length, at_ns))
        self._sent = max(self._sent, start + length)
        if self.waits_since_ns is None and self._sent > self.acknowledged:
            self.waits_since_ns = at_ns

    def take(self, segment: Segment, at_ns: int) -> None:
        """Process an acknowledgement that arrived at this end."""
        self.last_ns = at_ns
        offset = min(near(segment.acknowledged, self.first, self.acknowledged), self._sent)
        if offset <= self.acknowledged:
            return
        self.acknowledged = offset
        self.acknowledged_ns.append(at_ns)
        self.offsets.append(offset)
        self._end_wait(at_ns)
        while self._timed and self._timed[0][0] <= offset:
            end, sent_ns = self._timed.pop(0)
            if end == offset:
                self.round_trips.append(RoundTrip(at_ns, at_ns - sent_ns))
        self.waits_since_ns = at_ns if offset < self._sent else None

    def finish(self) -> None:
        """End a stall that is still in progress at the end of the record."""
        self._end_wait(self.last_ns)

    def _end_wait(self, at_ns: int) -> None:
        if self.waits_since_ns is None:
            return
        stall = Stall(self.waits_since_ns, at_ns - self.waits_since_ns)
        if stall.took_ns > self.longest_stall.took_ns:
            self.longest_stall = stall
        if stall.took_ns >= LONG_NS:
            self.stalls.append(stall)


class Connection:
    """A TCP connection with its two directions. `opened` is true if both SYNs were seen."""

    def __init__(self) -> None:
        self.sendings: list[Sending] = []

    @property
    def opened(self) -> bool:
        return len(self.sendings) == 2

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(one.node for one in self.sendings)

    def goes_on_after(self, at_ns: int) -> bool:
        """Return whether bytes were acknowledged after this time."""
        return any(times[-1] > at_ns for one in self.sendings if (times := one.acknowledged_ns))

    def is_open_at(self, at_ns: int) -> bool:
        return all(one.begun_ns < at_ns for one in self.sendings) and any(one.last_ns > at_ns for one in self.sendings)


def connections_of(packets: Iterable[PassedPacket]) -> list[Connection]:
    """Return the connections of a run in the order in which they began."""
    connections: list[Connection] = []
    sendings: dict[tuple[object, object], Sending] = {}
    latest: dict[frozenset[object], Connection] = {}
    for one in packets:
        segment = segment_in(one.packet)
        if segment is None:
            continue
        key, back = (segment.source, segment.to), (segment.to, segment.source)
        if one.is_sent:
            known = sendings.get(key)
            if segment.flags & SYN and (known is None or known.first != segment.number):
                known = sendings[key] = Sending(one.node, segment.number, one.at_ns, segment.source[1])
                both = frozenset(key)
                if not segment.flags & ACK:
                    latest[both] = Connection()
                    connections.append(latest[both])
                if both in latest:
                    latest[both].sendings.append(known)
            if known is not None:
                known.send(segment, one.at_ns)
        elif segment.flags & ACK and (opposite := sendings.get(back)) is not None:
            opposite.take(segment, one.at_ns)
    for each in sendings.values():
        each.finish()
    return [connection for connection in connections if connection.opened]
