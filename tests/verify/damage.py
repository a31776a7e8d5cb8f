"""Damage a run directory in a way that the verifier must detect.

Model     The tables are available as columns, such as `Copy.events`. `save` writes changed tables back and recomputes
          the fingerprint and the digests of files. It also updates the number of rows, unless the caller forbids it.
          Checksums therefore cannot detect the damage, and the verifier must find a violated property.
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from mobilenet.record.reader import read_columns, read_events
from mobilenet.record.schema import OPTIONAL_TABLES
from mobilenet.record.table import Table as RecordTable
from mobilenet.verify import Verdict, verify_run
from tests.tools import sign

SCENARIO = """
seed: 3
duration_s: 20
drain_s: 60
stations: {layout: {shape: points, points_m: [[0, 0], [130, 0]]}}
wireless: {range_m: 80, loss: 0.05}
hosts: {count: 5, mobility: {model: random_waypoint, speed_mps: [8, 12]}}
faults: {schedule: explicit, outages: [{host: h1, at_s: 6, duration_s: 2}]}
churn:
  changes:
  - {host: h2, at_s: 8, kind: leave}
  - {host: h2, at_s: 11, kind: join}
  - {host: h3, at_s: 12, kind: leave}
protocol: {name: mobile_causal}
workload: {interval_s: 1}
"""


class Table(dict[str, list[Any]]):
    """A table of named columns, which are also available as attributes."""

    def __getattr__(self, column: str) -> list[Any]:
        if column not in self:
            raise AttributeError(column)
        return self[column]

    def __setattr__(self, column: str, values: list[Any]) -> None:
        self[column] = values

    def each(self, *columns: str) -> Iterator[Any]:
        """Yield a tuple for each row with its values in these columns."""
        return zip(*(self[column] for column in columns), strict=True)

    def where(self, **values: Any) -> list[int]:
        """Return the indices of the rows that have these values in the named columns."""
        wanted = tuple(values.values())
        return [row for row, cells in enumerate(self.each(*values)) if cells == wanted]

    def at(self, row: int, *columns: str) -> tuple[Any, ...]:
        return tuple(self[column][row] for column in columns)

    def row(self, row: int) -> dict[str, Any]:
        return {name: column[row] for name, column in self.items()}

    def change(self, row: int, **values: Any) -> None:
        for name, value in values.items():
            self[name][row] = value

    def insert(self, row: int, **values: Any) -> None:
        """Insert a new row before `row`."""
        for name, column in self.items():
            column.insert(row, values.get(name))

    def remove(self, rows: Iterable[int]) -> None:
        for row in sorted(rows, reverse=True):
            for column in self.values():
                del column[row]

    def sort(self, by: str) -> None:
        order = sorted(range(len(self[by])), key=self[by].__getitem__)
        for name, column in self.items():
            self[name] = [column[row] for row in order]

    def detail_of(self, row: int) -> dict[str, Any]:
        """Return the decoded JSON detail of this row."""
        return json.loads(self.detail[row] or "{}")  # type: ignore[no-any-return]

    def say(self, row: int, **values: Any) -> None:
        """Set these keys in the JSON detail of the row."""
        self.detail[row] = json.dumps(self.detail_of(row) | values)

    def add(self, row: int, **numbers: float) -> None:
        """Add these numbers to the values in the detail of the row."""
        detail = self.detail_of(row)
        self.say(row, **{name: detail[name] + number for name, number in numbers.items()})


class Copy:
    def __init__(self, whole: Path, path: Path) -> None:
        shutil.copytree(whole, path)
        self.path = path
        self.events = Table(read_events(path))
        self.samples = Table(read_columns(path, "samples"))
        self.positions = Table(read_columns(path, "positions"))
        table_names = [name for name in OPTIONAL_TABLES if (path / f"{name}.parquet").exists()]
        self.optional = {name: Table(read_columns(path, name)) for name in table_names}
        self.counters: dict[str, Any] = json.loads((path / "counters.json").read_text())
        self.manifest: dict[str, Any] = json.loads((path / "manifest.json").read_text())

    def save(self, renew: bool = True, recount: bool = True) -> None:
        tables = {"events": self.events, "samples": self.samples, "positions": self.positions, **self.optional}
        if renew:
            self.manifest["fingerprint"] = RecordTable.of(self.events).fingerprint()
            if recount:
                sizes = {name: len(next(iter(table.values()))) for name, table in tables.items()}
                self.counters["rows"] |= {**sizes, "events": dict(Counter(self.events.event))}
        for name, table in tables.items():
            RecordTable.of(table).write(self.path / f"{name}.parquet")
        (self.path / "counters.json").write_text(json.dumps(self.counters))
        sign(self.path, self.manifest)

    # --- tables of some runs only

    @property
    def frames(self) -> Table:
        return self.optional["frames"]

    @property
    def links(self) -> Table:
        return self.optional["links"]

    @property
    def messages(self) -> Table:
        return self.optional["messages"]

    @property
    def lines(self) -> Table:
        return self.optional["lines"]

    # --- events

    def rows(self, event: str, node: str | None = None) -> list[int]:
        return self.events.where(event=event) if node is None else self.events.where(event=event, node=node)

    def first(self, event: str, node: str | None = None) -> int:
        return self.rows(event, node)[0]

    def last(self, event: str, node: str | None = None) -> int:
        return self.rows(event, node)[-1]

    def after(self, time_ns: float) -> int:
        """Return the row of the first event after this time."""
        return next(row for row, at_ns in enumerate(self.events.time_ns) if at_ns > time_ns)

    def remove(self, *rows: int) -> None:
        self.events.remove(rows)

    def insert(self, row: int, **values: Any) -> None:
        """Insert a new event before `row`, with the time of that row."""
        self.events.insert(row, **{"time_ns": self.events.time_ns[row]} | values)

    def insert_at(self, time_ns: int, /, **values: Any) -> None:
        """Insert a new event at this time, after all other events of the same time."""
        self.insert(self.after(time_ns), **values | {"time_ns": time_ns})

    def repeat(self, row: int, before: int) -> None:
        self.insert(before, **self.events.row(row) | {"time_ns": self.events.time_ns[before]})

    def move(self, row: int, before: int) -> None:
        """Move the event directly before an earlier event, and give it the time of that event."""
        self.repeat(row, before)
        self.remove(row + 1)

    def shift(self, row: int, time_ns: int) -> None:
        """Move the event to another time, after all other events of that time."""
        values = self.events.row(row)
        self.remove(row)
        self.insert_at(time_ns, **values)

    def swap(self, a: int, b: int) -> None:
        """Exchange two events, but keep the times of both rows."""
        for name, column in self.events.items():
            if name != "time_ns":
                column[a], column[b] = column[b], column[a]


Damage = Callable[[Copy], None]
Runs = dict[str, Path]  # name of a run -> its directory


def verdicts_after(
    whole: Path, path: Path, damage: Damage, renew: bool = True, recount: bool = True
) -> dict[str, Verdict]:
    copy = Copy(whole, path)
    damage(copy)
    copy.save(renew, recount)
    return verify_run(path)


class Edits:
    """A decorator that registers edits of recorded runs under the name of the edit and the name of the run."""

    def __init__(self) -> None:
        self.all: dict[tuple[str, str], tuple[Any, Damage]] = {}

    def __call__(self, caught_by: Any, names: str) -> Callable[[Damage], Damage]:
        """Register an edit for the runs with these names, which are separated by spaces.

        `caught_by` states which property the damage must violate, a part of its explanation, or both.
        """

        def register(function: Damage) -> Damage:
            self.add(function.__name__, caught_by, names, function)
            return function

        return register

    def add(self, how: str, caught_by: Any, names: str, damage: Damage) -> None:
        self.all |= {(how, name): (caught_by, damage) for name in names.split()}

    def require_caught(self, how: str, name: str, runs: Runs, folder: Path) -> None:
        """Require that the damaged run violates the expected property, and that the explanation has only a few
        lines.
        """
        check, damage = self.all[how, name]
        verdicts = verdicts_after(runs[name], folder / "edited", damage)
        assert verdicts[check].answer == "violated", {
            name: verdict for name, verdict in verdicts.items() if verdict.answer != "valid"
        }
        assert 1 <= len(verdicts[check].explanation.splitlines()) < 10
