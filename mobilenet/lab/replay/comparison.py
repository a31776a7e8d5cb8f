"""Compare a run with its repetition, row by row.

Model     The scenario determines everything that happens. Therefore the repetition has the same tables, counters,
          packets, verdict, metrics, manifest and scenario. Only the wall time, the command, the version of mobilenet,
          and whether its modules were compiled may differ
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mobilenet import __version__
from mobilenet.lab.programs.children import LAST_WORDS
from mobilenet.metrics.declaration import as_whole
from mobilenet.quoting import spell_out
from mobilenet.record.pcap import read_captures
from mobilenet.record.reader import RunError, read_derived, read_json, read_manifest, read_table
from mobilenet.record.schema import COLUMNS, DERIVED_FILES
from mobilenet.scenario.run_source import read_source

NOTHING = type("Nothing", (), {"__repr__": lambda nothing: "nothing"})()  # a value that cannot occur in a file
ERROR = "ended_by_error"
# A program's error contains its last words. The groups match the text before and after them.
WITH_LAST_WORDS = f"(.*?){re.escape(LAST_WORDS)}.*?( \\(at [^()]*\\))?"
OF_THE_MOMENT = ("wall_s", "command", "mobilenet_version", "compiled", "files", "manifest_sha256")
LONGEST = 80  # maximum number of characters of a value in a message
BEFORE = 20  # number of equal characters shown before the first difference of two long values


class DerivedFilesDiffer(RunError):
    """Raised if the records are equal, but verdict.json or metrics.json, which are derived from them, differ. `lines`
    maps the path of each differing file to a description of the difference.
    """

    def __init__(self, lines: dict[str, str]) -> None:
        super().__init__("\n".join(lines.values()))
        self.lines = lines


def difference(directory: Path, repeat: Path) -> str | None:
    """Return the first difference between the records of a run and its repetition, or None. Raise DerivedFilesDiffer if
    only derived files differ.
    """
    what = next(_differences(directory, repeat), None)
    versions = _versions(read_manifest(directory), read_manifest(repeat))
    if what is not None:
        return f"{what}{versions}"
    differences = {str(directory / name): _derived_difference(directory, repeat, name) for name in DERIVED_FILES}
    if lines := {path: f"{line}{versions}" for path, line in differences.items() if line is not None}:
        raise DerivedFilesDiffer(lines)
    return None


def _versions(recorded: dict[str, Any], repeated: dict[str, Any]) -> str:
    """Return a sentence about the versions of both runs, or an empty string if they are the same."""
    one, other = (
        f"mobilenet {facts.get('mobilenet_version')} ({'compiled' if facts.get('compiled') else 'interpreted'})"
        for facts in (recorded, repeated)
    )
    if one == other:
        return ""
    words = f". According to its manifest, the run was recorded with {one}; it was repeated with {other}"
    is_ours = recorded.get("mobilenet_version") == __version__
    return words if is_ours else f"{words}. If that is true, the simulator may have changed"


def _differences(directory: Path, repeat: Path) -> Iterator[str]:
    for name in COLUMNS:
        files = [(folder / f"{name}.parquet").exists() for folder in (directory, repeat)]
        if files[0] != files[1]:
            which = ("record", "repeat") if files[0] else ("repeat", "record")
            yield f"{name}.parquet: the {which[0]} has it, but the {which[1]} does not"
        elif all(files):
            yield from _of_tables(name, read_table(directory, name), read_table(repeat, name))
    yield from _of_values("counters.json", *(read_json(folder, "counters.json") for folder in (directory, repeat)))
    facts, repeated = _facts(directory), _facts(repeat)
    if _is_same_error(facts.get(ERROR), repeated.get(ERROR)):
        facts[ERROR] = repeated[ERROR]
    yield from _of_values("manifest.json", facts, repeated)
    yield from _of_values("packets", *(_packets(folder) for folder in (directory, repeat)))
    scenarios = (read_source(folder / "scenario.yaml").model_dump() for folder in (directory, repeat))
    yield from _of_values("scenario.yaml", *scenarios)


def _derived_difference(directory: Path, repeat: Path, name: str) -> str | None:
    """Return how a derived file differs, or None if it is the same or does not exist."""
    if not (directory / name).exists():
        return None
    try:
        sides = [_read_comparable(folder, name) for folder in (directory, repeat)]
    except RunError as error:
        return str(error)
    return next(_of_values(str(directory / name), *sides), None)


def _facts(folder: Path) -> dict[str, Any]:
    return {key: value for key, value in read_manifest(folder).items() if key not in OF_THE_MOMENT}


def _is_same_error(error: object, repeated: object) -> bool:
    """Return whether two errors differ only in the standard error of a program, which may contain a time or a process
    ID.
    """
    known, known_again = (re.fullmatch(WITH_LAST_WORDS, str(one), re.DOTALL) for one in (error, repeated))
    return known is not None and known_again is not None and known.groups() == known_again.groups()


def _read_comparable(folder: Path, name: str) -> dict[str, Any]:
    """Read verdict.json or metrics.json. Remove the error that ended the run from verdict.json, because it is compared
    in the manifests.
    """
    document = {key: as_whole(one) for key, one in read_derived(folder, name).items()}
    checks, error = document.get("checks"), read_manifest(folder).get(ERROR)
    record = checks.get("record") if isinstance(checks, dict) else None
    if isinstance(record, dict) and error is not None:
        record["explanation"] = str(record.get("explanation")).removesuffix(str(error))
    return document


def _packets(folder: Path) -> dict[str, Any]:
    return {node: dict(enumerate(packets)) for node, packets in (read_captures(folder) or {}).items()}


def _of_tables(name: str, record: pa.Table, repeat: pa.Table) -> Iterator[str]:
    if more := set(record.column_names) - {*COLUMNS[name]}:
        yield f"{name}: the record has the column {min(more)}, but the repeat does not"
    rows = min(len(record), len(repeat))
    differ = {column: _differ(*(table[column][:rows] for table in (record, repeat))) for column in COLUMNS[name]}
    any_differs = np.logical_or.reduce([*differ.values()])
    if any_differs.any():
        row = int(np.argmax(any_differs))
        one, other = ({c: table[c][row].as_py() for c in COLUMNS[name]} for table in (record, repeat))
        column = next(column for column, rows_differ in differ.items() if rows_differ[row])
        yield f"{name}: row {row}{_where(one)} has {column} {_side_by_side(one[column], other[column])}"
    elif len(record) != len(repeat):
        yield f"{name}: {len(record)} rows, but the repeat has {len(repeat)}"


def _differ(left: pa.ChunkedArray, right: pa.ChunkedArray) -> np.ndarray:
    """Return, for each row, whether the values differ in any bit. Zero has two representations, and NaN has many."""
    is_missing = [np.asarray(column.is_null()) for column in (left, right)]
    return np.asarray((_exact(left) != _exact(right)) | (is_missing[0] != is_missing[1]))


def _exact(column: pa.ChunkedArray) -> np.ndarray:
    """Return the values, with floats replaced by their bits and missing numbers by 0."""
    if not pa.types.is_integer(column.type) and not pa.types.is_float64(column.type):
        return np.asarray(column.to_numpy())
    values = np.asarray(column.fill_null(0).to_numpy())
    return values.view(np.int64) if values.dtype == np.float64 else values


def _where(row: dict[str, Any]) -> str:
    """Return the time and node of a row as text, or an empty string if they are missing."""
    time_ns = next((row[name] for name in ("time_ns", "start_ns", "send_ns") if name in row), None)
    node = row.get("node") or row.get("sender")
    return "" if time_ns is None or node is None else f" ({node} at {time_ns / 1e9:.9f} s)"


def _of_values(path: str, record: Any, repeat: Any) -> Iterator[str]:
    if isinstance(record, dict) and isinstance(repeat, dict):
        for key in (*repeat, *(key for key in record if key not in repeat)):
            yield from _of_values(f"{path}: {key}", record.get(key, NOTHING), repeat.get(key, NOTHING))
    elif repr(record) != repr(repeat):  # `repr` distinguishes 1, 1.0 and True
        yield f"{path}: {_side_by_side(record, repeat)}"


def _side_by_side(record: Any, repeat: Any) -> str:
    """Return both values as text. Shorten long values to the part where they start to differ."""
    texts = [spell_out(repr(value)) for value in (record, repeat)]
    if texts[0] == texts[1]:  # both values are NaN
        texts = [f"nan (bits {struct.pack('>d', value).hex()})" for value in (record, repeat)]
    same = next((place for place, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    begin = max(0, same - BEFORE)
    return ", but the repeat has ".join(text if len(text) <= LONGEST else _part(text, begin) for text in texts)


def _part(text: str, begin: int) -> str:
    end = begin + LONGEST
    return f"{'...' if begin else ''}{text[begin:end]}{'...' if len(text) > end else ''}"
