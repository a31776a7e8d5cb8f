"""Read the CSV tables of a study, and check that they are whole.

Shapes    rows are mappings from column to text; COLUMNS lists what each table has at least
Errors    StudyError, one line with the file: missing, not readable, or damaged
Source    mobilenet/lab/studies/tables.py; ours: docs/guide/studies.md
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mobilenet.lab.studies import StudyError
from mobilenet.metrics.registry import SURVIVAL

Rows = list[dict[str, str]]
COLUMNS = {  # name: texts, counts, numbers that may be missing
    "tables/summary.csv": (("metric", "label"), ("configuration", "n", "infinite"), ("mean", "low", "high")),
    "tables/runs.csv": (("run", "verdict"), ("configuration", "replication"), ()),
    "tables/buffers.csv": (("buffer",), ("configuration",), ("from_s", "to_s", "mean", "low", "high")),
    "tables/delays.csv": ((), ("configuration",), ("share", "delay_s", "deliveries")),
    "tables/distribution.csv": ((), ("configuration",), ("delay_s", "share", "deliveries")),
    "tables/handoffs.csv": (("run", "host"), (), ("begin_s", "duration_s", "interruption_s")),
    "runs.csv": (("run", "state"), (), ()),
    "sensitivity.csv": (("metric", "key", "range"), ("trajectories",), ("size", "high", "spread", "p_adjusted")),
}
AGAIN = "repeat the command that made it"
LONGEST_TEXT = 1000  # of a cell: the names of runs, metrics, buffers
LONGEST_COUNT = 12  # digits


def read_rows(path: Path) -> Rows:
    """Any of the CSV files, as they are."""
    return _read(path)[0]


def table_rows(directory: Path, name: str, numbers: tuple[str, ...] = ()) -> Rows:
    """One of COLUMNS, checked; `numbers`: further columns that have numbers, or nothing."""
    path = directory / name
    rows, columns = _read(path)
    texts, counts, always = COLUMNS[name]
    missing = [column for column in (*texts, *counts, *always) if columns and column not in columns]
    if missing:
        raise StudyError(f"{path}: damaged: column {missing[0]} is missing; {AGAIN}")
    for number, row in enumerate(rows, 1):
        if None in row or None in row.values():
            raise StudyError(f"{path}: damaged: row {number} is incomplete; {AGAIN}")
        for column in (*texts, *counts, *always, *numbers):
            if row.get(column) == "inf" and column in SURVIVAL:
                continue
            if not _fits(row.get(column, ""), column in counts, column in texts):
                raise StudyError(f"{path}: damaged: row {number}, {column} is {row[column][:60]!r}; {AGAIN}")
    return rows


def values_of_runs(directory: Path, metrics: Sequence[str]) -> dict[tuple[int, str], dict[int, float]]:
    """(configuration, metric) -> replication -> value. Raises StudyError."""
    values: dict[tuple[int, str], dict[int, float]] = {}
    for row in table_rows(directory, "tables/runs.csv", tuple(metrics)):
        for metric in metrics:
            if row.get(metric):
                values.setdefault((int(row["configuration"]), metric), {})[int(row["replication"])] = float(row[metric])
    return values


def _require_all_rows(path: Path, count: int) -> None:
    """Refuse a table that has other rows than the same table in Parquet: it may be cut at the end of a line."""
    twin = path.with_suffix(".parquet")
    if not twin.is_file():
        return
    try:
        written = pq.read_metadata(twin).num_rows
    except (OSError, pa.ArrowException):
        raise StudyError(f"{twin}: damaged: not readable as Parquet; {AGAIN}") from None
    if written != count:
        raise StudyError(f"{path}: damaged: {count} rows, but {twin.name} has {written}; {AGAIN}")


def _fits(value: str, is_count: bool, is_text: bool) -> bool:
    if is_text:
        return len(value) <= LONGEST_TEXT
    if is_count:
        return value.isascii() and value.isdecimal() and len(value) <= LONGEST_COUNT
    return not value or number(value) is not None


def number(value: object) -> float | None:
    """A finite one, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        as_float = float(value)
    except (ValueError, OverflowError):
        return None
    return as_float if math.isfinite(as_float) else None


def _read(path: Path) -> tuple[Rows, list[str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file, strict=True)
            rows = list(reader)
            _require_all_rows(path, len(rows))
            return rows, list(reader.fieldnames or ())
    except FileNotFoundError:
        raise StudyError(f"{path}: missing; the study is not finished; {AGAIN}") from None
    except OSError as error:
        raise StudyError(f"{path}: cannot be read: {error.strerror}; {AGAIN}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise StudyError(f"{path}: not readable as CSV: {error}; {AGAIN}") from None


def missing_runs(directory: Path) -> str | None:
    """Return how many runs the tables of a study cover, unless they cover all. Studies of earlier versions lack the
    table of planned runs.
    """
    planned, measured = directory / "runs.parquet", directory / "tables" / "runs.parquet"
    if not planned.is_file() or not measured.is_file():
        return None
    count, done = _rows_of(planned), _rows_of(measured)
    return None if done == count else f"unfinished: these numbers cover {done} of {count} runs"


def _rows_of(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException) as error:
        what = " ".join(str(error).split())[:200]
        raise StudyError(f"{path}: not readable as Parquet: {what}; {AGAIN}") from None
