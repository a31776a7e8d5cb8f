"""Tables that people bring along: comma-separated text, packed by gzip or not.

Model     the first line names the columns, in any order and case; more columns than needed do no harm
Units     as the columns' names say; metres and seconds where they say nothing
Errors    ScenarioError, `tracks.csv:17:3: ...` for line 17, third column
Source    RFC 4180, UTF-8
"""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from mobilenet.parameters import ScenarioError

MOST_CHARACTERS_IN_A_FIELD = 1000


class Row(NamedTuple):
    file: str
    line: int
    columns: Mapping[str, int]
    fields: list[str]

    def text(self, name: str) -> str:
        column = self.columns.get(name)
        return "" if column is None else self.fields[column].strip()

    def number(self, name: str) -> float:
        text = self.fields[self.columns[name]]
        try:
            value = float(text)
        except ValueError:
            raise self.error(name, f"{text[:40]!r} is no number" if text.strip() else "empty, expected a number") from None
        if not math.isfinite(value):
            raise self.error(name, f"{text[:40]!r} is no finite number")
        return value

    def error(self, name: str, what: str) -> ScenarioError:
        return ScenarioError(f"{self.file}:{self.line}:{self.columns[name] + 1}: {name}: {what}")


def coordinate(row: Row, name: str) -> float:
    value = row.number(name)
    if abs(value) > 1_000_000:
        raise row.error(name, f"{value:g} m is farther than 1000 km from the origin")
    return value


def rows(
    path: Path, needed: Mapping[str, tuple[str, ...]], welcome: Mapping[str, tuple[str, ...]] | None = None
) -> Iterator[Row]:
    """The rows after the header; `needed` and `welcome` say which column titles stand for which name."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            yield from _rows(path.name, reader, needed, welcome or {})
    except FileNotFoundError:
        raise ScenarioError(f"{path.name}: there is no such file beside the scenario") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path.name}: not text in UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ScenarioError(f"{path.name}: cannot be read: {error}") from None
    except csv.Error as error:
        raise ScenarioError(f"{path.name}:{reader.line_num}: {error}") from None


def _rows(
    file: str, reader: Iterator[list[str]], needed: Mapping[str, tuple[str, ...]], welcome: Mapping[str, tuple[str, ...]]
) -> Iterator[Row]:
    header = [title.strip().lower() for title in next(reader, [])]
    if not any(header):
        raise ScenarioError(f"{file}:1: empty, expected a line with the names of the columns")
    columns = {}
    for name, titles in {**needed, **welcome}.items():
        places = [place for place, title in enumerate(header) if title in titles]
        if len(places) > 1:
            raise ScenarioError(f"{file}:1: two columns for {name}")
        if places:
            columns[name] = places[0]
        elif name in needed:
            raise ScenarioError(f"{file}:1: no column {titles[0]!r}, only: {', '.join(header)[:200]}")
    for fields in reader:
        line: int = reader.line_num  # type: ignore[attr-defined]
        if not fields:
            continue
        if len(fields) != len(header):
            raise ScenarioError(f"{file}:{line}: {len(fields)} columns where the first line names {len(header)}")
        if any(len(field) > MOST_CHARACTERS_IN_A_FIELD for field in fields):
            raise ScenarioError(f"{file}:{line}: a field of more than {MOST_CHARACTERS_IN_A_FIELD} characters")
        yield Row(file, line, columns, fields)
