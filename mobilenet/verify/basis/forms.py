"""Whether all that is read from a run directory can be computed with, before any check looks at it.

Model     numbers of a record are far below what 64 bits hold, so sums of them are as well; JSON in a cell is not nested
          so deeply that it cannot be read. What is beyond that is refused, whatever it means
Errors    RunError, one line
Source    ours: docs/run-directory.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from mobilenet.quoting import cut
from mobilenet.rundir.reader import RunError
from mobilenet.rundir.schema import COLUMNS, NULLABLE
from mobilenet.rundir.table import Table

MOST = 1 << 61  # of a whole number in a table; in nanoseconds 73 years
MOST_BYTES = 1 << 40  # of a message
LARGEST = 1 << 63  # of a number in a document
MOST_DB = 3000  # beyond it a power has no value in milliwatts
IN_DB = ("power_dbm", "sinr_db")
DEEPEST = 900  # brackets within each other
JSON_COLUMNS = {"events": "detail", "messages": "detail", "lines": "line"}
LONGEST = 80  # characters of a value in an error


def require_readable(directory: Path, tables: Mapping[str, Table]) -> None:
    """Raise RunError if a cell of a table cannot be computed with."""
    for name, table in tables.items():
        for problem in chain(_numbers_problems(name, table), _nested_problems(name, table)):
            raise RunError(f"{directory / f'{name}.parquet'}: {problem}")


def number_problem(path: str, value: Any) -> str | None:
    """The first number in a document that is beyond all that a run can count."""
    if isinstance(value, dict):
        return next(filter(None, (number_problem(f"{path}.{key}", inside) for key, inside in value.items())), None)
    if isinstance(value, list):
        return next(filter(None, (number_problem(path, inside) for inside in value)), None)
    if isinstance(value, int) and abs(value) > LARGEST:
        return f"{cut(path, LONGEST)} is a number of {value.bit_length()} bits, expected at most 64"
    return None


def _numbers_problems(name: str, table: Table) -> Iterator[str]:
    for column, kind in COLUMNS[name].items():
        if kind == "int64":
            values = table.numbers_or(column, 0) if column in NULLABLE else table.numbers(column)
            least, most = (0, MOST_BYTES) if column.endswith("_bytes") else (-MOST, MOST)
        elif column in IN_DB:
            values, least, most = table.numbers(column), -MOST_DB, MOST_DB
        else:
            continue
        odd = (values < least) | (values > most)  # a missing number is neither
        if odd.any():
            row = int(odd.argmax())
            yield f"row {row} has {column} {values[row]}, expected {least} to {most}"


def _nested_problems(name: str, table: Table) -> Iterator[str]:
    column = JSON_COLUMNS.get(name)
    coded = table.column(column) if column is not None else None
    for code, word in enumerate(coded.words if coded is not None else ()):
        if word.count("[") + word.count("{") > DEEPEST and _depth(word) > DEEPEST:
            row = int((coded.codes == code).argmax()) if coded is not None else 0
            yield f"row {row}: {column} is nested too deeply: more than {DEEPEST} levels of brackets"


def _depth(text: str) -> int:
    """Return how deeply brackets are nested, not counting those inside strings."""
    depth = deepest = 0
    in_text = escaped = False
    for sign in text:
        if in_text:
            in_text, escaped = escaped or sign != '"', not escaped and sign == "\\"
        elif sign == '"':
            in_text = True
        elif sign in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in "]}":
            depth -= 1
    return deepest
