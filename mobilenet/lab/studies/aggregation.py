"""Aggregate the replications of one configuration.

Model     the replication is the unit: t intervals over one value per run, taken in the order of the replications, so
          no number depends on who computed what. The delays of all deliveries are integer counts, which add up.
          A run that left too many messages undelivered never reaches some percentiles of delays
          (registry.SURVIVAL): they are infinite, and so is their mean, which is null; `infinite` counts such runs.
          unstable: the backlog grows without end, so it has no mean; probably unstable: it grows in all runs, too few
          to be sure; not steady: no end of the warm-up was found in half of the runs
Shapes    from rows of parts.SCHEMA, in any order, to rows of RESULT, for GroupedData.applyInArrow: `what` names the
          kind of a row (METRIC, BUFFER with its bucket, DELAY with its bin as bucket, LABEL with the label as name)
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mobilenet.lab.studies.statistics import grows, may_grow, t_interval
from mobilenet.metrics.registry import SURVIVAL, is_infinite

RESULT = pa.schema(
    [
        ("configuration", pa.int32()),
        ("what", pa.int8()),
        ("name", pa.string()),
        ("bucket", pa.int32()),
        ("n", pa.int64()),
        ("mean", pa.float64()),
        ("sd", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("infinite", pa.int64()),
    ]
)
METRIC, BUFFER, DELAY, LABEL = range(4)
UNSTABLE, PROBABLY, NOT_STEADY = "unstable", "probably unstable", "not steady"


def aggregate(confidence: float, rows: pa.Table) -> pa.Table:
    """Aggregate the rows of one configuration. Return rows of RESULT, by `what`, name and bucket."""
    rows = rows.sort_by("replication")
    metrics = _by_name(map(metrics_of, rows["metrics"].to_pylist()))
    results = [(METRIC, name, None, *_interval(metrics[name], confidence)) for name in sorted(metrics)]
    for name, sizes in sorted(_by_name(map(dict, rows["buffers"].to_pylist())).items()):
        for bucket, of_runs in enumerate(zip(*sizes, strict=True)):
            if there := [size for size in of_runs if size is not None]:
                results.append((BUFFER, name, bucket, *_interval(there, confidence)))
    bins, counts = (pc.list_flatten(rows[name]) for name in ("delay_bins", "delay_counts"))
    delays = pa.table({"bin": bins, "n": counts}).group_by("bin").aggregate([("n", "sum")]).sort_by("bin")
    results += [(DELAY, "", row["bin"], row["n_sum"], *[None] * 5) for row in delays.to_pylist()]
    results.append((LABEL, _label(metrics), None, 0, *[None] * 5))
    columns = [[rows["configuration"][0].as_py()] * len(results), *map(list, zip(*results, strict=True))]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, RESULT, strict=True)]
    return pa.Table.from_arrays(arrays, schema=RESULT)


def metrics_of(run: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the metrics of a run, with the percentiles that it never reaches."""
    metrics = dict(run)
    return metrics | {name: math.inf for name in SURVIVAL if is_infinite(name, metrics)}


def _interval(series: list[float], confidence: float) -> tuple[Any, ...]:
    values = np.array(series, dtype=np.float64)
    if infinite := int(np.isinf(values).sum()):
        return len(values), None, None, None, None, infinite
    if len(values) < 2:
        return len(values), float(values[0]), None, None, None, 0
    i = t_interval(values, confidence)
    return i.n, i.mean, i.sd, i.low, i.high, 0


def _label(metrics: dict[str, list[float]]) -> str:
    slopes, steady = np.array(metrics.get("backlog_slope", []), dtype=np.float64), metrics.get("steady", [])
    if grows(slopes):
        return UNSTABLE
    if may_grow(slopes):
        return PROBABLY
    return NOT_STEADY if steady and sum(steady) * 2 < len(steady) else ""


def _by_name(runs: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return name by name the values of the runs that have one, in order."""
    values: dict[str, list[Any]] = {}
    for run in runs:
        for name, value in run.items():
            values.setdefault(name, []).append(value)
    return values
