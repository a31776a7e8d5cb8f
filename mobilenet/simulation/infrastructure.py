"""What is done by hand to what otherwise never fails: links between stations, and stations' radios.

Model     each is noted in the record when it takes effect. What is cut, or off, already stays as it is. When the active
          part is over everything works again. A station whose radio is off goes on, and so does its wire: what it sends
          over the radio leaves and is lost, it hears nothing, and hosts stay with it. A frame in the air goes on
Units     integer nanoseconds
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from collections.abc import Sequence

from mobilenet.engine.kernel import Kernel
from mobilenet.network.radio.medium import Medium
from mobilenet.network.wired.network import WiredNetwork
from mobilenet.rundir.recorder import EventLog
from mobilenet.simulation.nodes import Node

Ends = tuple[int, int]  # of a link: two stations, the lower number first


class Infrastructure:
    """The infrastructure of one run."""

    def __init__(
        self, kernel: Kernel, events: EventLog, wires: WiredNetwork, medium: Medium, stations: Sequence[Node]
    ) -> None:
        self._kernel = kernel
        self._events = events
        self._wires = wires
        self._medium = medium
        self._stations = stations
        self._cut: set[Ends] = set()
        self._off: set[int] = set()

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

    def repair(self) -> None:
        """The active part is over."""
        for ends in sorted(self._cut):
            self.mend(ends)
        for station in sorted(self._off):
            self.switch_on(station)

    def _note(self, event: str, station: int, other: int | None = None, loses: bool = False) -> None:
        name = None if other is None else f"s{other}"
        detail = {"loses": True} if loses else None
        self._events.add(self._kernel.now, f"s{station}", event, None, name, None, detail)
