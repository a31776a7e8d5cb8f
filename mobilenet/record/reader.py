"""Read a run directory: tables and documents, with errors for incomplete or damaged files.

Shapes    see schema.py
Errors    RunError if the directory or one of its files is missing, damaged or of another format
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from os import SEEK_END
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from mobilenet.quoting import quote
from mobilenet.record.killed_runs import facts_of_killed, partial_record
from mobilenet.record.schema import (
    COLUMNS,
    DERIVED_FILES,
    FORMAT_VERSION,
    NULLABLE,
    OPTIONAL_TABLES,
    REQUIRED_FILES,
)
from mobilenet.record.table import Table
from mobilenet.record.writer import OF_MANIFEST, is_partial, recover

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq


OWN_FILES = {*REQUIRED_FILES, *DERIVED_FILES, *(f"{table}.parquet" for table in OPTIONAL_TABLES)}


def copy_name(named: str, taken: Iterable[str]) -> str:
    """Return the path at which the run stores its copy of a file that the scenario names. The path is unchanged if the
    file is in the folder of the scenario. A copy never replaces another copy or a file of the run itself.
    """
    name = os.path.normpath(named)
    if os.path.isabs(name) or name.split(os.sep)[0] == os.pardir:
        name = os.path.basename(name)
    while name in OWN_FILES or name in taken:
        name = os.path.join(os.path.dirname(name), f"copy-{os.path.basename(name)}")
    return name


AGAIN = "remove the file, and `mobilenet verify` recreates it"  # advice about files that can be derived from the record
TEXTS = (".json", ".yaml")
AT_ONCE = 200_000  # maximum number of rows in one part of a table
SMALL_BYTES = 32_000_000  # reading a table of this size takes about 50 ms


class RunError(Exception):
    """Raised if the directory is not a readable run. The message is one line for users."""


def read_json(directory: Path, name: str) -> dict[str, Any]:
    """Return one of the documents of a run."""
    path = directory / name
    if path.exists() and not path.is_file():
        raise RunError(f"{path}: is not a file; the run is damaged")
    try:
        value = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_unique, parse_constant=_no_number)
    except FileNotFoundError:
        raise RunError(f"{path}: missing; this is not a complete run directory") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise RunError(f"{path}:{line}: not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise RunError(f"{path}:{error.lineno}: not readable as JSON: {error.msg}") from None
    except RecursionError:
        raise RunError(f"{path}: not readable as JSON: nested too deeply") from None
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: not readable as JSON: {error}") from None
    if not isinstance(value, dict):
        raise RunError(f"{path}: expected a JSON object")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with duplicate keys, because some readers use the first value and other readers the last."""
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)} occurs twice")
    return value


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def read_derived(directory: Path, name: str, *keys: str) -> dict[str, Any]:
    """Return verdict.json or metrics.json, which are derived from the record and are not part of it."""
    if not (directory / name).exists():
        raise RunError(
            f"{directory / name}: missing; `mobilenet verify {quote(directory)}` recreates it from the record"
        )
    try:
        value = read_json(directory, name)
    except RunError as error:
        raise RunError(f"{error}; {AGAIN}") from None
    for key in keys:
        if key not in value:
            raise RunError(f"{directory / name}: {key} is missing; {AGAIN}")
    return value


def read_columns(directory: Path, table: str) -> dict[str, list[Any]]:
    """Return one of the tables of a run as lists."""
    return {name: list(values) for name, values in read_coded(directory, table).items()}


def read_coded(directory: Path, table: str, columns: Sequence[str] | None = None) -> Table:
    """Read a table of a run, or some of its columns. Columns of words contain codes."""
    return Table(read_table(directory, table, columns).select(list(COLUMNS[table] if columns is None else columns)))


