"""Compute the tables of a study from the measurements of its runs (parts.py).

Model     Spark groups the rows of each configuration and aggregates them. The unit is the replication: t intervals are
          computed over one value per run, in the order of the replications. The delays of all deliveries are integer
          counts, which can be added. So the tables do not depend on how the work was distributed. Without Spark the
          same tables are computed; this is how the tables of an unfinished study are created on request.
              tables/runs           one row per run, all metrics
              tables/summary        configuration x metric: n, mean, sd, interval, how many runs are infinite, label
              tables/buffers        configuration x buffer x bucket of time: n, mean, interval
              tables/delays         configuration x share of all deliveries: the delay within which that share happens
              tables/handoffs       one row per confirmed handoff of each run
              tables/distribution   configuration x delay: the share of all deliveries that happen within it
          label     unstable: the backlog grows without end, so no mean exists; probably unstable: the backlog grows in
                    all runs, but there are too few runs to be sure; not steady: in half of the runs, no end of the
                    warm-up was found
          infinite  the number of runs that left too many messages undelivered to reach a percentile of delays
                    (registry.SURVIVAL); the percentile is infinite then, and its mean is null
Units     Times are in seconds, and sizes of buffers in messages.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mobilenet.lab.studies.measure import delay_of_bin
from mobilenet.lab.studies.parts import SCHEMA, in_order, index, planned_targets
from mobilenet.lab.studies.spark import path_pattern
from mobilenet.lab.studies.statistics import Values, grows, may_grow, t_interval
from mobilenet.lab.studies.store import Store, open_store
from mobilenet.lab.studies.table_files import HANDOFF, NOT_STEADY, PROBABLY, TABLES, UNSTABLE, missing_runs, write_table
from mobilenet.metrics.declaration import Declared, Metric
from mobilenet.metrics.over_time import BUCKETS
from mobilenet.metrics.registry import SURVIVAL, is_infinite
from mobilenet.record.provenance import combine, digest
from mobilenet.record.stamp import STUDY, Inputs, new_provenance, stamping

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
OF_STUDIES: tuple[Declared, ...] = (  # metrics that exist only in studies, in addition to the metrics of runs
    Metric("steady", "share of runs whose warm-up ended; with `kind: steady_state`", symbol="share steady"),
    Metric(
        "warmup_cut_s", "end of the warm-up that was cut off; with `kind: steady_state`", unit="s", symbol="warm-up"
    ),
)
BINS_OF_A_STEP = 10  # Each step of the distribution combines this many bins of measure.py, and is therefore 1 % wide.
AGGREGATED = ("configuration", "replication", "metrics", "buffers", "delay_bins", "delay_counts")
TASKS_PER_WORKER = 4
METRIC, BUFFER, DELAY, LABEL = range(4)  # the kinds of rows in NUMBERS
NUMBERS = pa.schema(
    {"configuration": pa.int32(), "what": pa.int8(), "name": pa.string(), "bucket": pa.int32(), "n": pa.int64()}
    | dict.fromkeys(("mean", "sd", "low", "high"), pa.float64())
    | {"infinite": pa.int64()}
)  # The column `bucket` contains a time bucket or a delay bin. In a LABEL row, the name is the label itself.


def write_tables(
    store: Store, targets: list[int], spark: SparkSession | None = None, command: str | None = None
) -> set[int]:
    """Write all tables, and return the configurations that are unstable. `targets` contains the number of replications
    of each configuration. `command` is the command that creates the directory. The default is `mobilenet study`.
    """
    command = f"mobilenet study STUDY/study.yaml{store.permission()}" if command is None else command
    runs, handoffs = _read_runs(store, targets)
    inputs = Inputs(STUDY, digest(store.path / "study.yaml"), combine(runs["fingerprint"].tolist()), len(runs))
    results = _aggregates(store, targets, spark)
    width_s = runs.groupby("configuration")["duration_s"].first() / BUCKETS
    metrics = sorted(set(runs) - {"duration_s", *TABLES["tables/runs"]})
    with stamping(new_provenance(command, inputs)):
        _write(store, "runs", runs, metrics)
        _write(store, "handoffs", handoffs)
        return _write_results(store, results, width_s)


def _read_runs(store: Store, targets: list[int]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the runs with their metrics, and the handoffs of all runs."""
    import pandas as pd

    own, runs, handoffs = [*TABLES["tables/runs"], "duration_s"], [], []
    columns = [*own, "metrics", "handoff_rows"]
    for table in (SCHEMA.empty_table().select(columns), *in_order(store.measured, targets, columns)):
        of_runs = list(map(metrics_of, table["metrics"].to_pylist()))
        runs.append(pd.concat([table.select(own).to_pandas(), pd.DataFrame(of_runs, dtype=float)], axis=1))
        rows = table["handoff_rows"].combine_chunks()
        whose = table.select(["run", "configuration"]).take(pc.list_parent_indices(rows))
        arrays = [*whose.columns, *pc.list_flatten(rows).flatten()]
        handoffs.append(pa.Table.from_arrays(arrays, ["run", "configuration", *HANDOFF]))
    return pd.concat(runs, ignore_index=True), pa.concat_tables(handoffs).to_pandas()


