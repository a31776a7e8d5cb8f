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
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mobilenet.lab.studies.statistics import grows, may_grow, t_interval
from mobilenet.metrics.over_time import BUCKETS
from mobilenet.metrics.registry import SURVIVAL

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
UNDELIVERED = "broadcasts_undelivered"

Series = dict[int, float]  # replication -> value


def aggregate(confidence: float, rows: pa.Table) -> pa.Table:
    """Aggregate the rows of one configuration. Return rows of RESULT, by `what`, name and bucket."""
    rows = rows.sort_by("replication").combine_chunks()
    replications = rows["replication"].to_numpy()
    metrics = {
        name: dict(zip(replications[own].tolist(), values.to_pylist(), strict=True))
        for name, own, values in _entries(rows["metrics"])
    }
    _add_infinite(metrics)
    results = [(METRIC, name, None, *_interval(metrics[name], confidence)) for name in sorted(metrics)]
    for name, own, series in sorted(_entries(rows["buffers"]), key=itemgetter(0)):
        sizes = series.flatten().to_numpy(zero_copy_only=False).reshape(len(own), BUCKETS)
        for bucket in range(BUCKETS):
            there = {number: size for number, size in enumerate(sizes[:, bucket].tolist()) if not math.isnan(size)}
            if there:
                results.append((BUFFER, name, bucket, *_interval(there, confidence)))
    results += [(DELAY, "", bucket, count, *[None] * 5) for bucket, count in _delays(rows)]
    results.append((LABEL, _label(metrics), None, 0, *[None] * 5))
    columns = [[rows["configuration"][0].as_py()] * len(results), *map(list, zip(*results, strict=True))]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, RESULT, strict=True)]
    return pa.Table.from_arrays(arrays, schema=RESULT)


def _add_infinite(metrics: dict[str, Series]) -> None:
    """Give each percentile to the runs that never reach it, because too many messages are undelivered."""
    losing = [replication for replication, count in metrics.get(UNDELIVERED, {}).items() if count > 0]
    for name in SURVIVAL if losing else ():
        values = dict.fromkeys(losing, math.inf) | metrics.get(name, {})
        metrics[name] = dict(sorted(values.items()))


def _interval(series: Series, confidence: float) -> tuple[Any, ...]:
    values = np.array(list(series.values()), dtype=np.float64)
    if infinite := int(np.isinf(values).sum()):
        return len(values), None, None, None, None, infinite
    if len(values) < 2:
        return len(values), float(values[0]), None, None, None, 0
    i = t_interval(values, confidence)
    return i.n, i.mean, i.sd, i.low, i.high, 0


def _delays(rows: pa.Table) -> Iterator[tuple[int, int]]:
    """Yield each bin of delays that is not empty, ascending, and the deliveries in it."""
    bins, counts = (_whole(rows[name]).flatten().to_numpy() for name in ("delay_bins", "delay_counts"))
    occupied_bins, place = np.unique(bins, return_inverse=True)
    sums = np.zeros(len(occupied_bins), dtype=np.int64)
    np.add.at(sums, place, counts)
    yield from zip(occupied_bins.tolist(), sums.tolist(), strict=True)


def _label(metrics: dict[str, Series]) -> str:
    slopes = np.array(list(metrics.get("backlog_slope", {}).values()), dtype=np.float64)
    if grows(slopes):
        return UNSTABLE
    if may_grow(slopes):
        return PROBABLY
    steady = list(metrics.get("steady", {}).values())
    return NOT_STEADY if steady and sum(steady) * 2 < len(steady) else ""


def _entries(column: pa.ChunkedArray) -> Iterator[tuple[str, NDArray[np.int64], pa.Array]]:
    """Yield from a column of mappings each key, the rows that have it, and their values."""
    maps = _whole(column)
    of_entry = np.repeat(np.arange(len(maps)), np.diff(maps.offsets.to_numpy()))
    first, last = maps.offsets[0].as_py(), maps.offsets[-1].as_py()
    keys = maps.keys.slice(first, last - first).dictionary_encode()
    items = maps.items.slice(first, last - first)
    codes = keys.indices.to_numpy()
    for code, name in enumerate(keys.dictionary.to_pylist()):
        places = np.flatnonzero(codes == code)
        yield name, of_entry[places], items.take(pa.array(places))


def _whole(column: pa.ChunkedArray) -> Any:
    return pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
