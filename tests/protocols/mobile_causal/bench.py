"""A test bench for stations and hosts: every packet waits until the test decides what happens to it.

Model     ports are those of lab/hunt/controlled. `air` and `wire` contain the packets that were sent, in order. Timers
          run on a real kernel
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mobilenet.engine.clock import ns
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.engine.timer import Timer
from mobilenet.lab.hunt.controlled.port import ControlledHostPort, ControlledPort, ControlledWire
from mobilenet.protocols.mobile_causal import Host, MobileCausalParameters, Stable, Station
from mobilenet.protocols.mobile_causal.context import Context
from mobilenet.protocols.port import MessageId


class Packet(NamedTuple):
    sender: str  # such as 'h1' or 's0'
    to: str | None  # None: all hosts in the cell, or all other stations
    message: Any


class Life:
    """The effect handler of a node's port. It records all actions of the node between a start and the next crash."""

    def __init__(self, bench: Bench, name: str) -> None:
        self.bench, self.name = bench, name
        self.frames: list[tuple[int, Any]] = []  # (time, message) for every message that was ever sent
        self.upcalls: list[tuple[Any, ...]] = []  # all upcalls except deliveries
        self.delivered: list[MessageId] = []

    def frame(self, to: int | None, message: Any) -> None:
        bench = self.bench
        self.frames.append((bench.kernel.now, message))
        receiver = None if to is None else ("s" if self.name[0] == "h" else "h") + str(to)
        bench.air.append(Packet(self.name, receiver, message))
        if bench.radio_works:
            node = bench.node(self.name)
            bench.kernel.after(1_000_000, lambda: node.on_sent(message) if bench.node(self.name) is node else None)

    def wire(self, to: int | None, message: Any) -> None:
        others = [other for other in self.bench.stations if other != self.name] if to is None else [f"s{to}"]
        self.bench.wire += [Packet(self.name, other, message) for other in others]

    def tell(self, name: str, *arguments: Any) -> None:
        if name == "deliver":
            self.delivered.append(arguments[0])
        else:
            self.upcalls.append((name, *arguments))


class Bench:
    """A test bench on which host h starts at the station `cells[h]`."""

    def __init__(
        self, stations: int, cells: list[int | None], station_class: type[Station] = Station, **parameters: Any
    ) -> None:
        self.kernel = Kernel()
        self.parameters = MobileCausalParameters(**parameters)
        self.air: list[Packet] = []
        self.wire: list[Packet] = []
        self.radio_works = True  # If False, the radio accepts frames but never reports that a frame was sent.
        self.deaf: set[str] = set()  # hosts that can neither send nor receive
        self.lives: dict[str, Life] = {}  # node -> its current life
        self.ports: dict[str, ControlledPort] = {}
        self.stations: dict[str, Station] = {}
        self.hosts: dict[str, Host] = {}
        self.stable = {f"h{h}": Stable() for h in range(len(cells))}
        self.cells = {f"h{h}": cell for h, cell in enumerate(cells)}
        for s in range(stations):
            name = f"s{s}"
            port = self._port(name)
            self.stations[name] = station_class(port, ControlledWire(port), self.parameters, stations)
        for name, cell in self.cells.items():
            self._create(name)
            self.hosts[name].on_cell(cell)

    def _port(self, name: str) -> ControlledPort:
        self.lives[name] = life = Life(self, name)
        kind = ControlledHostPort if name[0] == "h" else ControlledPort
        uniform = Stream(1, "bench", name).uniform
        self.ports[name] = kind(int(name[1:]), self.kernel, uniform, life, partial(Timer, self.kernel))
        return self.ports[name]

    def _create(self, name: str) -> None:
        self.hosts[name] = Host(self._port(name), self.stable[name], self.parameters, len(self.stations))

    def node(self, name: str) -> Host | Station:
        return self.hosts[name] if name[0] == "h" else self.stations[name]

    def move(self, host: str, cell: int | None) -> None:
        self.cells[host] = cell
        self.hosts[host].on_cell(cell)

    def broadcast(self, host: str) -> MessageId | None:
        return self.hosts[host].co_broadcast(100)

    def context(self, station: str, host: int) -> Context:
        return self.stations[station].ctx[host]

    def crash_and_recover(self, host: str) -> list[MessageId]:
        """Crash and recover a host. Return the messages that it had delivered in its previous life."""
        before = self.lives[host]
        self.ports[host].die()
        self._create(host)
        self.hosts[host].on_cell(self.cells[host])
        self.hosts[host].on_recover()
        return before.delivered

    def wait(self, seconds: float) -> None:
        """Let time pass without delivering the packets in transit."""
        self.kernel.run_until(self.kernel.now + ns(seconds))

    # --- packets

    def give(self, packet: Packet) -> None:
        """Deliver a packet to all its receivers."""
        if packet.sender in self.deaf or packet.to in self.deaf:
            return
        sender = int(packet.sender[1:])
        if packet.to is not None:
            self.node(packet.to).on_receive(sender, packet.message)
            return
        for name, cell in self.cells.items():
            if cell == sender and name not in self.deaf:
                self.hosts[name].on_receive(sender, packet.message)

    def take(self, kind: type, sender: str | None = None, to: str | None = None) -> Packet:
        """Remove the oldest packet of this kind from the air and return it."""
        for packet in self.air:
            if type(packet.message) is kind and sender in (None, packet.sender) and to in (None, packet.to):
                self.air.remove(packet)
                return packet
        raise AssertionError(f"no {kind.__name__} from {sender} to {to} in the air: {self.air}")

    def pass_on(self, kind: type, sender: str | None = None, to: str | None = None) -> Any:
        packet = self.take(kind, sender, to)
        self.give(packet)
        return packet.message

    def cable(self, kind: type | None = None, to: str | None = None) -> Any:
        """Deliver the oldest message of this kind on the wire, and return it."""
        for packet in self.wire:
            if kind in (None, type(packet.message)) and to in (None, packet.to):
                self.wire.remove(packet)
                self.stations[str(packet.to)].on_wired(int(packet.sender[1:]), packet.message)
                return packet.message
        raise AssertionError(f"no such message on the wire: {self.wire}")

    def flush(self) -> None:
        """Deliver everything in transit, and all packets that are sent in response, without advancing the time."""
        while self.air or self.wire:
            if self.wire:
                self.cable()
            else:
                self.give(self.air.pop(0))

    def lose(self) -> None:
        self.air.clear()

    def run(self, seconds: float, step: float = 0.02) -> None:
        for _ in range(round(seconds / step)):
            self.flush()
            self.wait(step)
        self.flush()

    def everybody_joins(self) -> None:
        for host in self.hosts.values():
            host.join()
        self.run(0.2)
        assert all(("joined" in [u[0] for u in self.lives[name].upcalls]) for name in self.hosts)

    def buffers(self) -> dict[str, tuple[int, ...]]:
        return {name: node.buffer_sizes() for name, node in (self.stations | self.hosts).items()}

    def is_empty(self) -> bool:
        """Return whether the buffers of all nodes are empty."""
        return set(self.buffers().values()) == {(0, 0)}

    def deliveries(self, host: str) -> list[tuple[int, int]]:
        return [tuple(mid) for mid in self.lives[host].delivered]
