"""Causal broadcast with message aggregation over the spanning trees of VCube.

Source      Rodrigues, Duarte, Arantes: "Causal Aggregation Broadcast" on VCube, Algorithms 1 and 2. Readable form:
            causal_printed.py; tests hold this fast one against it, step by step
Names       vector_clock -> _delivered (a set), vector_max -> _received (a set), pending -> _waiting, Children(i, h) ->
            _children[h], m.vc -> m.depends (a set); CheckAgg -> _hand_on, CheckDelivery -> _deliver_when_ready
Sets        a vector clock records which messages were delivered, and delivery is FIFO: so a clock is a set of messages,
            and its entries are the last ones of each source. Sets are integers, message (s, ts) the bit ts * n + s, so
            the vector test over all sources is one operation. The last ones are worked out when they are needed, for a
            own broadcast
Assumes     reliable links, in any order; no process fails or gets a message twice (trees)
Deviations  Alg. 1 l.3   "1 < s <= h" reaches half of the processes only (n = 2): 1 <= s <= h
            Alg. 2 l.14  the loop over the packet decides after each message what to hand on; by default it is decided
                         once per packet, which puts more into one packet. `release: message` is the loop of the paper.
                         In both, what is handed on is what the packet, or the message, has set free
            l.30         "for all k != s" in CheckDelivery: the sign is lost in print, and for k = s nothing would ever
                         be delivered
Reads       l.16-17      _received is the contiguous prefix of each source; the highest number received would free
                         messages too early
            l.15, 26     the first condition keeps a message from going to a child twice. Here what has to wait for a
                         child is in _held below one message that is missing, is looked at when that one comes, and
                         goes once
Aggregation  m waits at i for child k while i has not received a message that m depends on and that k will get through i
            as well: k could not deliver m before. So delivery is never later (same instants if links have fixed delays)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, Literal

from .causal_messages import Message, Packet, ToRoot
from .port import MessageId, ProcessPort, size_of
from .topology import children, dimension, first_fault_free, neighbours


class Branch:
    """A child in the trees of some sources, and what waits to be handed on to it."""

    __slots__ = ("child", "free", "sources")

    def __init__(self, child: int, sources: int) -> None:
        self.child = child
        self.sources = sources  # bits of the sources whose messages the child gets through us
        self.free: list[tuple[int, Message]] = []  # (order of reception, message): to be sent with this packet


@lru_cache(maxsize=8)
def routes(n: int) -> list[dict[int, int]]:
    """Return for each process: child -> the sources in whose trees it is one, as bits."""
    tables: list[dict[int, int]] = [{} for _ in range(n)]
    handed_on = [1 << i for i in range(n)]  # of each process, the sources whose messages go on to its clusters 1..s
    for s in range(dimension(n), 0, -1):
        edges = [(i, child) for i in range(n) if (child := first_fault_free(i, s, range(n))) is not None]
        for i, child in edges:
            tables[i][child] = handed_on[i]
        for i, child in edges:  # its receiver there hands it on to its clusters 1..s-1
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
        self._count = 0  # own broadcasts
        self._delivered = 0  # set of messages
        self._last_clock = 0  # set: of each source the last one delivered at the last own broadcast, this one included
        self._received = 0  # set: of each source the contiguous prefix; with aggregation only
        self._beyond: dict[int, Message] = {}  # bit -> received, with a hole before it
        self._waiting: dict[int, list[Message]] = {}  # missing message -> those that wait for it to be delivered
        self._pending = 0
        self._held: dict[int, list[tuple[Branch, int, Message]]] = {}  # missing message -> what waits to receive it
        self._order = 0
        self._covered = n  # how many bits the masks of the branches cover
        self._branches = self._make_branches()
        everywhere = [[k for k in self._neighbours(h) if k in self._branches] for h in range(dimension(n) + 1)]
        self._children = [tuple(peers) for peers in everywhere]  # h -> Children(i, h); the last: of an own message
        self._below = [tuple(self._branches[k] for k in peers) for peers in everywhere]  # the same as branches

    def _make_branches(self) -> dict[int, Branch]:
        if self._single:
            tree = children(self._i, self._parent_in_single_tree(), dimension(self._n), range(self._n))
            return {child: Branch(child, (1 << self._n) - 1) for child in tree}
        return {child: Branch(child, sources) for child, sources in routes(self._n)[self._i].items()}

    def _neighbours(self, h: int) -> list[int]:
        """Return the neighbours to which a message from cluster h + 1 goes."""
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
        last = self._delivered & ~(self._delivered >> self._n)  # of each source, as delivery is FIFO
        entries = (last & ~self._last_clock).bit_count() + 1  # of the compressed clock: what changed, and its own
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
        """upon receive mSet from j: hand on what may be, then deliver what can be.     Algorithm 2 l.13-22"""
        if type(packet) is ToRoot:
            self.on_receive(self._i, self._packet((packet.message,)))  # from itself: to all its children
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
            if m.source != self._i:  # own messages come back in a single tree
                self._deliver_when_ready(m)

    def on_crash(self, process: int) -> None:
        """Ignore it: this protocol assumes that no process fails."""

    def on_up(self, process: int) -> None:
        """Ignore it: this protocol assumes that no process fails."""

    def _hand_on(self, h: int, packet: Packet) -> None:
        """Hand on what these messages set free: CheckAgg (Algorithm 2 l.18-21, 23-28)."""
        messages = packet.messages
        touched = False
        for m in messages:
            if m.before or self._beyond or m.bit in self._held:
                touched |= self._note_received(m)
            else:  # most messages: l.16-17 without more ado
                self._received |= m.mask
        if h == 0:  # a leaf
            return
        if touched or len(messages) > 1:
            self._hand_on_several(self._below[h], packet, touched)
            return
        (m,) = messages  # most packets: nothing but this one can be free
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
        """Hold a message until what is missing has been received, one at a time."""
        self._held.setdefault((lacking & -lacking).bit_length() - 1, []).append((branch, order, m))

    def _hand_on_several(self, branches: tuple[Branch, ...], packet: Packet, touched: bool) -> None:
        """Hand on what is free in the order of reception; `touched`: with what it has set free."""
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
        """Send messages to a child, split at the MTU; a larger message gets its own packet."""
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
        """Advance the prefix of the message's source. Return whether a held message was checked again (Alg.
        2 l.16-17).
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
        """Return `missing`, after widening the masks of the branches: a message may depend on ones far ahead."""
        while missing.bit_length() > self._covered:
            for branch in self._branches.values():
                branch.sources |= branch.sources << self._covered
            self._covered *= 2
        return missing

    # --- delivery

    def _deliver_when_ready(self, m: Message) -> None:
        """Deliver a message once it lacks nothing, waiting for one at a time: CheckDelivery() (Algorithm 2 l.29-33)."""
        if self._waits(m):
            self._pending += 1
            return
        self._deliver(m)
        if m.bit in self._waiting:
            ready = self._set_free(m)
            for m in ready:  # grows as it goes: l.30
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
        """Release the messages that were waiting only for this one."""
        free = [waiter for waiter in self._waiting.pop(m.bit, ()) if not self._waits(waiter)]
        self._pending -= len(free)  # l.33
        return free

    def _deliver(self, m: Message) -> None:
        """Deliver a message: CO_Deliver(m) (Algorithm 2 l.10, 31)."""
        self._delivered |= m.mask  # l.6, 32
        self._deliver_to(m.id, m.body)


def _order_of(entry: tuple[int, Message]) -> int:
    return entry[0]
