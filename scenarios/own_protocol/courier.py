"""Courier: TCP between each host and its station, and between stations. A broken connection loses its messages."""

from dataclasses import dataclass, field

from mobilenet.protocols.base import BaseClient, BaseHost, BaseMessage, BaseStable, BaseStation
from mobilenet.protocols.port import Channel, MessageId


@dataclass(frozen=True)
class Parcel(BaseMessage):
    id: MessageId
    payload_bytes: int


@dataclass
class Memory(BaseStable):
    seen: set[MessageId] = field(default_factory=set)


class Host(BaseHost, BaseClient):
    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)
        self.port.channels.listen(self)
        self.line: Channel | None = None

    def on_cell(self, station: int | None) -> None:
        if self.line is not None:
            self.line.reset()
        self.cell = station
        self.line = None if station is None else self.port.channels.connect(station)

    def on_closed(self, channel: Channel, reason: str) -> None:
        if channel is self.line:
            self.line = None
            self.later(1.0, self.reconnect)

    def reconnect(self) -> None:
        if self.line is None and self.cell is not None:
            self.line = self.port.channels.connect(self.cell)

    def spread(self, message: MessageId, body: int) -> None:
        parcel = Parcel(message, body)
        self.on_message(self.line, parcel)
        if self.line is not None:
            self.line.say(parcel)

    def on_message(self, channel: Channel | None, parcel: Parcel) -> None:
        if self.stable.member and parcel.id not in self.stable.seen:
            self.stable.seen.add(parcel.id)
            self.port.deliver(parcel.id, parcel.payload_bytes)


class Station(BaseStation, BaseClient):
    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)
        self.seen: set[MessageId] = set()
        self.lines: list[Channel] = []  # to hosts and to stations, in the order of opening
        self.port.channels.listen(self)
        self.wired.listen(self)
        for neighbour in self.wired.neighbours:
            if neighbour > self.wired.me:
                self.wired.connect(neighbour)

    def on_open(self, channel: Channel) -> None:
        self.lines.append(channel)

    def on_closed(self, channel: Channel, reason: str) -> None:
        self.lines = [line for line in self.lines if line is not channel]

    def on_message(self, channel: Channel, parcel: Parcel) -> None:
        if parcel.id not in self.seen:
            self.seen.add(parcel.id)
            for line in self.lines:
                if line is not channel:
                    line.say(parcel)


class Courier:
    host, station, stable = Host, Station, Memory
    promises, needs = "best_effort", ("connections",)
