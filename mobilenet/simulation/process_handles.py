"""The objects that users' processes receive: hosts, the world, and the run if they may observe it.

Model     An action takes place during the call and returns no information about the run. A process without `run`
          therefore depends only on the scenario and its seed. A process can wait only for events of its environment.
Units     metres, seconds, bytes
Errors    ValueError for a position, a speed or a payload that the scenario does not allow, and for unknown names
Source    ours: docs/guide/simpy.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import ceil, hypot, isfinite
from typing import Any

from mobilenet.engine.clock import SECOND
from mobilenet.simulation.hosts import HostNode
from mobilenet.simulation.lifecycle import Lifecycle
from mobilenet.simulation.movement import NEARLY_M, Movement
from mobilenet.simulation.nodes import Node
from mobilenet.simulation.process_environment import Environment
from mobilenet.world.mobility import FARTHEST_M, HARDLY_FASTER
from mobilenet.world.trajectory import Leg, between, standing_leg

SLOWEST_MPS = 0.001


class Host:
    """A host as a user's process sees it. A request to a host that is down is treated like any other request."""

    def __init__(
        self, name: str, env: Environment, lifecycle: Lifecycle, movement: Movement,
        speed_limit_mps: float | None, payload_bytes: int,
    ) -> None:  # fmt: skip
        self.name = name
        self._number = int(name[1:])
        self._env = env
        self._lifecycle = lifecycle
        self._movement = movement
        self._speed_limit_mps = speed_limit_mps
        self._payload_bytes = payload_bytes

    def go_to(self, x_m: float, y_m: float, speed_mps: float) -> Any:
        """Start walking to this position in a straight line, and return the event of the arrival. The host stands still
        while it is down. Another call of go_to replaces this walk, whose event then never occurs.
        """
        if self._speed_limit_mps is None:
            raise ValueError("go_to needs the key speed_limit_mps in the process's entry of the scenario")
        most_mps = self._speed_limit_mps * HARDLY_FASTER
        if not isinstance(speed_mps, int | float) or not SLOWEST_MPS <= speed_mps <= most_mps:
            expected = f"{SLOWEST_MPS:g} to {self._speed_limit_mps:g}"
            raise ValueError(f"go_to: speed_mps is {speed_mps!r}, expected {expected}")
        if not all(isfinite(at_m) and abs(at_m) <= FARTHEST_M for at_m in (x_m, y_m)):
            raise ValueError(f"go_to: the place is {(x_m, y_m)!r}, expected at most {FARTHEST_M:,} m from (0, 0)")
        arrival = self._env.event()
        way = self._way(float(x_m), float(y_m), speed_mps, arrival)
        self._env.act(self._movement.follow, self._number, way)
        return arrival

    def _way(self, x_m: float, y_m: float, speed_mps: float, arrival: Any) -> Iterator[Leg]:
        here_m = self._movement.positions()[self._number].tolist()
        far_m = hypot(x_m - here_m[0], y_m - here_m[1])
        if far_m >= NEARLY_M:
            yield between(here_m[0], here_m[1], x_m, y_m, ceil(far_m / speed_mps * SECOND))
        if not arrival.triggered:
            arrival.succeed()
        yield standing_leg(x_m, y_m)

    def broadcast(self, payload_bytes: int | None = None) -> None:
        """Offer the host a message to broadcast. The default payload is that of the workload."""
        if payload_bytes is None:
            payload_bytes = self._payload_bytes
        if type(payload_bytes) is not int or not 0 <= payload_bytes <= self._payload_bytes:
            most = f"0 to {self._payload_bytes} (workload.payload_bytes, from which deadlines are computed)"
            raise ValueError(f"broadcast: payload_bytes is {payload_bytes!r}, expected {most}")
        self._env.act(self._lifecycle.broadcast, self._number, payload_bytes)

    def crash(self) -> None:
        """Crash the host if it is up."""
        self._happen("crash")

    def recover(self) -> None:
        """Recover the host if it is down."""
        self._happen("recover")

    def join(self) -> None:
        """Ask the host to join. A new request replaces an open one."""
        self._happen("join")

    def leave(self) -> None:
        """Ask the host to leave. A new request replaces an open one."""
        self._happen("leave")

    def _happen(self, what: str) -> None:
        self._env.act(self._lifecycle.happen, what, self._number)


class World:
    """Gives access to the hosts that exist when the process begins."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self.hosts = tuple(hosts)


class Deliveries:
    """Collects the messages that hosts have delivered so far, and the events of processes that wait for the next
    one.
    """

    def __init__(self) -> None:
        self.messages: dict[str, list[str]] = {}
        self.waiting: dict[str, list[Any]] = {}

    def observe(self, host: HostNode) -> None:
        self.messages[host.name], self.waiting[host.name] = [], []
        host.on_delivery = partial(self._note, host.name)

    def _note(self, host: str, message: str) -> None:
        self.messages[host].append(message)
        events, self.waiting[host] = self.waiting[host], []
        for event in events:
            if not event.triggered:
                event.succeed(message)


class Run:
    """The part of a run that a process may observe. Methods accept handles or names of hosts and stations."""

    def __init__(self, env: Environment, nodes: Mapping[str, Node], movement: Movement, deliveries: Deliveries) -> None:
        self._env = env
        self._nodes = nodes
        self._movement = movement
        self._deliveries = deliveries

    def cell(self, host: Host | str) -> str | None:
        """Return the station of the host's cell, or None if the host is out of coverage."""
        cell = self._host(host).cell
        return None if cell is None else f"s{cell}"

    def position(self, host: Host | str) -> tuple[float, float]:
        """Return the host's position in metres."""
        x_m, y_m = self._movement.positions()[self._host(host).me].tolist()
        return x_m, y_m

    def is_up(self, host: Host | str) -> bool:
        """Return whether the host is present and has not crashed."""
        return self._host(host).up

    def is_member(self, host: Host | str) -> bool:
        """Return whether the host has joined and has not left."""
        return self._host(host).member

    def deliveries(self, host: Host | str) -> list[str]:
        """Return the names of all messages that the host has delivered, in order."""
        return list(self._deliveries.messages[self._host(host).name])

    def next_delivery(self, host: Host | str) -> Any:
        """Return the event of the host's next delivery. Its value is the name of the message."""
        event = self._env.event()
        self._deliveries.waiting[self._host(host).name].append(event)
        return event

    def buffer(self, node: Host | str, name: str) -> int:
        """Return the number of messages in a buffer of a host or station."""
        there = self._node(node)
        buffers = there.buffer_names or getattr(there.protocol, "BUFFERS", None)
        if buffers is not None and name not in buffers:
            raise ValueError(f"{there.name} has no buffer {name!r}; expected one of {', '.join(buffers) or 'none'}")
        return dict(zip(there.buffer_names, there.buffers, strict=False)).get(name, 0)

    def _node(self, node: Host | str) -> Node:
        name = node.name if isinstance(node, Host) else node
        if name not in self._nodes:
            raise ValueError(f"{name!r} does not exist, expected the handle of a host, or a name such as 'h0'")
        return self._nodes[name]

    def _host(self, host: Host | str) -> HostNode:
        node = self._node(host)
        if not isinstance(node, HostNode):
            raise ValueError(f"{node.name} is a station, expected a host")
        return node
