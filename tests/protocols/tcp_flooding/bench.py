"""A test bench for hosts and stations. Messages wait on a channel until the test lets them pass.

Model     The channels and ports are those of mobilenet/lab/hunt/controlled. Timers run on a real kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from mobilenet.engine.clock import ns
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.timer import Timer
from mobilenet.lab.hunt.controlled.connections import Connections
from mobilenet.lab.hunt.controlled.node import midpoint
from mobilenet.lab.hunt.controlled.port import ControlledHostPort, ControlledPort, Effects
from mobilenet.protocols.tcp_flooding import Host, Stable, Station, TcpFloodingParameters


class Bench(Connections):
    """A test bench with hosts in cells and three stations. The stations form a chain unless `edges` are given."""

    def __init__(
        self, cells: Sequence[int], edges: Sequence[tuple[int, int]] = ((0, 1), (1, 2)), **parameters: Any
    ) -> None:
        super().__init__()
        self.kernel = Kernel()
        self.parameters = TcpFloodingParameters(**{"spacing_ms": 0.0, **parameters})
        self.resets_arrive = True
        count = 1 + max(max(edge) for edge in edges)
        near = {s: sorted({*[b for a, b in edges if a == s], *[a for a, b in edges if b == s]}) for s in range(count)}
        for s in range(count):
            self.of(f"s{s}", near[s])
        self.effects = {f"s{s}": Effects() for s in range(count)} | {f"h{h}": Effects() for h in range(len(cells))}
        self.stable = [Stable() for _ in cells]
        for name in self.effects:
            self.of(name)
        self.stations = [
            Station(self._port(f"s{s}"), self.of(f"s{s}", near[s]), self.parameters, count) for s in range(count)
        ]
        self.hosts = [self._host(h) for h in range(len(cells))]
        for host, cell in zip(self.hosts, cells, strict=True):
            host.on_cell(cell)
            host.join()
        self.settle()

    def _port(self, name: str) -> ControlledPort:
        kind = ControlledHostPort if name[0] == "h" else ControlledPort
        port = kind(int(name[1:]), self.kernel, midpoint, self.effects[name], partial(Timer, self.kernel))
        port.channels = self.of(name)
        return port

    def _host(self, h: int) -> Host:
        return Host(self._port(f"h{h}"), self.stable[h], self.parameters, len(self.stations))

    def broadcast(self, h: int, payload_bytes: int) -> tuple[int, int] | None:
        return self.hosts[h].co_broadcast(payload_bytes)

    def move(self, h: int, cell: int) -> None:
        """Move a host to this cell, and open its connection to the station."""
        self.hosts[h].on_cell(cell)
        self.open()

    def pass_along(self, *nodes: str) -> None:
        """For each pair of consecutive nodes, in order, deliver the messages in transit between them."""
        for sender, receiver in pairwise(nodes):
            self.pass_on(sender, receiver)

    def crash(self, h: int) -> None:
        """Crash a host. Its connections are dropped without notifying the other ends."""
        self.forget(f"h{h}")
        self.hosts[h] = self._host(h)

    def recover(self, h: int, cell: int) -> None:
        self.hosts[h].on_cell(cell)
        self.hosts[h].on_recover()

    def wait(self, seconds: float) -> None:
        self.kernel.run_until(self.kernel.now + ns(seconds))

    def pass_resets(self) -> None:
        if not self.resets_arrive:
            self.resets.clear()
        super().pass_resets()

    def deliveries(self, h: int) -> list[tuple[int, int]]:
        return [tuple(call.arguments[0]) for call in self.effects[f"h{h}"].upcalls if call.name == "deliver"]

    def upcalls(self, h: int) -> list[str]:
        """Return all upcalls at a host except deliveries."""
        return [call.name for call in self.effects[f"h{h}"].upcalls if call.name != "deliver"]
