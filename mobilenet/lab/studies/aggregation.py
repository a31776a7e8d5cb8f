"""Aggregate the replications of one configuration.

Model     the replication is the unit: t intervals over one value per run, taken in the order of the replications, so
          no number depends on who computed what. The delays of all deliveries are integer counts, which add up.
          A run that left too many messages undelivered never reaches some percentiles of delays
          (registry.SURVIVAL): they are infinite, and so is their mean, which is null; `infinite` counts such runs.
          unstable: the backlog grows without end, so it has no mean; probably unstable: it grows in all runs, too few
          to be sure; not steady: no end of the warm-up was found in half of the runs
Shapes    from rows of parts.SCHEMA, in any order, to rows of RESULT: `what` names the kind of a row
          (METRIC, BUFFER with its bucket, DELAY with its bin as bucket, LABEL with the label as name)
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
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

Floats = NDArray[np.float64]


class Series:
    """Values by replication, in whichever order they come."""

    def __init__(self) -> None:
        self._replications: list[NDArray[np.int64]] = []
        self._values: list[Floats] = []

    def add(self, replications: NDArray[np.int64], values: Floats) -> None:
        self._replications.append(replications)
        self._values.append(values)

    def positive(self) -> NDArray[np.int64]:
        """Return the replications with a value above 0."""
        runs: NDArray[np.int64] = self._runs()[self._all(self._values, np.float64) > 0]
        return runs

    def lacking(self, replications: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the replications that have no value."""
        return np.setdiff1d(replications, self._runs())

    def _runs(self) -> NDArray[np.int64]:
        runs: NDArray[np.int64] = self._all(self._replications, np.int64)
        return runs

    @staticmethod
    def _all(parts: list[Any], kind: Any) -> Any:
        return np.concatenate(parts) if parts else np.zeros(0, kind)

    def in_order(self) -> Floats:
        """By replication."""
        order = np.argsort(self._runs(), kind="stable")
        values: Floats = self._all(self._values, np.float64)[order]
        return values


class Aggregation:
    """One configuration; takes its rows batch by batch."""

    def __init__(self, configuration: int, confidence: float) -> None:
        self._configuration, self._confidence = configuration, confidence
        self._metrics: defaultdict[str, Series] = defaultdict(Series)
        self._buffers: defaultdict[tuple[str, int], Series] = defaultdict(Series)
        self._delays: Counter[int] = Counter()

    def take(self, rows: pa.Table) -> None:
        if not len(rows):
            return
        replications = rows["replication"].to_numpy().astype(np.int64)
        for name, own, values in _entries(rows["metrics"], replications):
            self._metrics[name].add(own, values.to_numpy(zero_copy_only=False))
        for name, own, series in _entries(rows["buffers"], replications):
            sizes = series.flatten().to_numpy(zero_copy_only=False).reshape(len(own), BUCKETS)
            for bucket in range(BUCKETS):
                there = ~np.isnan(sizes[:, bucket])
                self._buffers[name, bucket].add(own[there], sizes[there, bucket])
        bins, counts = (_flat(rows[name]).to_numpy() for name in ("delay_bins", "delay_counts"))
        occupied_bins, place = np.unique(bins, return_inverse=True)
        sums = np.zeros(len(occupied_bins), dtype=np.int64)
        np.add.at(sums, place, counts)
        for one, count in zip(occupied_bins.tolist(), sums.tolist(), strict=True):
            self._delays[one] += count

    def result(self) -> pa.Table:
        """Rows of RESULT, by `what`, name and bucket."""
        rows: list[tuple[Any, ...]] = []
        self._add_infinite()
        for name in sorted(self._metrics):
            rows.append((METRIC, name, None, *self._interval(self._metrics[name])))
        for name, bucket in sorted(self._buffers):
            interval = self._interval(self._buffers[name, bucket])
            if interval[0]:
                rows.append((BUFFER, name, bucket, *interval))
        rows += [(DELAY, "", bucket, self._delays[bucket], *[None] * 5) for bucket in sorted(self._delays)]
        rows.append((LABEL, self._label(), None, 0, *[None] * 5))
        columns = [[self._configuration] * len(rows), *map(list, zip(*rows, strict=True))]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, RESULT, strict=True)]
        return pa.Table.from_arrays(arrays, schema=RESULT)

    def _add_infinite(self) -> None:
        """Give each percentile to the runs that never reach it, because too many messages are undelivered."""
        losing = self._metrics[UNDELIVERED].positive() if UNDELIVERED in self._metrics else np.zeros(0, np.int64)
        for name in SURVIVAL:
            if len(losing) and len(runs := self._metrics[name].lacking(losing)):
                self._metrics[name].add(runs, np.full(len(runs), np.inf))

    def _interval(self, series: Series) -> tuple[Any, ...]:
        values = series.in_order()
        if infinite := int(np.isinf(values).sum()):
            return len(values), None, None, None, None, infinite
        if len(values) < 2:
            return len(values), float(values[0]) if len(values) else None, None, None, None, 0
        i = t_interval(values, self._confidence)
        return i.n, i.mean, i.sd, i.low, i.high, 0

    def _label(self) -> str:
        slopes = self._metrics["backlog_slope"].in_order() if "backlog_slope" in self._metrics else np.zeros(0)
        if grows(slopes):
            return UNSTABLE
        if may_grow(slopes):
            return PROBABLY
        steady = self._metrics["steady"].in_order() if "steady" in self._metrics else np.zeros(0)
        return NOT_STEADY if len(steady) and steady.sum() * 2 < len(steady) else ""


def _entries(column: pa.ChunkedArray, replications: NDArray[np.int64]) -> Iterator[tuple[str, Any, pa.Array]]:
    """Yield from a column of mappings each key, the replications that have it, and their values."""
    maps = _whole(column)
    if not len(maps):
        return
    lengths = np.diff(maps.offsets.to_numpy())
    of_entry = np.repeat(replications, lengths)
    first, last = maps.offsets[0].as_py(), maps.offsets[-1].as_py()
    keys = maps.keys.slice(first, last - first).dictionary_encode()
    items = maps.items.slice(first, last - first)
    codes = keys.indices.to_numpy()
    for code, name in enumerate(keys.dictionary.to_pylist()):
        places = np.flatnonzero(codes == code)
        yield name, of_entry[places], items.take(pa.array(places))


def _whole(column: pa.ChunkedArray) -> Any:
    return pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return _whole(column).flatten()
