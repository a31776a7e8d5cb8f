"""Damage the directory of a study as a failing disk, an editor or an attacker might.

Model     As in damages.py, a case consists of a name and a function that damages a directory.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .damages import BYTES, DEEP, WRONG, Damage, changing, document_damages

TEXTS = ("\x1b[31mx[/]", "-1", "nan", "inf", "1e999", "9" * 5000, "", "1.5", "x" * 200_000)
STRANGE: dict[str, tuple[Any, ...]] = {
    "string": ("\x1b[31m", "x" * 100_000, "", None),
    "double": (float("nan"), -1.0, None),
    "int": (-(2**31), 2**31 - 1, -1, None),
}
# Only the first columns of a table are damaged. All later columns are metrics, which are handled alike.
MOST_COLUMNS = 12


def study_damages(study: Path) -> Iterator[Damage]:
    """Yield all ways to damage a study. They depend only on its files."""
    names = [path.relative_to(study).as_posix() for path in sorted(study.rglob("*")) if path.is_file()]
    names = [name for name in names if not name.startswith("runs/") and not name.endswith((".svg", ".png"))]
    measured = [name for name in names if name.startswith("measured/")]
    for name in [name for name in names if name not in measured[1:]]:
        for what, spoil in BYTES.items():
            yield f"{name}: {what}", changing(name, spoil)
        yield f"{name}: gone", lambda place, name=name: (place / name).unlink()  # type: ignore[misc]
        yield f"{name}: a directory", _made_directory(name)
        if name.endswith(".parquet"):
            yield from _parquet(study, name)
        elif name.endswith(".csv"):
            yield from _csv(study, name)
        elif name.endswith(".json"):
            yield from document_damages(study, name)
            yield from _findings(study, name)
        elif "c001" not in name:
            yield from _lines(study, name)
    for folder in ("measured", "failed", "starting", "runs", "tables", "configurations", "configurations/c000"):
        yield f"{folder}: gone", lambda place, folder=folder: shutil.rmtree(place / folder)  # type: ignore[misc]
        yield f"{folder}: a file", _made_file(folder)
    yield "failed: a note that is none", _writing("failed/c000-r0001.json", b"[1]")
    yield "failed: a note nested without end", _writing("failed/c000-r0001.json", DEEP.encode())
    yield "failed: a directory in it", lambda place: (place / "failed" / "x").mkdir()
    yield "starting: a directory in it", lambda place: (place / "starting" / "x" / "y").mkdir(parents=True)
    yield "runs: a file of a run's name", _in_place_of_run
    yield "runs: a stranger", _writing("runs/x", b"")
    yield (
        "measured: another part",
        lambda place: shutil.copy(next((place / "measured").glob("*")), place / "measured" / "x.parquet") and None,
    )


def _writing(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda place: (place / name).write_bytes(data) and None


def _in_place_of_run(place: Path) -> None:
    shutil.rmtree(place / "runs" / "c000-r0001")
    (place / "runs" / "c000-r0001").write_text("x")


def _made_directory(name: str) -> Callable[[Path], None]:
    def spoil(place: Path) -> None:
        (place / name).unlink()
        (place / name).mkdir()

    return spoil


def _made_file(folder: str) -> Callable[[Path], None]:
    def spoil(place: Path) -> None:
        shutil.rmtree(place / folder)
        (place / folder).write_text("x")

    return spoil


def _lines(study: Path, name: str) -> Iterator[Damage]:
    """Yield ways to damage a YAML file. Each of them removes one line or changes its value."""
    lines = (study / name).read_text().splitlines(keepends=True)
    for number, line in enumerate(lines):
        key = line.partition(":")[0]
        yield (
            f"{name}: {key.strip()} is gone",
            _writing(name, "".join([*lines[:number], *lines[number + 1 :]]).encode()),
        )
        for value in (WRONG[number % len(WRONG)], WRONG[(number + 3) % len(WRONG)]):
            other = f"{key}: {json.dumps(value)}\n"
            spoilt = "".join([*lines[:number], other, *lines[number + 1 :]]).encode()
            yield f"{name}: {key.strip()} is {str(value)[:20]!r}", _writing(name, spoilt)


def _findings(study: Path, name: str) -> Iterator[Damage]:
    document = json.loads((study / name).read_text())
    for number, key in enumerate(document["findings"][0]):
        for value in (WRONG[number % len(WRONG)], WRONG[(number + 3) % len(WRONG)], ...):

            def spoil(place: Path, key: str = key, value: Any = value) -> None:
                document = json.loads((place / name).read_text())
                if value is ...:
                    del document["findings"][0][key]
                else:
                    document["findings"][0][key] = value
                (place / name).write_text(json.dumps(document))

            yield f"{name}: {key} of a finding is {str(value)[:20]!r}", spoil


def _csv(study: Path, name: str) -> Iterator[Damage]:
    with (study / name).open(newline="") as file:
        rows = list(csv.reader(file))
    for place, column in enumerate(rows[0][:MOST_COLUMNS] if rows else ()):
        yield f"{name}: column {column} is gone", _written_rows(name, [row[:place] + row[place + 1 :] for row in rows])
        for value in (TEXTS[place % len(TEXTS)], TEXTS[(place + 4) % len(TEXTS)]):
            spoilt = [list(row) for row in rows]
            spoilt[len(rows) // 2][place] = value
            yield f"{name}: {column} is {value[:20]!r}", _written_rows(name, spoilt)
    yield f"{name}: no rows", _written_rows(name, rows[:1])
    yield f"{name}: a short row", _written_rows(name, [*rows, ["1"]])


def _written_rows(name: str, rows: list[list[str]]) -> Callable[[Path], None]:
    def spoil(place: Path) -> None:
        with (place / name).open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

    return spoil


def _parquet(study: Path, name: str) -> Iterator[Damage]:
    schema = pq.read_schema(study / name)
    for place, field in enumerate(list(schema)[:MOST_COLUMNS]):
        column = field.name
        yield f"{name}: column {column} is gone", _columns(name, partial(pa.Table.drop_columns, columns=[column]))
        kind = str(field.type)
        other = pa.int64() if kind == "string" else pa.string()
        yield f"{name}: {column} is {other}", _columns(name, partial(_of_type, place=place, kind=other))
        for value in STRANGE.get("int" if kind.startswith("int") else kind, (None,)):
            yield f"{name}: {column} {str(value)[:20]!r}", _columns(name, partial(_one, place=place, value=value))
    yield f"{name}: no rows", _columns(name, lambda table: table.slice(0, 0))
    yield f"{name}: twice", _columns(name, lambda table: pa.concat_tables([table, table]))
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        yield f"{name}: a byte at {share}", changing(name, lambda data, s=share: _flip(data, s))  # type: ignore[misc]


def _flip(data: bytes, share: float) -> bytes:
    place = int(len(data) * share)
    return data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]


def _columns(name: str, change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    return lambda place: pq.write_table(change(pq.read_table(place / name)), place / name)


def _of_type(table: pa.Table, place: int, kind: pa.DataType) -> pa.Table:
    values = pa.array([None if kind == pa.int64() else "x"] * len(table), kind)
    return table.set_column(place, table.schema.field(place).name, values)


def _one(table: pa.Table, place: int, value: Any) -> pa.Table:
    values = table.column(place).to_pylist()
    values[len(values) // 2 : len(values) // 2 + 1] = [value]
    return table.set_column(place, table.schema.field(place), pa.array(values, table.schema.types[place]))
