"""The tables of a study, computed from what its runs contributed (parts.py).

Model     Spark groups the rows of a configuration, and aggregates them (aggregation.py). No table depends on who
          computed what, so the same tables come out without Spark: that is how those of an unfinished study are made
          on request
              tables/runs           one row per run, all metrics
              tables/summary        configuration x metric: n, mean, sd, interval, how many runs are infinite, label
              tables/buffers        configuration x buffer x bucket of time: n, mean, interval
              tables/delays         configuration x share of all deliveries: the delay within which they happen
              tables/handoffs       one row per confirmed handoff of each run
              tables/distribution   configuration x delay: the share of all deliveries that happen within it
          label     empty, `unstable`, `probably unstable` or `not steady`, see aggregation.py
          The memory of this process does not grow with the number of runs
Units     seconds and messages, as the names show
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from mobilenet.lab.studies.aggregation import BUFFER, DELAY, LABEL, METRIC, RESULT, UNSTABLE, aggregate
from mobilenet.lab.studies.csv_tables import missing_runs
from mobilenet.lab.studies.level_names import table_level
from mobilenet.lab.studies.measure import delay_of_bin
from mobilenet.lab.studies.parts import HANDOFF, SCHEMA, Part, in_order, index, planned_targets
from mobilenet.lab.studies.rows import RowFile, column_type, write_rows
from mobilenet.lab.studies.spark import path_pattern
from mobilenet.lab.studies.store import Store, open_store
from mobilenet.metrics.declaration import Declared, Metric
from mobilenet.metrics.over_time import BUCKETS
from mobilenet.metrics.registry import SURVIVAL, is_infinite
from mobilenet.record.provenance import combine, digest
from mobilenet.record.stamp import STUDY, Inputs, new_provenance, stamping

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
OF_STUDIES: tuple[Declared, ...] = (  # in addition to the metrics of runs
    Metric("steady", "share of runs whose warm-up ended; with `kind: steady_state`", symbol="share steady"),
    Metric(
        "warmup_cut_s", "end of the warm-up that was cut off; with `kind: steady_state`", unit="s", symbol="warm-up"
    ),
)
BINS_OF_A_STEP = 10  # of measure.py, so that a step of the distribution is 1 % wide
AGGREGATED = ("configuration", "replication", "metrics", "buffers", "delay_bins", "delay_counts")
TASKS_PER_WORKER = 4
ROWS_AT_ONCE = 1_000
Rows = list[dict[str, Any]]


def write_tables(
    store: Store, targets: list[int], spark: SparkSession | None = None, command: str | None = None
) -> set[int]:
    """All tables; the configurations that are unstable. `targets`: of each configuration, its replications; `command`:
    the one that makes the directory, if it is not `mobilenet study`.
    """
    command = f"mobilenet study STUDY/study.yaml{store.permission()}" if command is None else command
    with stamping(new_provenance(command, _inputs(store, targets))):
        return _write(store, targets, _aggregates(store, targets, spark).to_pylist())


def _aggregates(store: Store, targets: list[int], spark: SparkSession | None) -> pa.Table:
    """The rows of aggregation.RESULT of all configurations, in order."""
    confidence = store.study.confidence

    def summarize(rows: pa.Table) -> pa.Table:
        number = rows["configuration"][0].as_py()
        last = targets[number] if number < len(targets) else 0  # later ones are of another round
        counted = rows.filter(pc.field("replication") <= last)
        return aggregate(confidence, counted) if len(counted) else RESULT.empty_table()

    if spark is None:
        return pa.concat_tables([RESULT.empty_table(), *map(summarize, in_order(store.measured, targets))])
    from pyspark.sql.pandas.types import from_arrow_schema

    return (
        spark.read.schema(from_arrow_schema(SCHEMA))
        .parquet(path_pattern(store.measured), pathGlobFilter="*.parquet")
        .select(*AGGREGATED)
        .repartition(TASKS_PER_WORKER * spark.sparkContext.defaultParallelism, "configuration")
        .groupBy("configuration")
        .applyInArrow(summarize, from_arrow_schema(RESULT))
        .toArrow()
        .sort_by([(name, "ascending") for name in ("configuration", "what", "name", "bucket")])
    )


def _inputs(store: Store, targets: list[int]) -> Inputs:
    """Return what `inputs_of` will find once the tables are written."""
    columns = ("configuration", "replication", "fingerprint")
    fingerprints = [
        one for table in in_order(store.measured, targets, columns) for one in table["fingerprint"].to_pylist()
    ]
    return Inputs(STUDY, digest(store.path / "study.yaml"), combine(fingerprints), len(fingerprints))


def tables_of_what_is_there(directory: Path) -> str | None:
    """Make the tables of a study again if runs have been done since; return in words what is missing, if anything.

    So a killed or running study can be inspected. Raises StudyError if the folder is not a study.
    """
    store, planned = open_store(directory), directory / "runs.parquet"
    entries = index(store.measured, store.study.kind) if store.measured.is_dir() else ()
    parts = [part.path for part in entries if isinstance(part, Part)]
    if not parts or not planned.is_file():
        return None  # by an earlier version, or nothing done
    summary = store.tables / "summary.csv"
    is_complete = (store.tables / "distribution.csv").is_file() and _has_column(summary, "infinite")
    if not is_complete or max(path.stat().st_mtime_ns for path in parts) > summary.stat().st_mtime_ns:
        write_tables(store, planned_targets(planned, len(store.configurations)))
    what = missing_runs(directory)
    return None if what is None else f"{directory}: {what}"


def _has_column(path: Path, name: str) -> bool:
    """Whether a table is there, and of a version that has this column."""
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        return name in file.readline().rstrip("\n").split(",")
    return False


def _write(store: Store, targets: list[int], results: Rows) -> set[int]:
    levels = [_levels(store, number) for number in range(len(store.configurations))]
    _write_runs(store, targets, sorted({row["name"] for row in results if row["what"] == METRIC}), levels)
    _write_handoffs(store, targets, levels)
    labels = {row["configuration"]: row["name"] for row in results if row["what"] == LABEL}
    write_rows(store.tables, "summary", [_summary_row(row, levels, labels) for row in results if row["what"] == METRIC])
    width_s = {
        table["configuration"][0].as_py(): table["duration_s"][0].as_py() / BUCKETS
        for table in in_order(store.measured, targets, ("configuration", "replication", "duration_s"))
    }
    buffers = [_buffer_row(row, levels, labels, width_s) for row in results if row["what"] == BUFFER]
    write_rows(store.tables, "buffers", buffers)
    write_rows(store.tables, "delays", _delay_rows(results, levels))
    write_rows(store.tables, "distribution", _distribution_rows(results, levels))
    return {number for number, label in labels.items() if label == UNSTABLE}


def _write_runs(store: Store, targets: list[int], metrics: list[str], levels: Rows) -> None:
    columns = _level_columns(levels)
    columns |= {name: pa.int64() for name in ("configuration", "replication", "seed")}
    columns |= {name: pa.string() for name in ("verdict", "fingerprint")}
    with RowFile(store.tables, "runs", columns | {name: pa.float64() for name in metrics}) as file:
        for row in _rows(store, targets, [name for name in columns if name in SCHEMA.names] + ["metrics"]):
            file.write(row | levels[row["configuration"]] | _with_infinite(dict(row["metrics"])))


def _with_infinite(metrics: dict[str, float]) -> dict[str, float]:
    """Add the percentiles that a run never reaches."""
    return metrics | {name: math.inf for name in SURVIVAL if is_infinite(name, metrics)}


def _write_handoffs(store: Store, targets: list[int], levels: Rows) -> None:
    columns = _level_columns(levels) | {field.name: field.type for field in HANDOFF}
    with RowFile(store.tables, "handoffs", columns) as file:
        for row in _rows(store, targets, ["run", "configuration", "replication", "handoff_rows"]):
            for handoff in row["handoff_rows"]:
                file.write({"run": row["run"], **levels[row["configuration"]], **handoff})


def _rows(store: Store, targets: list[int], columns: list[str]) -> Iterator[dict[str, Any]]:
    """Yield what was measured of each run, by configuration and replication."""
    for table in in_order(store.measured, targets, columns):
        for batch in table.to_batches(ROWS_AT_ONCE):
            yield from batch.to_pylist()


def _level_columns(levels: Rows) -> dict[str, pa.DataType]:
    return {"run": pa.string(), **{f: column_type(own[f] for own in levels) for f in (levels or [{}])[0]}}


def _levels(store: Store, number: int) -> dict[str, Any]:
    levels = store.configurations[number].levels
    return {factor: table_level(level) for factor, level in levels.items()}


def _summary_row(row: dict[str, Any], levels: Rows, labels: dict[int, str]) -> dict[str, Any]:
    number, metric = row["configuration"], row["name"]
    hidden = labels[number] == UNSTABLE and metric != "backlog_slope"
    numbers = {name: None if hidden else row[name] for name in ("mean", "sd", "low", "high")}
    return {
        "configuration": number, **levels[number], "metric": metric, "n": row["n"], **numbers,
        "infinite": row["infinite"], "label": labels[number],
    }  # fmt: skip


def _buffer_row(row: dict[str, Any], levels: Rows, labels: dict[int, str], width_s: dict[int, float]) -> dict[str, Any]:
    number = row["configuration"]
    from_s, to_s = (place * width_s[number] for place in (row["bucket"], row["bucket"] + 1))
    return {
        "configuration": number, **levels[number], "buffer": row["name"], "from_s": from_s, "to_s": to_s, "n": row["n"],
        **{name: row[name] for name in ("mean", "low", "high")},
        "label": UNSTABLE if labels[number] == UNSTABLE else "",
    }  # fmt: skip


def _bins(results: Rows) -> dict[int, list[tuple[int, int]]]:
    """Return for each configuration the bins of delays, ascending, with the deliveries in each."""
    bins: dict[int, list[tuple[int, int]]] = {}
    for row in results:
        if row["what"] == DELAY:
            bins.setdefault(row["configuration"], []).append((row["bucket"], row["n"]))
    return bins


def _delay_rows(results: Rows, levels: Rows) -> Rows:
    """The delays of all deliveries of a configuration together."""
    rows = []
    for number, own in _bins(results).items():
        total, seen, shares = sum(count for _, count in own), 0, list(SHARES)
        for bucket, count in own:
            seen += count
            while shares and seen >= shares[0] * total:
                columns = {"share": shares.pop(0), "delay_s": delay_of_bin(bucket), "deliveries": total}
                rows.append({"configuration": number, **levels[number], **columns})
    return rows


def _distribution_rows(results: Rows, levels: Rows) -> Rows:
    """The steps of the distribution function of all delays of a configuration."""
    rows = []
    for number, own in _bins(results).items():
        total, seen = sum(count for _, count in own), 0
        for place, (bucket, count) in enumerate(own):
            seen += count
            is_last = place + 1 == len(own)
            if is_last or own[place + 1][0] // BINS_OF_A_STEP != bucket // BINS_OF_A_STEP:
                columns = {"delay_s": delay_of_bin(bucket), "share": seen / total, "deliveries": total}
                rows.append({"configuration": number, **levels[number], **columns})
    return rows
