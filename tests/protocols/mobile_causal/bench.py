"""Stations and hosts on a table: every packet waits until the test says what becomes of it.

Model     `air` and `wire` hold what was sent, in order; timers run on a real kernel
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mobilenet.engine.kernel import Kernel, ns
from mobilenet.engine.random_streams import Stream
from mobilenet.engine.timer import Timer
from mobilenet.protocols.mobile_causal import Host, MobileCausalParameters, Stable, Station
from mobilenet.protocols.port import MessageId


class Packet(NamedTuple):
    sender: str  # 'h1', 's0'
    to: str | None  # None: everybody in the cell, or all other stations
    message: Any


class Port:
    def __init__(self, bench: Bench, name: str, me: int) -> None:
        self.bench, self.name, self.me = bench, name, me
        self._stream = Stream(1, "bench", name)
        self.uniform: Callable[[float, float], float] = self._stream.uniform
        self.frames: list[tuple[int, Any]] = []  # (when, message), everything ever sent
        self.upcalls: list[tuple[Any, ...]] = []
        self.delivered: list[MessageId] = []
        self.dead = False

    @property
    def now(self) -> int:
        return self.bench.kernel.now

    def timer(self, action: Callable[[], None]) -> Timer:
        return Timer(self.bench.kernel, lambda: None if self.dead else action())

    def _out(self, to: str | None, message: Any) -> None:
        self.frames.append((self.now, message))
        self.bench.air.append(Packet(self.name, to, message))
        if self.bench.radio_works:
            node = self.bench.node(self.name)
            self.bench.kernel.after(1_000_000, lambda: node.on_sent(message))

    def broadcast(self, message: Any) -> None:
        self._out(None, message)

    def send(self, to: int, message: Any) -> None:
        self._out(("s" if self.name[0] == "h" else "h") + str(to), message)

    def expired(self, host: int) -> None:
        self.upcalls.append(("expired", host))

    def deliver(self, message: MessageId, body: Any) -> None:
        self.delivered.append(message)

    def joined(self, session: int, station: int) -> None:
        self.upcalls.append(("joined", session, station))

    def left(self, session: int) -> None:
        self.upcalls.append(("left", session))

    def gap(self, session: int, station: int) -> None:
        self.upcalls.append(("gap", session, station))

    def session_opened(self, session: int, station: int | None, cause: str) -> None:
        self.upcalls.append(("opened", session, station, cause))

    def session_confirmed(self, session: int, station: int, detail: dict[str, int]) -> None:
        self.upcalls.append(("confirmed", session, station, detail))


class Wired:
    def __init__(self, bench: Bench, name: str) -> None:
        self._bench, self._name = bench, name

    def broadcast(self, message: Any) -> None:
        for other in self._bench.stations:
            if other != self._name:
                self._bench.wire.append(Packet(self._name, other, message))

    def send(self, to: int, message: Any) -> None:
        self._bench.wire.append(Packet(self._name, f"s{to}", message))


class Bench:
    """`cells[h]` is the station each host starts at."""

    def __init__(
        self, stations: int, cells: list[int | None], station_class: type[Station] = Station, **parameters: Any
    ) -> None:
        self.kernel = Kernel()
        self.parameters = MobileCausalParameters(**parameters)
        self.air: list[Packet] = []
        self.wire: list[Packet] = []
        self.radio_works = True  # False: it takes frames and never reports one as sent
        self.deaf: set[str] = set()  # hosts that neither hear nor are heard
        self.ports: dict[str, Port] = {}
        self.stations: dict[str, Station] = {}
        self.hosts: dict[str, Host] = {}
        self.stable = {f"h{h}": Stable() for h in range(len(cells))}
        self.cells = {f"h{h}": cell for h, cell in enumerate(cells)}
        for s in range(stations):
            name = f"s{s}"
            self.stations[name] = station_class(self._port(name, s), Wired(self, name), self.parameters, stations)
        for name, cell in self.cells.items():
            self._create(name)
            self.hosts[name].on_cell(cell)

    def _port(self, name: str, me: int) -> Port:
        self.ports[name] = Port(self, name, me)
        return self.ports[name]

    def _create(self, name: str) -> None:
        port = self._port(name, int(name[1:]))
        self.hosts[name] = Host(port, self.stable[name], self.parameters, len(self.stations))

    def node(self, name: str) -> Host | Station:
        return self.hosts[name] if name[0] == "h" else self.stations[name]

    def move(self, host: str, cell: int | None) -> None:
        self.cells[host] = cell
        self.hosts[host].on_cell(cell)

    def crash_and_recover(self, host: str) -> list[MessageId]:
        """What it had delivered in the life before."""
        before = self.ports[host]
        before.dead = True
        self._create(host)
        self.hosts[host].on_cell(self.cells[host])
        self.hosts[host].on_recover()
        return before.delivered

    def wait(self, seconds: float) -> None:
        """Time passes, packets stay where they are."""
        self.kernel.run_until(self.kernel.now + ns(seconds))

    # --- packets

    def give(self, packet: Packet) -> None:
        """It arrives at all it is for."""
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
        """Pick the oldest packet of this kind out of the air."""
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
        """The oldest of these crosses the wire."""
        for packet in self.wire:
            if kind in (None, type(packet.message)) and to in (None, packet.to):
                self.wire.remove(packet)
                self.stations[str(packet.to)].on_wired(int(packet.sender[1:]), packet.message)
                return packet.message
        raise AssertionError(f"no such message on the wire: {self.wire}")

    def flush(self) -> None:
        """Everything under way arrives, and what that causes, at this instant."""
        while self.air or self.wire:
            if self.wire:
                self.cable()
            else:
                self.give(self.air.pop(0))

    def lose(self) -> None:
        """The air is empty again."""
        self.air.clear()

    def run(self, seconds: float, step: float = 0.02) -> None:
        """Time passes and everything arrives."""
        for _ in range(round(seconds / step)):
            self.flush()
            self.wait(step)
        self.flush()

    def everybody_joins(self) -> None:
        for host in self.hosts.values():
            host.join()
        self.run(0.2)
        assert all(("joined" in [u[0] for u in self.ports[name].upcalls]) for name in self.hosts)

    def buffers(self) -> dict[str, tuple[int, ...]]:
        return {name: node.buffer_sizes() for name, node in (self.stations | self.hosts).items()}

    def delivered(self, host: str) -> list[tuple[int, int]]:
        return [tuple(mid) for mid in self.ports[host].delivered]
