"""Rows as NAME.parquet and NAME.csv, each whole or not at all.

Shapes    rows are mappings from column to value; a column with values of several types is text
Errors    OSError
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from mobilenet.record.stamp import for_tables
from mobilenet.record.whole import partial_path, remove_dead

ROWS_AT_ONCE = 1_000


def write_rows(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    """The columns are those of the rows, in order."""
    columns = {c: column_type([row.get(c) for row in rows]) for c in dict.fromkeys(key for row in rows for key in row)}
    with RowFile(folder, name, columns) as file:
        for row in rows:
            file.write(row)


def column_type(values: Iterable[Any]) -> pa.DataType:
    """The type of a column that holds these values."""
    there = [value for value in values if value is not None]
    types = {type(value) for value in there}
    return pa.string() if len(types) > 1 and not types <= {int, float} else pa.array(there).type


class RowFile:
    """Both files, row by row, in memory that does not grow; they take their names when the block ends well."""

    def __init__(self, folder: Path, name: str, columns: dict[str, pa.DataType]) -> None:
        self._folder, self._name = folder, name
        self._schema = pa.schema(list(columns.items()))
        self._texts = [pa.types.is_string(kind) for kind in columns.values()]
        self._waiting: list[list[Any]] = []

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        remove_dead(self._folder)
        self._partial = {kind: partial_path(self._folder / f"{self._name}.{kind}") for kind in ("parquet", "csv")}
        self._parquet = pq.ParquetWriter(self._partial["parquet"], self._schema)
        self._text = self._partial["csv"].open("w", newline="", encoding="utf-8")
        self._csv = csv.writer(self._text, lineterminator="\n")
        self._csv.writerow(self._schema.names)
        return self

    def write(self, row: dict[str, Any]) -> None:
        values = [row.get(name) for name in self._schema.names]
        self._waiting.append([str(v) if t and v is not None else v for v, t in zip(values, self._texts, strict=True)])
        if len(self._waiting) >= ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        columns = zip(*self._waiting, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._parquet.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._csv.writerows(self._waiting)  # null is an empty cell
        self._waiting.clear()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            self._parquet.add_key_value_metadata(for_tables())
            self._parquet.close()
            self._text.close()
        for suffix, partial in self._partial.items():
            if kind is None:
                os.replace(partial, self._folder / f"{self._name}.{suffix}")
            else:
                partial.unlink(missing_ok=True)
