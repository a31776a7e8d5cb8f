"""A network that a test drives by hand: no message arrives, no timer fires and no host moves unless the driver says so.

`Network` holds the packets, wires, connections and timers of hosts and stations as lists from which the driver chooses.
`Processes` is the equivalent for broadcasts among processes. `Node` is a single host or station, which runs one input
at a time. The explorer of `mobilenet.lab.hunt.exhaustion` and the tests of plug-ins use these nodes. The swarm
(`mobilenet.lab.hunt.swarm`) and the test benches of built-in protocols use the ports of these networks, and carry out
the actions of the protocols in their own way.
"""

from .connections import Connections
from .network import Network, Packet
from .node import Input, Node, host_node, station_node
from .port import EffectHandler, Effects
from .processes import Processes

__all__ = [
    "Connections", "EffectHandler", "Effects", "Input", "Network", "Node", "Packet", "Processes", "host_node",
    "station_node",
]  # fmt: skip
