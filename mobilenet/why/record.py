"""The causes and events of one run, indexed for tracing a delivery back to its broadcast.

Model     rows of `causes` are identified by their numbers. A handler is a row whose step is sent, acknowledged,
          given_up, timer or arrived. An event belongs to the last handler before it, if both have the same time
Shapes    columns and indices are arrays of numbers and codes, about 50 bytes a row, because a run has millions of rows
Units     integer nanoseconds
Source    ours: docs/models/causes.md
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np

from mobilenet.record.table import AT_ONCE, CodedColumn, Table, view

T = TypeVar("T")
NONE = -1
FIRST_CODE = 32  # bits by which the first of two codes is shifted in a key
QUEUED, SENT, ACKNOWLEDGED, TIMER, WIRE, ARRIVED = "queued", "sent", "acknowledged", "timer", "wire", "arrived"
GIVEN_UP = "given_up"
LEAVES = (SENT, ACKNOWLEDGED, GIVEN_UP)  # steps after which a frame may have left the queue
HANDLERS = (*LEAVES, TIMER, ARRIVED)
RECEIVED, OUT_OF_RANGE = "received", "out_of_range"


class Delivery(NamedTuple):
    """One `deliver` or `datagram_received` event: its number among these events, its row in `events`, its handler, and
    the station of the host.
    """

    number: int
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


def _narrow(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype(np.min_scalar_type(-int(numbers.max(initial=0)) - 1))


def entries_of(codes: np.ndarray, by_code: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return all entries in the lists of these codes, each with the position of its code."""
    sizes = np.fromiter(map(len, by_code), np.int32, len(by_code))
    entries = np.fromiter(chain.from_iterable(by_code), np.int32, sizes.sum())
    own = sizes[codes]
    begins = (np.cumsum(sizes) - sizes)[codes] - (np.cumsum(own) - own)
    places = np.repeat(np.arange(len(codes), dtype=np.int32), own)
    return places, entries[begins[places] + np.arange(len(places))]


class Words(Generic[T]):
    """A column with few different values, from which the word of each row can be read."""

    def __init__(self, codes: np.ndarray, words: Sequence[T]) -> None:
        self._codes, self._words = view(codes), [*words]

    def __getitem__(self, row: int) -> T:
        return self._words[self._codes[row]]


def events_of(events: Table, *kinds: str) -> Iterator[tuple[int, int, str, str, Any, Any]]:
    """Yield the rows of `events` of these kinds: number, time, node, event, station, detail."""
    columns = [events[name] for name in ("time_ns", "node", "event", "station", "detail")]
    for row in events.column("event").rows(*kinds).tolist():
        time_ns, node, event, station, detail = (column[row] for column in columns)
        yield row, time_ns, node, event, station, detail


class RowsByKey:
    """The rows of a table, grouped by an integer key and sorted within each group. The key may combine two codes, of
    which the first is shifted by FIRST_CODE bits.
    """

    def __init__(self, keys: np.ndarray, rows: np.ndarray) -> None:
        order = np.lexsort((rows, keys))
        unique, begins = np.unique(keys[order], return_index=True)
        self._keys, self._begins = view(unique), view(np.append(begins, len(order)))
        firsts = unique >> FIRST_CODE
        self._firsts = view(np.searchsorted(firsts, np.arange(firsts.max(initial=NONE) + 2)))
        self._rows = view(rows[order].astype(np.int32))

    def __getitem__(self, key: int) -> Sequence[int]:
        first = key >> FIRST_CODE
        if not 0 <= first < len(self._firsts) - 1:
            return ()
        until = self._firsts[first + 1]
        place = bisect_left(self._keys, key, self._firsts[first], until)
        if place == until or self._keys[place] != key:
            return ()
        return self._rows[self._begins[place] : self._begins[place + 1]]