def read_frame(directory: Path, table: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a table, or some of its columns, as a pandas frame."""
    return read_table(directory, table, columns).to_pandas()


def read_table(directory: Path, table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a table as an Arrow table. The types are those of the schema, and only columns for which the schema allows
    null may contain null.
    """
    with _reading(directory / f"{table}.parquet") as file:
        data = file.read(columns=None if columns is None else list(columns))
    return _as_promised(directory, table, columns, data)


def read_parts(directory: Path, table: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield some columns of a table in parts. Only one part at a time needs to be in memory."""
    import pyarrow as pa

    with _reading(directory / f"{table}.parquet") as file:
        for batch in file.iter_batches(AT_ONCE, columns=list(columns)):
            yield _as_promised(directory, table, columns, pa.Table.from_batches([batch]))


@contextmanager
def _reading(path: Path) -> Iterator[pq.ParquetFile]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        yield pq.ParquetFile(path)
    except FileNotFoundError:
        raise RunError(f"{path}: missing; this is not a complete run directory") from None
    except (OSError, pa.ArrowException) as error:
        raise RunError(f"{path}: not readable as Parquet: {str(error).splitlines()[0]}") from None


def _as_promised(directory: Path, table: str, columns: Sequence[str] | None, data: pa.Table) -> pa.Table:
    path = directory / f"{table}.parquet"
    for name in COLUMNS[table] if columns is None else columns:
        kind = COLUMNS[table][name]
        if (count := data.column_names.count(name)) != 1:
            raise RunError(f"{path}: column {name} {'occurs more than once' if count else 'is missing'}")
        if (stored_type := str(data.schema.field(name).type)) != kind:
            raise RunError(f"{path}: column {name} is {stored_type}, expected {kind}")
        if data[name].null_count and name not in NULLABLE:
            raise RunError(f"{path}: column {name} has rows without a value")
    return data


def require_tables(directory: Path, counters: dict[str, Any]) -> None:
    """Refuse a directory whose optional tables differ from the list in the counters. Their contents are not checked."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    counted = counters.get("rows")
    if not isinstance(counted, dict):
        raise RunError(f"{directory / 'counters.json'}: rows is {str(counted)[:40]!r}, expected an object")
    for table in OPTIONAL_TABLES:
        path = directory / f"{table}.parquet"
        try:
            rows = pq.read_metadata(path).num_rows if path.exists() else None
        except (OSError, pa.ArrowException) as error:
            raise RunError(f"{path}: not readable as Parquet: {str(error).splitlines()[0]}") from None
        if rows != counted.get(table):
            raise RunError(f"{path}: {rows} rows, but counters.json counts {counted.get(table)}")


def require_files(directory: Path, manifest: dict[str, Any]) -> None:
    """Refuse a directory whose files differ from those that the run wrote."""
    written = manifest.get("files")
    if not isinstance(written, dict):
        raise RunError(
            f"{directory / 'manifest.json'}: damaged: files is {written!r}, expected the digest of each file"
        )
    for name, digest in sorted(written.items()):  # Additional files, such as a picture, belong to the user.
        _require_digest(directory / name, digest)
    for name in sorted(OWN_FILES):
        if name not in written and name not in (*DERIVED_FILES, "manifest.json") and (directory / name).exists():
            raise RunError(f"{directory / 'manifest.json'}: damaged: files has no digest of {name}")


def require_unchanged(directory: Path, name: str) -> None:
    """Refuse a small file that was changed after the run."""
    files = read_json(directory, "manifest.json").get("files")
    written = files.get(name) if isinstance(files, dict) else None
    if written is not None:
        _require_digest(directory / name, written)


def glance_at_tables(directory: Path, manifest: dict[str, Any]) -> None:
    """Refuse a directory with a table that obviously differs from what the run wrote. Small tables are checked by their
    digests. For large tables, only the start and the end are checked, which is fast.
    """
    written = manifest.get("files")
    written = written if isinstance(written, dict) else {}
    for name in sorted(name for name in written if name.endswith(".parquet") and "/" not in name):
        path = directory / name
        try:
            with path.open("rb") as file:
                is_small = path.stat().st_size <= SMALL_BYTES
                is_whole = sha256(file.read()).hexdigest() == written[name] if is_small else _has_both_ends(file)
        except FileNotFoundError:
            raise RunError(f"{path}: missing; this is not a complete run directory") from None
        except OSError as error:
            raise RunError(f"{path}: cannot be read: {error.strerror}") from None
        if not is_whole:
            raise RunError(
                f"{path}: changed since the run wrote it; `mobilenet verify {quote(directory)}` checks all files"
            )


def glance_at_table(path: Path) -> None:
    """Refuse a file whose start or end shows that it is not a complete table."""
    try:
        with path.open("rb") as file:
            is_whole = path.stat().st_size > 8 and _has_both_ends(file)
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from None
    if not is_whole:
        raise RunError(f"{path}: damaged; `mobilenet verify {quote(path.parent)}` checks all files")


def _has_both_ends(file: BinaryIO) -> bool:
    """Return whether a Parquet file is complete: it begins with the magic number, and ends with a footer and the magic
    number.
    """
    begin = file.read(4)
    size = file.seek(-8, SEEK_END) + 8
    length = int.from_bytes(file.read(4), "little")
    return begin == file.read(4) == b"PAR1" and 0 < length < size


def no_directory(directory: Path) -> RunError:
    """Return the error for a path that is not a directory, after recovering the record of a killed run of this name."""
    if not os.path.lexists(directory):
        recover(directory)
    if (left := partial_record(directory)).is_dir():
        return RunError(
            f"{directory}: the run was killed; mobilenet show {quote(left)} summarises what it had recorded"
        )
    what = "is a file, expected the directory of a run" if directory.is_file() else "no such run directory"
    return RunError(f"{directory}: {what}")


def read_manifest(directory: Path) -> dict[str, Any]:
    """Read manifest.json, after checking that all files of the run exist."""
    if not directory.is_dir():
        raise no_directory(directory)
    if is_partial(directory.absolute()):
        raise RunError(f"{directory}: was never completed; this is not a run directory")
    if (directory / "study.yaml").is_file():
        raise RunError(
            f"{directory}: is a study, expected a run directory; the runs of the study are in {directory / 'runs'}"
        )
    for name in REQUIRED_FILES:
        if not (directory / name).is_file():
            if facts_of_killed(directory) is not None:
                raise RunError(
                    f"{directory}: is the incomplete record of a run that was killed; expected a complete run"
                    f" directory; mobilenet show {quote(directory)} summarises it"
                )
            raise RunError(f"{directory / name}: missing; this is not a complete run directory")
    manifest = read_json(directory, "manifest.json")
    if manifest.get("format_version") != FORMAT_VERSION:
        raise RunError(
            f"{directory / 'manifest.json'}: format_version is {manifest.get('format_version')!r}, but this version"
            f" reads {FORMAT_VERSION}; run its scenario.yaml again"
        )
    # Manifests of older versions do not contain a digest.
    if "compiled" in manifest or next(reversed(manifest)) != "files":
        _require_own_digest(directory / "manifest.json")
    files = manifest.get("files")
    for name, digest in sorted(files.items()) if isinstance(files, dict) else ():
        # Tables are not checked here, because they are large and fail to load if they are truncated.
        if name.endswith(TEXTS) and "/" not in name:
            _require_digest(directory / name, digest)
    return manifest


def _require_own_digest(path: Path) -> None:
    """Refuse a manifest that differs in any byte from what the run wrote."""
    head, mark, tail = path.read_bytes().rpartition(f",\n{OF_MANIFEST}".encode())
    if not mark or tail != f'{sha256(head).hexdigest()}"\n}}\n'.encode():
        raise RunError(
            f"{path}: changed since the run wrote it; its last line but one contains the SHA-256 of the other lines"
        )


def _require_digest(path: Path, digest: object) -> None:
    if not path.is_file() or sha256(path.read_bytes()).hexdigest() != digest:
        what = "changed since the run wrote it" if path.is_file() else "missing"
        raise RunError(f"{path}: {what}; manifest.json holds the SHA-256 of each file")


def read_events(directory: Path) -> dict[str, list[Any]]:
    """Return the columns of the table of events. The rows are in order of occurrence."""
    return read_columns(directory, "events")
