"""Reading a run directory: columns and documents, with errors for what is not whole.

Shapes    see record.py
Errors    RunError when the directory or one of its files is missing, damaged or of another format
Source    ours: DESIGN.md §6
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mobilenet.record import FORMAT_VERSION, REQUIRED_FILES, EventLog, is_partial

COLUMN_TYPES = {
    "events": {
        "time_ns": "int64", "node": "string", "event": "string", "message": "string",
        "station": "string", "session": "int64", "detail": "string",
    },
    "samples": {"time_ns": "int64", "node": "string", "quantity": "string", "value": "double"},
    "positions": {"time_ns": "int64", "node": "string", "x_m": "double", "y_m": "double"},
}  # fmt: skip


class RunError(Exception):
    """Not a readable run directory; the message is one line for people."""


def read_json(directory: Path, name: str) -> dict[str, Any]:
    """One of the documents of a run."""
    path = directory / name
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunError(f"{path}: missing; this is not a complete run directory") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise RunError(f"{path}: not readable as JSON: {error}") from None
    if not isinstance(value, dict):
        raise RunError(f"{path}: expected a JSON object")
    return value


def read_columns(directory: Path, table: str) -> dict[str, list[Any]]:
    """One of the tables of a run as lists, with the types that the format promises."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = directory / f"{table}.parquet"
    try:
        data = pq.read_table(path)
    except FileNotFoundError:
        raise RunError(f"{path}: missing; this is not a complete run directory") from None
    except (OSError, pa.ArrowException) as error:
        raise RunError(f"{path}: not readable as Parquet: {str(error).splitlines()[0]}") from None
    columns = {}
    for name, kind in COLUMN_TYPES[table].items():
        if name not in data.column_names:
            raise RunError(f"{path}: column {name} is missing")
        found = str(data.schema.field(name).type)
        if found != kind and not (found == "null" and len(data) == data[name].null_count):
            raise RunError(f"{path}: column {name} is {found}, expected {kind}")
        columns[name] = data[name].to_pylist()
    return columns


def read_manifest(directory: Path) -> dict[str, Any]:
    """manifest.json, after a look at whether everything that a run has is there."""
    if not directory.is_dir():
        raise RunError(f"{directory}: no such run directory")
    if is_partial(directory.absolute()):
        raise RunError(f"{directory}: was never completed; this is not a run directory")
    for name in REQUIRED_FILES:
        if not (directory / name).is_file():
            raise RunError(f"{directory / name}: missing; this is not a complete run directory")
    manifest = read_json(directory, "manifest.json")
    if manifest.get("format_version") != FORMAT_VERSION:
        raise RunError(
            f"{directory / 'manifest.json'}: format_version is {manifest.get('format_version')!r}, "
            f"this mobilenet reads {FORMAT_VERSION}"
        )
    return manifest


def read_events(directory: Path) -> dict[str, list[Any]]:
    """The events' columns in order of occurrence."""
    columns = read_columns(directory, "events")
    return {name: columns[name] for name in EventLog.COLUMNS}
