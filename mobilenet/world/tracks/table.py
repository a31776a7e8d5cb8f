"""Read tables from external text files, which may be compressed with gzip.

Model     The first line contains the names of the columns, in any order and in upper or lower case. Additional columns
          are ignored. The separator is the most frequent of comma, semicolon and tab in the first line.
Units     The names of the columns state the units, which are otherwise metres and seconds.
Errors    ScenarioError, such as `tracks.csv:17:3: ...` for line 17, third column.
Source    RFC 4180, UTF-8
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks.source import lines, open_tracks, path_text, short

MOST_CHARACTERS_IN_A_FIELD = 1000
SEPARATORS = ",;\t"
UNITS = {
    "ft": "feet", "feet": "feet", "mi": "miles", "miles": "miles", "yd": "yards", "km": "kilometres",
    "cm": "centimetres", "mm": "millimetres", "in": "inches", "inch": "inches", "nmi": "nautical miles",
    "usft": "US survey feet",
}  # fmt: skip

Titles = tuple[str, ...]


class Table:
    """Reads a table: first the column titles, then the rows one by one."""

    def __init__(self, file: str, text: Iterator[str], titles: Sequence[str] | None = None) -> None:
        """Read the column titles, or use `titles` for a file without them."""
        self.file = file
        first = next(text, "")
        separator = max(SEPARATORS, key=first.count)
        separator = separator if separator in first.strip() else " "
        rows = _with(first, text) if separator != " " else (line.strip() + "\n" for line in _with(first, text))
        self._reader = csv.reader(rows, delimiter=separator, skipinitialspace=separator == " ", strict=True)
        header = next(self._reader, []) if titles is None else list(titles)
        self._begun = 2  # the line at which the next row begins
        self.titles = [title.strip().lower() for title in header]
        if not any(self.titles):
            raise ScenarioError(f"{file}:1: empty, expected a line with the names of the columns")

    def find(self, titles: Titles) -> int | None:
        """Return the index of the column with one of these titles, or None."""
        places = [place for place, title in enumerate(self.titles) if title in titles]
        if len(places) > 1:
            first, second = places[:2]
            raise ScenarioError(
                f"{self.file}:1:{second + 1}: {short(self.titles[second])} means the same as column {first + 1},"
                f" {short(self.titles[first])}"
            )
        return places[0] if places else None

    def need(self, titles: Titles, instead: Titles = (), advice: str = "") -> int:
        """Return the index of the column with one of these titles, or else with one of the titles in `instead`. Raise
        ScenarioError if there is none.
        """
        place = self.find(titles)
        if place is None and instead:
            place = self.find(instead)
        if place is None:
            also = f" (or {', '.join((*titles[1:], *instead))})" if len(titles) + len(instead) > 1 else ""
            names = ", ".join(title if title.isprintable() else short(title) for title in self.titles)
            advice = advice or self._unit_advice(titles)
            raise ScenarioError(f"{self.file}:1: no column {titles[0]!r}{also}, only: {names[:200]}{advice}")
        return place

    def _unit_advice(self, titles: Titles) -> str:
        """Return advice if a column has one of these names but another unit, and otherwise an empty string."""
        for title in self.titles:
            name, _, unit = re.sub(r"[\s_(\[]+", "_", title).rstrip(")]").rpartition("_")
            if name in titles and unit in UNITS:
                return f"; {short(title)} seems to be in {UNITS[unit]}: expected {name}_m in metres"
        return ""

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line number and the fields of each row."""
        width = len(self.titles)
        for fields in self._reader:
            self._begun = self._reader.line_num + 1
            if not fields:
                continue
            if len(fields) != width:
                at = f"{self._reader.line_num}:{min(len(fields), width) + 1}"
                raise ScenarioError(f"{self.file}:{at}: {len(fields)} columns, but the first line names {width}")
            if max(map(len, fields)) > MOST_CHARACTERS_IN_A_FIELD:
                column = max(range(width), key=lambda place: len(fields[place]))
                raise ScenarioError(
                    f"{self.file}:{self._reader.line_num}:{column + 1}: a field of more than"
                    f" {MOST_CHARACTERS_IN_A_FIELD} characters"
                )
            yield self._reader.line_num, fields

    def error(self, line: int, column: int, name: str, what: str) -> ScenarioError:
        return ScenarioError(f"{self.file}:{line}:{column + 1}: {name}: {what}")

    def number(self, line: int, column: int, name: str, text: str) -> float:
        try:
            value = as_number(text)
        except ValueError:
            raise self.error(line, column, name, no_number(text)) from None
        if not math.isfinite(value):
            raise self.error(line, column, name, f"{short(text)} is not a finite number")
        return value

    def problem(self, error: csv.Error) -> ScenarioError:
        if "end of data" in str(error):
            return ScenarioError(f"{self.file}:{self._begun}: a quotation mark is opened here and never closed")
        return _csv_problem(self.file, max(1, self._reader.line_num), error)


def _csv_problem(file: str, line: int, error: csv.Error) -> ScenarioError:
    what = "lines end with CR only; expected LF, or CR and LF" if "new-line character" in str(error) else error
    return ScenarioError(f"{file}:{line}: {what}")


def as_number(text: str) -> float:
    """Convert text to a number like float(), but reject underscores as in 1_0, which are specific to Python. Raise
    ValueError if the text is not a number.
    """
    if "_" in text:
        raise ValueError
    return float(text)


def no_number(text: str) -> str:
    """Return the error message for a text that as_number() rejects."""
    if not text.strip():
        return "empty, expected a number"
    try:
        as_number(text.replace(",", "."))
    except ValueError:
        return f"{short(text)} is not a number"
    return f"{short(text)} is not a number; use a decimal point"


@contextmanager
def table(path: Path, titles: Sequence[str] | None = None) -> Iterator[Table]:
    """Open a table for reading. Report errors in the file's format with their line."""
    reader: Table | None = None
    try:
        with open_tracks(path) as stream:
            reader = Table(path_text(path), lines(stream, path_text(path)), titles)
            yield reader
    except csv.Error as error:
        raise (_csv_problem(path_text(path), 1, error) if reader is None else reader.problem(error)) from None


def _with(first: str, rest: Iterator[str]) -> Iterator[str]:
    if first:
        yield first
    yield from rest


class Row(NamedTuple):
    table: Table
    line: int
    columns: Mapping[str, int | None]
    fields: list[str]

    def text(self, name: str) -> str:
        column = self.columns.get(name)
        return "" if column is None else self.fields[column].strip()

    def number(self, name: str) -> float:
        column = self.columns[name]
        assert column is not None
        return self.table.number(self.line, column, name, self.fields[column])

    def error(self, name: str, what: str) -> ScenarioError:
        return self.table.error(self.line, self.columns[name] or 0, name, what)
