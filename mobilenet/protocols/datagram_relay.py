"""Datagrams between hosts: up to the station of the sender's cell, over the wires to the station of the other, and
down.

Model     datagrams travel in frames that the MAC acknowledges and repeats, as 802.11 does with every frame for a single
          node. A host that comes into a cell registers until the station has answered. The number of such a visit grows
          through crashes; of two stations that claim a host, the one with the higher number has it. A station notifies
          all others, and sends a datagram to where it believes the receiver to be. Beyond that nothing is repeated or
          kept: a datagram that the MAC gives up, or whose host has moved on, is lost, as with UDP. A datagram that
          reaches a station that knows of a later visit is forwarded from there. Numbers of visits grow on the way, so
          no loop arises
Units     integer nanoseconds, bytes
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from mobilenet.protocols.fields import Body, Bytes, Id, Number, message
from mobilenet.protocols.port import UnicastHostPort, UnicastStationPort, WiredPort

AGAIN_NS = (50_000_000, 150_000_000)  # between two tries of a host to be known


@message()
class Here(NamedTuple):
    """A host's notice to its station: I am in your cell."""

    visit: Number


@message(acknowledges=True)
class Known(NamedTuple):
    """The station's answer to the host: I have heard that."""

    visit: Number


@message()
class Moved(NamedTuple):
    """A station's notice to all others: this host is in my cell."""

    host: Id
    visit: Number


@message()
class Datagram(NamedTuple):
    """A datagram that a program sent. `number` counts those of its host."""

    source: Id
    number: Number
    to: Id
    payload: Body
    data: Annotated[bytes, Bytes(0)]  # its length counts as payload


@dataclass(slots=True)
class Memory:
    """What a host remembers through a crash."""

    member: bool = False
    session: int = 0  # joins so far
    visits: int = 0
    datagrams: int = 0


class RelayHost:
    """A host that relays datagrams. `hand_over` is called for each datagram that is for this host."""

    BUFFERS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, port: UnicastHostPort, memory: Memory, hand_over: Callable[[Datagram], None]) -> None:
        self.port = port
        self.memory = memory
        self._hand_over = hand_over
        self._cell: int | None = None
        self._again = port.timer(self._announce)

    def send(self, to: int, data: bytes) -> int:
        """Send a datagram, whether or not a station can take it. Return its number."""
        number = self.memory.datagrams
        self.memory.datagrams += 1
        if self._cell is not None:
            self.port.unicast(self._cell, Datagram(self.port.me, number, to, len(data), data))
        return number

    def on_receive(self, sender: int, message: Any) -> None:
        if isinstance(message, Datagram):
            if message.to == self.port.me:
                self._hand_over(message)
        elif message.visit == self.memory.visits:
            self._again.stop()

    def on_cell(self, station: int | None) -> None:
        self._cell = station
        self._again.stop()
        if station is not None:
            self.memory.visits += 1
            self._announce()

    def _announce(self) -> None:
        if self._cell is not None:
            self.port.send(self._cell, Here(self.memory.visits))
            self._again.start(self.port.between(*AGAIN_NS))

    def join(self) -> None:
        if self._cell is not None and not self.memory.member:
            self.memory.member = True
            self.memory.session += 1
            self.port.joined(self.memory.session, self._cell)

    def leave(self) -> bool:
        if self.memory.member:
            self.memory.member = False
            self.port.left(self.memory.session)
        return True

    def co_broadcast(self, body: Any) -> None:
        """Raise an error, because the program decides what is broadcast."""

    def on_recover(self) -> None: ...
    def is_out(self) -> bool:
        return not self.memory.member

    def settled(self) -> bool:
        return not self._again.running

    def buffer_sizes(self) -> tuple[int, ...]:
        return ()

    def on_sent(self, message: Any) -> None: ...
    def on_dropped(self, message: Any) -> None: ...


class RelayStation:
    """A station that knows the latest visit of each host it has heard of, and where that is."""

    BUFFERS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, port: UnicastStationPort, wired: WiredPort) -> None:
        self.port = port
        self._wired = wired
        self._where: dict[int, tuple[int, int]] = {}  # host -> its visit, the station of it

    def on_receive(self, sender: int, message: Any) -> None:
        if isinstance(message, Datagram):
            self._forward(message)
            return
        self.port.send(sender, Known(message.visit))
        if self._is_news(sender, message.visit, self.port.me):
            self._wired.broadcast(Moved(sender, message.visit))

    def on_wired(self, source: int, message: Any) -> None:
        if isinstance(message, Moved):
            self._is_news(message.host, message.visit, source)
        else:
            self._forward(message)

    def _is_news(self, host: int, visit: int, station: int) -> bool:
        if visit <= self._where.get(host, (0, 0))[0]:
            return False
        self._where[host] = visit, station
        return True

    def _forward(self, datagram: Datagram) -> None:
        station = self._where.get(datagram.to, (0, None))[1]
        if station == self.port.me:
            self.port.unicast(datagram.to, datagram)
        elif station is not None:
            self._wired.send(station, datagram)

    def serves(self, host: int) -> bool:
        return self._where.get(host, (0, None))[1] == self.port.me

    def settled(self) -> bool:
        return True

    def buffer_sizes(self) -> tuple[int, ...]:
        return ()

    def on_sent(self, message: Any) -> None: ...
    def on_dropped(self, message: Any) -> None: ...
