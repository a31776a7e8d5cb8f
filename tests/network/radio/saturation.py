"""Simulate stations in range of each other that always have a frame to send, and measure the share of channel time that
carries payload.
"""

from __future__ import annotations

from mobilenet.engine.clock import SECOND
from mobilenet.engine.random_streams import Stream
from mobilenet.network.radio.frame import RECEIVED

from .air import Air, Node


class Greedy:
    """A client that always keeps one frame in the queue of its node."""

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
    """Run saturated 802.11b stations at one point, without EIFS."""
    air = Air("b", rate_mbps, eifs=False)
    air.medium._observer = None
    nodes = [air.node(0.0, stream=Stream(seed, "backoff", str(i))) for i in range(stations)]
    for i, node in enumerate(nodes):
        Greedy(node, size_bytes, nodes[(i + 1) % stations] if unicast else None)
    air.kernel.run_until(round(seconds * SECOND))
    return air


def unicast_throughput(stations: int, rate_mbps: float, seconds: float, seed: int = 1) -> float:
    """Return the share of channel time that carries payload. A payload of 1500 bytes follows 8 + 28 bytes of
    headers.
    """
    # The IP and UDP headers, which have 28 bytes, count as payload.
    air = saturate(stations, 1500 - 28, rate_mbps, True, seconds, seed)
    medium = air.medium
    delivered = medium.addressed_pairs[RECEIVED]
    return delivered * 1500 * 8 / (rate_mbps * 1e6) / seconds


def broadcast_collisions(stations: int, seconds: float, seed: int = 1) -> float:
    """Return the share of broadcast frames that collide. Each frame has 100 bytes and is sent at 1 Mb/s."""
    medium = saturate(stations, 100, 1, False, seconds, seed).medium
    return 1 - medium.pairs[0] / sum(medium.pairs)