class Deliveries(Sequence[Delivery]):
    """A sequence of deliveries that creates each one on access. `numbers`: their numbers in the run, in the order of
    the sequence.
    """

    def __init__(self, events: Table, rows: np.ndarray, handlers: np.ndarray, numbers: np.ndarray) -> None:
        self._of_run, self.numbers = (events, rows, handlers), numbers
        self._rows, self._handlers, self._numbers = view(rows), view(handlers), view(numbers)
        self._columns = [events[name] for name in ("time_ns", "node", "message", "station")]

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> Delivery: ...
    @overload
    def __getitem__(self, place: slice) -> Deliveries: ...
    def __getitem__(self, place: int | slice) -> Delivery | Deliveries:
        if isinstance(place, slice):
            return self.pick(place)
        number = self._numbers[place]
        row = self._rows[number]
        time_ns, node, message, station = self._columns
        return Delivery(number, row, time_ns[row], node[row], message[row], station[row], self._handlers[number])

    def __iter__(self) -> Iterator[Delivery]:
        for first in range(0, len(self), AT_ONCE):
            numbers = self.numbers[first : first + AT_ONCE]
            rows, handlers = (column[numbers] for column in self._of_run[1:3])
            time_ns, node, message, station = (column[rows] for column in self._columns)
            yield from map(
                Delivery, numbers.tolist(), rows.tolist(), time_ns, node, message, station, handlers.tolist()
            )

    def pick(self, which: slice | np.ndarray) -> Deliveries:
        """Return a sequence of some of these deliveries, in the given order."""
        return Deliveries(*self._of_run, self.numbers[which])

    def column(self, name: str) -> Any:
        """Return a column of `events` for these deliveries, as numbers or as codes with words."""
        events, rows = self._of_run[0], self._of_run[1][self.numbers]
        if name == "time_ns":
            return events.numbers(name)[rows]
        codes, words = events.column(name)
        return codes[rows], words


