"""Apply interventions to links between stations and to radios. Links and radios fail only by intervention.

Model     Interventions are recorded when they take effect. Repeating an intervention has no effect. At the end of the
          active part, everything is repaired. A station whose radio is off continues to run, and its wires work, but
          its frames are lost, it receives none, and its hosts stay in its cell. Frames in the air continue.
Units     integer nanoseconds
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from collections.abc import Sequence

from mobilenet.engine.random_streams import Stream
from mobilenet.network.wired.network import WiredNetwork
from mobilenet.protocols.datagram_relay import Moved
from mobilenet.simulation.hosts import HostNode
from mobilenet.simulation.nodes import Context, Node

Ends = tuple[int, int]  # the two stations of a link, with the lower number first


class Infrastructure:
    """The infrastructure of one run, and the interventions that are in effect."""

    def __init__(
        self,
        context: Context,
        wires: WiredNetwork,
        stations: Sequence[Node],
        hosts: Sequence[HostNode],
    ) -> None:
        self._kernel = context.kernel
        self._events = context.recording.events
        self._wires = wires
        self._medium = context.medium
        self._stations = stations
        self._cut: set[Ends] = set()
        self._off: set[int] = set()
        self._hosts = hosts
        self._seed = context.seed
        # `Moved` messages are never lost, because a station would then lose all messages for the host.
        wires.spares = (Moved,)
        self._impaired: set[int] = set()  # numbers of impaired hosts
        self._impaired_links: set[Ends] = set()

    def cut(self, ends: Ends, loses: bool) -> None:
        if ends not in self._cut:
            self._cut.add(ends)
            self._note("cut", ends[0], ends[1], loses)
            self._wires.cut(*ends, loses)

    def mend(self, ends: Ends) -> None:
        if ends in self._cut:
            self._cut.remove(ends)
            self._note("mend", *ends)
            self._wires.mend(*ends)

    def switch_off(self, station: int) -> None:
        if station not in self._off:
            self._off.add(station)
            self._note("radio_off", station)
            self._medium.drop_out(self._stations[station].transceiver)

    def switch_on(self, station: int) -> None:
        if station in self._off:
            self._off.remove(station)
            self._note("radio_on", station)
            self._stations[station].transceiver.up = True

    def impair_host(self, host: int, loss: float, delay_ns: int) -> None:
        """Raise the loss rate of a host's frames, and delay the frames that it sends."""
        node = self._hosts[host]
        self._impaired.add(host)
        self._medium.impair(node.transceiver, loss, Stream(self._seed, "impaired", node.name))
        node.delay_frames(delay_ns)

    def impair_link(self, ends: Ends, loss: float, delay_ns: int) -> None:
        """Lose some of the messages on a link, and delay the others."""
        self._impaired_links.add(ends)
        self._wires.impair(*ends, loss, delay_ns, lambda owner: Stream(self._seed, "impaired", owner))

    def repair(self) -> None:
        """Repair everything, because the active part is over."""
        for ends in sorted(self._cut):
            self.mend(ends)
        for station in sorted(self._off):
            self.switch_on(station)
        for host in sorted(self._impaired):
            self.impair_host(host, 0.0, 0)
        for ends in sorted(self._impaired_links):
            self.impair_link(ends, 0.0, 0)

    def _note(self, event: str, station: int, other: int | None = None, loses: bool = False) -> None:
        name = None if other is None else f"s{other}"
        detail = {"loses": True} if loses else None
        self._events.add(self._kernel.now, f"s{station}", event, None, name, None, detail)
