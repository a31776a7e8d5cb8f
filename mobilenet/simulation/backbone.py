"""Connect the stations: one interface for the paper's tree and the VCube broadcasts.

Model     The tree is described in wired/tree.py. With VCube, each station runs one process of the broadcast, with the
          causal layer above it, and their messages travel on the links. Stations never fail. The detector of
          vcube_reliable sends real tests on the same links, and corrects its false suspicions. Its background traffic
          continues until the run stops it, when everything else is quiescent.
Units     the scenario's units in the interface, integer nanoseconds and bytes inside
Source    ours: docs/models/wires.md, docs/models/backbone.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mobilenet.engine.clock import MILLISECOND, ns
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.timer import Timer
from mobilenet.network.wired.network import Hop, Receive, WiredNetwork, adjacency
from mobilenet.network.wired.parameters import MAX_DELAY_MS, MTU_BYTES, TEST_INTERVAL_S, TIMEOUT_S, BackboneParameters
from mobilenet.network.wired.tree import Tree, links
from mobilenet.protocols.port import WiredPort
from mobilenet.protocols.vcube.backbone import new_layer
from mobilenet.protocols.vcube.causal_layer import StampedSends
from mobilenet.protocols.vcube.detector import Answer, Detector, Test
from mobilenet.simulation.causes import CauseLog

Positions = Sequence[Sequence[float]]


class TreeBackbone:
    """The backbone of the paper, a tree on which messages are flooded or routed. Links deliver messages in order, so
    delivery is causal without another layer.
    """

    detectors: Sequence[Detector] = ()
    suspicions = 0

    def __init__(self, tree: Tree) -> None:
        self.network = tree

    def port(self, station: int, receive: Receive) -> WiredPort:
        """Return the port of a station. `receive(source, message)` is called for each message that arrives there."""
        return self.network.port(station, receive)

    @property
    def is_at_rest(self) -> bool:
        """Whether no message is in transit or waiting."""
        return not self.network.in_flight

    def stop_background_traffic(self) -> None:
        """Do nothing, because the tree has no background traffic."""


class VCubeBackbone:
    def __init__(self, network: WiredNetwork, parameters: BackboneParameters, causes: CauseLog | None) -> None:
        self.network = network
        self.causes = causes
        self.layers: list[StampedSends] = []
        self.detectors: list[Detector] = []
        self.suspicions = 0
        self.tests_in_flight = 0
        network.on_lost = self._is_lost
        self._parameters = parameters

    def port(self, station: int, receive: Receive) -> WiredPort:
        p, n, kernel = self._parameters, self.network.stations, self.network.kernel
        max_delay_ms = MAX_DELAY_MS if p.max_delay_ms is None else p.max_delay_ms
        port = StationPort(self, station, receive)
        layer = new_layer(p.kind, port, n, round(max_delay_ms * MILLISECOND), p.mtu_bytes or MTU_BYTES)
        self.layers.append(layer)
        if not p.detects:
            self.network.attach(station, layer.on_receive)
            return layer
        tests = StationDetectorPort(self, station, layer)
        detector = Detector(
            tests, n, ns(p.test_interval_s or TEST_INTERVAL_S), ns(p.timeout_s or TIMEOUT_S), unreliable=True
        )
        self.detectors.append(detector)
        kernel.at(kernel.now, detector.start_round)

        def on_receive(sender: int, message: Any) -> None:
            if type(message) is Test or type(message) is Answer:
                self.tests_in_flight -= 1
                detector.on_receive(sender, message)
            else:
                layer.on_receive(sender, message)

        self.network.attach(station, on_receive)
        return layer

    def _is_lost(self, message: Any) -> None:
        if type(message) is Test or type(message) is Answer:
            self.tests_in_flight -= 1

    def timer(self, station: int, action: Callable[[], None]) -> Any:
        """Return a timer of this station. It remains valid for the whole run, because stations do not crash."""
        kernel = self.network.kernel
        if self.causes is None:
            return Timer(kernel, action)
        noted = self.causes.timer(f"s{station}", action)
        return noted.over(Timer(kernel, noted.fire))

    @property
    def is_at_rest(self) -> bool:
        return self.network.in_flight == self.tests_in_flight and all(layer.is_idle for layer in self.layers)

    def stop_background_traffic(self) -> None:
        """Stop the detectors. Stations still answer tests that are in transit."""
        for detector in self.detectors:
            detector.stop()


class StationPort:
    """The interface of one station to its links and its clock."""

    def __init__(self, backbone: VCubeBackbone, me: int, receive: Receive) -> None:
        self.me = me
        self.receive = receive
        self._backbone = backbone
        self._network = backbone.network

    @property
    def now(self) -> int:
        return self._network.kernel.now

    def timer(self, action: Callable[[], None]) -> Any:
        return self._backbone.timer(self.me, action)

    def send(self, to: int, message: Any) -> None:
        self._network.route(self.me, self.me, to, message)


class StationDetectorPort:
    """The port of a station's detector, which uses the same links as the station."""

    def __init__(self, backbone: VCubeBackbone, me: int, layer: StampedSends) -> None:
        self.me = me
        self._backbone = backbone
        self._layer = layer

    def timer(self, action: Callable[[], None]) -> Any:
        return self._backbone.timer(self.me, action)

    def send(self, to: int, message: Any) -> None:
        self._backbone.tests_in_flight += 1
        self._backbone.network.route(self.me, self.me, to, message)

    def suspect(self, process: int) -> None:
        self._backbone.suspicions += 1
        self._layer.on_crash(process)

    def trust(self, process: int) -> None:
        self._layer.on_up(process)


Backbone = TreeBackbone | VCubeBackbone


def new_backbone(
    kernel: Kernel,
    parameters: BackboneParameters,
    positions: Positions,
    on_hop: Hop | None = None,
    causes: CauseLog | None = None,
) -> Backbone:
    """Return the backbone of the stations at these positions. `on_hop(a, b, message, bytes)` is called for each message
    that is put on a link, and `causes` logs the timers.
    """
    p, stations = parameters, len(positions)
    bits_per_s, delay_ns = round(p.bandwidth_mbps * 1_000_000), ns(p.delay_ms / 1000)
    edges = links(p, positions)
    if edges is None:
        mesh = WiredNetwork(kernel, stations, None, bits_per_s, delay_ns, p.header_bytes, on_hop)
        return VCubeBackbone(mesh, p, causes)
    if p.kind == "tree":
        return TreeBackbone(Tree(kernel, edges, stations, bits_per_s, delay_ns, p.header_bytes, on_hop))
    routed = WiredNetwork(kernel, stations, adjacency(edges, stations), bits_per_s, delay_ns, p.header_bytes, on_hop)
    return VCubeBackbone(routed, p, causes)
