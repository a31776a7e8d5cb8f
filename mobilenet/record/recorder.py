"""The record of a run while it is in progress.

Model     the record consists of append-only columns, with one list for each column. From time to time, between two
          events, the rows of the lists are moved into typed batches (batches.py), so that a long run needs little more
          memory than a short one
Units     integer nanoseconds; positions in metres
Shapes    the columns of schema.py
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import json
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from mobilenet.record.batches import SUFFIX, Batches
from mobilenet.record.schema import COLUMNS
from mobilenet.record.table import Table

MOST_ROWS = 100_000  # When the lists contain this many rows, the rows are moved into batches.
LONGEST_S = 5.0  # rows stay in lists for at most this wall time


class Rows:
    """A growing table whose most recent rows are stored in lists of equal length."""

    def __init__(self, table: str) -> None:
        self.lists: dict[str, list[Any]] = {name: [] for name in COLUMNS[table]}
        self._first = next(iter(self.lists.values()))
        self._in_batches = 0

    def __len__(self) -> int:
        return self._in_batches + len(self._first)

    @property
    def waiting(self) -> int:
        """The number of rows in the lists."""
        return len(self._first)

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows in the lists, column by column."""
        return self.lists

    def clear(self) -> None:
        """Empty the lists, because their rows have been moved into batches."""
        self._in_batches += len(self._first)
        for column in self.lists.values():
            column.clear()


class PlainRows(Rows):
    """A table that has few rows or is recorded only on request."""

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self._appends = [column.append for column in self.lists.values()]

    def add(self, *values: Any) -> None:
        for append, value in zip(self._appends, values, strict=True):
            append(value)

    def extend(self, *columns: list[Any]) -> None:
        """Add several rows at once."""
        for column, values in zip(self.lists.values(), columns, strict=True):
            column.extend(values)


class EventLog(Rows):
    """The events of the protocol in order of occurrence. In the last three columns, trailing missing values are not
    stored.
    """

    def __init__(self) -> None:
        super().__init__("events")
        (
            self.time_ns, self.node, self.event, self.message, self._station, self._session, self._detail,
        ) = self.lists.values()  # fmt: skip

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
        # This comes before any change to a column, because it may raise an error.
        text = None if detail is None else json.dumps(detail, sort_keys=True)
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

    def rows(self, first: int) -> list[tuple[Any, ...]]:
        """Return the rows from number `first` on. Raise IndexError if one of them was moved into a batch."""
        first -= self._in_batches
        if first < 0:
            raise IndexError(f"{-first} of the requested rows have been moved into batches")
        return list(zip(*(column[first:] for column in self.columns().values()), strict=True))

    def columns(self) -> dict[str, list[Any]]:
        for column in (self._station, self._session, self._detail):
            column.extend([None] * (len(self.time_ns) - len(column)))
        return self.lists


def _append(column: list[Any], row: int, value: Any) -> None:
    """Append a value for this row. Earlier rows without a value receive None."""
    if len(column) < row:
        column.extend([None] * (row - len(column)))
    column.append(value)


class Samples(Rows):
    """The sampled sizes and lengths. For speed, rows are added without a loop over the columns."""

    def __init__(self) -> None:
        super().__init__("samples")
        self._time_ns, self._node, self._quantity, self._value = self.lists.values()

    def add(self, time_ns: int, node: str, quantity: str, value: int | float) -> None:
        self._time_ns.append(time_ns)
        self._node.append(node)
        self._quantity.append(quantity)
        self._value.append(value)


class CauseRows(Rows):
    """The rows of the table of causes. For speed, rows are added without a loop over the columns."""

    def __init__(self) -> None:
        super().__init__("causes")
        (
            self._time_ns, self._node, self._step, self._cause, self._kind, self._to, self._messages, self._start_ns,
            self._end_ns, self._size_bytes, self._window, self._events, self._heard,
        ) = self.lists.values()  # fmt: skip

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
    """Everything that a run records, in columns."""

    def __init__(
        self,
        frames: bool = False,
        messages: bool = False,
        links: bool = False,
        lines: bool = False,
        causes: bool = False,
        folder: Path | None = None,
    ) -> None:
        """Set up the tables. `folder` is where the batches are written; if it is None, all rows stay in memory."""
        self.events = EventLog()
        self.samples = Samples()
        self.positions = PlainRows("positions")
        self.frames = PlainRows("frames") if frames else None
        self.messages = PlainRows("messages") if messages else None
        self.links = PlainRows("links") if links else None
        self.lines = PlainRows("lines") if lines else None
        self.causes = CauseRows() if causes else None
        self.counters: dict[str, Any] = {}
        tables: dict[str, Rows | None] = {
            "events": self.events,
            "samples": self.samples,
            "positions": self.positions,
            "frames": self.frames,
            "messages": self.messages,
            "links": self.links,
            "lines": self.lines,
            "causes": self.causes,
        }
        self._rows = {name: table for name, table in tables.items() if table is not None}
        paths = {name: None if folder is None else folder / f"{name}{SUFFIX}" for name in self._rows}
        self._batches = {name: Batches(path) for name, path in paths.items()}
        self._settled_s = monotonic()
        self._tables: dict[str, Table] = {}
        self._known: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        """The total number of rows in all tables."""
        return sum(map(len, self._rows.values()))

    def settle(self, now_ns: int) -> None:
        """Move rows into batches, between two events, if there are many or if the last move was long ago."""
        is_early = monotonic() < self._settled_s + LONGEST_S
        if is_early and sum([table.waiting for table in self._rows.values()]) < MOST_ROWS:
            return
        self._settled_s = monotonic()
        for batches in self._batches.values():
            batches.create_file()
        for name, table in self._rows.items():
            self._batches[name].add(table.columns(), now_ns)
            table.clear()

    def tables(self) -> dict[str, Table]:
        """Return the tables recorded so far. They are cached until more rows are recorded."""
        known = tuple([len(table) for table in self._rows.values()])
        if known != self._known:
            self._known = known
            self._tables = {name: self._batches[name].table(table.columns()) for name, table in self._rows.items()}
        return self._tables

    def fingerprint(self) -> str:
        return self.tables()["events"].fingerprint()

    def remove_batches(self) -> None:
        """Remove the files of the batches, and forget the tables, which keep these files open."""
        self._tables = {}
        for batches in self._batches.values():
            batches.remove()

    def document(self) -> dict[str, Any]:
        """Return counters.json: the counters of the network, the number of rows of each table, and the number of events
        of each kind.
        """
        kinds = self.tables()["events"].column("event")
        counts = dict(zip(kinds.words, np.bincount(kinds.codes, minlength=len(kinds.words)).tolist(), strict=True))
        sizes = {name: len(table) for name, table in self._rows.items() if name != "events"}
        return {**self.counters, "rows": {"events": dict(sorted(counts.items())), **sizes}}
