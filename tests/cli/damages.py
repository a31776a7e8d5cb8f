"""Damage a run directory as a failing disk, an editor or an attacker might.

Model     A case consists of a name and a function that damages a directory. The cases depend only on the files, so
          the same run is always damaged in the same ways.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Damage = tuple[str, Callable[[Path], None]]

DEEP = "[" * 100_000
WRONG: tuple[Any, ...] = ([], None, "\x1b[31mx[/]", {"a": [1]}, -1, 10**30, True)
COLUMNS: dict[str, tuple[tuple[str, Any], ...]] = {
    "events": (
        ("time_ns", 2**63 - 1), ("time_ns", -(2**63)), ("node", "\x1b[31m"), ("node", "h99999999999999999999"),
        ("event", "no"), ("message", "h1"), ("message", "h0:" + "9" * 5000), ("station", "x"), ("session", -(2**63)),
        ("detail", "{"), ("detail", DEEP), ("detail", "[1]"), ("detail", '{"a": NaN}'), ("detail", '{"from": ' + DEEP),
    ),
    "samples": (("time_ns", 2**63 - 1), ("time_ns", -(2**63)), ("node", "s999"), ("quantity", "\x1b"),
                ("value", float("nan")), ("value", float("inf")), ("value", 1e308)),
    "positions": (("time_ns", 2**63 - 1), ("time_ns", -1), ("node", ""), ("x_m", float("nan")), ("y_m", 1e308),
                  ("x_m", float("-inf"))),
}  # fmt: skip


def damages(run: Path) -> Iterator[Damage]:
    for name in ("scenario.yaml", "manifest.json", "counters.json", "metrics.json", "verdict.json", "events.parquet",
                 "samples.parquet", "positions.parquet"):  # fmt: skip
        for what, spoil in BYTES.items():
            yield f"{name}: {what}", changing(name, spoil)
    for name in ("manifest.json", "counters.json", "metrics.json", "verdict.json"):
        yield from document_damages(run, name)
    for table, changes in COLUMNS.items():
        for column, value in changes:
            yield f"{table}.parquet: {column} {str(value)[:20]!r}", _cell(f"{table}.parquet", column, value)


def document_damages(run: Path, name: str) -> Iterator[Damage]:
    """Yield ways to damage a document. Each of them removes one key or gives it a wrong value."""
    document = json.loads((run / name).read_text())
    paths: list[tuple[str, ...]] = [(key,) for key in document]
    paths += [(key, *list(inside)[:1]) for key, inside in document.items() if isinstance(inside, dict) and inside]
    for number, path in enumerate(paths):
        for value in (WRONG[number % len(WRONG)], WRONG[(number + 3) % len(WRONG)]):
            yield f"{name}: {'.'.join(path)} is {str(value)[:20]!r}", _set(name, path, value)
        yield f"{name}: {'.'.join(path)} is gone", _set(name, path, ...)


BYTES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "no UTF-8": lambda data: data[:20] + b"\xff" + data[20:],
    "nested without end": lambda data: DEEP.encode(),
    "nested in keys": lambda data: b'{"a": ' * 50_000,
    "a list": lambda data: b"[1, 2]\n",
    "a NUL": lambda data: data[:40] + b"\0" + data[40:],
}


def changing(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda run: (run / name).write_bytes(change((run / name).read_bytes())) and None


def _set(name: str, path: tuple[str, ...], value: Any) -> Callable[[Path], None]:
    def spoil(run: Path) -> None:
        document = json.loads((run / name).read_text())
        inside = document
        for key in path[:-1]:
            inside = inside[key]
        if value is ...:
            del inside[path[-1]]
        else:
            inside[path[-1]] = value
        (run / name).write_text(json.dumps(document))

    return spoil


def _cell(name: str, column: str, value: Any) -> Callable[[Path], None]:
    """Return a function that changes one cell of a column: the last cell of `time_ns`, or the middle cell of another
    column.
    """

    def spoil(run: Path) -> None:
        table = pq.read_table(run / name)
        values = table[column].to_pylist()
        values[-1 if column == "time_ns" else len(values) // 2] = value
        place = table.schema.get_field_index(column)
        pq.write_table(table.set_column(place, table.schema.field(column), pa.array(values, table.schema.types[place])),
                       run / name)  # fmt: skip

    return spoil
