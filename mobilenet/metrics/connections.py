"""The metrics of TCP connections of real software.

Model     the metrics cover all connections that were opened during the run. A connection survives a handoff of one of
          its ends if bytes are acknowledged after it. Round-trip times near a handoff are measured on the host's
          connections, within NEAR_NS before its start or after its end
Units     seconds, bytes
Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

from collections.abc import Sequence

from mobilenet.engine.clock import SECOND
from mobilenet.metrics.declaration import Metric, mean, only, ratio
from mobilenet.metrics.fold import Handoff
from mobilenet.record.packets.connections import Connection

NEAR_NS = 2 * SECOND


class Connections:
    """The connections of a run, and the handoffs of hosts while connections were open."""

    def __init__(self, connections: Sequence[Connection], handoffs: Sequence[Handoff]) -> None:
        self.connections = connections
        self.sendings = [one for connection in connections for one in connection.sendings]
        self._handoffs = [one for one in handoffs if one.cause == "cell"]
        self.moved = [
            (connection, handoff)
            for connection in connections
            for handoff in self._handoffs
            if handoff.node in connection.nodes and connection.is_open_at(handoff.begin_ns)
        ]

    def survivals(self) -> int:
        return sum(connection.goes_on_after(handoff.end_ns) for connection, handoff in self.moved)

    def sent_again_share(self) -> float | None:
        return ratio(sum(one.sent_again_bytes for one in self.sendings), sum(one.sent_bytes for one in self.sendings))

    def longest_stall_s(self) -> float | None:
        return max((one.longest_stall.took_ns / SECOND for one in self.sendings), default=None)

    def goodput(self) -> float | None:
        """Return the number of acknowledged bytes per second, over the total duration of all connections."""
        lasted_ns = sum(
            max(s.last_ns for s in c.sendings) - min(s.begun_ns for s in c.sendings) for c in self.connections
        )
        return ratio(sum(one.acknowledged for one in self.sendings), lasted_ns / SECOND)

    def round_trip_s(self) -> float | None:
        return mean([trip.took_ns / SECOND for one in self.sendings for trip in one.round_trips])

    def near_handoffs_s(self, is_after: bool) -> float | None:
        """Return the mean round-trip time just before handoffs, or just after them if `is_after` is true."""
        round_trips_s = []
        for connection, handoff in self.moved:
            since_ns = handoff.end_ns if is_after else handoff.begin_ns - NEAR_NS
            for one in connection.sendings:
                trips = (trip for trip in one.round_trips if since_ns <= trip.at_ns < since_ns + NEAR_NS)
                round_trips_s += [trip.took_ns / SECOND for trip in trips]
        return mean(round_trips_s)


CONNECTIONS: tuple[Metric[Connections], ...] = only(
    "connections",
    Metric("tcp_connections", "TCP connections that were opened", lambda c: len(c.connections)),
    Metric(
        "tcp_handoffs",
        "handoffs of a host during a TCP connection, counted for each connection",
        lambda c: len(c.moved),
    ),
    Metric(
        "tcp_handoffs_survived",
        "handoffs of a host during a TCP connection after which bytes of this connection were acknowledged",
        lambda c: c.survivals(),
        symbol="survived handoffs",
        better="higher",
    ),
    Metric(
        "tcp_retransmitted_ratio",
        "share of the bytes sent by TCP that had been sent before",
        lambda c: c.sent_again_share(),
        symbol="TCP retransmissions",
        better="lower",
    ),
    Metric(
        "tcp_stall_max_s",
        "longest time during which a TCP connection had unacknowledged bytes and made no progress",
        lambda c: c.longest_stall_s(),
        "s",
        symbol="longest TCP stall",
        better="lower",
    ),
    Metric(
        "tcp_goodput_bytes_per_s",
        "acknowledged bytes per second of a TCP connection",
        lambda c: c.goodput(),
        "bytes/s",
        symbol="TCP goodput",
        better="higher",
    ),
    Metric(
        "tcp_rtt_mean_s",
        "mean round-trip time of TCP",
        lambda c: c.round_trip_s(),
        "s",
        symbol="TCP round-trip time",
        better="lower",
    ),
    Metric(
        "tcp_rtt_before_handoff_s",
        "mean of all round-trip times of TCP in the two seconds before a handoff",
        lambda c: c.near_handoffs_s(is_after=False),
        "s",
        symbol="TCP RTT before a handoff",
        better="lower",
    ),
    Metric(
        "tcp_rtt_after_handoff_s",
        "mean of all round-trip times of TCP in the two seconds after a handoff",
        lambda c: c.near_handoffs_s(is_after=True),
        "s",
        symbol="TCP RTT after a handoff",
        better="lower",
    ),
)
