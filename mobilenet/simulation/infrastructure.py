"""Apply manual faults to what otherwise never fails: links between stations, and radios.

Model     what is cut or switched is noted in the record when that takes effect. What is cut, or off, already stays as
          it is. When the active part is over everything works again, and nothing is impaired. A station whose radio is
          off goes on, and so does its wire: its radio frames are sent and lost, it hears nothing, and hosts stay with
          it. A frame in the air goes on
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

Ends = tuple[int, int]  # of a link: two stations, the lower number first


class Infrastructure:
    """The infrastructure of one run, and what has been done to it."""

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
        wires.spares = (Moved,)  # a station that never receives it would lose everything for the host
        self._impaired: set[int] = set()  # hosts
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
        """Lose more of a host's frames, and delay those that it sends."""
        node = self._hosts[host]
        self._impaired.add(host)
        self._medium.impair(node.transceiver, loss, Stream(self._seed, "impaired", node.name))
        node.delay_frames(delay_ns)

    def impair_link(self, ends: Ends, loss: float, delay_ns: int) -> None:
        """Lose messages on a link, and delay them."""
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
