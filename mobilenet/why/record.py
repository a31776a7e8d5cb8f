"""The causes and events of one run, indexed for walks from a delivery back to its broadcast.

Model     rows of `causes` are named by their numbers. A handler is a row of the steps sent, acknowledged, given_up,
          timer and arrived; an event belongs to the last handler before it, if that handler is of the event's instant
Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import NamedTuple

from mobilenet.record.table import Columns, Table

NONE = -1
QUEUED, SENT, ACKNOWLEDGED, TIMER, WIRE, ARRIVED = "queued", "sent", "acknowledged", "timer", "wire", "arrived"
GIVEN_UP = "given_up"
LEAVES = (SENT, ACKNOWLEDGED, GIVEN_UP)  # after these a frame may have left
HANDLERS = (*LEAVES, TIMER, ARRIVED)
RECEIVED, OUT_OF_RANGE = "received", "out_of_range"


class Delivery(NamedTuple):
    """One `deliver` or `datagram_received` event: its row in `events`, its handler, and where the host was."""

    event: int
    time_ns: int
    node: str
    message: str
    station: str | None
    handler: int


class Broadcast(NamedTuple):
    event: int
    time_ns: int
    node: str


class Record:
    """The rows of one run. `of_datagrams`: its messages are the datagrams that its programs sent, because the record
    shows which frames carried a datagram, and not which datagrams carried what a program reported.
    """

    def __init__(self, causes: Columns, events: Table, of_datagrams: bool = False) -> None:
        self.of_datagrams = of_datagrams
        columns = {name: list(values) for name, values in causes.items()}  # read row by row, in any order
        self.time_ns: list[int] = columns["time_ns"]
        self.node: list[str] = columns["node"]
        self.step: list[str] = columns["step"]
        self.cause: list[int] = columns["cause"]
        self.kind: list[str] = columns["kind"]
        self.to: list[str] = columns["to"]
        self.start_ns: list[int] = columns["start_ns"]
        self.end_ns: list[int] = columns["end_ns"]
        self.size_bytes: list[int] = columns["size_bytes"]
        self.window: list[str] = columns["window"]
        self.messages: list[tuple[str, ...]] = []
        self.events_before: list[int] = columns["events"]  # how many events there were
        self._receptions: list[str] = columns["heard"]
        self._outcomes: dict[int, dict[str, str]] = {}  # of the rows that were asked for
        handlers = [row for row, step in enumerate(self.step) if step in HANDLERS]
        self._handlers = handlers
        self._handler_events = [self.events_before[row] for row in handlers]
        self.sent_rows: dict[int, list[int]] = defaultdict(list)  # queued row -> when it was on the air
        self.left_ns: dict[int, int] = {}  # queued row -> when the frame has left
        self.left_before_ns: dict[int, int] = {}  # queued row -> when the frame before it last left
        self.queued: dict[tuple[str, str], list[int]] = defaultdict(list)  # (node, message) -> queued rows
        self._arrivals: dict[str, list[int]] = defaultdict(list)  # message -> rows that brought it to any node
        self._brought: dict[str, dict[str, list[int]]] = {}  # the same by node, of the messages that were asked for
        self.events = events
        self.broadcasts: dict[str, Broadcast] = {}
        self.deliveries: list[Delivery] = []
        self.known_at: dict[tuple[str, str], int] = {}  # (node, message) -> event in which it was delivered or sent
        self._read_events(*(("datagram", "datagram_received") if of_datagrams else ("broadcast", "deliver")))
        self._read_messages(columns["messages"])
        self._index()

    def _read_messages(self, texts: list[str]) -> None:
        """A program's numbers may name a message that is broadcast later: then the frame does not carry it."""
        for row, text in enumerate(texts):
            cause = self.cause[row]
            if not text:
                self.messages.append(())
            elif cause != NONE and self.step[row] in (SENT, ARRIVED):
                self.messages.append(self.messages[cause])
            else:
                sent = ((name, self.broadcasts.get(name)) for name in text.split())
                names = (name for name, one in sent if one is not None and one.time_ns <= self.time_ns[row])
                self.messages.append(tuple(names))

    def _index(self) -> None:
        before: dict[int, int] = {}  # queued row -> the row in which its node had queued the frame before
        last: dict[str, int] = {}
        left_ns = self.left_ns
        for row, step in enumerate(self.step):
            if step in LEAVES:
                left_ns[self.cause[row]] = self.time_ns[row]
            if step == SENT:
                self.sent_rows[self.cause[row]].append(row)
                for message in self.messages[row]:
                    self._arrivals[message].append(row)
            elif step == ARRIVED:
                for message in self.messages[row]:
                    self._arrivals[message].append(row)
            elif step == QUEUED:
                node = self.node[row]
                before[row], last[node] = last.get(node, NONE), row
                for message in self.messages[row]:
                    self.queued[node, message].append(row)
        for row, earlier in before.items():
            # a frame that was never sent leaves the queue unnoticed: the one before it counts
            known = earlier != NONE and earlier in left_ns
            self.left_before_ns[row] = left_ns[earlier] if known else self.left_before_ns.get(earlier, NONE)

    def _read_events(self, begins: str, ends: str) -> None:
        columns = self.events
        rows = zip(
            columns["time_ns"], columns["node"], columns["event"], columns["message"], columns["station"], strict=True
        )
        for number, (time_ns, node, event, message, station) in enumerate(rows):
            if event == ends:
                handler = self.handler_of(number, time_ns)
                self.deliveries.append(Delivery(number, time_ns, node, message, station, handler))
                self.known_at.setdefault((node, message), number)
            elif event == begins:
                self.broadcasts[message] = Broadcast(number, time_ns, node)
                self.known_at.setdefault((node, message), number)

    def handler_of(self, event: int, time_ns: int) -> int:
        """The handler in which an event happened; NONE: the world did it."""
        place = bisect_right(self._handler_events, event) - 1
        if place < 0:
            return NONE
        row = self._handlers[place]
        return row if self.time_ns[row] == time_ns else NONE

    def outcomes(self, row: int) -> dict[str, str]:
        """What became of a transmission at each node within its reach."""
        outcomes = self._outcomes.get(row)
        if outcomes is None:
            pairs = (entry.partition(":") for entry in self._receptions[row].split())
            outcomes = self._outcomes[row] = {node: outcome or RECEIVED for node, _, outcome in pairs}
        return outcomes

    def outcome(self, queued: int, node: str) -> str:
        """What became of a frame at a node: received, or the outcome of its last transmission."""
        outcomes = [self.outcomes(row).get(node, OUT_OF_RANGE) for row in self.sent_rows.get(queued, ())]
        return RECEIVED if RECEIVED in outcomes else outcomes[-1] if outcomes else "never_sent"

    def brought(self, message: str, node: str) -> list[int]:
        """Return the rows that brought the node this message, in order."""
        by_node = self._brought.get(message)
        if by_node is None:
            by_node = self._brought[message] = {}
            for row in self._arrivals.get(message, ()):
                for receiver in self._receivers(row):
                    by_node.setdefault(receiver, []).append(row)
        return by_node.get(node, [])

    def _receivers(self, row: int) -> list[str]:
        """Return the nodes that a message of the wire or a frame has reached, and that take it."""
        if self.step[row] == ARRIVED:
            return [self.node[row]]
        kind, to = self.node[row][0], self.to[row]  # stations ignore the frames of stations, and hosts those of hosts
        received = (node for node, outcome in self.outcomes(row).items() if outcome == RECEIVED)
        return [node for node in received if to in ("", node) and node[0] != kind]
