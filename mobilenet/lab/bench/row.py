"""The rows of a benchmark's table: their contents, and how they are printed and stored.

Source    ours: docs/performance.md
"""

from __future__ import annotations

import csv
import json
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from mobilenet import __version__
from mobilenet.engine import native


class Column(NamedTuple):
    field: str
    heading: str
    format: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """The first columns of a measurement: time, versions and case."""

    at: str
    version: str
    python: str
    compiled: bool
    case: str

    @classmethod
    def now(cls, case: str, *values: Any) -> Self:
        """Return a row with the current time and versions. `values` are the other columns in their order."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(at, __version__, platform.python_version(), native.in_use(), case, *values)


class HasName(Protocol):
    """A benchmark case that has a name."""

    @property
    def name(self) -> str: ...


Case = TypeVar("Case", bound=HasName)


def tell(once: Callable[[Case], dict[str, float]], cases: Sequence[Case]) -> None:
    """Measure, in this process, the case named on the command line. Print the result for the parent process."""
    print(json.dumps(once(next(case for case in cases if case.name == sys.argv[1]))))


def heading(columns: tuple[Column, ...]) -> str:
    return "  ".join(f"{column.heading:{_width(column)}}" for column in columns).rstrip()


def line(columns: tuple[Column, ...], row: Head) -> str:
    return "  ".join(f"{_cell(column, row):{_width(column)}}" for column in columns).rstrip()


def _width(column: Column) -> int:
    return max(len(column.heading), 14 if column.field == "case" else 6)


def _cell(column: Column, row: Head) -> str:
    value = getattr(row, column.field)
    if value is None:
        return ""
    return ("pass" if value else "MISS") if isinstance(value, bool) else f"{value:{column.format}}"


def append(path: Path, row: Head) -> None:
    """Append a row to the file of a table. If the existing file has other columns, rename it first."""
    names = [field.name for field in fields(row)]
    if path.is_file() and path.read_text(encoding="utf-8").splitlines()[:1] not in ([], [",".join(names)]):
        path.rename(path.with_name(f"{path.stem}.before-{datetime.now(UTC):%Y%m%dT%H%M%S}{path.suffix}"))
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        if file.tell() == 0:
            writer.writeheader()
        writer.writerow(asdict(row))
