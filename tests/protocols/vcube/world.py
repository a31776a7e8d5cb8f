"""Run processes on a network with arbitrary delays, on which messages may arrive in any order. Check the properties
that must always hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mobilenet.engine.clock import SECOND
from mobilenet.engine.kernel import Kernel
from mobilenet.engine.random_streams import Stream
from mobilenet.lab.hunt.controlled.node import midpoint
from mobilenet.lab.hunt.controlled.port import ControlledProcessPort
from mobilenet.protocols.vcube.port import MessageId
from mobilenet.simulation.processes.packets import PacketNetwork

Event = tuple[int, int, str, MessageId]  # (time, process, "broadcast" or "deliver", message)


class World:
    """A packet network with n processes of a protocol, which broadcast at random times."""

    def __init__(
        self, n: int, seed: int, make: Callable[[Any, int], Any], fixed: bool = False, contention: bool = True
    ) -> None:
        self.kernel = Kernel()
        self.n = n
        self.net = PacketNetwork(
            self.kernel, n, seed, SECOND, SECOND if contention else 0, 100 * SECOND, 25 * SECOND, fixed
        )
        self.events: list[Event] = []
        self.processes = [make(self._port(i), n) for i in range(n)]
        for i, process in enumerate(self.processes):
            self.net.attach(i, process.on_receive)

    def _port(self, i: int) -> ControlledProcessPort:
        return ControlledProcessPort(i, self.kernel, midpoint, Effects(self, i), self.net.timer)

    def broadcasts(self, seed: int, each: int, spread_s: int = 500) -> None:
        for i in range(self.n):
            stream = Stream(seed, "workload", f"p{i}")
            for _ in range(each):
                self.kernel.at(stream.below(spread_s * SECOND), lambda i=i: self.broadcast(i))  # type: ignore[misc]

    def broadcast(self, i: int) -> None:
        place = len(self.events)
        message = self.processes[i].broadcast(50)
        self.net.broadcast_at[message] = self.kernel.now
        self.events.insert(place, (self.kernel.now, i, "broadcast", message))

    def run(self) -> list[Event]:
        self.kernel.run_until(10**7 * SECOND)
        return self.events


class Effects:
    """The effect handler of a process. It sends over the packet network and records deliveries."""

    def __init__(self, world: World, me: int) -> None:
        self._world, self._me = world, me

    def frame(self, to: int | None, message: Any) -> None:
        self._world.net.send(self._me, to, message)

    def wire(self, to: int | None, message: Any) -> None:
        raise NotImplementedError("processes have no wire")

    def tell(self, name: str, *arguments: Any) -> None:
        if name == "deliver":
            self._world.events.append((self._world.kernel.now, self._me, name, arguments[0]))


def wrong(events: list[Event], n: int) -> str | None:
    """Return a description of the first fault, or None. Every process must deliver each message once, after all
    messages that causally precede it.
    """
    past: dict[MessageId, set[MessageId]] = {}
    has: list[set[MessageId]] = [set() for _ in range(n)]
    for _, i, what, message in events:
        if what == "broadcast":
            past[message] = set(has[i])
            continue
        if message in has[i]:
            return f"p{i} delivers {message} twice"
        if message not in past:
            return f"p{i} delivers {message}, which nobody broadcast"
        if not past[message] <= has[i]:
            return f"p{i} delivers {message} before {sorted(past[message] - has[i])[0]}"
        has[i].add(message)
    missing = [(i, m) for i in range(n) for m in past if m not in has[i]]
    return f"p{missing[0][0]} never delivers {missing[0][1]}" if missing else None
