"""Base classes for a custom broadcast protocol: they handle membership, sequence numbers and timers.

Model     a host becomes a member once it is in a cell and has been asked to join. Its session number counts its joins.
          A derived class implements `spread` and `on_receive`, and for stations also `on_wired`. A crash cancels the
          actions that were scheduled with `later`
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
    """The state of a host that survives a crash. Derive a class from it to add fields."""

    member: bool = False
    session: int = 0  # the number of joins so far
    seq: int = 0  # the sequence number of this host's next message


class BaseMessage:
    """A message with a header of a few bytes. Derive a frozen dataclass from it, and define `payload_bytes` there if
    the message carries payload.
    """

    header_bytes: ClassVar[int] = 8
    payload_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        return self.header_bytes + self.payload_bytes

    def list_sizes(self) -> tuple[tuple[str, int], ...]:
        return ()


class _Wait:
    """An action that was scheduled with `later`, and its timer."""

    def __init__(self, base: _Base) -> None:
        self.action: Callable[[], None] = _nothing
        self.timer = base._port.timer(lambda: base._expire(self))


def _nothing() -> None: ...


class _Base:
    BUFFERS: ClassVar[tuple[str, ...]] = ()  # the names of the buffers, in the order of buffer_sizes()
    # the buffers of a host that survive a crash, because they are kept in `stable`
    STABLE_BUFFERS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, port: Port) -> None:
        self._port = port
        self._waiting = 0
        # Finished waits, for reuse: a port keeps every timer that it has created.
        self._over: list[_Wait] = []

    def later(self, wait_s: float, action: Callable[[], None]) -> None:
        """Run an action after `wait_s` seconds. The simulation does not end before the action has run.

        Draw the interval of a repeated action at random (`port.uniform`). With equal intervals, two nodes that cannot
        hear each other would collide again in every period after their first collision.
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
        """Handle the end of this node's life: it has crashed, or has been removed permanently."""

    def on_sent(self, message: Any) -> None: ...
    def on_dropped(self, message: Any) -> None: ...
    def on_receive(self, sender: int, message: Any) -> None:
        """Handle a received frame. A host receives frames from any station in range, and a station from the host
        `sender`.
        """
        raise NotImplementedError


class BaseHost(_Base):
    """A mobile host. `settings` is the scenario's `protocol.settings`, validated by the protocol's Settings class."""

    def __init__(self, port: HostPort, stable: Any, settings: Any, stations: int) -> None:
        super().__init__(port)
        self.port = port
        self.stable = stable
        self.settings = settings
        self.cell: int | None = None  # the station that serves this host

    def spread(self, message: MessageId, body: int) -> None:
        """Broadcast a message of this host: deliver it locally and send it to the others."""
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
        """Resume after a crash. `stable` still has its earlier contents."""


class BaseStation(_Base):
    """The base class of stations. Derived classes implement `on_wired` and `on_receive`."""

    def __init__(self, port: StationPort, wired: WiredPort, settings: Any, stations: int) -> None:
        super().__init__(port)
        self.port = port
        self.wired = wired
        self.settings = settings

    def on_wired(self, source: int, message: Any) -> None:
        """Handle a message from another station."""
        raise NotImplementedError

    def serves(self, host: int) -> bool:
        return True


class BaseClient:
    """A listener for connections (`port.channels.listen`, `wired.listen`). Override the methods that you need."""

    def accepts(self, peer: int) -> bool:
        return True

    def on_open(self, channel: Any) -> None: ...
    def on_message(self, channel: Any, message: Any) -> None: ...
    def on_taken(self, channel: Any) -> None: ...
    def on_closed(self, channel: Any, reason: str) -> None: ...
