"""Plain beacons without causal broadcast: the traffic for comparing the radio with other simulators.

Source      ours: docs/models/radio.md
Names       station_interval_s, host_interval_s: the means of exponential intervals; hello: a short frame that every
            node sends periodically
Assumes     nodes do not answer. Hellos are exactly periodic, as in the other simulators: two hidden nodes with the
            same phase collide in every period. These collisions are counted and have no other effect
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, ClassVar, NamedTuple

from mobilenet.engine.clock import SECOND
from mobilenet.protocols.beacon_parameters import BeaconParameters
from mobilenet.protocols.declaration import Declaration
from mobilenet.protocols.port import MessageId, Port


class Beacon(NamedTuple):
    size_bytes: int
    payload_bytes: int

    def list_sizes(self) -> tuple[tuple[str, int], ...]:
        return ()


@cache
def _beacon(payload_bytes: int) -> Beacon:
    """Return the beacon message. All nodes send the same one."""
    return Beacon(payload_bytes, payload_bytes)


class Beaconing:
    """The two timers of a node: one fires at exponential intervals, the other periodically with a random phase."""

    __slots__ = ("_beacon", "_beacon_timer", "_hello", "_hello_s", "_hello_timer", "_interval_s", "_port")
    BUFFERS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, port: Port, interval_s: float, payload_bytes: int, parameters: BeaconParameters) -> None:
        self._port = port
        self._interval_s = interval_s
        self._hello_s = parameters.hello_interval_s
        self._beacon = _beacon(payload_bytes)
        self._hello = _beacon(parameters.hello_payload_bytes)
        self._beacon_timer = port.timer(self._on_beacon)
        self._hello_timer = port.timer(self._on_hello)

    def begin(self) -> None:
        self._beacon_timer.start(self._gap_ns())
        self._hello_timer.start(int(self._port.uniform(0, self._hello_s) * SECOND))

    def _gap_ns(self) -> int:
        return int(-self._interval_s * math.log1p(-self._port.uniform(0, 1)) * SECOND)

    def _on_beacon(self) -> None:
        self._port.broadcast(self._beacon)
        self._beacon_timer.start(self._gap_ns())

    def _on_hello(self) -> None:
        self._port.broadcast(self._hello)
        self._hello_timer.start(int(self._hello_s * SECOND))

    def buffer_sizes(self) -> tuple[int, ...]:
        return ()

    def on_receive(self, sender: int, message: Any) -> None:
        """Do nothing. The network never calls this method, because BeaconLoad declares that its nodes do not listen."""

    def on_sent(self, message: Any) -> None:
        pass

    def on_dropped(self, message: Any) -> None:
        pass


class BeaconHost(Beaconing):
    """A host that sends beacons from join() to leave(), and resumes after a crash."""

    __slots__ = ("_stable",)

    def __init__(self, port: Port, stable: BeaconMember, parameters: BeaconParameters, stations: int) -> None:
        super().__init__(port, parameters.host_interval_s, parameters.host_payload_bytes, parameters)
        self._stable = stable

    def join(self) -> None:
        self._stable.member = True
        self.begin()

    def leave(self) -> bool:
        self._stable.member = False
        self._beacon_timer.stop()
        self._hello_timer.stop()
        return True

    def co_broadcast(self, body: int) -> MessageId | None:
        return None

    def on_cell(self, station: int | None) -> None:
        pass

    def on_recover(self) -> None:
        if self._stable.member:
            self.begin()

    def settled(self) -> bool:
        return True

    def is_out(self) -> bool:
        return not self._stable.member


class BeaconMember:
    """The part of a host's state that survives a crash."""

    __slots__ = ("member",)

    def __init__(self) -> None:
        self.member = False


class BeaconStation(Beaconing):
    __slots__ = ()

    def __init__(self, port: Port, wired: Any, parameters: BeaconParameters, stations: int) -> None:
        super().__init__(port, parameters.station_interval_s, parameters.station_payload_bytes, parameters)
        self.begin()

    def settled(self) -> bool:
        return True

    def serves(self, host: int) -> bool:
        return True

    def on_wired(self, source: int, message: Any) -> None:
        pass


class BeaconLoad(Declaration):
    """A protocol that only puts load on the radio. It does not deliver messages or make promises."""

    name = "beacon"
    host, station, stable, parameters = BeaconHost, BeaconStation, BeaconMember, BeaconParameters
    promises = None
    listens = False

    @staticmethod
    def frames_per_s(p: BeaconParameters, hosts: int, stations: int) -> float:
        beacons = stations / p.station_interval_s + hosts / p.host_interval_s
        return beacons + (hosts + stations) / p.hello_interval_s
