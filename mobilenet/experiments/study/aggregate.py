"""The tables of a study, computed on Spark from its run directories.

Model     one task per run reads its directory and returns values (measure.py); Spark brings those of a configuration
          together; there the replication is the unit: t intervals over one value per run. Percentiles are taken per run
          first; the distribution over all deliveries adds up integer counts. Values of a group are sorted by
          replication before anything is computed, so no table depends on who computed what.
              tables/runs           one row per run, all metrics
              tables/summary        configuration x metric: n, mean, sd, interval, label
              tables/buffers        configuration x buffer x bucket of time: n, mean, interval
              tables/delays         configuration x share of all deliveries: the delay within which they happen
          label     empty, or `unstable` (the backlog grows: no mean is given), `not steady` (no warm-up end was found)
Units     seconds and messages, as the names say
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mobilenet.experiments.study.configurations import PlannedRun, table_level
from mobilenet.experiments.study.measure import BUCKETS, WHOLE, delay_of_bin, measure
from mobilenet.experiments.study.statistics import grows, t_interval
from mobilenet.experiments.study.store import Store, write_rows
from mobilenet.rundir.reader import read_json

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

VALUES_SCHEMA = "configuration int, replication int, metric string, bucket int, value double, count long"
SUMMARY_SCHEMA = "configuration int, metric string, bucket int, n int, mean double, sd double, low double, high double"
SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
DELAY_BIN = "delay_bin"
Rows = list[dict[str, Any]]


def aggregate(store: Store, spark: SparkSession, runs: list[PlannedRun]) -> set[int]:
    """Write all tables; the configurations that are unstable."""
    done = sorted((r for r in runs if store.state(r)[0] == "done"), key=lambda r: (r.configuration, r.replication))
    values = _values(store, spark, done).cache()
    per_run = _per_run(store, values, done)
    unstable, restless = _labels(per_run, len(store.configurations))
    confidence = store.study.confidence
    summary = values.where(f"metric != '{DELAY_BIN}'").groupBy("configuration", "metric", "bucket").applyInPandas(
        lambda key, rows: _summarised(key, rows, confidence), SUMMARY_SCHEMA)  # fmt: skip
    collected = [row.asDict() for row in summary.orderBy("configuration", "metric", "bucket").collect()]
    counts = values.where(f"metric = '{DELAY_BIN}'").groupBy("configuration", "bucket").sum("count")
    bins = [tuple(row) for row in counts.orderBy("configuration", "bucket").collect()]
    values.unpersist()

    levels = [_levels(store, number) for number in range(len(store.configurations))]
    write_rows(store.tables, "runs", [{"run": row["run"], **levels[row["configuration"]], **row} for row in per_run])
    write_rows(store.tables, "summary", _summary_rows(collected, levels, unstable, restless))
    width_s = {
        run.configuration: read_json(store.runs / run.id, "manifest.json")["duration_s"] / BUCKETS
        for run in reversed(done)
    }
    write_rows(store.tables, "buffers", _buffer_rows(collected, levels, width_s, unstable))
    write_rows(store.tables, "delays", _delay_rows(bins, levels))
    return unstable


def _values(store: Store, spark: SparkSession, done: list[PlannedRun]) -> DataFrame:
    kind = store.study.kind
    jobs = [(run.configuration, run.replication, str((store.runs / run.id).absolute())) for run in done]
    frame = spark.createDataFrame(jobs or [], "configuration int, replication int, directory string")
    return frame.repartition(max(1, len(jobs)), "directory").mapInArrow(
        lambda batches: _measured(batches, kind), VALUES_SCHEMA
    )


def _measured(batches: Iterator[pa.RecordBatch], kind: str) -> Iterator[pa.RecordBatch]:
    from pathlib import Path

    import pyarrow as pa

    for batch in batches:
        for job in batch.to_pylist():
            found = measure(Path(job["directory"]), kind)
            rows = [(m, b, v, None) for m, b, v in found.values] + [(DELAY_BIN, b, None, c) for b, c in found.bins]
            metric, bucket, value, count = zip(*rows, strict=True)
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([job["configuration"]] * len(rows), pa.int32()),
                    pa.array([job["replication"]] * len(rows), pa.int32()),
                    pa.array(metric, pa.string()), pa.array(bucket, pa.int32()),
                    pa.array(value, pa.float64()), pa.array(count, pa.int64()),
                ],
                ["configuration", "replication", "metric", "bucket", "value", "count"],
            )  # fmt: skip


def _summarised(key: tuple[Any, ...], rows: pd.DataFrame, confidence: float) -> pd.DataFrame:
    import pandas as pd

    values = rows.sort_values("replication")["value"].to_numpy()
    if len(values) >= 2:
        i = t_interval(values, confidence)
        numbers: list[Any] = [i.n, i.mean, i.sd, i.low, i.high]
    else:
        numbers = [len(values), float(values[0]), None, None, None]
    return pd.DataFrame(
        [[*key, *numbers]], columns=["configuration", "metric", "bucket", "n", "mean", "sd", "low", "high"]
    )


def _per_run(store: Store, values: DataFrame, done: list[PlannedRun]) -> Rows:
    """One row per run, in order."""
    found: dict[tuple[int, int], dict[str, float]] = {}
    whole = values.where(f"metric != '{DELAY_BIN}' and bucket = {WHOLE}").select(
        "configuration", "replication", "metric", "value"
    )
    for configuration, replication, metric, value in whole.collect():
        found.setdefault((configuration, replication), {})[metric] = value
    names = sorted({metric for row in found.values() for metric in row})
    return [
        {"run": run.id, "configuration": run.configuration, "replication": run.replication, "seed": run.seed,
         "verdict": read_json(store.runs / run.id, "verdict.json")["verdict"]}
        | {name: found.get((run.configuration, run.replication), {}).get(name) for name in names}
        for run in done
    ]  # fmt: skip


def _labels(per_run: Rows, count: int) -> tuple[set[int], set[int]]:
    """Which configurations are unstable, and in which no steady part was found in half of the runs."""
    import numpy as np

    unstable, restless = set(), set()
    for number in range(count):
        rows = [row for row in per_run if row["configuration"] == number]
        if grows(np.array([row["backlog_slope"] for row in rows], dtype=np.float64)):
            unstable.add(number)
        if rows and "steady" in rows[0] and sum(row["steady"] for row in rows) * 2 < len(rows):
            restless.add(number)
    return unstable, restless


def _levels(store: Store, number: int) -> dict[str, Any]:
    levels = store.configurations[number].levels
    return {factor: table_level(level) for factor, level in levels.items()}


def _summary_rows(collected: list[Any], levels: Rows, unstable: set[int], restless: set[int]) -> Rows:
    rows = []
    for row in collected:
        number = row["configuration"]
        if row["bucket"] != WHOLE:
            continue
        label = "unstable" if number in unstable else "not steady" if number in restless else ""
        hidden = number in unstable and row["metric"] != "backlog_slope"
        numbers = {name: None if hidden else row[name] for name in ("mean", "sd", "low", "high")}
        rows.append(
            {
                "configuration": number,
                **levels[number],
                "metric": row["metric"],
                "n": row["n"],
                **numbers,
                "label": label,
            }
        )
    return rows


def _buffer_rows(collected: list[Any], levels: Rows, width_s: dict[int, float], unstable: set[int]) -> Rows:
    return [
        {"configuration": row["configuration"], **levels[row["configuration"]], "buffer": row["metric"],
         "from_s": row["bucket"] * width_s[row["configuration"]],
         "to_s": (row["bucket"] + 1) * width_s[row["configuration"]], "n": row["n"]}
        | {name: row[name] for name in ("mean", "low",
        "high")} | {"label": "unstable" if row["configuration"] in unstable else ""}
        for row in collected if row["bucket"] != WHOLE
    ]  # fmt: skip


def _delay_rows(bins: list[Any], levels: Rows) -> Rows:
    """The delays of all deliveries of a configuration together."""
    rows = []
    for number in range(len(levels)):
        own = [(bucket, count) for configuration, bucket, count in bins if configuration == number]
        total = sum(count for _, count in own)
        shares = iter(SHARES)
        share = next(shares)
        seen = 0
        for bucket, count in own:
            seen += count
            while share is not None and seen >= share * total:
                rows.append({"configuration": number, **levels[number], "share": share,
                    "delay_s": delay_of_bin(bucket),
                             "deliveries": total})  # fmt: skip
                share = next(shares, None)  # type: ignore[assignment]
    return rows