def metrics_of(run: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the metrics of a run. A percentile of the delays that the run does not reach is infinite."""
    metrics = dict(run)
    return metrics | {name: math.inf for name in SURVIVAL if is_infinite(name, metrics)}


def aggregate(confidence: float, rows: pa.Table) -> pa.Table:
    """Aggregate the rows of one configuration (parts.SCHEMA). Return rows of NUMBERS, ordered by `what`, name and
    bucket.
    """
    import pandas as pd

    rows = rows.sort_by("replication")
    metrics = pd.DataFrame(map(metrics_of, rows["metrics"].to_pylist()), dtype=float)
    numbers = [(METRIC, name, None, *_interval(metrics[name].dropna(), confidence)) for name in sorted(metrics)]
    # The frame has one row per run and one column per buffer. Each cell contains the sizes in all buckets of time.
    buffers = pd.DataFrame(map(dict, rows["buffers"].to_pylist()))
    for name in sorted(buffers):
        sizes = pd.DataFrame(buffers[name].dropna().tolist(), dtype=float)
        there = (sizes[bucket].dropna() for bucket in sizes)
        numbers += [(BUFFER, name, own.name, *_interval(own, confidence)) for own in there if len(own)]
    bins, counts = (pc.list_flatten(rows[name]) for name in ("delay_bins", "delay_counts"))
    delays = pa.table({"bin": bins, "n": counts}).group_by("bin").aggregate([("n", "sum")]).sort_by("bin")
    numbers += [(DELAY, "", row["bin"], row["n_sum"], *[None] * 5) for row in delays.to_pylist()]
    numbers.append((LABEL, _label(metrics), None, 0, *[None] * 5))
    number = rows["configuration"][0].as_py()
    return pa.Table.from_pylist([dict(zip(NUMBERS.names, (number, *row), strict=True)) for row in numbers], NUMBERS)


def _interval(series: pd.Series[float], confidence: float) -> tuple[Any, ...]:
    """Return the column `n` of NUMBERS and all later columns, computed from one value per run."""
    values: Values = series.to_numpy()
    if infinite := int(np.isinf(values).sum()):
        return len(values), None, None, None, None, infinite
    if len(values) < 2:
        return len(values), float(values[0]), None, None, None, 0
    i = t_interval(values, confidence)
    return i.n, i.mean, i.sd, i.low, i.high, 0


def _label(metrics: pd.DataFrame) -> str:
    slopes, steady = (metrics[name].dropna() if name in metrics else () for name in ("backlog_slope", "steady"))
    if grows(np.array(slopes)):
        return UNSTABLE
    if may_grow(np.array(slopes)):
        return PROBABLY
    return NOT_STEADY if sum(steady) * 2 < len(steady) else ""


def _aggregates(store: Store, targets: list[int], spark: SparkSession | None) -> pa.Table:
    """Return the rows of NUMBERS for all configurations, in order."""
    confidence = store.study.confidence

    def summarize(rows: pa.Table) -> pa.Table:
        number = rows["configuration"][0].as_py()
        last = targets[number] if number < len(targets) else 0  # Later replications belong to another round.
        counted = rows.filter(pc.field("replication") <= last)
        return aggregate(confidence, counted) if len(counted) else NUMBERS.empty_table()

    if spark is None:
        return pa.concat_tables([NUMBERS.empty_table(), *map(summarize, in_order(store.measured, targets))])
    from pyspark.sql.pandas.types import from_arrow_schema

    return (
        spark.read.schema(from_arrow_schema(SCHEMA))
        .parquet(path_pattern(store.measured), pathGlobFilter="*.parquet")
        .select(*AGGREGATED)
        .repartition(TASKS_PER_WORKER * spark.sparkContext.defaultParallelism, "configuration")
        .groupBy("configuration")
        .applyInArrow(summarize, from_arrow_schema(NUMBERS))
        .toArrow()
        .sort_by([(name, "ascending") for name in ("configuration", "what", "name", "bucket")])
    )


def tables_of_what_is_there(directory: Path) -> str | None:
    """Compute the tables of a study again if runs have been added. Return a description of what is missing, or None.

    Users can thus inspect the tables of a killed or running study. Raise StudyError if the folder does not contain a
    study.
    """
    store = open_store(directory)
    parts = index(store.measured, store.study.kind)
    if not parts or not (directory / "runs.parquet").is_file():
        return None  # No run has been completed yet.
    tables = [directory / f"{name}.parquet" for name in TABLES if name.startswith("tables/")]
    newest = max(path.stat().st_mtime_ns for path in parts)
    if not all(path.is_file() and newest <= path.stat().st_mtime_ns for path in tables):
        write_tables(store, planned_targets(directory, len(store.configurations)))
    what = missing_runs(directory)
    return None if what is None else f"{directory}: {what}"


def _write_results(store: Store, results: pa.Table, width_s: pd.Series) -> set[int]:
    """Write the tables of aggregated numbers, and return the configurations that are unstable."""
    import pandas as pd

    metrics, buffers, delays, labels = (
        results.filter(pc.field("what") == what).to_pandas() for what in (METRIC, BUFFER, DELAY, LABEL)
    )
    label = labels.set_index("configuration")["name"]
    summary = metrics.assign(metric=metrics["name"], label=metrics["configuration"].map(label))
    hidden = (summary["label"] == UNSTABLE) & (summary["metric"] != "backlog_slope")
    summary.loc[hidden, ["mean", "sd", "low", "high"]] = math.nan
    _write(store, "summary", summary)
    width = buffers["configuration"].map(width_s)
    unstable = buffers["configuration"].map(label) == UNSTABLE
    buffers = buffers.assign(
        buffer=buffers["name"], from_s=buffers["bucket"] * width, to_s=(buffers["bucket"] + 1) * width,
        label=np.where(unstable, UNSTABLE, ""),
    )  # fmt: skip
    _write(store, "buffers", buffers)
    counts, delay_s = delays.groupby("configuration")["n"], map(delay_of_bin, delays["bucket"].tolist())
    delays = delays.assign(delay_s=list(delay_s), deliveries=counts.transform("sum"), seen=counts.cumsum())
    within = [
        own.iloc[np.searchsorted(own["seen"], np.multiply(SHARES, own["n"].sum()))].assign(share=SHARES)
        for _, own in delays.groupby("configuration")
    ]
    delays = delays.assign(share=delays["seen"] / delays["deliveries"], step=delays["bucket"] // BINS_OF_A_STEP)
    _write(store, "delays", pd.concat([delays[:0], *within], ignore_index=True))
    _write(store, "distribution", delays.drop_duplicates(["configuration", "step"], keep="last"))
    return set(label.index[label == UNSTABLE])


def _write(store: Store, name: str, rows: pd.DataFrame, metrics: Sequence[str] = ()) -> None:
    """Write a table. The columns of the levels follow the first column."""
    import pandas as pd

    of_each = pd.DataFrame([one.row() for one in store.configurations], dtype=object)
    levels = of_each.loc[rows["configuration"]].set_axis(rows.index)
    first, *others = TABLES[f"tables/{name}"]
    columns = dict.fromkeys((first, *levels, *others, *metrics))
    is_empty = rows.empty and "run" not in columns
    rows = pd.concat([rows, levels.drop(columns=rows.columns, errors="ignore")], axis=1)[[*columns]]
    write_table(store.path, f"tables/{name}", pd.DataFrame() if is_empty else rows)
