"""What a run notes while it goes on, in memory.

Model     append-only columns, never rows: one list per column
Units     integer nanoseconds; positions in metres
Shapes    the columns of schema.py
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from mobilenet.record.schema import COLUMNS
from mobilenet.record.table import Table

EVENTS = {  # each kind of event, and the kinds of nodes that it happens at: hosts, stations, plain processes
    **dict.fromkeys(("join", "leave", "broadcast", "refused", "deliver", "gap", "crash", "recover"), "hp"),
    **dict.fromkeys(("complete", "suspect", "trust"), "p"),
    **dict.fromkeys(("asked", "handoff_start", "handoff_end", "out_of_coverage", "in_coverage"), "h"),
    **dict.fromkeys(("datagram", "datagram_received"), "hs"),
    **dict.fromkeys(("expire", "cut", "mend", "radio_off", "radio_on"), "s"),
}


class EventLog:
    """The protocol events of a run in order of occurrence. The last three columns are as short as their last value
    allows.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = tuple(COLUMNS["events"])

    def __init__(self) -> None:
        self.time_ns: list[int] = []
        self.node: list[str] = []
        self.event: list[str] = []
        self.message: list[str | None] = []
        self._station: list[str | None] = []
        self._session: list[int | None] = []
        self._detail: list[str | None] = []

    def __len__(self) -> int:
        return len(self.time_ns)

    def add(
        self,
        time_ns: int,
        node: str,
        event: str,
        message: str | None = None,
        station: str | None = None,
        session: int | None = None,
        detail: dict[str, Any] | None = None,
    ) -> None:
        text = None if detail is None else json.dumps(detail, sort_keys=True)  # first: it may fail
        if station is not None:
            _append(self._station, len(self.time_ns), station)
        if session is not None:
            _append(self._session, len(self.time_ns), session)
        if text is not None:
            _append(self._detail, len(self.time_ns), text)
        self.time_ns.append(time_ns)
        self.node.append(node)
        self.event.append(event)
        self.message.append(message)

    def appends(
        self,
    ) -> tuple[Callable[[int], None], Callable[[str], None], Callable[[str], None], Callable[[str], None]]:
        """Record time_ns, node, event and message: all that a delivery needs; fast, for a million of them."""
        return self.time_ns.append, self.node.append, self.event.append, self.message.append

    def rows(self, first: int) -> list[tuple[Any, ...]]:
        """Return the rows from number `first` on."""
        return list(zip(*(column[first:] for column in self.columns().values()), strict=True))

    def fingerprint(self) -> str:
        return fingerprint(self.columns())

    def columns(self) -> dict[str, list[Any]]:
        """All of them, equally long."""
        for column in (self._station, self._session, self._detail):
            column.extend([None] * (len(self) - len(column)))
        full = (self.time_ns, self.node, self.event, self.message, self._station, self._session, self._detail)
        return dict(zip(self.COLUMNS, full, strict=True))


def _append(column: list[Any], row: int, value: Any) -> None:
    """The value of a row, after nothing for those since the last value."""
    if len(column) < row:
        column.extend([None] * (row - len(column)))
    column.append(value)


def fingerprint(columns: Mapping[str, list[Any]]) -> str:
    """SHA-256 over the events' columns, independent of how they are stored.

    Integers as 8 bytes little-endian, text as length and UTF-8, null as a marker;
    each column is preceded by its name and its number of rows.
    """
    return Table.of(columns).fingerprint()


class Columns:
    """A named bundle of equally long lists."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.lists: dict[str, list[Any]] = {name: [] for name in names}
        self._appends = [column.append for column in self.lists.values()]

    def __len__(self) -> int:
        return len(self.lists[self.names[0]])

    def add(self, *values: Any) -> None:
        for append, value in zip(self._appends, values, strict=True):
            append(value)


class Samples:
    """Sizes and lengths as they were measured; the columns by name, as in Columns, but a row costs four calls and no
    loop.
    """

    def __init__(self) -> None:
        self.lists: dict[str, list[Any]] = {"time_ns": [], "node": [], "quantity": [], "value": []}
        self._time_ns, self._node, self._quantity, self._value = self.lists.values()

    def __len__(self) -> int:
        return len(self._time_ns)

    def add(self, time_ns: int, node: str, quantity: str, value: int | float) -> None:  # each stays what it is
        self._time_ns.append(time_ns)
        self._node.append(node)
        self._quantity.append(quantity)
        self._value.append(value)


class CauseRows:
    """What led to what; the columns by name, as in Columns, but a row costs no loop."""

    def __init__(self) -> None:
        self.lists: dict[str, list[Any]] = {name: [] for name in COLUMNS["causes"]}
        (
            self._time_ns, self._node, self._step, self._cause, self._kind, self._to, self._messages, self._start_ns,
            self._end_ns, self._size_bytes, self._window, self._events, self._heard,
        ) = self.lists.values()  # fmt: skip

    def __len__(self) -> int:
        return len(self._time_ns)

    def add(
        self, time_ns: int, node: str, step: str, cause: int, kind: str, to: str, messages: str, start_ns: int,
        end_ns: int, size_bytes: int, window: str, events: int, heard: str,
    ) -> None:  # fmt: skip
        self._time_ns.append(time_ns)
        self._node.append(node)
        self._step.append(step)
        self._cause.append(cause)
        self._kind.append(kind)
        self._to.append(to)
        self._messages.append(messages)
        self._start_ns.append(start_ns)
        self._end_ns.append(end_ns)
        self._size_bytes.append(size_bytes)
        self._window.append(window)
        self._events.append(events)
        self._heard.append(heard)


class Recording:
    """Everything that a run records, in memory, as columns."""

    def __init__(
        self,
        frames: bool = False,
        messages: bool = False,
        links: bool = False,
        lines: bool = False,
        causes: bool = False,
    ) -> None:
        self.events = EventLog()
        self.samples = Samples()
        self.positions = Columns(*COLUMNS["positions"])
        self.frames = Columns(*COLUMNS["frames"]) if frames else None
        self.messages = Columns(*COLUMNS["messages"]) if messages else None
        self.links = Columns(*COLUMNS["links"]) if links else None
        self.lines = Columns(*COLUMNS["lines"]) if lines else None
        self.causes = CauseRows() if causes else None
        self.counters: dict[str, Any] = {}
        self._tables: dict[str, Table] = {}
        self._rows: tuple[int, ...] = ()

    def tables(self) -> dict[str, Table]:
        """The record so far as whole columns, made once, and again when there are more rows."""
        tables = self._others()
        rows = (len(self.events), *(len(table) for table in tables.values()))
        if rows != self._rows:
            self._rows = rows
            self._tables = {"events": Table(self.events.columns())}
            self._tables |= {name: Table(table.lists) for name, table in tables.items()}
        return self._tables

    def _others(self) -> dict[str, Samples | Columns | CauseRows]:
        """All tables but the events."""
        optional = {
            "frames": self.frames,
            "messages": self.messages,
            "links": self.links,
            "lines": self.lines,
            "causes": self.causes,
        }
        recorded = {name: table for name, table in optional.items() if table is not None}
        return {"samples": self.samples, "positions": self.positions, **recorded}

    def document(self) -> dict[str, Any]:
        """counters.json: what the network counted, and how many rows each table has, of events by kind."""
        sizes = {name: len(table) for name, table in self._others().items()}
        return {**self.counters, "rows": {"events": dict(sorted(Counter(self.events.event).items())), **sizes}}
