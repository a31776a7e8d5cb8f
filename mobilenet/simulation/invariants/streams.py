"""Check that TCP delivers the other end's messages in order, without gaps or repetitions.

Model     A message is the same object at both ends, and must have the same position among the messages sent and
          received on a connection. The check ends when the sender has discarded the connection.
Source    ours: docs/models/tcp.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

from mobilenet.network.tcp.endpoint import Link
from mobilenet.simulation.invariants.fault import Faults
from mobilenet.simulation.mobile import Simulation
from mobilenet.simulation.nodes import Node


class Streams:
    """Checks the connections of a run."""

    def __init__(self, simulation: Simulation, faults: Faults) -> None:
        self._simulation, self._faults = simulation, faults
        self._taken = Counter[Link]()
        for host in simulation.hosts:
            self._watch(host, 0, simulation.stations)
        for station in simulation.stations:
            self._watch(station, 0, simulation.hosts)
            self._watch(station, 1, simulation.stations)

    def _watch(self, node: Node, network: int, peers: Sequence[Node]) -> None:
        """Observe the connections of a node over one network: 0 is the radio, 1 the wires."""
        if network >= len(node._channels):
            return
        channels = node._channels[network]
        hand_up = channels.on_message

        def look_and_hand_up(link: Link, message: Any) -> None:
            number = self._taken[link]
            self._taken[link] += 1
            links = peers[link.peer]._channels[network]._endpoint.links
            other = links.get((node.me, link.connection.peer_incarnation))
            if other is not None:
                ahead = number - other.taken
                waiting = other.connection.backlog
                if not 0 <= ahead < len(waiting) or next(islice(waiting, ahead, None)) is not message:
                    now_ns = self._simulation.kernel.now
                    self._faults.note(now_ns, node.name, f"message {number} of a connection is not the one sent")
            hand_up(link, message)

        channels.on_message = look_and_hand_up
