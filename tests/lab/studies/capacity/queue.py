"""A plug-in with an M/M/1 queue: the messages of a host wait for one server with exponential service times, and do not
use the radio.
"""

import math
from collections import deque

from mobilenet.parameters import Parameters
from mobilenet.protocols.base import BaseHost, BaseStable, BaseStation
from mobilenet.protocols.port import MessageId


class Settings(Parameters):
    service_s: float = 0.1  # mean service time


class Host(BaseHost):
    BUFFERS = ("waiting",)

    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)
        self.waiting: deque[tuple[MessageId, int]] = deque()

    def buffer_sizes(self) -> tuple[int, ...]:
        return (len(self.waiting),)

    def spread(self, message: MessageId, body: int) -> None:
        self.waiting.append((message, body))
        if len(self.waiting) == 1:
            self.serve()

    def serve(self) -> None:
        self.later(-self.settings.service_s * math.log(1 - self.port.uniform(0, 1)), self.finish)

    def finish(self) -> None:
        self.port.deliver(*self.waiting.popleft())
        if self.waiting:
            self.serve()

    def on_receive(self, sender: int, message: object) -> None: ...


class Station(BaseStation):
    def on_receive(self, host: int, message: object) -> None: ...

    def on_wired(self, source: int, message: object) -> None: ...


class Queue:
    host, station, stable, settings = Host, Station, BaseStable, Settings
    promises = "best_effort"
