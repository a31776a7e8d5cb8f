"""A plug-in with ten settings, of which three affect how late a host delivers its own messages."""

from __future__ import annotations

from mobilenet.parameters import Parameters
from mobilenet.protocols.base import BaseHost, BaseStation
from mobilenet.protocols.port import MessageId


class Settings(Parameters):
    x0: float = 0.5
    x1: float = 0.5
    x2: float = 0.5
    x3: float = 0.5
    x4: float = 0.5
    x5: float = 0.5
    x6: float = 0.5
    x7: float = 0.5
    x8: float = 0.5
    x9: float = 0.5
    seconds: tuple[float, ...] = (0.0,) * 10  # the delay in seconds that each setting adds when it rises from 0 to 1
    noise_s: float = 0.02


class Host(BaseHost):
    def spread(self, message: MessageId, body: int) -> None:
        s = self.settings
        late_s = sum(weight * getattr(s, f"x{number}") ** 2 for number, weight in enumerate(s.seconds))
        self.later(late_s + self.port.uniform(0, s.noise_s), lambda: self.port.deliver(message, body))

    def on_receive(self, sender: int, message: object) -> None:
        """Do nothing, because messages are never sent."""


class Station(BaseStation):
    def on_receive(self, host: int, message: object) -> None:
        """Do nothing, because messages are never sent."""

    def on_wired(self, source: int, message: object) -> None:
        """Do nothing, because messages are never sent."""


class PlantedEffect:
    host, station, settings = Host, Station, Settings
    promises = "best_effort"
