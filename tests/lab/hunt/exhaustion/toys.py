"""Toy protocols, correct and broken, whose states can be counted by hand.

Model     A host sends each message to its station repeatedly until the message comes back, and only then sends the next
          one. A station repeats everything that it receives to its cell. The protocol is correct with one host, but
          does not preserve the order of messages with two hosts.
Source    ours
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mobilenet.lab.hunt.exhaustion.case import Case
from mobilenet.protocols.declaration import declare
from mobilenet.protocols.port import MessageId


@dataclass(frozen=True)
class Up:
    id: MessageId


@dataclass(frozen=True)
class Down:
    id: MessageId


@dataclass
class Store:
    member: bool = False
    seq: int = 0
    pending: MessageId | None = None
    delivered: list[MessageId] = field(default_factory=list)


class Host:
    def __init__(self, port: Any, stable: Store, settings: Any, stations: int) -> None:
        self.port, self.stable = port, stable
        self.cell: int | None = None
        self.timer = port.timer(self.send)

    def buffer_sizes(self) -> tuple[int, ...]:
        return (int(self.stable.pending is not None),)

    def settled(self) -> bool:
        return True

    def is_out(self) -> bool:
        return not self.stable.member

    def join(self) -> None:
        self.stable.member = True
        self.port.joined(1, self.cell)

    def co_broadcast(self, body: int) -> MessageId | None:
        if self.stable.pending is not None:
            return None
        self.stable.pending = MessageId(self.port.me, self.stable.seq)
        self.stable.seq += 1
        self.send()
        return self.stable.pending

    def send(self) -> None:
        if self.stable.pending is not None:
            self.port.send(self.cell, Up(self.stable.pending))
            self.timer.start(1)

    def on_cell(self, station: int | None) -> None:
        self.cell = station

    def on_recover(self) -> None:
        self.send()

    def on_receive(self, sender: int, message: Down) -> None:
        if message.id not in self.stable.delivered:
            self.deliver(message.id)

    def deliver(self, message: MessageId) -> None:
        self.stable.delivered.append(message)
        self.port.deliver(message, 1)
        if message == self.stable.pending:
            self.stable.pending = None
            self.timer.stop()

    def on_sent(self, message: Any) -> None: ...


class Station:
    def __init__(self, port: Any, wired: Any, settings: Any, stations: int) -> None:
        self.port = port

    def buffer_sizes(self) -> tuple[int, ...]:
        return ()

    def settled(self) -> bool:
        return True

    def serves(self, host: int) -> bool:
        return True

    def on_receive(self, sender: int, message: Up) -> None:
        self.port.broadcast(Down(message.id))

    def on_sent(self, message: Any) -> None: ...


class Repeats(Station):
    """A station that keeps sending everything it has received to its cell."""

    def __init__(self, port: Any, wired: Any, settings: Any, stations: int) -> None:
        super().__init__(port, wired, settings, stations)
        self.heard: list[MessageId] = []
        self.timer = port.timer(self.repeat)

    def on_receive(self, sender: int, message: Up) -> None:
        if message.id not in self.heard:
            self.heard.append(message.id)
            self.repeat()

    def repeat(self) -> None:
        for heard in self.heard:
            self.port.broadcast(Down(heard))
        self.timer.start(1)


class DeliversCopies(Host):
    def on_receive(self, sender: int, message: Down) -> None:
        self.deliver(message.id)


class ForgetsInACrash(Host):
    def __init__(self, port: Any, stable: Store, settings: Any, stations: int) -> None:
        stable.pending = None
        super().__init__(port, stable, settings, stations)


class SendsOnce(Host):
    def send(self) -> None:
        self.port.send(self.cell, Up(MessageId(self.port.me, self.stable.seq - 1)))

    def on_recover(self) -> None: ...


class Stumbles(Station):
    def on_receive(self, sender: int, message: Up) -> None:
        assert message.id.seq < 2
        super().on_receive(sender, message)


class Invents(Station):
    def on_receive(self, sender: int, message: Up) -> None:
        self.port.broadcast(Down(MessageId(sender, 7)))


def toy(host: type = Host, station: type = Station, messages: tuple[int, ...] = (1,), **others: Any) -> Case:
    return Case("toy", declare(host, station, Store), None, (0,) * len(messages), messages, **others)
