"""A relay of datagrams between hosts: up to the sender's station, over the wires, and down to the receiver.

Model     datagrams travel in unicast frames, which the MAC acknowledges and repeats as in 802.11. A host that enters a
          cell registers with the station, and repeats the registration until the station answers. Each visit to a cell
          has a number, and the numbers of a host keep growing across crashes. If two stations claim a host, the one
          with the higher visit number is right. A station notifies all others of a visit, and sends each datagram to
          the station where it believes the receiver to be. The relay does not store or retransmit datagrams: as with
          UDP, a datagram is lost if the MAC gives up on it or its receiver has moved on. A station that knows of a
          later visit forwards the datagram there. Visit numbers grow with each hop, so that a datagram cannot loop
Units     integer nanoseconds, bytes
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from mobilenet.protocols.fields import Body, Bytes, Id, Number, message
from mobilenet.protocols.port import UnicastHostPort, UnicastStationPort, WiredPort

AGAIN_NS = (50_000_000, 150_000_000)  # the range of the wait between two registration attempts of a host


@message()
class Here(NamedTuple):
    """A registration: the host tells its station that it is in the cell."""

    visit: Number


@message(acknowledges=True)
class Known(NamedTuple):
    """The station's answer to a registration."""

    visit: Number


@message()
class Moved(NamedTuple):
    """A station's notice to all other stations that a host is in its cell."""

    host: Id
    visit: Number


@message()
class Datagram(NamedTuple):
    """A datagram that a program sent. `number` counts the datagrams of its host."""

    source: Id
    number: Number
    to: Id
    payload: Body
    data: Annotated[bytes, Bytes(0)]  # the content; its length is counted by `payload`


@dataclass(slots=True)
class Memory:
    """The state of a host that survives a crash."""

    member: bool = False
    session: int = 0  # the number of joins so far
    visits: int = 0
    datagrams: int = 0


class RelayHost:
    """A host that relays datagrams. `hand_over` is called for each datagram that is addressed to this host."""

    BUFFERS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, port: UnicastHostPort, memory: Memory, hand_over: Callable[[Datagram], None]) -> None:
        self.port = port
        self.memory = memory
        self._hand_over = hand_over
        self._cell: int | None = None
        self._again = port.timer(self._announce)

    def send(self, to: int, data: bytes) -> int:
        """Send a datagram, even if the host is not in a cell at the moment. Return the datagram's number."""
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
        """Refuse by returning None: with this protocol, only programs send messages."""

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
    """A station that remembers the latest visit of every host it has heard of, and the station of that visit."""

    BUFFERS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, port: UnicastStationPort, wired: WiredPort) -> None:
        self.port = port
        self._wired = wired
        self._where: dict[int, tuple[int, int]] = {}  # host -> (number of its latest visit, station of that visit)

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
