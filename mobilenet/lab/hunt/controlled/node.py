"""A single host or station, which runs its protocol's handler for an input and returns the effects.

Model     A step handles one input to completion. The radio takes each frame at once, and reports it as sent (`on_sent`)
          before the step ends, in the order of sending. Frames that are sent in response belong to the same step. A
          crash erases everything except the stable store. A recovery builds the protocol again, reports its cell, and
          then reports the recovery. A host that is down ignores every input except `cell` and `recover`.
Shapes    Input: (kind, arguments...)
              ('receive', sender, message)  a radio frame        ('cell', station or None)  the new cell of a host
              ('wired', source, message)    from a station       ('crash',)  ('recover',)
              ('timer', number)             a timer fires        ('join',)  ('leave',)  ('broadcast', body)
              ('on_associated', host)  ('on_disassociated', host)  at a station that has such a hook
              ('channel', handler)          an upcall of a channel of the node: see connections.py
Errors    ValueError for a timer that is not armed; exceptions of the protocol pass through
Source    ours; the upcalls are those of mobilenet/protocols/port.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mobilenet.protocols.declaration import Declaration
from mobilenet.protocols.port import ASSOCIATION

from .connections import Connections, ControlledChannels
from .port import Clock, ControlledHostPort, ControlledPort, ControlledWire, Effects, Timer

Input = tuple[Any, ...]
Uniform = Callable[[float, float], float]


def midpoint(low: float, high: float) -> float:
    """Return the midpoint of the range, in place of a random draw."""
    return (low + high) / 2


class Node:
    """A node that handles one input at a time. `name` is its name in a record, such as h0 or s1. `cell` is the cell of
    a host, even while the host is down. `protocol` is None while the host is down.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[Node, ControlledPort], Any],
        clock: Clock,
        uniform: Uniform = midpoint,
        cell: int | None = None,
        stable: Any = None,
        channels: ControlledChannels | None = None,
    ) -> None:
        self.name = name
        self.me = int(name[1:])
        self.is_host = name[0] == "h"
        self.clock = clock
        self.cell = cell
        self.stable = stable
        self.channels = channels
        self._uniform = uniform
        self._make = make
        self.port = self._new_port()
        self.protocol: Any = make(self, self.port)
        if self.is_host and cell is not None:
            self.protocol.on_cell(cell)

    def _new_port(self) -> ControlledPort:
        kind = ControlledHostPort if self.is_host else ControlledPort
        self.effects = Effects()
        port = kind(self.me, self.clock, self._uniform, self.effects)
        port.channels = self.channels
        return port

    @property
    def running_timers(self) -> list[Timer]:
        """The running timers, in the order in which the protocol requested them."""
        return [timer for timer in self.port.timers if timer.running]

    def step(self, node_input: Input) -> Effects:
        """Handle one input, and return the effects."""
        self.port.effects = self.effects = effects = Effects()
        kind = node_input[0]
        if kind == "cell":
            self.cell = node_input[1]
        if kind == "recover":
            if self.protocol is None:
                self._recover(effects)
        elif kind == "crash":
            self.protocol = None
            self.port = self._new_port()
        elif self.protocol is not None:
            effects.answer = self._handle(kind, node_input)
        self._report_sent(effects)
        return effects

    def _handle(self, kind: str, node_input: Input) -> Any:
        protocol = self.protocol
        if kind == "receive":
            return protocol.on_receive(node_input[1], node_input[2])
        if kind == "wired":
            return protocol.on_wired(node_input[1], node_input[2])
        if kind == "timer":
            timer = self.port.timers[node_input[1]]
            if not timer.running:
                raise ValueError(f"{self.name}: timer {node_input[1]} is not running")
            return timer.fire()
        if kind == "cell":
            return protocol.on_cell(node_input[1])
        if kind == "broadcast":
            return protocol.co_broadcast(node_input[1])
        if kind == "channel":
            return node_input[1]()
        if kind == "join":
            return protocol.join()
        if kind == "leave":
            return protocol.leave()
        if kind in ASSOCIATION:
            return getattr(protocol, kind)(node_input[1])
        raise ValueError(f"{self.name}: no such input: {node_input!r}")

    def _recover(self, effects: Effects) -> None:
        self.port = self._new_port()
        self.port.effects = self.effects = effects
        self.protocol = self._make(self, self.port)
        if self.cell is not None:
            self.protocol.on_cell(self.cell)
        self.protocol.on_recover()

    def _report_sent(self, effects: Effects) -> None:
        reported = 0
        while reported < len(effects.radio):
            message = effects.radio[reported].message
            reported += 1
            if self.protocol is not None:
                self.protocol.on_sent(message)


def host_node(
    number: int,
    cell: int | None,
    roles: type[Declaration],
    parameters: Any,
    stations: int,
    clock: Clock,
    uniform: Uniform = midpoint,
    connections: Connections | None = None,
) -> Node:
    """Return a host that is not yet a member."""

    def make(node: Node, port: ControlledPort) -> Any:
        return roles.host(port, node.stable, parameters, stations)

    channels = None if connections is None else connections.of(f"h{number}")
    return Node(f"h{number}", make, clock, uniform, cell, roles.stable(), channels)


def station_node(
    number: int,
    roles: type[Declaration],
    parameters: Any,
    stations: int,
    clock: Clock,
    uniform: Uniform = midpoint,
    connections: Connections | None = None,
    neighbours: Sequence[int] = (),
) -> Node:
    """Return a station. If `connections` is given, the wire of the station consists of channels to its neighbours."""

    def make(node: Node, port: ControlledPort) -> Any:
        wired = ControlledWire(port) if connections is None else connections.of(node.name, neighbours)
        return roles.station(port, wired, parameters, stations)

    channels = None if connections is None else connections.of(f"s{number}")
    return Node(f"s{number}", make, clock, uniform, channels=channels)
