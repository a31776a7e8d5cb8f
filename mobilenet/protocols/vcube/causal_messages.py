"""The messages of the causal broadcast with aggregation, and the numbering of its sets of messages.

Sets        with n processes, message (s, ts) is the bit ts * n + s of an integer
Units       bytes
Source      Rodrigues, Duarte, Arantes: "Causal Aggregation Broadcast" on VCube, Algorithm 2
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .port import Carrier, Lists, MessageId, lists_of, payload_of


class Message:
    """An application message. All processes that have it share one object."""

    __slots__ = ("before", "bit", "body", "depends", "id", "mask", "size_bytes", "source")

    def __init__(self, source: int, ts: int, n: int, depends: int, body: Any, size_bytes: int) -> None:
        self.id = MessageId(source, ts)
        self.source = source
        self.bit = ts * n + source  # the number of its bit in sets
        self.mask = 1 << self.bit  # a set that contains only this message
        self.before = self.mask >> n  # the previous message of its source as a set, which is empty for the first one
        self.depends = depends  # the last message of each source that the sender had delivered before this one
        self.body = body
        self.size_bytes = size_bytes


class Packet:
    """A packet on a link. Children that receive the same packet share one object."""

    __slots__ = ("messages", "size_bytes")

    def __init__(self, messages: tuple[Message, ...], size_bytes: int) -> None:
        self.messages = messages
        self.size_bytes = size_bytes

    @property
    def payload_bytes(self) -> int:
        return sum(payload_of(m.body) for m in self.messages)

    def list_sizes(self) -> Lists:
        return tuple(entry for m in self.messages for entry in lists_of(m.body))


class _ToRoot(NamedTuple):
    message: Message
    size_bytes: int


class ToRoot(_ToRoot, Carrier):
    """A message on its way to the root of a single tree."""

    __slots__ = ()

    @property
    def messages(self) -> tuple[Message]:
        return (self.message,)

    @property
    def body(self) -> Any:
        return self.message.body
