"""Algorithm 2 of the causal paper as printed, with the readings of it that are wrong.

Source      Rodrigues, Duarte, Arantes: "Causal Aggregation Broadcast" on VCube, Algorithm 2; l.N is its line N
Reading     right: lines 15-21 once per message of the packet, and k != s in line 30. Vectors are vectors here, and pending is searched:
            slow, and close to the text; for a tree per source. The right reading is safe (a test); each attribute of Printed makes it a wrong one
"""

from __future__ import annotations

from typing import Any, ClassVar

from mobilenet.protocols.vcube.causal import CausalBroadcast, Message, routes
from mobilenet.protocols.vcube.topology import cluster, dimension, neighbours


class Printed(CausalBroadcast):
    whole_packet_first: ClassVar[bool] = False  # l.15-17 for all messages, then CheckAgg for each
    last_message_only: ClassVar[bool] = False  # CheckAgg for the last message of the packet
    highest: ClassVar[bool] = False  # l.16-17: vector_max is the highest number received, not the prefix
    without_first_condition: ClassVar[bool] = False  # l.26: m'.vc[m.s] >= m.vc[m.s]
    without_children: ClassVar[bool] = False  # l.26: k in Children(l)
    sender_too: ClassVar[bool] = False  # l.30 without k != s

    def __init__(self, *options: Any, **named: Any) -> None:
        super().__init__(*options, **named)
        self._aggregate = True
        self._unspread: list[Message] = []  # pending
        self._prefix = [0] * self._n
        self._highest = [0] * self._n
        self._clocks: dict[Any, list[int]] = {}
        everybody = range(self._n)
        self._through = {k: set(everybody) if self._single else {s for s in everybody if routes(self._n)[self._i][k] >> s & 1} for k in self._branches}

    def clock(self, m: Message) -> list[int]:
        """m.vc"""
        if m.id not in self._clocks:
            vc = [0] * self._n
            bits = m.depends
            while bits:
                ts, source = divmod(bits.bit_length() - 1, self._n)
                vc[source] = max(vc[source], ts + 1)
                bits &= ~(1 << (ts * self._n + source))
            vc[m.source] = m.id.ts + 1
            self._clocks[m.id] = vc
        return self._clocks[m.id]

    def _note_received(self, m: Message) -> bool:
        touched = super()._note_received(m)
        while self._received >> (self._prefix[m.source] * self._n + m.source) & 1:
            self._prefix[m.source] += 1
        return touched

    def _insert(self, m: Message) -> None:
        self._unspread.append(m)  # l.15
        self._note_received(m)  # l.16-17
        self._highest[m.source] = max(self._highest[m.source], m.id.ts + 1)

    def on_receive(self, sender: int, packet: Any) -> None:
        if self._single:  # with own messages that come back from the root it hands on twice: the paper means it for a tree per source
            super().on_receive(sender, packet)
            return
        messages = packet.messages
        branches = self._below[cluster(self._i, sender) - 1]
        if self.whole_packet_first:
            for m in messages:
                self._insert(m)
        for place, m in enumerate(messages):  # l.14
            if not self.whole_packet_first:
                self._insert(m)
            if self.last_message_only and place + 1 < len(messages):
                continue
            for branch in branches:  # l.18
                aggregated = self._check_agg(branch.child, m)  # l.19
                if aggregated:
                    self._send(branch.child, aggregated)  # l.20-21
        for m in messages:
            if m.source != self._i:
                self._deliver_when_ready(m)  # l.22
        self._unspread = [m for m in self._unspread if not self._delivered >> m.bit & 1 and m.source != self._i]

    def _check_agg(self, k: int, m: Message) -> tuple[Message, ...]:
        """function CheckAgg(k, m)                                                     l.23-28"""
        vector_max = self._highest if self.highest else self._prefix
        due = self.clock(m)[m.source]
        found = []
        for other in self._unspread:
            if other.source not in self._through[k]:  # l.25
                continue
            vc = self.clock(other)
            if not self.without_first_condition and vc[m.source] < due:
                continue
            if any(vc[x] > vector_max[x] for x in range(self._n) if self.without_children or x in self._through[k]):
                continue
            found.append(other)
        return tuple(found)

    def _deliver_when_ready(self, m: Message) -> None:
        if not self.sender_too or not (m.depends | 1 << m.bit) & ~self._delivered:  # m.vc[k] <= vc[k] for all k
            super()._deliver_when_ready(m)


class WholePacketFirst(Printed):
    whole_packet_first = True


class LastMessageOnly(Printed):
    last_message_only = True


class HighestNumber(Printed):
    highest = True


class WithoutFirstCondition(Printed):
    without_first_condition = True


class WithoutChildren(Printed):
    without_children = True


class SenderToo(Printed):
    sender_too = True


class HalfTheClusters(CausalBroadcast):
    """Alg. 1: 1 < s <= h, as printed."""

    def _neighbours(self, h: int) -> list[int]:
        return [k for k in super()._neighbours(h) if (k ^ self._i) > 1]


class BitsForAnyNumber(CausalBroadcast):
    """The rules for powers of two with any n: a child that does not exist is nobody's, and so is what is below it."""

    def _neighbours(self, h: int) -> list[int]:
        return super()._neighbours(h) if self._single else neighbours(self._i, h, range(1 << dimension(self._n)))


class WithoutTheDeliveryTest(CausalBroadcast):
    """l.30: whatever has come is delivered."""

    def _deliver_when_ready(self, m: Message) -> None:
        self._deliver(m)


MUTANTS: dict[str, tuple[str, type]] = {
    "half_the_clusters": ("Alg. 1 l.3", HalfTheClusters),
    "bits_for_any_number": ("n no 2^d", BitsForAnyNumber),
    "whole_packet_first": ("l.14-21", WholePacketFirst),
    "last_message_only": ("l.14-21", LastMessageOnly),
    "highest_number": ("l.16-17", HighestNumber),
    "without_first_condition": ("l.26, first", WithoutFirstCondition),
    "without_children": ("l.26, second", WithoutChildren),
    "sender_too": ("l.30, k != s", SenderToo),
    "without_delivery_test": ("l.30", WithoutTheDeliveryTest),
}
