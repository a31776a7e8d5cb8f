"""What many runs contributed, in one Parquet file: the only thing that tables are computed from.

Model     measured/PART.parquet   one row per run, as measure.py found it; written by the task that made the runs, whole
          or not at all. A run is in one part only. A part is named by its first run and a digest of the names of all,
          so a task that is repeated writes the same file
Shapes    SCHEMA; `buffers` holds BUCKETS values per buffer, null where no node was there
Errors    other files are ignored (index), a damaged part is reported (fault); StudyError: a damaged table of runs
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.configurations import MOST_RUNS, PlannedRun
from mobilenet.lab.studies.csv_tables import AGAIN
from mobilenet.lab.studies.measure import Measurement
from mobilenet.metrics.over_time import BUCKETS
from mobilenet.quoting import pluralize
from mobilenet.record.whole import in_place_of

HANDOFF = pa.struct(
    [
        ("host", pa.string()),
        ("begin_s", pa.float64()),
        ("duration_s", pa.float64()),
        ("interruption_s", pa.float64()),  # null: it has none, see metrics/mobile.py
        ("cause", pa.string()),
    ]
)
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
        ("handoff_rows", pa.list_(HANDOFF)),
    ]
)
VERSION = "3"  # of what a row means; parts of another version are made again
VERDICTS = ("valid", "violated", "unknown")
MOST_BINS = 200_000  # 1e80 s
RUNS_AT_ONCE = 10_000  # held in memory where Spark is not available


class Part(NamedTuple):
    """What is in one of the files."""

    path: Path
    runs: dict[str, str]  # run -> digest of its manifest


def row(run: PlannedRun, measured: Measurement, facts: dict[str, Any]) -> dict[str, Any]:
    """One row of a part; `facts`: verdict, duration_s, manifest_sha256, fingerprint."""
    return {
        "run": run.id,
        **asdict(run),
        **facts,
        "metrics": list(measured.metrics.items()),
        "buffers": list(measured.buffers.items()),
        "delay_bins": measured.bins,
        "delay_counts": measured.counts,
        "handoff_rows": measured.handoffs,
    }


def write_part(folder: Path, names: Iterable[str], rows: list[dict[str, Any]], kind: str) -> None:
    """`names`: of the runs that were asked for, of which some may have failed."""
    names = list(names)
    schema = SCHEMA.with_metadata({"kind": kind, "version": VERSION})
    name = f"{names[0]}-{hashlib.sha256(' '.join(names).encode()).hexdigest()[:12]}"
    with in_place_of(folder / f"{name}.parquet") as partial:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), partial)


def index(folder: Path, kind: str) -> Iterator[Part | Path]:
    """The parts that are whole and hold what `kind` of study asks for; of all others the path."""
    for path in sorted(folder.glob("*.parquet")):
        try:
            with pq.ParquetFile(path) as file:
                metadata = file.schema_arrow.metadata or {}
                if file.schema_arrow.equals(SCHEMA) and metadata.get(b"kind") == kind.encode() and (
                    metadata.get(b"version") == VERSION.encode()
                ):  # fmt: skip
                    table = file.read(["run", "manifest_sha256"])
                    pairs = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
                    yield Part(path, dict(pairs))
                    continue
        except (OSError, pa.ArrowException):
            pass
        yield path


def in_order(folder: Path, targets: list[int], columns: Sequence[str] = SCHEMA.names) -> Iterator[pa.Table]:
    """All rows that count, a table for each configuration that has some, by replication. Without Spark, in parts of
    configurations, so that memory does not grow with the number of runs.

    `targets`: of each configuration, the last replication that counts; `columns`, among them configuration and
    replication: what is read.
    """
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    dataset = ds.dataset([str(path) for path in sorted(folder.glob("*.parquet"))], schema=SCHEMA)
    first = 0
    while first < len(targets):
        last, runs = first, 0
        while last < len(targets) and (last == first or runs + targets[last] <= RUNS_AT_ONCE):
            runs += targets[last]
            last += 1
        in_batch = (pc.field("configuration") >= first) & (pc.field("configuration") < last)
        table = dataset.to_table(list(columns), filter=in_batch).sort_by(
            [("configuration", "ascending"), ("replication", "ascending")]
        )
        for number in range(first, last):
            own = pc.field("configuration") == number
            rows = table.filter(own & (pc.field("replication") <= targets[number]))
            if len(rows):
                yield rows
        first = last


def metrics_by_configuration(folder: Path, targets: list[int]) -> dict[int, list[Mapping[str, float]]]:
    """Return the metrics of the runs that count, of each configuration by replication, up to the first replication that
    is missing.
    """
    by_configuration: dict[int, list[Mapping[str, float]]] = {}
    for table in in_order(folder, targets, ("configuration", "replication", "metrics")):
        pairs = zip(table["replication"].to_pylist(), table["metrics"].to_pylist(), strict=True)
        whole = takewhile(lambda pair: pair[0] == pair[1][0], enumerate(pairs, 1))
        by_configuration[table["configuration"][0].as_py()] = [dict(metrics) for _, (_, metrics) in whole]
    return by_configuration


def manifest_digest(directory: Path) -> str:
    """It holds the digests of all files of the record."""
    return hashlib.sha256((directory / "manifest.json").read_bytes()).hexdigest()


def planned_targets(path: Path, configurations: int) -> list[int]:
    """The last planned replication of each configuration, from the table of runs; StudyError: it is damaged."""
    columns = ["configuration", "replication"]
    try:
        table = pq.read_table(path, columns=columns)
        pairs = list(zip(*(table[name].to_pylist() for name in columns), strict=True))
    except (OSError, KeyError, pa.ArrowException) as error:
        raise StudyError(f"{path}: not readable: {' '.join(str(error).split())[:200]}; {AGAIN}") from None
    targets = [0] * configurations
    for pair in pairs:
        if not all(type(value) is int for value in pair) or not (
            0 <= pair[0] < configurations and 0 < pair[1] <= MOST_RUNS
        ):
            entry = f"configuration {str(pair[0])[:20]!r}, replication {str(pair[1])[:20]!r}"
            raise StudyError(f"{path}: damaged: {entry} of {pluralize(configurations, 'configuration')}; {AGAIN}")
        targets[pair[0]] = max(targets[pair[0]], pair[1])
    while targets and targets[-1] == 0:
        targets.pop()
    return targets


def fault(path: Path, configurations: int) -> str | None:
    """What is wrong with a part; it is read as a whole, so its metadata is not trusted."""
    try:
        table = pq.read_table(path)
        if not table.schema.equals(SCHEMA):
            return "its columns are not those of a part"
        for name in SCHEMA.names:
            if table[name].null_count:
                return f"column {name} has rows without a value"
        for run in table.to_pylist():
            if (wrong := _wrong(run, configurations)) is not None:
                return f"{run['run'][:60]!r}: {wrong[:100]}"
    except (OSError, ValueError, pa.ArrowException) as error:
        return f"not readable as Parquet: {' '.join(str(error).split())[:200]}"
    return None


def _wrong(run: dict[str, Any], configurations: int) -> str | None:
    """With one row."""
    buffers, bins, counts = dict(run["buffers"]), run["delay_bins"], run["delay_counts"]
    if not (0 <= run["configuration"] < configurations and 0 < run["replication"] <= MOST_RUNS):
        return f"configuration {run['configuration']}, replication {run['replication']}"
    if run["verdict"] not in VERDICTS:
        return f"verdict {run['verdict']!r}"
    if not (math.isfinite(run["duration_s"]) and run["duration_s"] >= 0):
        return f"duration_s {run['duration_s']}"
    for name, value in run["metrics"]:
        if value is None or not math.isfinite(value):
            return f"metric {name} is {value}"
    for name, values in buffers.items():
        if len(values or ()) != BUCKETS or not all(value is None or math.isfinite(value) for value in values):
            return f"buffer {name} is not a row of {BUCKETS} numbers"
    if len(bins) != len(counts) or not all(
        type(one) is int and type(count) is int and abs(one) < MOST_BINS and count > 0
        for one, count in zip(bins, counts, strict=True)
    ):
        return "delays are not counted"
    for handoff in run["handoff_rows"]:
        times = [handoff[name] for name in ("begin_s", "duration_s", "interruption_s") if handoff is not None]
        if handoff is None or None in times[:2] or not all(t is None or math.isfinite(t) for t in times):
            return "a handoff without times"
    return None
