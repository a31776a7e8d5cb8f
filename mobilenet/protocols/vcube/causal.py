"""Causal broadcast with message aggregation over the spanning trees of VCube.

Source      Rodrigues, Duarte, Arantes: "Causal Aggregation Broadcast" on VCube, Algorithms 1 and 2. causal_printed.py
            is the readable version. Tests compare this faster version with it, step by step
Names       vector_clock -> _delivered (a set), vector_max -> _received (a set), pending -> _waiting, Children(i, h) ->
            _children[h], m.vc -> m.depends (a set); CheckAgg -> _hand_on, CheckDelivery -> _deliver_when_ready
Sets        a vector clock records which messages were delivered, and delivery is FIFO. A clock is therefore represented
            as a set of messages, and its entries are the last messages of each source. Sets are integers in which
            message (s, ts) is the bit ts * n + s, so that the vector test over all sources is one operation. The last
            messages are computed only for an own broadcast
Assumes     reliable links, in any order; no process fails or receives a message twice (trees)
Deviations  Alg. 1 l.3   "1 < s <= h" reaches only half of the processes (n = 2). Here it is 1 <= s <= h
            Alg. 2 l.14  in print, the loop over the packet decides after each message what to forward (`release:
                         message`). The default decides once for each packet, which puts more messages into one packet.
                         In both cases, only messages that the packet or the message has released are forwarded
            l.30         "for all k != s" in CheckDelivery: the sign is missing in print, and for k = s no message would
                         ever be delivered
Reads       l.16-17      _received is the contiguous prefix of each source; the highest number received would release
                         messages too early
            l.15, 26     the first condition keeps a message from going to a child twice. Here a message that must wait
                         for a child is stored in _held under one missing message. It is checked again when that message
                         arrives, and is sent once
Aggregation  m waits at i for child k while i lacks a message on which m depends and which k will also receive through
             i. Until then, k could not deliver m anyway, so that aggregation never delays a delivery (the instants are
             the same if links have fixed delays)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, Literal

from .causal_messages import Message, Packet, ToRoot
from .port import MessageId, ProcessPort, size_of
from .topology import children, dimension, first_fault_free, neighbours


class Branch:
    """A child in the trees of some sources, with the messages that wait to be forwarded to it."""

    __slots__ = ("child", "free", "sources")

    def __init__(self, child: int, sources: int) -> None:
        self.child = child
        self.sources = sources  # bits of the sources whose messages the child receives through this process
        # The messages for the packet that is being built: (order of reception, message).
        self.free: list[tuple[int, Message]] = []


@lru_cache(maxsize=8)
def routes(n: int) -> list[dict[int, int]]:
    """Return for each process: child -> the sources, as bits, whose messages the process forwards to this child."""
    tables: list[dict[int, int]] = [{} for _ in range(n)]
    # for each process, the sources whose messages it forwards to its clusters 1..s
    handed_on = [1 << i for i in range(n)]
    for s in range(dimension(n), 0, -1):
        edges = [(i, child) for i in range(n) if (child := first_fault_free(i, s, range(n))) is not None]
        for i, child in edges:
            tables[i][child] = handed_on[i]
        for i, child in edges:  # the child forwards the message to its own clusters 1..s-1
            handed_on[child] |= tables[i][child]
    return tables


class CausalBroadcast:
    BUFFERS: ClassVar[tuple[str, ...]] = ("pending",)

    def __init__(
        self, port: ProcessPort, n: int, aggregate: bool = True, release: Literal["packet", "message"] = "packet",
        trees: Literal["per_source", "single"] = "per_source", mtu_bytes: int = 1500, header_bytes: int = 20,
        message_bytes: int = 50, entry_bytes: int = 4,
    ) -> None:  # fmt: skip
        self._send_to = port.send
        self._deliver_to = port.deliver
        self._i = port.me
        self._n = n
        self._aggregate = aggregate
        self._per_message = release == "message"
        self._single = trees == "single"
        self._room_bytes = mtu_bytes - header_bytes
        self._header_bytes = header_bytes
        self._message_bytes = message_bytes
        self._entry_bytes = entry_bytes
        self._count = 0  # number of broadcasts of this process
        self._delivered = 0  # the set of delivered messages
        # The clock at this process's last broadcast, as a set: the last message delivered from each source, and that
        # broadcast.
        self._last_clock = 0
        self._received = 0  # as a set: the contiguous prefix of each source (only with aggregation)
        # bit -> message that was received while an earlier one of its source is missing
        self._beyond: dict[int, Message] = {}
        self._waiting: dict[int, list[Message]] = {}  # missing message -> messages that wait for its delivery
        self._pending = 0
        # missing message -> messages that wait for its reception
        self._held: dict[int, list[tuple[Branch, int, Message]]] = {}
        self._order = 0
        self._covered = n  # the number of bits in the masks of the branches
        self._branches = self._make_branches()
        everywhere = [[k for k in self._neighbours(h) if k in self._branches] for h in range(dimension(n) + 1)]
        # h -> Children(i, h); the last entry is for messages of this process
        self._children = [tuple(peers) for peers in everywhere]
        # the same children, as branches
        self._below = [tuple(self._branches[k] for k in peers) for peers in everywhere]

    def _make_branches(self) -> dict[int, Branch]:
        if self._single:
            tree = children(self._i, self._parent_in_single_tree(), dimension(self._n), range(self._n))
            return {child: Branch(child, (1 << self._n) - 1) for child in tree}
        return {child: Branch(child, sources) for child, sources in routes(self._n)[self._i].items()}

    def _neighbours(self, h: int) -> list[int]:
        """Return the neighbours to which this process forwards a message from cluster h + 1."""
        return neighbours(self._i, h, range(self._n))

    def _parent_in_single_tree(self) -> int | None:
        if self._i == 0:
            return None
        return next(j for j in range(self._n) if routes(self._n)[j].get(self._i, 0) & 1)

    def buffer_sizes(self) -> tuple[int, ...]:
        return (self._pending,)

    # --- broadcast

    def broadcast(self, body: Any) -> MessageId:
        """Broadcast a message: CO_Broadcast(m) (Algorithm 2 l.5-12)."""
        source, ts = self._i, self._count
        self._count += 1
        # the last message of each source, because delivery is FIFO
        last = self._delivered & ~(self._delivered >> self._n)
        # The compressed clock contains the entries that changed, and the entry of this process.
        entries = (last & ~self._last_clock).bit_count() + 1
        size = self._message_bytes + size_of(body) + self._entry_bytes * entries
        m = Message(source, ts, self._n, last, body, size)  # l.8, 9
        self._last_clock = last | m.mask
        self._note_received(m)  # l.7
        self._deliver(m)  # l.10
        if self._single and source != 0:
            self._send_to(0, ToRoot(m, self._header_bytes + size))
        elif self._single:
            self.on_receive(self._i, self._packet((m,)))
        else:
            packet = self._packet((m,))
            for child in self._children[-1]:  # l.11-12
                self._send_to(child, packet)
        return m.id

    def _packet(self, messages: tuple[Message, ...]) -> Packet:
        return Packet(messages, self._header_bytes + sum([m.size_bytes for m in messages]))

    # --- reception

    def on_receive(self, sender: int, packet: Any) -> None:
        """upon receive mSet from j: forward and deliver the messages that are ready    Algorithm 2 l.13-22"""
        if type(packet) is ToRoot:
            # the root sends the message to itself, and from there to all its children
            self.on_receive(self._i, self._packet((packet.message,)))
            return
        h = (self._i ^ sender).bit_length() - 1
        messages = packet.messages
        if not self._aggregate:
            for child in self._children[h]:
                self._send_to(child, packet)
        elif self._per_message and len(messages) > 1:
            for m in messages:
                self._hand_on(h, self._packet((m,)))
        else:
            self._hand_on(h, packet)
        for m in messages:
            if m.source != self._i:  # with a single tree, a process receives its own messages too
                self._deliver_when_ready(m)

    def on_crash(self, process: int) -> None:
        """Do nothing: this protocol assumes that no process fails."""

    def on_up(self, process: int) -> None:
        """Do nothing: this protocol assumes that no process fails."""

    def _hand_on(self, h: int, packet: Packet) -> None:
        """Forward the messages that this packet has released: CheckAgg (Algorithm 2 l.18-21, 23-28)."""
        messages = packet.messages
        touched = False
        for m in messages:
            if m.before or self._beyond or m.bit in self._held:
                touched |= self._note_received(m)
            else:  # the usual case: only l.16-17 remain to be done
                self._received |= m.mask
        if h == 0:  # this process is a leaf
            return
        if touched or len(messages) > 1:
            self._hand_on_several(self._below[h], packet, touched)
            return
        (m,) = messages  # the usual case: only this message can be released
        known = m.depends & self._received
        if known == m.depends:
            for child in self._children[h]:
                self._send_to(child, packet)
        else:
            missing = self._cover(m.depends ^ known)
            for branch in self._below[h]:
                lacking = missing & branch.sources  # l.25, 26
                if lacking:
                    self._hold(lacking, branch, self._order, m)
                else:
                    self._send_to(branch.child, packet)
        self._order += 1

    def _hold(self, lacking: int, branch: Branch, order: int, m: Message) -> None:
        """Hold a message until all missing messages have been received. It waits for one of them at a time."""
        self._held.setdefault((lacking & -lacking).bit_length() - 1, []).append((branch, order, m))

    def _hand_on_several(self, branches: tuple[Branch, ...], packet: Packet, touched: bool) -> None:
        """Forward released messages in order of reception. `touched` is true if held messages were checked again."""
        order = self._order
        for m in packet.messages:
            missing = self._cover(m.depends & self._received ^ m.depends)
            for branch in branches:
                if missing and (lacking := missing & branch.sources):  # l.25, 26
                    self._hold(lacking, branch, order, m)
                else:
                    branch.free.append((order, m))
            order += 1
        self._order = order
        for branch in branches:
            if branch.free:
                if touched:
                    branch.free.sort(key=_order_of)
                messages = tuple([m for _, m in branch.free])
                if messages == packet.messages:
                    self._send_to(branch.child, packet)
                else:
                    self._send(branch.child, messages)
                branch.free.clear()

    def _send(self, child: int, messages: tuple[Message, ...]) -> None:
        """Send messages to a child in packets of at most the MTU. A larger message gets its own packet."""
        batch: list[Message] = []
        size = 0
        for m in messages:
            if batch and size + m.size_bytes > self._room_bytes:
                self._send_to(child, self._packet(tuple(batch)))
                batch, size = [], 0
            batch.append(m)
            size += m.size_bytes
        self._send_to(child, self._packet(tuple(batch)))

    def _note_received(self, m: Message) -> bool:
        """Extend the received prefix of the message's source. Return whether a held message was checked again (Alg. 2
        l.16-17).
        """
        if m.before and not m.before & self._received:
            self._beyond[m.bit] = m
            return False
        touched = False
        while True:
            self._received |= m.mask
            if m.bit in self._held:
                touched = True
                self._look_again(self._held.pop(m.bit))
            if not self._beyond or m.bit + self._n not in self._beyond:
                break
            m = self._beyond.pop(m.bit + self._n)
        return touched

    def _look_again(self, held: list[tuple[Branch, int, Message]]) -> None:
        for branch, order, m in held:
            dependencies = m.depends & branch.sources
            lacking = dependencies & self._received ^ dependencies
            if lacking:
                self._hold(lacking, branch, order, m)
            else:
                branch.free.append((order, m))

    def _cover(self, missing: int) -> int:
        """Widen the masks of the branches, because a message may depend on much later messages. Return `missing`."""
        while missing.bit_length() > self._covered:
            for branch in self._branches.values():
                branch.sources |= branch.sources << self._covered
            self._covered *= 2
        return missing

    # --- delivery

    def _deliver_when_ready(self, m: Message) -> None:
        """Deliver a message, or let it wait for one missing message at a time: CheckDelivery() (Algorithm 2
        l.29-33).
        """
        if self._waits(m):
            self._pending += 1
            return
        self._deliver(m)
        if m.bit in self._waiting:
            ready = self._set_free(m)
            for m in ready:  # the list grows during the loop: l.30
                self._deliver(m)
                ready += self._set_free(m)

    def _waits(self, m: Message) -> bool:
        known = m.depends & self._delivered
        if known == m.depends:
            return False
        missing = m.depends ^ known
        self._waiting.setdefault((missing & -missing).bit_length() - 1, []).append(m)
        return True

    def _set_free(self, m: Message) -> list[Message]:
        """Remove and return the messages that were waiting only for this one."""
        free = [waiter for waiter in self._waiting.pop(m.bit, ()) if not self._waits(waiter)]
        self._pending -= len(free)  # l.33
        return free

    def _deliver(self, m: Message) -> None:
        """Deliver a message: CO_Deliver(m) (Algorithm 2 l.10, 31)."""
        self._delivered |= m.mask  # l.6, 32
        self._deliver_to(m.id, m.body)


def _order_of(entry: tuple[int, Message]) -> int:
    return entry[0]