class Record:
    """The rows of one run. If `of_datagrams` is true, the datagrams of programs count as the messages. The record shows
    which frame carried a datagram, but not which datagrams carried a message that a program reports.
    """

    def __init__(self, causes: Table, events: Table, of_datagrams: bool = False) -> None:
        self.of_datagrams, self.events = of_datagrams, events
        self.time_ns, self.start_ns, self.end_ns = (
            view(causes.numbers(name)) for name in ("time_ns", "start_ns", "end_ns")
        )
        self.cause, self.size_bytes, self.events_before = (  # events_before: the number of events before each row
            view(_narrow(causes.numbers(name))) for name in ("cause", "size_bytes", "events")
        )
        self.node, self.step, self.kind, self.to, self.window = (
            Words[str](*causes.column(name)) for name in ("node", "step", "kind", "to", "window")
        )
        self.steps, self.kinds, self.nodes, self.tos = (causes.column(name) for name in ("step", "kind", "node", "to"))
        heard = causes.column("heard")
        self._heard = Words(heard.codes, [f" {text} " for text in heard.words])
        nodes = [*events.column("node").words, *causes.column("node").words, *causes.column("to").words]
        self.node_codes = {name: code for code, name in enumerate(dict.fromkeys(nodes))}
        self.message_codes = {name: code for code, name in enumerate(events.column("message").words)}
        self._read_events(*(("datagram", "datagram_received") if of_datagrams else ("broadcast", "deliver")))
        self._node = self._nodes(causes.column("node"))
        self.carried = self._read_messages(causes)
        self.messages = Words[tuple[str, ...]](*self.carried)
        self.has_messages = self.carried.map([*map(bool, self.carried.words)], False)
        self._index(causes)

    # --- reading

    def _read_events(self, begins: str, ends: str) -> None:
        events = self.events
        kinds, words = events.column("event"), events["message"]
        self._handlers = self.steps.rows(*HANDLERS)
        self._handler_events = np.asarray(self.events_before)[self._handlers]
        columns = events["time_ns"], events["node"], words
        self.broadcasts = {  # message -> its last broadcast
            message: Broadcast(row, time_ns, node)
            for row in kinds.rows(begins).tolist()
            for time_ns, node, message in [tuple(column[row] for column in columns)]
        }
        rows = kinds.rows(ends)
        handlers = self._handlers_of(rows, events.numbers("time_ns")[rows])
        self.delivered = Words[str](events.column("message").codes[rows], events.column("message").words)
        self.deliveries = Deliveries(events, rows, handlers, np.arange(len(rows), dtype=np.int32))
        nodes = self._nodes(events.column("node"))
        keys = self._keys(nodes, events.column("message").codes)
        self._delivered = RowsByKey(keys[rows], np.arange(len(rows)))
        known = kinds.rows(begins, ends)
        self._known_at = RowsByKey(keys[known], known)
        order = np.argsort(nodes[rows], kind="stable")
        at, own = nodes[rows][order], handlers[order]
        follows = (at[1:] == at[:-1]) & (own[1:] == own[:-1]) & (own[1:] != NONE)
        before = np.full(len(rows), NONE, np.int32)
        before[order[1:][follows]] = order[:-1][follows]
        # number of a delivery -> number of the previous delivery in the same handler
        self.delivery_before = view(before)

    def _nodes(self, column: CodedColumn) -> np.ndarray:
        return column.map([self.node_codes[name] for name in column.words], 0).astype(np.int32)

    def _read_messages(self, causes: Table) -> CodedColumn:
        """Return the messages of each row. A name in a program's frame is ignored if that message is broadcast only
        later.
        """
        texts, sent, time_ns = causes.column("messages"), self.broadcasts, causes.numbers("time_ns")
        names = [tuple(name for name in text.split() if name in sent) for text in texts.words]
        latest_ns = np.array([max((sent[name].time_ns for name in own), default=0) for own in names] or [0])
        cause, codes = causes.numbers("cause"), texts.codes.astype(np.int32)
        inherits = self.steps.among((SENT, ARRIVED)) & (cause != NONE) & (texts.map([*map(bool, texts.words)], False))
        for row in np.flatnonzero((latest_ns[codes] > time_ns) & ~inherits).tolist():
            codes[row], until_ns = len(names), self.time_ns[row]
            names.append(tuple(name for name in names[texts.codes[row]] if sent[name].time_ns <= until_ns))
        codes[inherits] = codes[cause[inherits]]
        return CodedColumn(codes, names)

    def _index(self, causes: Table) -> None:
        cause, nodes, carried = causes.numbers("cause"), self._node, self.carried
        left = np.full(len(cause), NONE, np.int32)  # row of queueing -> row after which the frame has left the queue
        leaves = self.steps.rows(*LEAVES)
        leaves = leaves[cause[leaves] != NONE]
        left[cause[leaves]] = leaves
        # row of queueing -> the last transmission; row of a transmission -> the previous one
        transmissions = np.full(len(cause), NONE, np.int32)
        sent = self.steps.rows(SENT)
        sent = sent[cause[sent] != NONE]
        sent = sent[np.argsort(cause[sent], kind="stable")]
        again = cause[sent[1:]] == cause[sent[:-1]]
        transmissions[sent[1:][again]] = sent[:-1][again]
        transmissions[cause[sent]] = sent
        self.left, self._transmissions = view(left), view(transmissions)
        # A frame that was never sent leaves the queue without a row. The last earlier frame that has a row is used
        # instead.
        queued = self.steps.rows(QUEUED)
        queued = queued[np.argsort(nodes[queued], kind="stable")]
        known = np.maximum.accumulate(np.where(left[queued] != NONE, np.arange(len(queued)), NONE))[:-1]
        same = (known != NONE) & (nodes[queued[known]] == nodes[queued[1:]])
        left_before = np.full(len(cause), NONE, np.int32)
        left_before[queued[1:][same]] = left[queued[known[same]]]
        self._left_before = view(left_before)
        lists = [[self.message_codes[name] for name in own] for own in carried.words]
        places, messages = entries_of(carried.codes[queued], lists)
        self._queued = RowsByKey(self._keys(nodes[queued[places]], messages), queued[places])
        rows, receivers = self._receptions(causes)
        places, messages = entries_of(carried.codes[rows], lists)
        self._brought = RowsByKey(self._keys(receivers[places], messages), rows[places])

    def _receptions(self, causes: Table) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows in which messages reached a node that accepts them, and the nodes. Stations ignore frames of
        stations, and hosts ignore frames of hosts.
        """
        codes, heard, to, nodes = self.node_codes, causes.column("heard"), causes.column("to"), self._node
        sent = np.flatnonzero(self.steps.among((SENT,)) & self.has_messages)
        lists = [
            [codes.setdefault(name, len(codes)) for name in text.split() if ":" not in name] for text in heard.words
        ]
        places, receivers = entries_of(heard.codes[sent], lists)
        kinds = np.array([ord(name[0]) if name else NONE for name in codes])
        for_all, target = np.array([*(not name for name in to.words), False]), self._nodes(to)[sent][places]
        takes = for_all[to.codes[sent]][places] | (target == receivers)
        takes &= kinds[receivers] != kinds[nodes[sent]][places]
        arrived = np.flatnonzero(self.steps.among((ARRIVED,)) & self.has_messages)
        return np.concatenate([sent[places[takes]], arrived]), np.concatenate([receivers[takes], nodes[arrived]])

    # --- questions

    def by_node(self, rows: np.ndarray) -> RowsByKey:
        """Group these rows by the code of their node."""
        return RowsByKey(self._node[rows], rows)

    def lost_rows(self, among: np.ndarray) -> list[int]:
        """Return the rows among these whose messages were put on a wire and never arrived."""
        is_lost = self.steps.among((WIRE,)) & among
        causes = np.asarray(self.cause)[self.steps.rows(ARRIVED)]
        is_lost[causes[causes != NONE]] = False
        return np.flatnonzero(is_lost).tolist()

    def _keys(self, nodes: np.ndarray, messages: np.ndarray) -> Any:
        return messages.astype(np.int64) << FIRST_CODE | nodes  # queries in a row concern few messages

    def _key(self, node: str, message: str) -> int:
        codes = self.message_codes.get(message, NONE), self.node_codes.get(node, NONE)
        return NONE if NONE in codes else codes[0] << FIRST_CODE | codes[1]

    def _handlers_of(self, events: np.ndarray, times_ns: np.ndarray) -> np.ndarray:
        """Return the handler in which each of these events happened, or NONE if no handler caused it."""
        if not len(self._handlers):
            return np.full(len(events), NONE, np.int32)
        rows = self._handlers[np.searchsorted(self._handler_events, events, "right") - 1]
        is_its = (self._handler_events[0] <= events) & (np.asarray(self.time_ns)[rows] == times_ns)
        return np.where(is_its, rows, NONE).astype(np.int32)

    def handler_of(self, event: int, time_ns: int) -> int:
        """Return the handler of one event, or NONE."""
        return int(self._handlers_of(np.array([event]), np.array([time_ns]))[0])

    def delivery(self, node: str, message: str) -> Delivery:
        """Return the last delivery of a message at a node. Raise KeyError if there is none."""
        numbers = self._delivered[self._key(node, message)]
        if not numbers:
            raise KeyError((node, message))
        return self.deliveries[numbers[-1]]

    def known_at(self, node: str, message: str) -> int:
        """Return the event in which the node delivered or sent the message, or NONE."""
        return next(iter(self._known_at[self._key(node, message)]), NONE)

    def sent_rows(self, queued: int) -> list[int]:
        """Return the rows in which the frame was on the air, in order."""
        rows, row = [], self._transmissions[queued]
        while row != NONE:
            rows.append(row)
            row = self._transmissions[row]
        return rows[::-1]

    def left_ns(self, queued: int) -> int:
        """Return when the frame left the queue, or NONE if it never did."""
        row = self.left[queued]
        return NONE if row == NONE else self.time_ns[row]

    def left_before_ns(self, queued: int) -> int:
        """Return when the previous frame left the queue, or NONE if no frame did."""
        row = self._left_before[queued]
        return NONE if row == NONE else self.time_ns[row]

    def queued_rows(self, node: str, message: str) -> Sequence[int]:
        """Return the rows in which this node queued a frame with the message."""
        return self._queued[self._key(node, message)]

    def brought(self, message: str, node: str) -> Sequence[int]:
        """Return the rows in which this message reached the node, in order."""
        return self._brought[self._key(node, message)]

    def brings(self, row: int, message: str, node: str) -> bool:
        """Return whether the message reached the node in this handler."""
        if row == NONE or message not in self.messages[row]:
            return False
        if self.step[row] == ARRIVED:
            return self.node[row] == node
        is_taken = self.to[row] in ("", node) and self.node[row][0] != node[0]
        return is_taken and self.step[row] == SENT and self.outcome_at(row, node) == RECEIVED

    def outcome_at(self, row: int, node: str) -> str:
        """Return the outcome of one transmission at a node."""
        text = self._heard[row]
        if f" {node} " in text:
            return RECEIVED
        _, is_heard, rest = text.partition(f" {node}:")
        return rest[: rest.index(" ")] if is_heard else OUT_OF_RANGE

    def outcome(self, queued: int, node: str) -> str:
        """Return the outcome of a frame at a node: received, or else the outcome of its last transmission."""
        outcomes = [self.outcome_at(row, node) for row in self.sent_rows(queued)]
        return RECEIVED if RECEIVED in outcomes else outcomes[-1] if outcomes else "never_sent"
