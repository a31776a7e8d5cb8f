"""The links between stations: a fixed tree of FIFO channels over which every message is flooded.

Model     of two neighbours, the one with the lower number opens the channel. Messages that are sent before the channel
          is open wait in it
Source    Wilhelm, Arantes, Sens (2020), section III: a static tree of FIFO links, TCP; docs/protocols/tcp-flooding.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..port import Channel, WiredChannels


class Backbone:
    """One station's side of the backbone. `hear(neighbour, message)` is called for each message of another station."""

    def __init__(self, wired: WiredChannels, hear: Callable[[int, Any], None]) -> None:
        self._hear = hear
        self._channels: dict[int, Channel | None] = dict.fromkeys(wired.neighbours)
        self._early: dict[int, list[Any]] = {neighbour: [] for neighbour in wired.neighbours}
        wired.listen(self)
        for neighbour in wired.neighbours:
            if wired.me < neighbour:
                self._channels[neighbour] = wired.connect(neighbour)

    def flood(self, message: Any, but: int | None = None) -> None:
        """Send a message to all neighbours, except the one from which it came."""
        for neighbour, channel in self._channels.items():
            if neighbour != but:
                if channel is None:
                    self._early[neighbour].append(message)
                else:
                    channel.say(message)  # PC forward

    def settled(self) -> bool:
        """Return whether every message that this station sent has arrived."""
        return not any(self._early.values()) and all(c is None or not c.backlog for c in self._channels.values())

    # --- from the channels

    def accepts(self, peer: int) -> bool:
        return self._channels[peer] is None

    def on_open(self, channel: Channel) -> None:
        if self._channels[channel.peer] is None:
            self._channels[channel.peer] = channel
            for message in self._early.pop(channel.peer):
                channel.say(message)
            self._early[channel.peer] = []

    def on_message(self, channel: Channel, message: Any) -> None:
        self._hear(channel.peer, message)

    def on_taken(self, channel: Channel) -> None:
        pass

    def on_closed(self, channel: Channel, reason: str) -> None:
        raise RuntimeError(
            f"the wired channel to station {channel.peer} broke ({reason}), although nothing is ever lost there"
        )
