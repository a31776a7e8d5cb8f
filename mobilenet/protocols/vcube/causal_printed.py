"""Causal broadcast with message aggregation as printed: the reference with which tests compare the fast causal.py.

Source      Rodrigues, Duarte, Arantes: "Causal Aggregation Broadcast" on VCube, Algorithms 1 and 2; l.N is line N of
            Algorithm 2
Names       vector_clock, vector_max, pending, m.vc, agg as in the paper; m.s -> source
Assumes     reliable links, in any order; no process fails; a tree for each source. Any n
Deviations  Alg. 1 l.3  "1 < s <= h" reaches only half of the processes (n = 2). Here it is 1 <= s <= h
            l.30        "for all k != s": the sign is missing in print, and for k = s no message would ever be delivered
Reads       l.14        lines 15 to 21 run once for each message of the packet; l.22 once for the packet
            l.16-17     vector_max is the contiguous prefix of each source
Own         packets are split at the MTU. A clock has the size of the entries that changed since the last own broadcast
Speed       slow: as in print, vectors are lists and pending is searched
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

from .port import Lists, MessageId, ProcessPort, lists_of, payload_of, size_of
from .topology import cluster, dimension, first_fault_free, neighbours


class Message(NamedTuple):
    """m: its source m.s, its clock m.vc, and its content."""

    id: MessageId
    vc: tuple[int, ...]
    body: Any
    size_bytes: int

    @property
    def source(self) -> int:
        return self.id.source


class Packet(NamedTuple):
    """The set of messages that one packet carries (mSet)."""

    messages: tuple[Message, ...]
    size_bytes: int

    @property
    def payload_bytes(self) -> int:
        return sum(payload_of(m.body) for m in self.messages)

    def list_sizes(self) -> Lists:
        return tuple(entry for m in self.messages for entry in lists_of(m.body))


def children(i: int, r: int, h: int, n: int) -> list[int]:
    """Return the children of i in the tree of r, of height h (Algorithm 1)."""
    if i == r:  # Alg. 1 l.2
        return neighbours(i, h, range(n))  # Alg. 1 l.3
    s = cluster(r, i)
    first_child = first_fault_free(r, s, range(n))
    assert first_child is not None  # this cluster contains at least i
    return children(i, first_child, s - 1, n)  # Alg. 1 l.5


class PrintedCausalBroadcast:
    BUFFERS: ClassVar[tuple[str, ...]] = ("pending",)

    def __init__(
        self, port: ProcessPort, n: int, aggregate: Literal[True] = True, release: str = "message",
        trees: Literal["per_source"] = "per_source", mtu_bytes: int = 1500, header_bytes: int = 20,
        message_bytes: int = 50, entry_bytes: int = 4,
    ) -> None:  # fmt: skip
        self._port = port
        self._i = port.me
        self._n = n
        self._d = dimension(n)
        self._room_bytes = mtu_bytes - header_bytes
        self._header_bytes = header_bytes
        self._message_bytes = message_bytes
        self._entry_bytes = entry_bytes
        # vector_clock at this process's last broadcast, which is what the other processes know of it
        self._last_clock = [0] * n
        self._children_in_tree_of = [frozenset(children(self._i, l, self._d, n)) for l in range(n)]  # noqa: E741
        self.vector_clock = [0] * n  # l.2
        self.vector_max = [0] * n  # l.3
        self.pending: list[Message] = []  # l.4

    def buffer_sizes(self) -> tuple[int, ...]:
        return (len(self.pending),)

    def broadcast(self, body: Any) -> MessageId:
        """procedure CO_Broadcast(message m)                           l.5-12"""
        i = self._i
        self.vector_clock[i] += 1  # l.6
        self.vector_max[i] = self.vector_clock[i]  # l.7
        changed = sum(new != old for new, old in zip(self.vector_clock, self._last_clock, strict=True))
        self._last_clock = list(self.vector_clock)
        size = self._message_bytes + size_of(body) + self._entry_bytes * changed
        m = Message(MessageId(i, self.vector_clock[i] - 1), tuple(self.vector_clock), body, size)  # l.8, 9
        self._port.deliver(m.id, m.body)  # l.10
        for k in children(i, i, self._d, self._n):  # l.11
            self._send((m,), k)  # l.12
        return m.id

    def on_receive(self, sender: int, packet: Packet) -> None:
        """upon receive mSet from j                                    l.13-22"""
        for m in packet.messages:  # l.14
            self.pending.append(m)  # l.15
            self._note_received(m)  # l.16-17
            for k in neighbours(self._i, cluster(self._i, sender) - 1, range(self._n)):  # l.18
                agg = self._check_agg(k, m)  # l.19
                if agg:  # l.20
                    self._send(agg, k)  # l.21
        self._check_delivery()  # l.22

    def _note_received(self, m: Message) -> None:
        while any(other.vc[other.source] == self.vector_max[other.source] + 1 for other in self.pending):  # l.16
            self.vector_max[m.source] += 1  # l.17 (only the source of m can have advanced)

    def _check_agg(self, k: int, m: Message) -> tuple[Message, ...]:
        """function CheckAgg(k, m)                                     l.23-28"""
        agg = []  # l.24
        for other in self.pending:
            if k not in self._children_in_tree_of[other.source]:  # l.25
                continue
            precedes = other.vc[m.source] >= m.vc[m.source]  # l.26
            missing = any(
                other.vc[x] > self.vector_max[x] and k in self._children_in_tree_of[x]  # l.26
                for x in range(self._n)
            )
            if precedes and not missing:
                agg.append(other)  # l.27
        return tuple(agg)  # l.28

    def _check_delivery(self) -> None:
        """Deliver all messages that are ready: procedure CheckDelivery() (l.29-33)."""
        while (m := next((m for m in self.pending if self._is_deliverable(m)), None)) is not None:  # l.30
            self._port.deliver(m.id, m.body)  # l.31
            self.vector_clock[m.source] += 1  # l.32
            self.pending.remove(m)  # l.33

    def _is_deliverable(self, m: Message) -> bool:
        clock = self.vector_clock
        follows = m.vc[m.source] == clock[m.source] + 1  # l.30
        return follows and all(m.vc[k] <= clock[k] for k in range(self._n) if k != m.source)  # l.30

    def _send(self, messages: tuple[Message, ...], k: int) -> None:
        """Send messages to k in packets of at most the MTU. A larger message gets its own packet."""
        batch: list[Message] = []
        for m in messages:
            if batch and sum(other.size_bytes for other in batch) + m.size_bytes > self._room_bytes:
                self._port.send(k, self._packet(batch))
                batch = []
            batch.append(m)
        self._port.send(k, self._packet(batch))

    def _packet(self, messages: list[Message]) -> Packet:
        return Packet(tuple(messages), self._header_bytes + sum(m.size_bytes for m in messages))

    def on_crash(self, process: int) -> None:
        """Do nothing: this protocol assumes that no process fails."""

    def on_up(self, process: int) -> None:
        """Do nothing: this protocol assumes that no process fails."""
