"""A plug-in with slotted ALOHA: in each slot, every host sends a frame to its station with a fixed probability. Frames
are never repeated.
"""

import math
from dataclasses import dataclass

from mobilenet.parameters import Parameters
from mobilenet.protocols.base import BaseHost, BaseMessage, BaseStable, BaseStation
from mobilenet.protocols.port import MessageId


class Settings(Parameters):
    slot_ms: int = 2  # must be longer than the frame time plus the propagation delay
    probability: float = 0.05  # probability that a host sends in a slot


@dataclass(frozen=True)
class Packet(BaseMessage):
    payload_bytes: int


class Host(BaseHost):
    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)
        self.timer = self.port.timer(self.send)

    def on_cell(self, station: int | None) -> None:
        super().on_cell(station)
        if station is not None and not self.timer.running:
            self.wait()

    def wait(self) -> None:
        """Start the timer for the slot of the next frame, after a geometrically distributed number of empty slots."""
        slot_ns = self.settings.slot_ms * 1_000_000
        silent = math.log(1 - self.port.uniform(0, 1)) / math.log(1 - self.settings.probability)
        slot = self.port.now // slot_ns + 1 + int(silent)
        self.timer.start(slot * slot_ns - self.port.now)

    def send(self) -> None:
        if self.cell is not None:
            self.port.send(self.cell, Packet(100))
        self.wait()

    def spread(self, message: MessageId, body: int) -> None:
        self.port.deliver(message, body)

    def on_receive(self, sender: int, message: object) -> None: ...


class Station(BaseStation):
    def on_receive(self, host: int, message: object) -> None: ...

    def on_wired(self, source: int, message: object) -> None: ...


class Aloha:
    host, station, stable, settings = Host, Station, BaseStable, Settings
    promises = "best_effort"
