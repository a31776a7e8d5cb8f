"""Base classes of a custom broadcast protocol: members, numbers and waits; the messages are left open.

Model     a host is a member from the moment it is in a cell and asked to join; sessions are only a count of
          joins. `spread` and `on_receive` are to be written, and for stations `on_wired`. What waits in `later` dies
          with a crash
Units     seconds for waits, bytes for bodies
Source    ours: docs/guide/plug-ins.md; an example is scenarios/own_protocol/gossip.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from mobilenet.engine.clock import SECOND

from .port import HostPort, MessageId, Port, StationPort, WiredPort


@dataclass(slots=True)
class BaseStable:
    """What a host remembers through a crash. Derive from it to remember more."""

    member: bool = False
    session: int = 0  # joins so far
    seq: int = 0  # number of the next own message


class BaseMessage:
    """A message with a header of a few bytes. Derive a frozen dataclass from it; it needs `payload_bytes` if it has
    payload.
    """

    header_bytes: ClassVar[int] = 8
    payload_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        return self.header_bytes + self.payload_bytes

    def list_sizes(self) -> tuple[tuple[str, int], ...]:
        return ()


class _Wait:
    """One use of `later`."""

    def __init__(self, base: _Base) -> None:
        self.action: Callable[[], None] = _nothing
        self.timer = base._port.timer(lambda: base._expire(self))


def _nothing() -> None: ...


class _Base:
    BUFFERS: ClassVar[tuple[str, ...]] = ()  # names, in the order of buffer_sizes()
    STABLE_BUFFERS: ClassVar[tuple[str, ...]] = ()  # those of a host that survive its crash: kept in `stable`

    def __init__(self, port: Port) -> None:
        self._port = port
        self._waiting = 0
        self._over: list[_Wait] = []  # waits that can be used again: a port keeps every timer it has given out

    def later(self, wait_s: float, action: Callable[[], None]) -> None:
        """Do something after a while. The run does not end before.

        Draw the wait of what repeats (`port.uniform`): at equal intervals two nodes that do not hear each other, once
        they collide, collide for ever.
        """
        wait = self._over.pop() if self._over else _Wait(self)
        wait.action = action
        wait.timer.start(int(wait_s * SECOND))
        self._waiting += 1

    def _expire(self, wait: _Wait) -> None:
        self._waiting -= 1
        self._over.append(wait)
        wait.action()

    def buffer_sizes(self) -> tuple[int, ...]:
        return ()

    def settled(self) -> bool:
        return not self._waiting

    def on_end(self) -> None:
        """End the life of the station: a crash, or it is gone for good."""

    def on_sent(self, message: Any) -> None: ...
    def on_dropped(self, message: Any) -> None: ...
    def on_receive(self, sender: int, message: Any) -> None:
        """Handle a frame: at a host from any station in range, at a station from the host `sender`."""
        raise NotImplementedError


class BaseHost(_Base):
    """A mobile host. `settings` is the scenario's protocol.settings, checked by the protocol's
    Settings.
    """

    def __init__(self, port: HostPort, stable: Any, settings: Any, stations: int) -> None:
        super().__init__(port)
        self.port = port
        self.stable = stable
        self.settings = settings
        self.cell: int | None = None  # the station that serves it

    def spread(self, message: MessageId, body: int) -> None:
        """Spread a message of this host's own: deliver it here, and send it to the others."""
        raise NotImplementedError

    def co_broadcast(self, body: int) -> MessageId | None:
        if not self.stable.member:
            return None
        message = MessageId(self.port.me, self.stable.seq)
        self.stable.seq += 1
        self.spread(message, body)
        return message

    def join(self) -> None:
        if self.cell is not None and not self.stable.member:
            self.stable.member = True
            self.stable.session += 1
            self.port.joined(self.stable.session, self.cell)

    def leave(self) -> bool:
        if self.stable.member:
            self.stable.member = False
            self.port.left(self.stable.session)
        return True

    def is_out(self) -> bool:
        return not self.stable.member

    def on_cell(self, station: int | None) -> None:
        self.cell = station

    def on_recover(self) -> None:
        """Come back after a crash, with `stable` as it was."""


class BaseStation(_Base):
    """A support station, without a protocol: classes derive from it."""

    def __init__(self, port: StationPort, wired: WiredPort, settings: Any, stations: int) -> None:
        super().__init__(port)
        self.port = port
        self.wired = wired
        self.settings = settings

    def on_wired(self, source: int, message: Any) -> None:
        """Handle something from another station."""
        raise NotImplementedError

    def serves(self, host: int) -> bool:
        return True


class BaseClient:
    """Gets the upcalls of connections (`port.channels.listen`, `wired.listen`). Override what you need."""

    def accepts(self, peer: int) -> bool:
        return True

    def on_open(self, channel: Any) -> None: ...
    def on_message(self, channel: Any, message: Any) -> None: ...
    def on_taken(self, channel: Any) -> None: ...
    def on_closed(self, channel: Any, reason: str) -> None: ...
