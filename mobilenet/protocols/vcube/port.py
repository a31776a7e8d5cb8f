"""What a broadcast over VCube may do, and what is done to it. The same on every network beneath.

Units     integer nanoseconds, bytes
Names     processes are 0..n-1; p12 is a name given outside
Source    ours: DESIGN.md §16
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

from ..port import Timer


class MessageId(NamedTuple):
    """One application message: its source and its number there, from 0."""

    source: int
    ts: int


class ProcessPort(Protocol):
    """The links, the clock and the application of one process."""

    me: int

    @property
    def now(self) -> int: ...

    def timer(self, action: Callable[[], None]) -> Timer:
        """A timer that dies with the process."""

    def send(self, to: int, message: Any) -> None:
        """To one other process; reliable unless one of the two crashes. Never delivers within the call."""

    def deliver(self, message: MessageId, body: Any) -> None:
        """Up to the application."""

    def complete(self, message: MessageId) -> None:
        """The source knows that its broadcast has reached everybody correct; protocols that cannot know never call it."""


class BroadcastProtocol(Protocol):
    """What the network calls on a process."""

    BUFFERS: ClassVar[tuple[str, ...]]

    def buffer_sizes(self) -> tuple[int, ...]: ...
    def broadcast(self, body: Any) -> MessageId:
        """The application broadcasts. The network has recorded the broadcast when the first delivery is recorded."""

    def on_receive(self, sender: int, message: Any) -> None: ...
    def on_crash(self, process: int) -> None:
        """The detector suspects a process."""

    def on_up(self, process: int) -> None:
        """The detector takes a suspicion back."""
