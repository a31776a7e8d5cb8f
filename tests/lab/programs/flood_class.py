"""A plug-in with the algorithm of scenarios/programs/flood.py. It sends the same messages with the same sizes, and
draws the same random numbers.
"""

from dataclasses import dataclass, field
from typing import Any

from mobilenet.protocols.base import BaseHost, BaseStation
from mobilenet.protocols.port import MessageId

TICK_NS = (200_000_000, 400_000_000)
AT_ONCE = 5


@dataclass(frozen=True)
class Message:
    kind: str
    rest: Any
    size_bytes: int
    payload_bytes: int = 0

    def list_sizes(self) -> tuple[tuple[str, int], ...]:
        return ()


@dataclass
class Memory:
    member: bool = False
    session: int = 0
    seq: int = 0
    next: dict[int, int] = field(default_factory=dict)
    taken: int = 0
    own: list[int] = field(default_factory=list)


class Host(BaseHost):
    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.tick = self.port.timer(self.on_tick)
        self.tick.start(self.port.between(*TICK_NS))

    def settled(self) -> bool:
        return not self.stable.member or self.stable.taken == len(self.stable.own)

    def spread(self, message: MessageId, body: int) -> None:
        self.stable.own.append(body)
        self.hand_over(*message)
        self.offer()

    def hand_over(self, sender: int, number: int) -> None:
        self.stable.next[sender] = number + 1
        self.port.deliver(MessageId(sender, number), None)

    def offer(self) -> None:
        number = self.stable.taken
        if self.cell is not None and number < len(self.stable.own):
            size = self.stable.own[number]
            self.port.send(self.cell, Message("new", (self.port.me, number, size), 16 + size, size))

    def on_tick(self) -> None:
        if self.stable.member and self.cell is not None:
            self.offer()
            have = dict(self.stable.next)
            self.port.send(self.cell, Message("have", have, 16 + 8 * len(have)))
        self.tick.start(self.port.between(*TICK_NS))

    def on_receive(self, sender: int, message: Message) -> None:
        if message.kind == "got" and message.rest[0] == self.port.me:
            self.stable.taken = max(self.stable.taken, message.rest[1])
        elif message.kind == "told" and self.stable.member:
            source, number, _ = message.rest
            if number == self.stable.next.get(source, 0):
                self.hand_over(source, number)


class Station(BaseStation):
    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.logs: dict[int, list[int]] = {}

    def acknowledge(self, sender: int, number: int) -> Message:
        size = self.logs[sender][number]
        return Message("told", (sender, number, size), 16 + size, size)

    def take(self, sender: int, number: int, size: int) -> bool:
        log = self.logs.setdefault(sender, [])
        if number != len(log):
            return False
        log.append(size)
        self.port.broadcast(self.acknowledge(sender, number))
        return True

    def on_receive(self, host: int, message: Message) -> None:
        if message.kind == "new":
            sender, number, size = message.rest
            if self.take(sender, number, size):
                self.wired.broadcast(self.acknowledge(sender, number))
            self.port.send(host, Message("got", (host, len(self.logs.get(host, []))), 16))
            return
        left = AT_ONCE
        for sender in sorted(self.logs):
            missing = range(message.rest.get(sender, 0), len(self.logs[sender]))[:left]
            left -= len(missing)
            for number in missing:
                self.port.send(host, self.acknowledge(sender, number))

    def on_wired(self, source: int, message: Message) -> None:
        self.take(*message.rest)


class Flood:
    host = Host
    station = Station
    stable = Memory
    promises = "fifo"
