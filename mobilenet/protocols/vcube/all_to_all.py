"""All-RB: reliable broadcast without trees. The source sends each message to all processes, and all acknowledge it.

Source      Jeanneau, Rodrigues, Arantes, Duarte (JBCS 2017), "Experimental evaluation": the one-to-all strategy with
            which VCube-RB is compared. The paper has no pseudo-code; the rules follow its text
Names       last, correct as in VCube-RB; owed: m -> processes that have not acknowledged it
Assumes     as VCube-RB
Promises    as VCube-RB
Rules       broadcast   sends to all n-1 others in ascending order, including suspected ones ("messages are also sent to
                        processes considered to be faulty"). The next broadcast waits for the acknowledgements of this
                        one, as in VCube-RB
            crash(j)    ends the wait for acknowledgements of j. Each process that has last[j] sends it to all, once
            TREE        a message whose source is already suspected is also sent to all when it arrives. Otherwise, with
                        n = 3, a process that receives it after suspecting the source would be the only one to have it
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

from .port import MessageId, ProcessPort, size_of
from .reliable import Ack, Message, Tree


class AllToAllBroadcast:
    BUFFERS: ClassVar[tuple[str, ...]] = ("unacknowledged", "pending")

    def __init__(self, port: ProcessPort, n: int, tree_bytes: int = 1, ack_bytes: int = 1) -> None:
        self._port = port
        self._i = port.me
        self._n = n
        self._tree_bytes = tree_bytes
        self._ack_bytes = ack_bytes
        self._count = 0
        self._queue: deque[Message] = deque()
        self._incomplete: MessageId | None = None
        self.last: dict[int, Message] = {}
        self.owed: dict[MessageId, set[int]] = {}
        self.correct = set(range(n))
        self.pending: dict[int, dict[int, Message]] = {}
        self._again: set[MessageId] = set()  # messages that were sent on behalf of a suspected source

    def buffer_sizes(self) -> tuple[int, ...]:
        return (len(self.owed) + len(self._queue), sum(map(len, self.pending.values())))

    def broadcast(self, body: Any) -> MessageId:
        m = Message(MessageId(self._i, self._count), body)
        self._count += 1
        self._queue.append(m)
        self._start_next()
        return m.id

    def _start_next(self) -> None:
        while self._queue and self._incomplete is None:
            m = self._queue.popleft()
            self._incomplete = m.id
            self.last[self._i] = m
            self._port.deliver(m.id, m.body)
            self._to_all(m)

    def _to_all(self, m: Message) -> None:
        self.owed.setdefault(m.id, set()).update(j for j in self.correct if j != self._i)
        tree = Tree(m, self._tree_bytes + size_of(m.body))
        for j in range(self._n):
            if j != self._i:
                self._port.send(j, tree)
        self._check(m.id)

    def _check(self, message: MessageId) -> None:
        if self.owed.get(message):
            return
        self.owed.pop(message, None)
        if message == self._incomplete:
            self._incomplete = None
            self._port.complete(message)
            self._start_next()

    def _restart(self, source: int) -> None:
        """Send last[source] to all, once, because the source is suspected."""
        m = self.last.get(source)
        if m is not None and m.id not in self._again:
            self._again.add(m.id)
            self._to_all(m)

    def on_receive(self, sender: int, message: Any) -> None:
        if type(message) is Ack:
            owed = self.owed.get(message.id)
            if owed is not None:
                owed.discard(sender)
                self._check(message.id)
            return
        source, ts = message.m.id
        due = self.last[source].id.ts + 1 if source in self.last else 0
        if ts >= due:
            waiting = self.pending.setdefault(source, {})
            waiting[ts] = message.m
            while due in waiting:
                self.last[source] = waiting.pop(due)
                self._port.deliver(self.last[source].id, self.last[source].body)
                due += 1
        self._port.send(sender, Ack(message.m.id, self._ack_bytes))
        if source not in self.correct:
            self._restart(source)

    def on_crash(self, process: int) -> None:
        self.correct.discard(process)
        for message in [m for m, owed in self.owed.items() if process in owed]:
            self.owed[message].discard(process)
            self._check(message)
        self._restart(process)

    def on_up(self, process: int) -> None:
        self.correct.add(process)
