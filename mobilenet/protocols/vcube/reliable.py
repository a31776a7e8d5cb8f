"""VCube-RB: reliable broadcast over the trees of VCube, with a failure detector that may be wrong.

Source      Jeanneau, Rodrigues, Arantes, Duarte: An autonomic hierarchical reliable broadcast protocol for asynchronous
            distributed systems with failure detection (JBCS 2017), Algorithm 1. Its figure is missing from the text
            that we have. The text names some lines; the numbers of the others are our count between these
Names       last_i -> last, ack_set_i -> ack_set: m -> j -> the k with <j,k,m>, pending_i -> pending: source -> ts -> m,
            history_i -> history: (j, m) -> h, correct_i -> correct; bottom as a parent -> NOBODY
Assumes     reliable links in any order, crash-stop; the detector may suspect any process for a while, and finds every
            crash. Any n
Promises    all correct processes deliver the same messages, including those of correct sources. Each is delivered once,
            in the order of its source
Deviations, each with what goes wrong otherwise
  history   keyed by (parent, m). If it were keyed by m: n = 16, source 0 correct, no false suspicion. 8 crashes after
            it sent only to 12; 13 crashes; 0 sends to 9 instead; 9 sends to 12; 12 finds m in its history, forwards
            nothing and acknowledges to 9 while <8,14,m> is pending; 14 crashes before it forwards; 12 crashes: 15 never
            receives m
  l.27      the TREE is not repeated while any <*,k,m> is pending. The row is added nevertheless, so that the new parent
            waits too
  l.34      a suspected parent gets its ACK nevertheless (section "Failure of the sender" says the contrary). Otherwise,
            with n = 2, l.7 blocks forever after a false suspicion
  l.43, 61  last[source] may be bottom (m waits for an earlier message). There is then nothing to restart
Reads       l.43 and l.46 both apply: a TREE from a suspected source restarts the last message of the source. The TREE
            is also forwarded in its own cluster, because its parent waits for the ACK
Open        a DELV from a process that crashes may be lost, and no process waits for it. The model allows this: a
            process that delivered m restarts it when it suspects the source, and a correct source does not crash
Own         a broadcast that has to wait (l.7) is queued; complete() reports that <NOBODY,*,last[i]> is empty
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar, NamedTuple

from .port import Carrier, MessageId, Overhead, ProcessPort, size_of
from .topology import c, cluster, dimension

NOBODY = -1


class Message(NamedTuple):
    id: MessageId
    body: Any


class _WithMessage(NamedTuple):
    m: Message
    size_bytes: int


class Tree(_WithMessage, Carrier):
    """The message <TREE, m>, which carries a broadcast along the tree."""

    __slots__ = ()

    @property
    def body(self) -> Any:
        return self.m.body


class Delv(_WithMessage, Carrier):
    """<DELV, m>: the receiver delivers m and does not forward it."""

    __slots__ = ()

    @property
    def body(self) -> Any:
        return self.m.body


class _WithId(NamedTuple):
    id: MessageId
    size_bytes: int


class Ack(_WithId, Overhead):
    """The message <ACK, m>, which confirms a subtree."""

    __slots__ = ()


class ReliableBroadcast:
    BUFFERS: ClassVar[tuple[str, ...]] = ("unacknowledged", "pending")

    def __init__(self, port: ProcessPort, n: int, tree_bytes: int = 1, ack_bytes: int = 1) -> None:
        self._port = port
        self._i = port.me
        self._n = n
        self._d = dimension(n)
        self._tree_bytes = tree_bytes
        self._ack_bytes = ack_bytes
        self._count = 0  # number of this process's broadcasts, including those that wait
        self._queue: deque[Message] = deque()  # l.7: broadcasts that wait for the previous one
        self._incomplete: MessageId | None = None  # this process's message that some process has not acknowledged yet
        self.last: dict[int, Message] = {}  # an absent entry is bottom
        self.ack_set: dict[MessageId, dict[int, dict[int, None]]] = {}
        self._bodies: dict[MessageId, Message] = {}  # m for each identifier in ack_set
        self.correct = set(range(n))
        self.pending: dict[int, dict[int, Message]] = {}
        self.history: dict[tuple[int, MessageId], int] = {}

    def buffer_sizes(self) -> tuple[int, ...]:
        return (len(self.ack_set) + len(self._queue), sum(map(len, self.pending.values())))

    def broadcast(self, body: Any) -> MessageId:
        """Broadcast a message: procedure BROADCAST(m) (l.6-10)."""
        m = Message(MessageId(self._i, self._count), body)
        self._count += 1
        self._queue.append(m)
        self._start_next()
        return m.id

    def _start_next(self) -> None:
        while self._queue and self._incomplete is None:  # l.7
            m = self._queue.popleft()
            self._incomplete = m.id
            self.last[self._i] = m  # l.8
            self._port.deliver(m.id, m.body)  # l.9
            self._broadcast_tree(NOBODY, m, self._d)  # l.10

    def _broadcast_tree(self, j: int, m: Message, h: int) -> None:
        """procedure BROADCAST_TREE(j, m, h)                                           l.11-18"""
        start = self.history.get((j, m.id), 0)
        if h > start:
            self.history[j, m.id] = h
        for s in range(h, start, -1):
            self._broadcast_cluster(j, m, s)
        self._check_acks(j, m.id)

    def _broadcast_cluster(self, j: int, m: Message, s: int) -> None:
        """procedure BROADCAST_CLUSTER(j, m, s)                                        l.19-32"""
        parents = self.ack_set.get(m.id, {})
        rows = parents.get(j, {})
        for k in c(self._i, s):
            if k >= self._n:
                continue
            if k in self.correct:
                if k not in rows:
                    is_pending = any(k in owing for owing in parents.values())
                    self.ack_set.setdefault(m.id, {}).setdefault(j, {})[k] = None  # l.28
                    self._bodies[m.id] = m
                    if not is_pending:
                        self._port.send(k, Tree(m, self._tree_bytes + size_of(m.body)))  # l.27
                return
            if k not in rows:
                self._port.send(k, Delv(m, self._tree_bytes + size_of(m.body)))  # l.31

    def _check_acks(self, j: int, message: MessageId) -> None:
        """procedure CHECK_ACKS(j, m)                                                  l.33-34"""
        if j in self.ack_set.get(message, ()):
            return
        if j != NOBODY:
            self._port.send(j, Ack(message, self._ack_bytes))
        elif message == self._incomplete:
            self._incomplete = None
            self._port.complete(message)
            self._start_next()

    def _handle_message(self, m: Message) -> None:
        """Deliver a message in the order of its source: procedure HANDLE_MESSAGE(m) (l.35-43)."""
        source, ts = m.id
        due = self.last[source].id.ts + 1 if source in self.last else 0
        if ts >= due:
            waiting = self.pending.setdefault(source, {})
            waiting[ts] = m  # l.36
            while due in waiting:  # l.37-38
                self.last[source] = waiting.pop(due)  # l.39-40
                self._port.deliver(self.last[source].id, self.last[source].body)  # l.41
                due += 1
        if source not in self.correct and source in self.last:  # l.42
            self._broadcast_tree(NOBODY, self.last[source], self._d)  # l.43

    def on_receive(self, sender: int, message: Any) -> None:
        """Handle <TREE>, <DELV> and <ACK>: upon receive (l.44-53)."""
        if type(message) is Tree:
            self._handle_message(message.m)  # l.45
            self._broadcast_tree(sender, message.m, cluster(self._i, sender) - 1)  # l.46-47
        elif type(message) is Delv:
            self._handle_message(message.m)  # l.49
        else:
            self._on_ack(sender, message.id)

    def _on_ack(self, j: int, message: MessageId) -> None:
        """upon receive <ACK, m> from j                                                l.50-53"""
        for k in list(self.ack_set.get(message, ())):
            if j in self.ack_set.get(message, {}).get(k, ()):
                self._remove(message, k, j)  # l.52
                self._check_acks(k, message)  # l.53

    def _remove(self, message: MessageId, parent: int, child: int) -> None:
        rows = self.ack_set[message]
        del rows[parent][child]
        if not rows[parent]:
            del rows[parent]
            if not rows:
                del self.ack_set[message], self._bodies[message]

    def on_crash(self, process: int) -> None:
        """Continue without a suspected process: upon crash(j) (l.54-61)."""
        j = process
        self.correct.discard(j)  # l.55
        rows = [(p, message) for message, parents in self.ack_set.items() for p, owing in parents.items() if j in owing]
        for p, message in rows:  # l.56
            if j not in self.ack_set.get(message, {}).get(p, ()):
                continue
            self._broadcast_cluster(p, self._bodies[message], cluster(self._i, j))  # l.57
            self._remove(message, p, j)  # l.58
            self._check_acks(p, message)  # l.59
        if j in self.last:
            self._broadcast_tree(NOBODY, self.last[j], self._d)  # l.60-61

    def on_up(self, process: int) -> None:
        """Consider a process correct again: upon up(j) (l.62-63)."""
        self.correct.add(process)
