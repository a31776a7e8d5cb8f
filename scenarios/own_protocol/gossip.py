"""Gossip: a node that hears a rumour for the first time repeats it a few times. There is no order, no
acknowledgement and no handoff.
"""

from dataclasses import dataclass, field

from mobilenet.parameters import Parameters
from mobilenet.protocols.base import BaseHost, BaseMessage, BaseStable, BaseStation
from mobilenet.protocols.port import MessageId


class Settings(Parameters):
    times: int = 2  # how often each node repeats a rumour
    within_s: float = 0.5  # maximum random wait before each repetition


@dataclass(frozen=True)
class Rumour(BaseMessage):  # its size is that of a header and the payload
    id: MessageId
    payload_bytes: int


@dataclass
class Memory(BaseStable):
    heard: set[MessageId] = field(default_factory=set)


class Host(BaseHost):
    def spread(self, message: MessageId, body: int) -> None:
        rumour = Rumour(message, body)
        self.on_receive(self.port.me, rumour)
        for _ in range(self.settings.times):
            self.later(self.port.uniform(0, self.settings.within_s), lambda: self.tell(rumour))

    def tell(self, rumour: Rumour) -> None:
        if self.cell is not None:
            self.port.send(self.cell, rumour)

    def on_receive(self, sender: int, rumour: Rumour) -> None:
        if self.stable.member and rumour.id not in self.stable.heard:
            self.stable.heard.add(rumour.id)
            self.port.deliver(rumour.id, rumour.payload_bytes)


class Station(BaseStation):
    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)
        self.heard: set[MessageId] = set()

    def on_receive(self, host: int, rumour: Rumour) -> None:
        if rumour.id not in self.heard:
            self.wired.broadcast(rumour)
            self.on_wired(host, rumour)

    def on_wired(self, source: int, rumour: Rumour) -> None:
        self.heard.add(rumour.id)
        for _ in range(self.settings.times):
            self.later(self.port.uniform(0, self.settings.within_s), lambda: self.port.broadcast(rumour))


class Gossip:
    host, station, stable, settings = Host, Station, Memory, Settings
    promises = "best_effort"
