"""A network that a test drives by hand: nothing arrives, fires or moves without the driver.

`Network` holds packets, wires, connections and timers of hosts and stations as lists to choose from; `Processes` does
so for broadcasts among processes; `Node` is a single host or station, run one input at a time. The explorer of
`mobilenet.lab.hunt.exhaustion` and tests of plug-ins use the same nodes. The swarm (`mobilenet.lab.hunt.swarm`) and
the benches of our protocols' tests have the ports of these networks, and handle what the protocols do in their own way.
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
