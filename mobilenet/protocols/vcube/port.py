"""The interface between a broadcast over VCube and the network. It is the same for all networks.

Units     integer nanoseconds, bytes
Names     processes are 0..n-1; outside the protocol, they have names such as p12
Body      the content of a broadcast. In the papers' experiments it is None or an int, the number of payload bytes that
          the declared message size already includes. Otherwise it is a Message of ../port.py, whose bytes are added
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

from ..port import Timer

Lists = tuple[tuple[str, int], ...]


class MessageId(NamedTuple):
    """The identifier of an application message: its source, and its number among that source's messages, from 0."""

    source: int
    ts: int


def size_of(body: Any) -> int:
    return 0 if body is None or isinstance(body, int) else int(body.size_bytes)


def payload_of(body: Any) -> int:
    """Return how many bytes of a body are application payload."""
    return (body or 0) if body is None or isinstance(body, int) else int(body.payload_bytes)


def lists_of(body: Any) -> Lists:
    sizes: Lists = () if body is None or isinstance(body, int) else body.list_sizes()
    return sizes


def is_control(body: Any) -> bool:
    """Return whether a message has no application payload. Other messages depend on it, so it must not be delayed."""
    return size_of(body) > 0 and payload_of(body) == 0


class Overhead:
    """A message of the protocol itself, without payload or lists."""

    __slots__ = ()
    has_no_body: ClassVar[bool] = True  # for the record: the message refers to other messages but does not carry one

    @property
    def payload_bytes(self) -> int:
        return 0

    def list_sizes(self) -> Lists:
        return ()


class Carrier:
    """A message that carries a body to be delivered."""

    __slots__ = ()
    body: Any

    @property
    def payload_bytes(self) -> int:
        return payload_of(self.body)

    def list_sizes(self) -> Lists:
        return lists_of(self.body)


class ProcessPort(Protocol):
    """The links, the clock and the application of one process."""

    me: int

    @property
    def now(self) -> int: ...

    def timer(self, action: Callable[[], None]) -> Timer:
        """Return a timer that ends with the process."""

    def send(self, to: int, message: Any) -> None:
        """Send a message to one other process, reliably unless one of the two crashes. It is never delivered within the
        call.
        """

    def deliver(self, message: MessageId, body: Any) -> None:
        """Deliver a message to the application."""

    def complete(self, message: MessageId) -> None:
        """Report that this source's broadcast has reached all correct processes. Protocols that cannot know this never
        call it.
        """


class DrawingProcessPort(ProcessPort, Protocol):
    """The port of plug-ins and programs. Built-in protocols do not draw random numbers."""

    def between(self, low: int, high: int) -> int:
        """Return a whole number from this process's own stream, low <= number <= high."""


class BroadcastProtocol(Protocol):
    """The calls that the network makes on a process."""

    BUFFERS: ClassVar[tuple[str, ...]]

    def buffer_sizes(self) -> tuple[int, ...]: ...
    def broadcast(self, body: Any) -> MessageId:
        """Broadcast a message of the application. The network records the broadcast with its first delivery."""

    def on_receive(self, sender: int, message: Any) -> None: ...
    def on_crash(self, process: int) -> None:
        """Handle the suspicion of a process by the detector."""

    def on_up(self, process: int) -> None:
        """Handle the end of a suspicion: the detector trusts the process again."""
