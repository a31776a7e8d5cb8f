"""A network that a test drives by hand: nothing arrives, fires or moves unless the driver says so.

`Network` holds packets, wires and timers as lists to choose from; `Node` is one host or station alone, run one
input at a time. The explorer of `mobilenet.experiments.exhaust` and tests of plug-ins use the same nodes.
"""

from .network import Network, Packet
from .node import Input, Node, host_node, station_node
from .port import Effects

__all__ = ["Effects", "Input", "Network", "Node", "Packet", "host_node", "station_node"]
