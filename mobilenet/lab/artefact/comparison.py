"""Compare recomputed tables and answers with the originals in an archive.

Model     The bits are the same if the CSV tables, which include the fingerprint of each run, have the same bytes. If
          identical bits are promised because the versions are the same, Parquet files are compared too. Otherwise,
          the results are the same if all texts are equal and the relative difference of the numbers is at most 1e-9,
          because other machines may round the last digit differently.
Errors    None. A file that cannot be read counts as different.
Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.quoting import pluralize

CLOSE = 1e-9  # Numbers with a relative difference up to this limit count as equal.
CLOSE_TO_0 = 1e-12
SEARCHES = ("capacity", "sensitivity")  # tables that contain the results of searches
APART = ("effects", *SEARCHES)  # tables that the comparison of studies skips


class Sameness(Enum):
    """The possible outcomes of running a study or a claim again."""

    BITS = "bit-identical"
    NUMBERS = "same numbers"
    DIFFERS = "differs"
    UNFINISHED = "unfinished"
    NOT_RUN = "not run"


class Line(NamedTuple):
    """The result of checking one study or claim."""

    what: str
    sameness: Sameness
    why: str = ""


def compare_study(what: str, original: Path, again: Path, is_promised: bool) -> Line:
    """Compare the tables of a study. `is_promised` states whether identical bits are promised."""
    names = _names(original, "csv"), _names(original, "parquet")
    return _compare_tables(
        Line(what, Sameness.BITS, pluralize(_count(original / "runs.csv"), "run")), original, again, names, is_promised
    )


def compare_search(
    what: str, original: Path, again: Path, words: str, documents: tuple[Any, Any], is_promised: bool
) -> Line:
    """Compare the results of a search. `words` is a short form of the result, and `documents` contains the old and the
    new JSON data.
    """
    (name,) = (path.stem for path in original.glob("*.csv") if path.stem in SEARCHES)
    before, now = documents
    line = Line(what, Sameness.BITS, words)
    for key in dict.fromkeys((*before, *now)):
        if before.get(key) == now.get(key):
            continue
        if is_promised or not _is_close(before.get(key), now.get(key)):
            why = f"{key}: {_short(now.get(key))} here, {_short(before.get(key))} in the archive"
            return Line(what, Sameness.DIFFERS, why)
        line = line._replace(sameness=Sameness.NUMBERS)
    return _compare_tables(line, original, again, ([f"{name}.csv"], [f"{name}.parquet"]), is_promised)


def _compare_tables(
    worst: Line, original: Path, again: Path, names: tuple[list[str], list[str]], is_promised: bool
) -> Line:
    """Compare the CSV and Parquet tables with these names. If they are the same, return `worst`."""
    what = worst.what
    for name in names[0]:
        difference = _compare_csv(original / name, again / name)
        if difference is not None and (difference is not NUMBERS_ONLY or is_promised):
            return Line(what, Sameness.DIFFERS, f"{name}: {difference}")
        worst = worst if difference is None else worst._replace(sameness=Sameness.NUMBERS)
    for name in names[1] if is_promised else ():
        if _bytes(original / name) != _bytes(again / name):
            return Line(what, Sameness.DIFFERS, f"{name}: the bytes differ")
    return worst


def compare_claims(
    place: str, originals: list[dict[str, Any]], again: list[dict[str, Any]], is_promised: bool
) -> list[Line]:
    """Compare the answers to claims, in the order of the archive."""
    rows_by_claim = {row["claim"]: row for row in again}
    lines = [_compare_claim(place, row, rows_by_claim.get(row["claim"]), is_promised) for row in originals]
    known = {row["claim"] for row in originals}
    return lines + [
        Line(f"{place}: {name}", Sameness.DIFFERS, "not among the answers of the archive")
        for name in rows_by_claim
        if name not in known
    ]


def _compare_claim(place: str, original: Mapping[str, Any], again: Mapping[str, Any] | None, is_promised: bool) -> Line:
    what = f"{place}: {original['claim']}"
    if again is None:
        return Line(what, Sameness.DIFFERS, "missing in claims.yaml")
    sameness = Sameness.BITS
    for key in dict.fromkeys(("answer", *original, *again)):
        before, now = original.get(key), again.get(key)
        if before == now:
            continue
        if is_promised or not _is_close(before, now):
            return Line(what, Sameness.DIFFERS, f"{key}: {_short(now)} here, {_short(before)} in the archive")
        sameness = Sameness.NUMBERS
    return Line(what, sameness, str(original.get("answer", "")))


NUMBERS_ONLY = "the numbers are the same, but not the bytes"


def _compare_csv(original: Path, again: Path) -> str | None:
    """Return how two tables differ, or None if they are the same."""
    if (old := _bytes(original)) is not None and old == _bytes(again):
        return None
    try:
        before, now = _rows(original), _rows(again)
    except (OSError, ValueError, csv.Error):
        return "cannot be read"
    if not before or not now or before[0] != now[0]:
        return "other columns"
    if len(before) != len(now):
        return f"{len(now) - 1} rows here, {len(before) - 1} in the archive"
    for number, (one, other) in enumerate(zip(before[1:], now[1:], strict=True), 1):
        if len(one) != len(other) or len(one) != len(before[0]):
            return f"row {number} is incomplete"
        for column, a, b in zip(before[0], one, other, strict=True):
            if a != b and not _is_close(_number(a), _number(b)):
                return f"row {number}, {column}: {_short(b)} here, {_short(a)} in the archive"
    return NUMBERS_ONLY


def _names(folder: Path, suffix: str) -> list[str]:
    paths = [path for pattern in ("", "tables/") for path in folder.glob(f"{pattern}*.{suffix}")]
    return sorted(path.relative_to(folder).as_posix() for path in paths if path.stem not in APART)


def _rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, strict=True))


def _count(path: Path) -> int:
    try:
        return max(0, len(_rows(path)) - 1)
    except (OSError, ValueError, csv.Error):
        return 0


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _is_close(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(x == y or _is_close(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(a[key] == b[key] or _is_close(a[key], b[key]) for key in a)
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, int | float) or not isinstance(b, int | float):
        return False
    try:
        return math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE_TO_0)
    except OverflowError:  # a number in JSON may be too large for a float
        return False


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
