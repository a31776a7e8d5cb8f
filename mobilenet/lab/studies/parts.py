"""Store the measurements of many runs in Parquet files (parts), from which all tables are computed.

Model     A part is a file measured/PART.parquet with one row per run (measure.py). The task that made the runs writes
          it completely or not at all. Each run is in exactly one part. The name of a part consists of its first run and
          a digest of the names of all its runs, so a repeated task writes the same file.
Shapes    The columns are those of SCHEMA. `buffers` contains BUCKETS values per buffer, null where no node was present.
Errors    `index` ignores other files, and `fault` reports a damaged part. StudyError for a damaged table of runs.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.table_files import HANDOFF, read_parquet, read_table
from mobilenet.record.atomic_files import in_place_of

SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("configuration", pa.int32()),
        ("replication", pa.int32()),
        ("seed", pa.int64()),
        ("verdict", pa.string()),
        ("duration_s", pa.float64()),
        ("manifest_sha256", pa.string()),
        ("fingerprint", pa.string()),
        ("metrics", pa.map_(pa.string(), pa.float64())),
        ("buffers", pa.map_(pa.string(), pa.list_(pa.float64()))),
        ("delay_bins", pa.list_(pa.int32())),
        ("delay_counts", pa.list_(pa.int64())),
        ("handoff_rows", pa.list_(pa.struct(list(HANDOFF.items())))),
    ]
)
VERSION = "3"  # version of the row format; parts with another version are computed again
RUNS_AT_ONCE = 2_000  # number of runs held in memory if Spark is not available


def write_part(folder: Path, names: Sequence[str], rows: list[dict[str, Any]], kind: str) -> None:
    """Write a part. `names` contains all requested runs, some of which may have failed."""
    schema = SCHEMA.with_metadata({"kind": kind, "version": VERSION})
    name = f"{names[0]}-{hashlib.sha256(' '.join(names).encode()).hexdigest()[:12]}"
    with in_place_of(folder / f"{name}.parquet") as partial:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), partial, write_page_checksum=True)


def index(folder: Path, kind: str) -> dict[Path, dict[str, str]]:
    """Return the complete parts of this `kind` of study. Each part maps its runs to the digests of their manifests."""
    parts, expected = {}, {b"kind": kind.encode(), b"version": VERSION.encode()}
    for path in sorted(folder.glob("*.parquet")):
        with suppress(OSError, pa.ArrowException), pq.ParquetFile(path, page_checksum_verification=True) as file:
            if file.schema_arrow.equals(SCHEMA) and file.schema_arrow.metadata == expected:
                runs, digests = (column.to_pylist() for column in file.read(["run", "manifest_sha256"]).columns)
                parts[path] = dict(zip(runs, digests, strict=True))
    return parts


def in_order(folder: Path, targets: list[int], columns: Sequence[str] = SCHEMA.names) -> Iterator[pa.Table]:
    """Yield the rows of all replications that count, as one table for each configuration, ordered by replication.
    Without Spark, configurations are read in groups, because all of them might not fit into memory.

    `targets` contains the last replication that counts for each configuration. `columns` contains the columns to read;
    they must include configuration and replication.
    """
    import pyarrow.dataset as ds  # This import takes a quarter of a second.

    checking = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    paths = [str(path) for path in sorted(folder.glob("*.parquet"))]
    dataset = ds.dataset(paths, SCHEMA, ds.ParquetFileFormat(default_fragment_scan_options=checking))
    batches = np.cumsum(targets) // RUNS_AT_ONCE
    for batch in np.unique(batches):
        numbers = np.flatnonzero(batches == batch).tolist()
        in_batch = pc.field("configuration").isin(numbers)
        table = dataset.to_table(list(columns), filter=in_batch).sort_by("replication")
        for number in numbers:
            own = pc.field("configuration") == number
            rows = table.filter(own & (pc.field("replication") <= targets[number]))
            if len(rows):
                yield rows


def metrics_by_configuration(folder: Path, targets: list[int]) -> dict[int, list[Mapping[str, float]]]:
    """Return the metrics of each configuration in the order of replications, up to the first missing replication."""
    metrics: dict[int, list[Mapping[str, float]]] = {}
    for table in in_order(folder, targets, ("configuration", "replication", "metrics")):
        rows = enumerate(table.to_pylist(), 1)
        number = table["configuration"][0].as_py()
        metrics[number] = [dict(row["metrics"]) for place, row in rows if row["replication"] == place]
    return metrics


def planned_targets(directory: Path, configurations: int) -> list[int]:
    """Return the last planned replication of each configuration from the table of runs, or raise StudyError."""
    runs = read_table(directory, "runs").to_pandas()
    last = runs.groupby("configuration")["replication"].max().reindex(range(configurations), fill_value=0)
    return [int(replication) for replication in last]


def fault(path: Path, configurations: int) -> str | None:
    """Return a description of what is wrong with a part, or None if it is valid."""
    try:
        table = read_parquet(path)
    except StudyError as error:
        return str(error).removeprefix(f"{path}: ")
    if not table.schema.equals(SCHEMA):
        return "its columns are not those of a part"
    if empty := [name for name in SCHEMA.names if table[name].null_count]:
        return f"column {empty[0]} has rows without a value"
    strange = [number for number in table["configuration"].to_pylist() if not 0 <= number < configurations]
    return f"configuration {strange[0]}" if strange else None
