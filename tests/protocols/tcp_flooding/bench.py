"""Hosts and stations on a table: what is said over a channel waits until the test lets it through.

Model     a channel is two ends with what is under way in each direction; it opens at once. Timers run on a real kernel
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from mobilenet.engine.kernel import Kernel, ns
from mobilenet.engine.timer import Timer
from mobilenet.protocols.port import MessageId
from mobilenet.protocols.tcp_flooding import Host, Stable, Station, TcpFloodingParameters


class End:
    """One end of a channel: `sent` is under way to the other one."""

    def __init__(self, owner: Channels, peer: int) -> None:
        self.owner, self.peer = owner, peer
        self.other: End
        self.sent: deque[Any] = deque()
        self.taken = 0
        self.incoming = 0
        self.closed = False

    @property
    def backlog(self) -> int:
        return len(self.sent)

    def say(self, message: Any) -> None:
        if self.closed:
            raise RuntimeError("the connection is closed")
        self.sent.append(message)

    def abort(self) -> None:
        self.closed = True
        self.sent.clear()

    def reset(self) -> None:
        if not self.closed:
            self.abort()
            if self.owner.bench.resets_arrive:
                self.owner.bench.resets.append(self.other)

    def breaks(self, reason: str) -> None:
        """The network ends it here."""
        if not self.closed:
            self.abort()
            self.owner.client.on_closed(self, reason)


class Channels:
    def __init__(self, bench: Bench, name: str, other: str, neighbours: Sequence[int] = ()) -> None:
        self.bench, self.name, self.me = bench, name, int(name[1:])
        self._other = other
        self.neighbours = neighbours
        self.client: Any = None

    def listen(self, client: Any) -> None:
        self.client = client

    def connect(self, peer: int) -> End:
        there = self.bench.wires[f"s{peer}"] if self.neighbours else self.bench.airs[f"{self._other}{peer}"]
        here, far = End(self, peer), End(there, self.me)
        here.other, far.other = far, here
        self.bench.opening.append((here, far))
        if not self.neighbours:
            self.bench.links[self.name, f"s{peer}"] = here, far
        else:
            self.bench.links[self.name, f"s{peer}"], self.bench.links[f"s{peer}", self.name] = (here, far), (far, here)
        return here


class Port:
    def __init__(self, bench: Bench, name: str) -> None:
        self.bench, self.me = bench, int(name[1:])
        self.channels = bench.airs[name]
        self.upcalls: list[tuple[Any, ...]] = []
        self.delivered: list[MessageId] = []

    @property
    def now(self) -> int:
        return self.bench.kernel.now

    def timer(self, action: Callable[[], None]) -> Timer:
        return Timer(self.bench.kernel, action)

    def uniform(self, low: float, high: float) -> float:
        return (low + high) / 2

    def deliver(self, message: MessageId, body: Any) -> None:
        self.delivered.append(message)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments: self.upcalls.append((name, *arguments))


class Bench:
    """A tree of stations, given by its edges, and hosts in cells."""

    def __init__(self, edges: Sequence[tuple[int, int]], cells: Sequence[int], **parameters: Any) -> None:
        self.kernel = Kernel()
        self.parameters = TcpFloodingParameters(**{"spacing_ms": 0.0, **parameters})
        self.opening: list[tuple[End, End]] = []
        self.resets: list[End] = []
        self.resets_arrive = True
        self.links: dict[tuple[str, str], tuple[End, End]] = {}  # (h1, s0) or (s0, s1) -> both ends
        count = 1 + max(max(edge) for edge in edges)
        near = {s: sorted({*[b for a, b in edges if a == s], *[a for a, b in edges if b == s]}) for s in range(count)}
        self.airs = {f"s{s}": Channels(self, f"s{s}", "h") for s in range(count)}
        self.airs |= {f"h{h}": Channels(self, f"h{h}", "s") for h in range(len(cells))}
        self.wires = {f"s{s}": Channels(self, f"s{s}", "s", near[s]) for s in range(count)}
        self.ports = {name: Port(self, name) for name in self.airs}
        self.stable = [Stable() for _ in cells]
        self.stations = [
            Station(self.ports[f"s{s}"], self.wires[f"s{s}"], self.parameters, count) for s in range(count)
        ]
        self.hosts = [self._host(h) for h in range(len(cells))]
        for host, cell in zip(self.hosts, cells, strict=True):
            host.on_cell(cell)
            host.join()
        self.settle()

    def _host(self, h: int) -> Host:
        return Host(self.ports[f"h{h}"], self.stable[h], self.parameters, len(self.stations))

    def crash(self, h: int) -> None:
        """Its connections are forgotten without a word."""
        for (name, _), (end, _) in self.links.items():
            if name == f"h{h}":
                end.abort()
        self.hosts[h] = self._host(h)

    def recover(self, h: int, cell: int) -> None:
        self.hosts[h].on_cell(cell)
        self.hosts[h].on_recover()

    def wait(self, seconds: float) -> None:
        self.kernel.run_until(self.kernel.now + ns(seconds))

    def open(self) -> None:
        for here, far in self.opening:
            for end in (here, far):
                if not end.closed:
                    end.owner.client.on_open(end)
        self.opening.clear()

    def pass_on(self, a: str, b: str, count: int | None = None) -> list[Any]:
        """What a said to b arrives; the messages."""
        here, far = self.links[a, b] if (a, b) in self.links else tuple(reversed(self.links[b, a]))
        passed = []
        while here.sent and count != len(passed):
            passed.append(here.sent.popleft())
            here.taken += 1
            if not far.closed:
                far.owner.client.on_message(far, passed[-1])
            if not here.closed:
                here.owner.client.on_taken(here)
        return passed

    def settle(self) -> None:
        """Everything arrives, and what that causes."""
        while self.opening or self.resets or any(end.sent for ends in self.links.values() for end in ends):
            self.open()
            for a, b in list(self.links):
                self.pass_on(a, b)
                self.pass_on(b, a)
            resets, self.resets = self.resets, []
            for end in resets:
                end.breaks("reset")

    def delivered(self, h: int) -> list[tuple[int, int]]:
        return [tuple(message) for message in self.ports[f"h{h}"].delivered]

    def upcalls(self, h: int) -> list[str]:
        return [call[0] for call in self.ports[f"h{h}"].upcalls]
