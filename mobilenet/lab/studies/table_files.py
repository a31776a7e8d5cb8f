"""Read and write tables as NAME.parquet, and as NAME.csv for users.

Model     Each file is either complete or missing. Pages have checksums, and a table is always read completely, so a
          damaged table is refused. A column with values of several types is stored as text.
Shapes    TABLES lists the columns of each table besides levels and metrics.
Errors    StudyError with one line that names a missing, unreadable or incomplete file.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from mobilenet.lab.studies import StudyError
from mobilenet.record.atomic_files import in_place_of, remove_dead
from mobilenet.record.stamp import for_tables

if TYPE_CHECKING:
    import pandas as pd

Rows = list[dict[str, Any]]
AGAIN = "repeat the command that made it"
COLUMNS = (
    dict.fromkeys(("run", "state", "error", "verdict", "fingerprint", "metric", "label", "buffer"), pa.string())
    | dict.fromkeys(("configuration", "replication", "seed", "n", "infinite", "deliveries"), pa.int64())
    | dict.fromkeys(("mean", "sd", "low", "high", "from_s", "to_s", "share", "delay_s"), pa.float64())
)
# The module tables.py explains these labels.
UNSTABLE, PROBABLY, NOT_STEADY = "unstable", "probably unstable", "not steady"
KEYS = ["configuration", "replication"]  # columns that identify a run
SECONDS = dict.fromkeys(("begin_s", "duration_s", "interruption_s"), pa.float64())
# Handoffs without an interruption contain special values, which metrics/mobile.py explains.
HANDOFF = {"host": pa.string(), **SECONDS, "cause": pa.string()}
RANKED = dict.fromkeys(("size", "low", "high", "mean", "spread", "p_adjusted"), pa.float64())
TABLES: dict[str, dict[str, pa.DataType]] = {
    name: {column: COLUMNS[column] for column in columns.split()}
    for name, columns in {
        "runs": "run configuration replication seed state error",
        "tables/runs": "run configuration replication seed verdict fingerprint",
        "tables/summary": "configuration metric n mean sd low high infinite label",
        "tables/buffers": "configuration buffer from_s to_s n mean low high label",
        "tables/delays": "configuration share delay_s deliveries",
        "tables/distribution": "configuration delay_s share deliveries",
    }.items()
} | {
    "tables/handoffs": {"run": pa.string(), **HANDOFF},
    "sensitivity": dict.fromkeys(("metric", "key", "range"), pa.string()) | RANKED | {"trajectories": pa.int64()},
}


def to_arrow(frame: pd.DataFrame, known: dict[str, pa.DataType]) -> pa.Table:
    """Convert a frame to an Arrow table. `known` contains the types of columns that may be empty."""
    import pandas as pd

    kinds = {column: pd.api.types.infer_dtype(frame[column]) for column in frame}
    several = [column for column, kind in kinds.items() if kind in ("mixed", "mixed-integer")]
    frame = frame.assign(**{column: frame[column].map(str, na_action="ignore") for column in several})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return table.cast(pa.schema([field.with_type(known.get(field.name, field.type)) for field in table.schema]))


def write_table(directory: Path, name: str, rows: pd.DataFrame | Rows) -> None:
    """Write the rows in the given order. The keys of the rows become columns."""
    import pandas as pd

    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, dtype=object)
    table = to_arrow(frame, TABLES.get(name, {})).replace_schema_metadata(for_tables())
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_dead(path.parent)
    with in_place_of(directory / f"{name}.parquet") as parquet, in_place_of(directory / f"{name}.csv") as text:
        pq.write_table(table, parquet, write_page_checksum=True)
        frame.to_csv(text, index=False)


def read_table(directory: Path, name: str, numbers: Sequence[str] = ()) -> pa.Table:
    """Read and check one of TABLES. `numbers` names additional columns, which must contain numbers if they exist."""
    path = directory / f"{name}.parquet"
    table = read_parquet(path)
    there = {field.name: field.type for field in table.schema}
    expected = TABLES[name] | {column: pa.float64() for column in numbers if column in there}
    if wrong := [column for column, kind in expected.items() if there and there.get(column) != kind]:
        what = f"is {there[wrong[0]]}" if wrong[0] in there else "is missing"
        raise StudyError(f"{path}: damaged: column {wrong[0]} {what}; {AGAIN}")
    for column, kind in TABLES[name].items() if there else ():
        if kind != pa.float64() and column != "error" and table[column].null_count:
            raise StudyError(f"{path}: damaged: column {column} has rows without a value; {AGAIN}")
    return table


def read_rows(directory: Path, name: str) -> Rows:
    """Return the rows of one of TABLES as dictionaries."""
    return list(read_table(directory, name).to_pylist())


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet file by its path. Python may abort if it reads from an open file after pandas has opened one
    (arrow issue 50482).
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(columns)
    except FileNotFoundError:
        raise StudyError(f"{path}: missing; the study is not finished; {AGAIN}") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        raise StudyError(f"{path}: not readable as Parquet: {' '.join(str(error).split())[:200]}; {AGAIN}") from None


def by_run(directory: Path, name: str, numbers: Sequence[str] = ()) -> pd.DataFrame:
    """Return a table of runs, indexed by configuration and replication. `numbers` has the same meaning as in
    read_table.
    """
    return read_table(directory, name, numbers).to_pandas().drop_duplicates(KEYS).set_index(KEYS)


def values_of_runs(directory: Path, metrics: Sequence[str]) -> pd.DataFrame:
    """Return metrics by configuration and replication. A missing value is NaN. Raise StudyError if a table is
    damaged.
    """
    return by_run(directory, "tables/runs", metrics).reindex(columns=dict.fromkeys(metrics))


def missing_runs(directory: Path) -> str | None:
    """Return a note on how many runs the tables of a study cover, or None if they cover all runs."""
    count, done = (read_parquet(directory / f"{name}.parquet", ["run"]).num_rows for name in ("runs", "tables/runs"))
    return None if done == count else f"unfinished: these numbers cover {done} of {count} runs"
