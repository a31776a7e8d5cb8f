"""Provide the TCP connections in a run of real software to figures and maps.

Model     Throughput counts the acknowledged bytes of both directions. A stall is a period of at least 0.2 s with
          unacknowledged bytes and without progress, in either direction. The handoffs of a connection are the handoffs
          of its two hosts while it is open.
Units     integer nanoseconds, bytes
Errors    RunError for captures that are damaged or contradict the events
Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.connections import NEAR_NS, Connections
from mobilenet.metrics.fold import EventFold, Handoff
from mobilenet.record.packets.connections import Connection, Stall, connections_of
from mobilenet.record.packets.packet_order import Mismatch, packets_of
from mobilenet.record.pcap import CAPTURES, read_captures
from mobilenet.record.reader import RunError, read_events

FOREVER_NS = 1 << 62


class Near(NamedTuple):
    """The mean round-trip times, in seconds, in the two seconds before and after a handoff. None means that no round
    trip was measured.
    """

    handoff: Handoff
    before_s: float | None
    after_s: float | None
    survived: bool


class ShownConnection:
    """The data of one connection that figures and cards show."""

    def __init__(self, connection: Connection, handoffs: list[Handoff]) -> None:
        self.connection = connection
        self.nodes = connection.nodes
        self.begin_ns = min(one.begun_ns for one in connection.sendings)
        self.end_ns = max(one.last_ns for one in connection.sendings)
        self.near = [_near(connection, handoff) for handoff in handoffs]

    @property
    def name(self) -> str:
        return " ↔ ".join(f"{one.node}:{one.port}" for one in self.connection.sendings)

    @property
    def carried(self) -> int:
        """The number of bytes that were acknowledged, in both directions."""
        return sum(one.acknowledged for one in self.connection.sendings)

    @property
    def sent_again_share(self) -> float:
        sent = sum(one.sent_bytes for one in self.connection.sendings)
        return sum(one.sent_again_bytes for one in self.connection.sendings) / max(1, sent)

    @property
    def longest_stall_s(self) -> float:
        return max(one.longest_stall.took_ns for one in self.connection.sendings) / SECOND

    @property
    def stalls(self) -> list[Stall]:
        """The intervals with a stall in either direction, in order."""
        all_stalls: list[Stall] = []
        for stall in sorted(stall for one in self.connection.sendings for stall in one.stalls):
            end_ns = stall.since_ns + stall.took_ns
            if all_stalls and stall.since_ns <= all_stalls[-1].since_ns + all_stalls[-1].took_ns:
                last = all_stalls.pop()
                end_ns = max(end_ns, last.since_ns + last.took_ns)
                stall = Stall(last.since_ns, end_ns - last.since_ns)
            all_stalls.append(stall)
        return all_stalls

    def rates(self, edges_ns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the bytes per second in each interval between these times."""
        total = np.zeros(len(edges_ns) - 1)
        for one in self.connection.sendings:
            if one.acknowledged_ns:
                steps = np.diff(one.offsets, prepend=0)
                total += np.histogram(one.acknowledged_ns, edges_ns, weights=steps)[0]
        per_s: NDArray[np.float64] = total / (np.diff(edges_ns) / SECOND)
        return per_s


def connections_in(run: Path) -> list[ShownConnection]:
    """Return the connections of a run in the order in which they started. The list is empty if the run has no
    captures.
    """
    captures = read_captures(run) if (run / CAPTURES).is_dir() else None
    if not captures:
        return []
    events = read_events(run)
    try:
        connections = Connections(
            connections_of(packets_of(events, captures)), EventFold(events, 0, FOREVER_NS).handoffs
        )
    except Mismatch as error:
        raise RunError(f"{run}: {error}") from None
    own: dict[int, list[Handoff]] = {}
    for connection, handoff in connections.moved:
        own.setdefault(id(connection), []).append(handoff)
    return [ShownConnection(one, own.get(id(one), [])) for one in connections.connections]


def _near(connection: Connection, handoff: Handoff) -> Near:
    around = [
        [
            trip.took_ns / SECOND
            for one in connection.sendings
            for trip in one.round_trips
            if since_ns <= trip.at_ns < since_ns + NEAR_NS
        ]
        for since_ns in (handoff.begin_ns - NEAR_NS, handoff.end_ns)
    ]
    before_s, after_s = (float(np.mean(trips)) if trips else None for trips in around)
    return Near(handoff, before_s, after_s, connection.goes_on_after(handoff.end_ns))
