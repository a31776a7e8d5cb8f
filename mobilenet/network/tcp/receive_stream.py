"""The receiver's stream, which counts each byte once and delivers each message once and in order.

Model     Data that arrives too early waits in two heaps, one for blocks of bytes and one for messages. The cost of a
          segment is logarithmic in the amount of waiting data, and constant if it arrives in order. The application
          takes each complete message at once, so the window never shrinks.
Names     RCV.NXT of the RFC is nxt.
Source    RFC 9293, 3.3.1, 3.4, 3.10.7.4
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

from mobilenet.network.tcp.send_stream import FIRST_BYTE


class Incoming:
    """The bytes and messages that have arrived. Its length is the number of messages that wait for earlier bytes."""

    __slots__ = ("_blocks", "_ends", "_messages", "_starts", "nxt")

    def __init__(self) -> None:
        self.nxt = FIRST_BYTE
        self._blocks: dict[int, int] = {}  # first byte -> end of each block that arrived too early
        self._starts: list[int] = []  # the keys of _blocks, as a heap
        self._messages: dict[int, Any] = {}  # end -> message, for messages that arrived too early
        self._ends: list[int] = []  # the keys of _messages, as a heap

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def gap(self) -> bool:
        """Whether bytes are waiting for earlier bytes."""
        return bool(self._starts)

    def take(self, seq: int, length: int, messages: Sequence[tuple[int, Any]]) -> list[Any]:
        """Add bytes seq to seq + length - 1 with the messages that end there. Return the messages that are now ready,
        in order.
        """
        nxt = self.nxt
        end = seq + length
        if end <= nxt:
            return []
        if seq > nxt:
            self._keep(seq, end, messages)
            return []
        if not self._starts:
            self.nxt = end
            return [message for last, message in messages if last > nxt]
        self._keep(seq, end, messages)
        return self._release()

    def _keep(self, seq: int, end: int, messages: Sequence[tuple[int, Any]]) -> None:
        known = self._blocks.get(seq)
        if known is None:
            heappush(self._starts, seq)
        if known is None or known < end:
            self._blocks[seq] = end
        for last, message in messages:
            if last > self.nxt and last not in self._messages:
                self._messages[last] = message
                heappush(self._ends, last)

    def _release(self) -> list[Any]:
        """Join adjacent blocks, and return the messages that are now complete."""
        while self._starts and self._starts[0] <= self.nxt:
            self.nxt = max(self.nxt, self._blocks.pop(heappop(self._starts)))
        ready = []
        while self._ends and self._ends[0] <= self.nxt:
            ready.append(self._messages.pop(heappop(self._ends)))
        return ready
