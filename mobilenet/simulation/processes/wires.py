"""Processes on the emulated wired network, whose links replace the papers' abstract network.

Model     The network is a full mesh or has the given edges (wired/). Broadcasts and the tests of the detector share the
          links. The handler runs at the instant of the arrival.
Crashes   When a process crashes, its timers end, and messages that arrive for it are lost. Messages on its links still
          travel, and messages that are routed through it are still forwarded
Units     integer nanoseconds; 1 time unit of the papers is 1 s
Source    ours: docs/models/wires.md, docs/models/backbone.md
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mobilenet.engine.kernel import Kernel
from mobilenet.engine.timer import Timer
from mobilenet.network.wired.network import Receive, WiredNetwork


class WireNetwork:
    """A network of wires with the interface of StepNetwork."""

    def __init__(self, wires: WiredNetwork) -> None:
        self.kernel: Kernel = wires.kernel
        self.wires = wires
        self.lanes: list[WireLane] = []
        self.up = [True] * wires.stations
        for i in range(wires.stations):
            wires.attach(i, self._arrive(i))

    def lane(self) -> WireLane:
        lane = WireLane(self)
        self.lanes.append(lane)
        return lane

    @property
    def measured_ns(self) -> int:
        return self.kernel.now

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        self.kernel.at(time_ns, action)

    def timer(self, i: int, action: Callable[[], None]) -> Timer:
        def fire() -> None:
            if self.up[i]:
                action()

        return Timer(self.kernel, fire)

    def crash(self, i: int) -> None:
        self.up[i] = False

    def _arrive(self, i: int) -> Receive:
        def arrive(source: int, parcel: Parcel) -> None:
            parcel.lane.arrive(i, source, parcel.message)

        return arrive


class Parcel:
    """A message, together with the lane to which it belongs."""

    __slots__ = ("lane", "message", "size_bytes")

    def __init__(self, lane: WireLane, message: Any) -> None:
        self.lane = lane
        self.message = message
        self.size_bytes: int = message.size_bytes


class WireLane:
    """The messages of one protocol on the wires, and their receivers."""

    def __init__(self, network: WireNetwork) -> None:
        self._network = network
        self._receive: list[Receive | None] = [None] * network.wires.stations
        self.sent = 0
        self.arrived = 0
        self.lost = 0  # messages whose receiver was down
        self.unsent = 0
        self.bytes = 0
        self.last_measured_ns = 0
        self.kinds: dict[type, int] = {}

    @property
    def in_flight(self) -> int:
        return self.sent - self.arrived

    @property
    def is_empty(self) -> bool:
        return self.sent == self.arrived

    def attach(self, i: int, receive: Receive) -> None:
        self._receive[i] = receive

    def sender(self, i: int) -> Callable[[int, Any], None]:
        return partial(self._send, i)

    def _send(self, i: int, to: int, message: Any) -> None:
        self.sent += 1
        self.bytes += message.size_bytes
        kind = type(message)
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self._network.wires.route(i, i, to, Parcel(self, message))

    def arrive(self, i: int, sender: int, message: Any) -> None:
        self.arrived += 1
        receive = self._receive[i]
        if receive is None or not self._network.up[i]:
            self.lost += 1
            return
        self.last_measured_ns = self._network.kernel.now
        receive(sender, message)
