"""Roaming: a host that enters another cell asks its new station for the messages that it missed. The messages of each
sender are delivered in order. A lost frame is not sent again, except in a handoff.
"""

from collections import deque
from dataclasses import dataclass, field

from mobilenet.parameters import Parameters
from mobilenet.protocols.base import BaseHost, BaseMessage, BaseStable, BaseStation
from mobilenet.protocols.port import MessageId


class Settings(Parameters):
    keep: int = 30  # how many messages a station keeps for hosts that missed them


@dataclass(frozen=True)
class News(BaseMessage):
    id: MessageId
    payload_bytes: int


@dataclass(frozen=True)
class Hello(BaseMessage):  # from a host in a new cell: the next number it expects of each sender
    session: int
    expected: dict[int, int]

    @property
    def size_bytes(self) -> int:
        return self.header_bytes + 12 * len(self.expected)


@dataclass(frozen=True)
class Welcome(BaseMessage):  # the station's answer, with the messages that the host missed
    session: int
    missed: tuple[News, ...]
    payload_bytes: int


@dataclass
class Memory(BaseStable):
    expected: dict[int, int] = field(default_factory=dict)


class Host(BaseHost):
    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)
        self.recovers = self.stable.member  # on_cell is called first, then on_recover
        self.is_waiting = False  # waiting for a Welcome: the handoff is in progress

    def spread(self, message: MessageId, body: int) -> None:
        news = News(message, body)
        self.take(news)
        if self.cell is not None:
            self.port.send(self.cell, news)

    def leave(self) -> bool:
        self.is_waiting = False
        return super().leave()

    def on_cell(self, station: int | None) -> None:
        self.cell = station
        if not self.recovers:
            self.begin_handoff("cell")

    def on_recover(self) -> None:
        self.recovers = False
        self.begin_handoff("recovery")

    def begin_handoff(self, cause: str) -> None:
        if self.stable.member and self.cell is not None:
            self.is_waiting = True
            self.stable.session += 1
            self.port.session_opened(self.stable.session, self.cell, cause)
            self.ask(self.stable.session)

    def ask(self, session: int) -> None:
        if self.is_waiting and session == self.stable.session and self.cell is not None:
            self.port.send(self.cell, Hello(session, dict(self.stable.expected)))
            self.later(self.port.uniform(0.1, 0.2), lambda: self.ask(session))

    def on_receive(self, sender: int, message: News | Welcome) -> None:
        if sender != self.cell:
            return
        if isinstance(message, News) and not self.is_waiting:
            self.take(message)
        elif isinstance(message, Welcome) and self.is_waiting and message.session == self.stable.session:
            self.is_waiting = False
            self.port.session_confirmed(message.session, sender, {"recovered": len(message.missed)})
            for news in message.missed:
                self.take(news)

    def take(self, news: News) -> None:
        if self.stable.member and news.id.seq >= self.stable.expected.get(news.id.host, 0):
            self.stable.expected[news.id.host] = news.id.seq + 1
            self.port.deliver(news.id, news.payload_bytes)


class Station(BaseStation):
    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)
        self.kept: deque[News] = deque(maxlen=self.settings.keep)
        self.associated: set[int] = set()

    def on_associated(self, host: int) -> None:
        self.associated.add(host)

    def on_disassociated(self, host: int) -> None:
        self.associated.discard(host)

    def on_receive(self, host: int, message: News | Hello) -> None:
        if isinstance(message, Hello):
            missed = tuple(news for news in self.kept if news.id.seq >= message.expected.get(news.id.host, 0))
            self.port.send(host, Welcome(message.session, missed, sum(news.payload_bytes for news in missed)))
        else:
            self.wired.broadcast(message)
            self.on_wired(self.port.me, message)

    def on_wired(self, source: int, news: News) -> None:
        self.kept.append(news)
        if self.associated:  # otherwise no host would receive it
            self.port.broadcast(news)


class Roaming:
    host, station, stable, settings = Host, Station, Memory, Settings
    promises = "fifo"
