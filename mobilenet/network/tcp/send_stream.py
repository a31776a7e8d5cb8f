"""The sender's stream, which converts messages into bytes.

Model     Messages follow each other without gaps. A segment takes as many bytes as it may, from one or more messages.
          Retransmitted bytes may be divided differently. A message is in flight until its last byte is acknowledged.
Names     SND.UNA of the RFC is una, and SND.NXT is nxt. highest is one past the highest byte that was ever sent
          (snd_max in BSD).
Units     Sizes are in bytes, and positions are sequence numbers.
Source    RFC 9293, 3.3.1, 3.7.1; the limit on messages is ours, after the paper: docs/models/tcp.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.network.tcp.segment import HasSize
from mobilenet.protocols.port import MOST_BYTES

FIRST_BYTE = 1  # the SYN has number 0


Entry = tuple[int, int, int, HasSize]  # first byte, first byte of the payload, one past the last byte, message


class Piece(NamedTuple):
    """The part of the stream that one segment carries."""

    seq: int
    length: int
    payload_bytes: int
    messages: tuple[tuple[int, Any], ...]


class Outgoing:
    """All messages that are not acknowledged yet, whether or not they have been sent. Its length is the number of these
    messages.
    """

    __slots__ = ("_alone", "_at", "_first", "_last", "_limit", "_messages", "end", "highest", "nxt", "una")

    def __init__(self, parameters: TcpParameters) -> None:
        self._limit = parameters.messages_in_flight
        self._alone = not parameters.aggregation
        self._messages: dict[int, Entry] = {}  # messages by number
        self._first = 0  # number of the oldest unacknowledged message
        self._last = 0  # number of the next message
        self._at = 0  # number of the message that contains byte nxt
        self.una = FIRST_BYTE
        self.nxt = FIRST_BYTE
        self.highest = FIRST_BYTE
        self.end = FIRST_BYTE

    def __len__(self) -> int:
        return self._last - self._first

    def __iter__(self) -> Iterator[Any]:
        """Yield the messages from oldest to newest."""
        return (self._messages[number][3] for number in range(self._first, self._last))

    @property
    def taken(self) -> int:
        """The number of messages that have been acknowledged completely."""
        return self._first

    @property
    def flight(self) -> int:
        """The number of bytes that have been sent but not acknowledged: FlightSize. RFC 5681, 2"""
        return self.highest - self.una

    def append(self, message: HasSize) -> None:
        size = message.size_bytes
        payload = message.payload_bytes
        if type(size) is not int or type(payload) is not int or not (1 <= size <= MOST_BYTES and 0 <= payload <= size):
            raise ValueError(
                f"cannot send a message with size_bytes {size!r} and payload_bytes {payload!r}; expected whole numbers,"
                f" 1 <= size_bytes <= {MOST_BYTES} and 0 <= payload_bytes <= size_bytes"
            )
        start = self.end
        self.end = end = start + size
        self._messages[self._last] = (start, end - payload, end, message)
        self._last += 1

    def available(self, limit: int) -> int:
        """Return how many bytes a segment that starts at nxt could contain now."""
        stop = self.end
        if self._limit is not None:
            last = self._messages.get(self._first + self._limit - 1)
            if last is not None:
                stop = last[2]
        if self._alone:
            this = self._messages.get(self._at)
            if this is not None and this[2] < stop:
                stop = this[2]
        return min(limit, stop - self.nxt)

    def take(self, length: int) -> Piece:
        """Return the next `length` bytes, and move nxt past them."""
        piece, self._at = self._cut(self.nxt, length, self._at)
        self.nxt += length
        if self.nxt > self.highest:
            self.highest = self.nxt
        return piece

    def again(self, limit: int) -> Piece:
        """Return the first unacknowledged bytes for a retransmission. The result does not contain bytes that were never
        sent.
        """
        length = min(limit, self.flight)
        if self._alone:
            length = min(length, self._messages[self._first][2] - self.una)
        return self._cut(self.una, length, self._first)[0]

    def go_back(self) -> None:
        """Treat all unacknowledged bytes as if they had not been sent."""
        self.nxt = self.una
        self._at = self._first

    def acknowledge(self, ack: int) -> None:
        """Remove all bytes below `ack`, which have arrived."""
        self.una = ack
        messages = self._messages
        number = self._first
        while number < self._last and messages[number][2] <= ack:
            del messages[number]
            number += 1
        self._first = number
        if self.nxt < ack:
            self.nxt = ack
        if self._at < number:
            self._at = number

    def _cut(self, seq: int, length: int, number: int) -> tuple[Piece, int]:
        """Return bytes seq to seq + length - 1, and the number of the message with which the next piece begins.
        `number` is the number of the message that contains byte seq.
        """
        stop = seq + length
        payload = 0
        ending = []
        while number < self._last:
            start, body, end, message = self._messages[number]
            if start >= stop:
                break
            share = min(end, stop) - max(body, seq)
            if share > 0:
                payload += share
            if end > stop:
                break
            ending.append((end, message))
            number += 1
        return Piece(seq, length, payload, tuple(ending)), number
