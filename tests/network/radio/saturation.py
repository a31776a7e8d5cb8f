"""Simulate stations in range of each other that always have a frame to send, and measure the share of
payload in time.
"""

from __future__ import annotations

from mobilenet.engine.clock import SECOND
from mobilenet.engine.random_streams import Stream
from mobilenet.network.radio.frame import RECEIVED

from .air import Air, Node


class Greedy:
    """Client that always keeps one frame in its node's queue."""

    def __init__(self, node: Node, size_bytes: int, to: Node | None) -> None:
        self.node = node
        self.size_bytes = size_bytes
        self.to = to
        node.on_sent = self._again  # type: ignore[method-assign]
        node.on_dropped = self._again  # type: ignore[method-assign]
        self._again(None)

    def _again(self, message: object) -> None:
        self.node.send("x", self.size_bytes, self.to, acknowledged=self.to is not None)


def saturate(stations: int, size_bytes: int, rate_mbps: float, unicast: bool, seconds: float, seed: int) -> Air:
    """Run n saturated stations on 802.11b at one place, without EIFS."""
    air = Air("b", rate_mbps, eifs=False)
    air.medium._observer = None
    nodes = [air.node(0.0, stream=Stream(seed, "backoff", str(i))) for i in range(stations)]
    for i, node in enumerate(nodes):
        Greedy(node, size_bytes, nodes[(i + 1) % stations] if unicast else None)
    air.kernel.run_until(round(seconds * SECOND))
    return air


def unicast_throughput(stations: int, rate_mbps: float, seconds: float, seed: int = 1) -> float:
    """Return the share of channel time spent on payload, for 1500-byte payloads behind 8 + 28 bytes of headers."""
    # 28 of the 64 bytes of overhead count as payload
    air = saturate(stations, 1500 - 28, rate_mbps, True, seconds, seed)
    medium = air.medium
    delivered = medium.addressed_pairs[RECEIVED]
    return delivered * 1500 * 8 / (rate_mbps * 1e6) / seconds


def broadcast_collisions(stations: int, seconds: float, seed: int = 1) -> float:
    """Return the share of 100-byte broadcast frames at 1 Mb/s that collide."""
    medium = saturate(stations, 100, 1, False, seconds, seed).medium
    return 1 - medium.pairs[0] / sum(medium.pairs)
