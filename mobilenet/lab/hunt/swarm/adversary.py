"""The adversary's network, which exposes protocols of hosts and stations to all faults that they must survive.

Model     The network has no physics. Radio: packets are lost, duplicated and delayed independently for each receiver.
          Some packets arrive seconds late, in any order, even at a host that has left the cell. Nodes overhear other
          cells, and any old packet may arrive again. A host's broadcast reaches its station, and may reach any other
          node as if overheard. Wire: see wire.py and vcube_wire.py. The fate of every packet is counted (tally.py).
Units     integer nanoseconds; probabilities
Errors    Exceptions of the protocols pass through
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mobilenet.engine.clock import MILLISECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.engine.timer import Timer
from mobilenet.lab.hunt.controlled.port import ControlledHostPort, ControlledPort, ControlledWire
from mobilenet.lab.hunt.swarm.effects import HostEffects, StationEffects
from mobilenet.lab.hunt.swarm.tally import Tally
from mobilenet.lab.hunt.swarm.vcube_wire import VCubeWire
from mobilenet.lab.hunt.swarm.wire import Backbone, Wires
from mobilenet.protocols.declaration import Declaration
from mobilenet.protocols.port import association_changes
from mobilenet.record.recorder import Recording


@dataclass(frozen=True, slots=True)
class Air:
    """The quality of the radio until the faults stop."""

    loss: float = 0.0
    duplicate: float = 0.0
    late: float = 0.0  # probability that a packet takes up to late_ns instead of delay_ns
    overhear: float = 0.0
    drop: float = 0.0  # probability that the queue of the sender is full
    delay_ns: int = 5 * MILLISECOND
    late_ns: int = 2000 * MILLISECOND


CALM = Air()


class _Packet(NamedTuple):
    receive: Callable[[int, int, Any], bool]
    to: int
    sender: int
    message: Any
    addressed: bool  # whether the packet is addressed to this receiver (otherwise the receiver overhears it)


class Adversary:
    """The adversary's network, with its stations, its hosts, the radio and the wires."""

    def __init__(
        self,
        kernel: Kernel,
        recording: Recording,
        seed: int,
        roles: type[Declaration],
        parameters: Any,
        wires: Wires,
        hosts: int,
        invariant: Callable[[Sequence[Any], Any], None] | None = None,
    ) -> None:
        """Build the network. `invariant` is called after each message to a station, and raises an exception if it is
        violated.
        """
        self.kernel = kernel
        self.recording = recording
        self.events = recording.events
        self.tally = Tally()
        self.air = CALM
        self._parameters = parameters
        self._roles = roles
        self._invariant = invariant
        self._stream = Stream(seed, "swarm/air")
        self._host_streams = [Stream(seed, "swarm/host", f"h{h}") for h in range(hosts)]
        self._old: list[_Packet] = []  # packets that may arrive again
        count = len(wires.parents) + 1
        new_backbone = Backbone if wires.kind == "tree" else VCubeWire
        self.backbone: Backbone | VCubeWire = new_backbone(kernel, Stream(seed, "swarm/wire"), self.tally, wires)
        self.backbone.handle = self._handle_wired
        self.stations: list[Any] = [self._new_station(s, seed, count) for s in range(count)]
        self.stable: list[Any] = [roles.stable() for _ in range(hosts)]
        self.cells: list[int | None] = [None] * hosts
        self._associated: list[int | None] = [None] * hosts  # the station with which each host is associated, or None
        # (station, host) -> time of the last packet from the host
        self._last_packet_ns: dict[tuple[int, int], int] = {}
        self._effects = [HostEffects(self, h) for h in range(hosts)]
        self._ports = [self._new_port(h) for h in range(hosts)]
        self.hosts: list[Any] = [self._new_host(h) for h in range(hosts)]  # None stands for a host that has crashed.

    def _new_station(self, s: int, seed: int, count: int) -> Any:
        stream = Stream(seed, "swarm/station", f"s{s}")
        port = ControlledPort(s, self.kernel, stream.uniform, StationEffects(self, s), self._new_timer)
        return self._roles.station(port, ControlledWire(port), self._parameters, count)

    def _new_port(self, h: int) -> ControlledHostPort:
        """Return the port for one life of a host. Its timers end with this life."""
        return ControlledHostPort(h, self.kernel, self._host_streams[h].uniform, self._effects[h], self._new_timer)

    def _new_host(self, h: int) -> Any:
        return self._roles.host(self._ports[h], self.stable[h], self._parameters, len(self.stations))

    def _new_timer(self, action: Callable[[], None]) -> Timer:
        return Timer(self.kernel, action)

    # --- what may happen to a host

    def join(self, h: int) -> None:
        if (host := self.hosts[h]) is not None:
            host.join()

    def leave(self, h: int) -> bool:
        host = self.hosts[h]
        return host is not None and bool(host.leave())

    def co_broadcast(self, h: int, body: int = 1) -> bool:
        host = self.hosts[h]
        if host is None:
            return False
        self._effects[h].hold()
        message = host.co_broadcast(body)
        self._effects[h].release(message)
        return message is not None

    def move(self, h: int, cell: int | None) -> None:
        before, self.cells[h] = self.cells[h], cell
        if before == cell:
            return
        if before is None or cell is None:
            self.events.add(self.kernel.now, f"h{h}", "out_of_coverage" if cell is None else "in_coverage")
        if (host := self.hosts[h]) is not None:
            self._associate(h, cell)
            host.on_cell(cell)

    def _associate(self, h: int, cell: int | None) -> None:
        """Notify the stations that a host has changed its cell, as simulation/hosts.py does."""
        before, self._associated[h] = self._associated[h], cell
        for s, hook in association_changes(before, cell):
            if (called := getattr(self.stations[s], hook, None)) is not None:
                called(h)

    def crash(self, h: int) -> None:
        if self.hosts[h] is not None:
            self.events.add(self.kernel.now, f"h{h}", "crash")
            self._ports[h].die()
            self.hosts[h] = None

    def recover(self, h: int) -> None:
        if self.hosts[h] is not None:
            return
        self.events.add(self.kernel.now, f"h{h}", "recover")
        self._ports[h] = self._new_port(h)
        host = self.hosts[h] = self._new_host(h)
        self._associate(h, self.cells[h])
        if self.cells[h] is not None:
            host.on_cell(self.cells[h])
        host.on_recover()

    # --- the radio

    def from_host(self, h: int, to: int | None, message: Any) -> None:
        host = self.hosts[h]
        left = self._leaves_the_queue(False, message, lambda dropped: self._tell_host(h, host, message, dropped))
        if not left:
            return
        if to is None:
            self._around(h, message)
        elif self.cells[h] == to:
            self._throw(_Packet(self._at_station, to, h, message, True))

    def _around(self, h: int, message: Any) -> None:
        """Send a broadcast of a host to its station. Any other node may overhear it."""
        cell = self.cells[h]
        for s in range(len(self.stations)):
            if s == cell or self._is_overheard():
                self._throw(_Packet(self._at_station, s, h, message, s == cell))
        for other in range(len(self.hosts)):
            if other != h and self._is_overheard():
                self._throw(_Packet(self._at_host, other, h, message, False))

    def _is_overheard(self) -> bool:
        return self.air.overhear > 0 and self._stream.random() < self.air.overhear

    def onto_wire(self, s: int, to: int | None, message: Any) -> None:
        self.backbone.send(s, to, message)

    def from_station(self, s: int, to: int | None, message: Any) -> None:
        station = self.stations[s]
        if not self._leaves_the_queue(
            True, message, lambda dropped: (station.on_dropped if dropped else station.on_sent)(message)
        ):
            return
        for h, cell in enumerate(self.cells):
            if to is not None and to != h:
                continue
            if cell == s or self._is_overheard():
                self._throw(_Packet(self._at_host, h, s, message, to is not None or cell == s))

    def replay(self) -> None:
        """Deliver one of the old packets again."""
        if self._old:
            packet = self._old[self._stream.below(len(self._old))]
            self.tally.count_duplicate(packet.addressed)
            self._arrive(packet)

    def _leaves_the_queue(self, from_station: bool, message: Any, on_done: Callable[[bool], None]) -> bool:
        dropped = self.air.drop > 0 and self._stream.random() < self.air.drop
        self.tally.count_message(from_station, message, dropped)
        self.kernel.after(MILLISECOND, lambda: on_done(dropped))
        return not dropped

    def _tell_host(self, h: int, host: Any, message: Any, dropped: bool) -> None:
        if host is not None and self.hosts[h] is host:  # The host has not crashed in the meantime.
            if dropped:
                host.on_dropped(message)
            else:
                host.on_sent(message)

    def _throw(self, packet: _Packet) -> None:
        air, stream, tally = self.air, self._stream, self.tally
        self._old.append(packet)
        tally.pair(packet.addressed)
        copies = 2 if air.duplicate and stream.random() < air.duplicate else 1
        for copy in range(copies):
            if copy:
                tally.count_duplicate(packet.addressed)
            if air.loss and stream.random() < air.loss:
                tally.outcome("random", packet.addressed)
                continue
            longest = air.late_ns if air.late and stream.random() < air.late else air.delay_ns
            tally.under_way(packet.addressed, 1)
            self.kernel.after(int(stream.random() * longest), lambda: self._come_down(packet))

    def _come_down(self, packet: _Packet) -> None:
        self.tally.under_way(packet.addressed, -1)
        self._arrive(packet)

    def _arrive(self, packet: _Packet) -> None:
        is_up = packet.receive(packet.to, packet.sender, packet.message)
        self.tally.outcome("received" if is_up else "receiver_down", packet.addressed)

    def _at_station(self, s: int, sender: int, message: Any) -> bool:
        self._last_packet_ns[s, sender] = self.kernel.now
        self.stations[s].on_receive(sender, message)
        if self._invariant is not None:
            self._invariant(self.stations, message)
        return True

    def heard_ns(self, s: int, host: int) -> int:
        """Return the time at which the station last received a packet from the host, or 0."""
        return self._last_packet_ns.get((s, host), 0)

    def _at_host(self, h: int, sender: int, message: Any) -> bool:
        host = self.hosts[h]
        if host is not None:
            host.on_receive(sender, message)
        return host is not None

    def _handle_wired(self, at: int, source: int, message: Any) -> None:
        self.stations[at].on_wired(source, message)
        if self._invariant is not None:
            self._invariant(self.stations, message)

    # --- the end

    def rests(self) -> bool:
        """Return whether all nodes have settled, all buffers are empty, no message is on the wires, and every member is
        served in its cell.
        """
        nodes = [*self.stations, *self.hosts]
        if self.tally.wired_in_flight or not self.backbone.is_at_rest:
            return False
        if not all(node is not None and node.settled() and not any(node.buffer_sizes()) for node in nodes):
            return False
        return all(
            host is not None and (host.is_out() or cell is not None and self.stations[cell].serves(h))
            for h, (host, cell) in enumerate(zip(self.hosts, self.cells, strict=True))
        )

    def not_at_rest(self) -> Iterator[str]:
        """Yield the reasons why the network is not at rest, as readable text."""
        nodes = [*((f"s{s}", node) for s, node in enumerate(self.stations)),
                 *((f"h{h}", node) for h, node in enumerate(self.hosts))]  # fmt: skip
        for name, node in nodes:
            if node is None:
                yield f"{name} is down"
                continue
            if not node.settled():
                yield f"{name} reports that it has not settled"
            for buffer, size in zip(node.BUFFERS, node.buffer_sizes(), strict=True):
                if size:
                    yield f"{name} holds {size} in its {buffer}"
        for h, (host, cell) in enumerate(zip(self.hosts, self.cells, strict=True)):
            if host is not None and not host.is_out() and (cell is None or not self.stations[cell].serves(h)):
                where = "no cell" if cell is None else f"the cell of s{cell}, which does not serve it"
                yield f"h{h} is in {where}"
        if self.tally.wired_in_flight or not self.backbone.is_at_rest:
            yield "messages are on the wires"

    def sample_at_end(self) -> None:
        """Record the size of every buffer and the value of every counter."""
        now, samples = self.kernel.now, self.recording.samples
        nodes = {f"s{s}": node for s, node in enumerate(self.stations)} | {
            f"h{h}": node for h, node in enumerate(self.hosts)
        }
        for name, node in nodes.items():
            if node is not None:
                for buffer, size in zip(node.BUFFERS, node.buffer_sizes(), strict=True):
                    samples.add(now, name, buffer, size)
        self.tally.sample(now, samples)
        self.recording.counters = self.tally.counters()
