"""A relay of IP packets between hosts and stations: the datagram relay (datagram_relay.py) with group addresses.

Model     a packet for one node travels like a datagram. A packet for a group goes up to the sender's station in a frame
          that the MAC acknowledges. The station broadcasts it in its cell without acknowledgement, and all other
          stations do the same if the group is `all`. With `forward`, a station keeps a packet that the MAC gave up on
          because its host had left. It forwards the packet when it learns where the host is now, within `FORWARD_NS`.
          If only the acknowledgement was lost, the host receives the packet twice and drops the copy. A handoff
          lasts from a host's change of cell to the answer of its new station. Wires and stations add no bytes:
          the identifiers of packets exist only for the record
Units     integer nanoseconds, bytes
Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from mobilenet.protocols.datagram_relay import Memory, RelayHost, RelayStation
from mobilenet.protocols.fields import Body, Bytes, message
from mobilenet.protocols.port import UnicastHostPort, UnicastStationPort, WiredPort

AROUND_BYTES = 28  # the IP and UDP headers that the framing adds to each message; an IP packet already contains its own
FORWARD_NS = 2_000_000_000  # how long a station keeps a packet for a host that has left
MOST_KEPT = 1000  # the maximum number of packets that a station keeps for one host
GROUPS = ("cell", "all")


@message()
class Packet(NamedTuple):
    """An IP packet. `number` counts the packets of its sender. `to` is a node such as h3, or one of GROUPS."""

    source: Annotated[str, Bytes(0)]
    number: Annotated[int, Bytes(0)]
    to: Annotated[str, Bytes(0)]
    payload: Body  # the size of the packet without the headers that the framing adds
    data: Annotated[bytes, Bytes(0)]


def packet(source: str, number: int, to: str, data: bytes) -> Packet:
    return Packet(source, number, to, max(0, len(data) - AROUND_BYTES), data)


@dataclass(slots=True)
class PacketMemory(Memory):
    """The state of a host that survives a crash. It includes, for each sender, a bit map of the received packets."""

    received: dict[str, bytearray] = field(default_factory=dict)

    def is_first(self, one: Packet) -> bool:
        """Mark a packet as received. Return whether this was its first copy."""
        bits = self.received.setdefault(one.source, bytearray())
        place, bit = one.number >> 3, 1 << (one.number & 7)
        if place >= len(bits):
            bits.extend(bytes(place + 1 - len(bits)))
        is_first = not bits[place] & bit
        bits[place] |= bit
        return is_first


class PacketHost(RelayHost):
    """A host that relays packets. `hand_over` is called for each packet that is addressed to this host. With `forward`,
    stations may send a packet twice.
    """

    memory: PacketMemory

    def __init__(
        self, port: UnicastHostPort, memory: PacketMemory, hand_over: Callable[[str, Packet], None], forward: bool
    ) -> None:
        super().__init__(port, memory, lambda datagram: None)
        self.name = f"h{port.me}"
        self._deliver = hand_over
        self._is_forwarding = forward

    def send(self, to: str, data: bytes) -> int:  # type: ignore[override]
        """Send a packet, even if the host is not in a cell at the moment. Return the packet's number."""
        number = self.memory.datagrams
        self.memory.datagrams += 1
        if self._cell is not None:
            self.port.unicast(self._cell, packet(self.name, number, to, data))
        return number

    def on_cell(self, station: int | None) -> None:
        super().on_cell(station)
        if station is not None:
            self.port.session_opened(self.memory.visits, station, "cell")

    def on_receive(self, sender: int, message: Any) -> None:
        if not isinstance(message, Packet):
            super().on_receive(sender, message)
            if message.visit == self.memory.visits:
                self.port.session_confirmed(message.visit, sender, {})
        elif message.to == self.name:
            if not self._is_forwarding or self.memory.is_first(message):
                self._deliver(self.name, message)
        elif message.to in GROUPS and sender == self._cell and message.source != self.name:
            self._deliver(self.name, message)


class PacketStation(RelayStation):
    """A station that relays packets. `hand_over` is called for each packet that is addressed to this station's
    program."""

    def __init__(
        self,
        port: UnicastStationPort,
        wired: WiredPort,
        hand_over: Callable[[str, Packet], None],
        forward: bool,
    ) -> None:
        super().__init__(port, wired)
        self.name = f"s{port.me}"
        self._deliver = hand_over
        self._is_forwarding = forward
        self._sent = 0
        # host -> (time, packet) for each packet that had not reached the host when it left
        self._queues: dict[int, list[tuple[int, Packet]]] = {}

    def send(self, to: str, data: bytes) -> int:
        """Send a packet of this station's program. Return its number."""
        number = self._sent
        self._sent += 1
        self._pass_on(packet(self.name, number, to, data))
        return number

    def on_receive(self, sender: int, message: Any) -> None:
        if isinstance(message, Packet):
            self._pass_on(message)
        else:
            super().on_receive(sender, message)

    def on_wired(self, source: int, message: Any) -> None:
        if isinstance(message, Packet) and message.to == "all":
            self._broadcast(message)
        elif isinstance(message, Packet):
            self._pass_on(message)
        else:
            super().on_wired(source, message)

    def on_dropped(self, message: Any) -> None:
        """Keep a packet that was dropped by the MAC or by a full queue, because the host may have left the cell."""
        if not self._is_forwarding or not isinstance(message, Packet) or message.to in GROUPS:
            return
        host = int(message.to[1:])
        if self.serves(host):
            packets = self._queues.setdefault(host, [])
            if len(packets) < MOST_KEPT:
                packets.append((self.port.now, message))
        else:
            self._pass_on(message)

    def _pass_on(self, packet: Packet) -> None:
        if packet.to in GROUPS:
            self._broadcast(packet)
            if packet.to == "all":
                self._wired.broadcast(packet)
        elif packet.to == self.name:
            self._deliver(self.name, packet)
        elif packet.to[0] == "s":
            self._wired.send(int(packet.to[1:]), packet)
        else:
            self._pass_to_host(int(packet.to[1:]), packet)

    def _pass_to_host(self, host: int, packet: Packet) -> None:
        station = self._where.get(host, (0, None))[1]
        if station == self.port.me:
            self.port.unicast(host, packet)
        elif station is not None:
            self._wired.send(station, packet)

    def _broadcast(self, packet: Packet) -> None:
        if packet.source != self.name:
            self._deliver(self.name, packet)
        self.port.broadcast(packet)

    def _is_news(self, host: int, visit: int, station: int) -> bool:
        is_news = super()._is_news(host, visit, station)
        if is_news:
            for since_ns, packet in self._queues.pop(host, ()):
                if self.port.now - since_ns <= FORWARD_NS:
                    self._pass_to_host(host, packet)
        return is_news

    def settled(self) -> bool:
        return not any(self.port.now - packets[-1][0] <= FORWARD_NS for packets in self._queues.values())
