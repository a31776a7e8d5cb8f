"""Best-effort broadcast over the trees of VCube, in which messages for the same neighbour are bundled.

Source      Rodrigues, Duarte, de Araujo, Arantes, Sens: Bundling Messages to Reduce the Cost of Tree-Based Broadcast
            Algorithms (LADC 2018), Algorithm 2; l.N is its line N
Names       correct_i -> correct, rcv_base_i -> rcv_base, rcv_win_i -> rcv_win, delay_msg_i[k], timer_i[k] -> delayed[k]
            (Waiting), ack_set_i -> ack_set: m -> all (j, k) with <j,k,m>; msg_set_i -> the m of ack_set
Assumes     reliable links in any order, crash-stop, a perfect detector. Any n
Promises    every correct process delivers each message of a correct source exactly once
Shared      in section 6.2, messages of several sources on fewer trees are modelled as messages of the roots of these
            trees. The 30 messages for 16 broadcasts on one tree do not include any for handing a message to a root.
            This is part of the workload
Deviations, each with the error in print
  l.33      subtree_i(m.src) must be relative to the parent j. With n = 4 and no fault, 3 sends a message of 0 back to
            2, forever
  l.12-13   with rcv_base = bottom the whole test is true: arrivals 1, 1, 0 deliver 1 twice. (l.28: msg_win is rcv_win)
  l.37-38   an oversized message overtakes the messages that wait for the same neighbour. Here the waiting messages are
            sent first, and an empty list is not sent. This only changes the order, and no promise is broken in print
  l.53      the paper drops m when the rows of ONE parent are complete. After a crash, the rows of another parent may
            still need it (l.84 finds nothing to send). Here m is dropped when no rows remain
  l.67      the paper picks one k with <k,j,m>. After a crash there may be <p1,j,m> and <p2,j,m>, and j answers once.
            Here all rows of (j, m) are removed. Example: n = 32, all broadcast at 0, and 10 crashes at 2, 22 at 3, 20
            at 2, 24 at 5: 4 waits for 21 forever, 21 for 29, ... (none waits if only 4 broadcasts). Likewise with
            crashes of 31 at 1, 0 at 2, 12 at 5, 17 at 5, and source 28
  l.33, 76  FF_neighbor may be empty, and is then skipped
  l.77      the paper leaves the order open, and no promise needs one. Here the order is message by message, with rows
            in the order of their arrival, because runs must be repeatable
Reads       l.16-17 apply also to a message that is delivered already: a new parent needs its ACK, and its subtree may
            differ.
            l.33 serves children in descending order of clusters, so that the longest subtree begins first (the printed
            latencies need it)
            l.49-50 start the timer with the first element, and again after an overflow
            l.3, 11, 53 would drop a message without rows at once; msg_set is therefore the set of messages with rows
Own         a message without application payload is sent at once, with the messages that wait for the same neighbour
Speed       every process has rows of almost every message at the same time, and cache misses cost more than
            computations. Rows are therefore tuples, of which all new messages from a parent share one, and equal
            `correct` are one set
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from ..port import Timer, timer_name
from .port import Carrier, Lists, MessageId, Overhead, ProcessPort, is_control, size_of
from .topology import children, cluster, dimension, everybody, first_fault_free, without

Row = tuple[int, int]  # (parent, child) of a message
BOTTOM = -1


class Ack(Overhead):
    """<ACK, (src, ts)>, which carries only the identifier of the message."""

    __slots__ = ("m", "size_bytes")
    is_urgent = False

    def __init__(self, m: Tree, size_bytes: int) -> None:
        self.m = m
        self.size_bytes = size_bytes


class Tree(Carrier):
    """<TREE, m>. All processes that have m share one object, and all that acknowledge m share another."""

    __slots__ = ("ack", "body", "id", "is_urgent", "size_bytes")

    def __init__(self, message: MessageId, body: Any, size_bytes: int, ack_bytes: int) -> None:
        self.id = message
        self.body = body
        self.size_bytes = size_bytes
        self.is_urgent = is_control(body)
        self.ack = Ack(self, ack_bytes)


class Bundle(NamedTuple):
    messages: tuple[Tree | Ack, ...]
    size_bytes: int

    @property
    def payload_bytes(self) -> int:
        return sum(c.payload_bytes for c in self.messages)

    def list_sizes(self) -> Lists:
        return tuple(entry for c in self.messages for entry in c.list_sizes())


class Waiting:
    """The list delay_msg_i[k] with its timer timer_i[k]."""

    __slots__ = ("content", "size_bytes", "timer")

    def __init__(self, timer: Timer) -> None:
        self.content: list[Tree | Ack] = []
        self.size_bytes = 0
        self.timer = timer


class BestEffortBroadcast:
    BUFFERS: ClassVar[tuple[str, ...]] = ("unacknowledged", "delayed")

    def __init__(
        self, port: ProcessPort, n: int, max_delay_ns: int = 0, max_payload_bytes: int = 1, tree_bytes: int = 1,
        ack_bytes: int = 1,
    ) -> None:  # fmt: skip
        self._port = port
        self._send = port.send
        self._deliver = port.deliver
        self._i = port.me
        self._n = n
        self._d = dimension(n)
        self._max_delay_ns = max_delay_ns
        self._max_payload_bytes = max_payload_bytes
        self._tree_bytes = tree_bytes
        self._ack_bytes = ack_bytes
        self._count = 0  # number of broadcasts of this process
        # parent -> rows of a new message, valid until `correct` changes
        self._new_rows: dict[int, tuple[Row, ...]] = {}
        self.ack_set: dict[Tree, tuple[Row, ...]] = {}  # l.2, 3
        self.correct = everybody(n)  # l.4
        self.rcv_base = [BOTTOM] * n  # l.5
        self.rcv_win: dict[int, set[int]] = {}  # l.6
        self.delayed: dict[int, Waiting] = {}  # l.7

    def buffer_sizes(self) -> tuple[int, ...]:
        delayed = sum(len(waiting.content) for waiting in self.delayed.values()) if self.delayed else 0
        return len(self.ack_set), delayed

    def broadcast(self, body: Any) -> MessageId:
        """procedure BROADCAST(message m)                                              l.8-9"""
        message = MessageId(self._i, self._count)
        self._count += 1
        m = Tree(message, body, self._tree_bytes + size_of(body), self._ack_bytes)
        self._handle(m, self._i)  # l.9
        return message

    def _handle(self, m: Tree, j: int) -> None:
        """procedure HANDLE_MSG(<TREE, m>, j)                                          l.10-17"""
        source, ts = m.id
        base = self.rcv_base[source]
        if ts > base and not (source in self.rcv_win and ts in self.rcv_win[source]):  # l.12-13
            self._deliver(m.id, m.body)  # l.14
            self._update_window(source, ts, base)  # l.15
        self._forward(m, j)  # l.16
        self._check_acks(m, j)  # l.17

    def _update_window(self, source: int, ts: int, base: int) -> None:
        """Mark a message as received: procedure UPDATE_WINDOW(m) (l.18-31)."""
        if ts != base + 1:
            self.rcv_win.setdefault(source, set()).add(ts)  # l.23, 27
            return
        if source in self.rcv_win:
            window = self.rcv_win[source]
            while ts + 1 in window:  # l.28
                ts += 1
                window.discard(ts)  # l.31
        self.rcv_base[source] = ts  # l.21, 25, 30

    def _forward(self, m: Tree, j: int) -> None:
        """procedure FORWARD(<TREE, m>, j)                                             l.32-35"""
        rows = self._new_rows.get(j)
        if rows is None:
            rows = self._new_rows[j] = tuple((j, k) for k in self._subtree(j))
        if not rows:
            return
        known = self.ack_set.get(m)
        self.ack_set[m] = rows if known is None else known + tuple(row for row in rows if row not in known)  # l.11, 35
        for _, k in rows:  # l.33
            self._check_bundle(m, k)  # l.34

    def _subtree(self, j: int) -> list[int]:
        """Return subtree_i relative to the parent j, with the largest cluster first."""
        return children(self._i, None if j == self._i else j, self._d, self.correct)[::-1]

    def _check_bundle(self, c: Tree | Ack, k: int) -> None:
        """procedure CHECK_BUNDLE(<T, c>, k)                                           l.36-50"""
        most = self._max_payload_bytes
        size = c.size_bytes
        if size >= most:  # l.37
            if k in self.delayed:
                self._flush(k)
            self._send(k, c)  # l.38
            return
        waiting = self.delayed.get(k)
        if waiting is None:
            waiting = self.delayed[k] = Waiting(self._port.timer(timer_name("bundling")(lambda: self._flush(k))))
        if waiting.size_bytes + size > most:  # l.39
            self._flush(k)  # l.40, 42
            waiting.content.append(c)  # l.41
            waiting.size_bytes = size
            if c.is_urgent:
                self._flush(k)
                return
        else:
            waiting.content.append(c)  # l.44, 48
            waiting.size_bytes += size
            if waiting.size_bytes == most or c.is_urgent:  # l.43
                self._flush(k)  # l.44-46
                return
        if not waiting.timer.running:  # l.49
            waiting.timer.start(self._max_delay_ns)  # l.50

    def _flush(self, k: int) -> None:
        """upon timer_i[k] expiration; also l.40-42 and l.44-46                        l.70-72"""
        waiting = self.delayed[k]
        if waiting.content:
            self._send(k, Bundle(tuple(waiting.content), waiting.size_bytes))  # l.71
            waiting.content.clear()  # l.72
            waiting.size_bytes = 0
        waiting.timer.stop()

    def _check_acks(self, m: Tree, k: int) -> None:
        """procedure CHECK_ACKS((src, ts), k)                                          l.51-55"""
        for parent, _ in self.ack_set.get(m, ()):
            if parent == k:  # l.52
                return
        if k == self._i:
            self._port.complete(m.id)
        elif m.id.source in self.correct and k in self.correct:  # l.54
            self._check_bundle(m.ack, k)  # l.55

    def on_receive(self, sender: int, message: Any) -> None:
        """upon RECEIVE (set<<T,c>> msgs) from j                                       l.56-65"""
        kind = type(message)
        if kind is Tree:
            if message.id.source in self.correct and sender in self.correct:  # l.63
                self._handle(message, sender)  # l.65
        elif kind is Ack:
            self._on_ack(sender, message.m)
        else:
            for c in message.messages:
                self.on_receive(sender, c)

    def _on_ack(self, j: int, m: Tree) -> None:
        """procedure RECEIVE(<ACK, (src, ts)>, j)                                      l.66-69"""
        rows = self.ack_set.get(m)
        if rows is None:
            return
        self._keep(m, [row for row in rows if row[1] != j])  # l.68
        for parent, child in rows:
            if child == j:  # l.67
                self._check_acks(m, parent)  # l.69

    def _keep(self, m: Tree, rows: list[Row]) -> None:
        """Keep only these rows of a message in ack_set."""
        if rows:
            self.ack_set[m] = tuple(rows)
        else:
            del self.ack_set[m]  # l.53

    def on_crash(self, process: int) -> None:
        """upon notifying CRASH(j)                                                     l.73-87"""
        j = process
        self.correct = without(self.correct, j)  # l.74
        self._new_rows.clear()
        waiting = self.delayed.pop(j, None)  # l.75
        if waiting is not None:
            waiting.timer.stop()
        k = first_fault_free(self._i, cluster(self._i, j), self.correct)  # l.76
        for m, rows in list(self.ack_set.items()):  # l.77
            for row in rows:
                p, q = row
                left = self.ack_set.get(m, ())
                if m.id.source not in self.correct or p not in self.correct:  # l.78
                    self._keep(m, [other for other in left if other != row])  # l.80
                elif q == j:  # l.81
                    if k is not None and (p, k) not in left:  # l.82
                        left += ((p, k),)  # l.83
                        self._check_bundle(m, k)  # l.84-85
                    self._keep(m, [other for other in left if other != row])  # l.86
                else:
                    continue
                self._check_acks(m, p)  # l.87

    def on_up(self, process: int) -> None:
        """Ignore the return of a process: a perfect detector never withdraws a suspicion."""
