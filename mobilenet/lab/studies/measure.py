"""Measure one run for the tables of a study: metrics, buffers over time, and a histogram of delays.

Model     Events and samples are read once. Delays are counted in bins with a constant ratio of 0.1 %. So the counts of
          many runs can be added in any order, and percentiles have an error of less than 0.1 %. steady_state: MSER-5
          finds the warm-up in the series of mean delays per message, in the order of their broadcasts. The warm-up is
          extended to the next whole second.
Units     Times are in seconds, and sizes of buffers in messages.
Shapes    All columns of a table have the same length (record/table.py).
Source    Wilhelm, Arantes, Sens (2020), section V, for the quantities; ours: docs/guide/studies.md
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mobilenet.engine.clock import SECOND
from mobilenet.judgement import with_own_metrics
from mobilenet.lab.studies.statistics import mser5, relative_slope, survival_quantiles
from mobilenet.metrics import OwnMetric
from mobilenet.metrics.buffers import declared_buffers
from mobilenet.metrics.delay_shares import delay_shares
from mobilenet.metrics.deliveries import Deliveries
from mobilenet.metrics.fold import EventFold
from mobilenet.metrics.mobile import interruptions
from mobilenet.metrics.over_time import BUCKETS, Series, buffers_over_time
from mobilenet.record.reader import read_coded, read_json
from mobilenet.record.table import Table
from mobilenet.why.shares import counted_deliveries, shares
from mobilenet.why.stories import recorded_stories

RATIO = 1.001  # ratio of the limits of adjacent bins
SHORTEST_S = 1e-7
# These percentiles include undelivered messages, whose delay is at least their waiting time.
SURVIVAL = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


class Measurement(NamedTuple):
    """The measurements of one run: the columns of parts.SCHEMA, except those of the planned run."""

    verdict: str
    duration_s: float
    manifest_sha256: str
    fingerprint: str
    metrics: dict[str, float]
    buffers: dict[str, Series]
    delay_bins: list[int]  # numbers of the bins that are not empty, in ascending order
    delay_counts: list[int]  # number of deliveries in each bin
    handoff_rows: list[dict[str, Any]]  # handoffs in the form that Interrupted.row() returns


def measure(directory: Path, kind: str, own: Sequence[OwnMetric] = ()) -> Measurement:
    """Measure the run in a directory. `own` contains the custom metrics that the scenario declares."""
    manifest = read_json(directory, "manifest.json")
    begin, end = manifest["warmup_s"], manifest["duration_s"]
    events, samples = read_coded(directory, "events"), read_coded(directory, "samples")
    sent, delays = Deliveries(events).times_and_delays()
    metrics = read_json(directory, "metrics.json")
    if kind == "steady_state":
        cut_s = steady_from_s(sent, delays, begin, end)
        begin = begin if cut_s is None else cut_s
        manifest_from = {**manifest, "warmup_s": begin}
        metrics = dict(with_own_metrics(events, samples, read_json(directory, "counters.json"), manifest_from, own)[0])
        metrics |= {"steady": 0 if cut_s is None else 1, "warmup_cut_s": cut_s}
    if (directory / "causes.parquet").exists():
        stories = recorded_stories(directory)
        delay_parts = shares(stories, counted_deliveries(stories, round(begin * SECOND), round(end * SECOND)))
        metrics = metrics | delay_shares(delay_parts.delay_ns, delay_parts.held_ns, delay_parts.by_part)
    values = {name: float(value) for name, value in metrics.items() if value is not None}
    inside = delays[(sent >= begin * SECOND) & (sent < end * SECOND)]
    waited = _still_waiting(events, begin, end) if metrics.get("broadcasts_undelivered") else np.zeros(0)
    quantiles = zip(SURVIVAL, survival_quantiles(inside, waited, list(SURVIVAL.values())), strict=True)
    values |= {f"delivery_delay_survival_{name}_s": value for name, value in quantiles if value is not None}
    over_time = buffers_over_time(events, samples, end, declared_buffers(manifest))
    if over_time:
        values["backlog_slope"] = _backlog_slope(over_time, begin, end)
    facts = read_json(directory, "verdict.json")["verdict"], end, manifest_digest(directory), manifest["fingerprint"]
    return Measurement(*facts, values, over_time, *histogram(inside), _handoffs(events, begin, end))


def manifest_digest(directory: Path) -> str:
    """Return the digest of the manifest. It covers the record too, because the manifest contains the digests of all
    files.
    """
    return hashlib.sha256((directory / "manifest.json").read_bytes()).hexdigest()


def _handoffs(events: Table, begin_s: float, end_s: float) -> list[dict[str, Any]]:
    """Return the confirmed handoffs that began in the measurement window."""
    if not len(events.column("event").rows("handoff_end")):
        return []
    return [row.row() for row in interruptions(EventFold(events, round(begin_s * SECOND), round(end_s * SECOND)))]


def histogram(delays_s: NDArray[np.float64]) -> tuple[list[int], list[int]]:
    """Return the numbers of the bins that are not empty, and the number of deliveries in each of these bins."""
    bins = np.floor(np.log(np.maximum(delays_s, SHORTEST_S) / SHORTEST_S) / math.log(RATIO)).astype(np.int64)
    filled_bins, counts = np.unique(bins, return_counts=True)
    return filled_bins.tolist(), counts.tolist()


def delay_of_bin(number: int) -> float:
    """Return the middle of a bin in seconds."""
    return float(SHORTEST_S * RATIO ** (number + 0.5))


def steady_from_s(sent: NDArray[np.int64], delays: NDArray[np.float64], begin_s: float, end_s: float) -> float | None:
    """Return the second at which the delays become steady, or None if they never do. `sent` and `delays` come from
    `Deliveries.times_and_delays`.
    """
    inside = (sent >= begin_s * SECOND) & (sent < end_s * SECOND)
    times, place = np.unique(sent[inside], return_inverse=True)
    cut = mser5(np.bincount(place, weights=delays[inside]) / np.bincount(place)) if len(times) else None
    if cut is None:
        return None
    if not cut:
        return float(begin_s)
    cut_s = float(math.ceil(times[cut] / SECOND))
    return cut_s if cut_s < end_s else None


def _still_waiting(events: Table, begin_s: float, end_s: float) -> NDArray[np.float64]:
    """Return the waiting time of each missing delivery at the end of the run, for messages sent in the window."""
    last = int(events.numbers("time_ns").max(initial=0))
    owed = EventFold(events, round(begin_s * SECOND), round(end_s * SECOND)).missing_deliveries()
    waits = [(last - sent) / SECOND for _, _, sent in owed if begin_s * SECOND <= sent < end_s * SECOND]
    return np.array(waits, dtype=np.float64)


def _backlog_slope(over_time: dict[str, Series], begin_s: float, end_s: float) -> float:
    """Return the growth of the backlog over the second half of the window, relative to its mean. The backlog consists
    of the messages waiting in the SBuffers of stations and hosts, or in all buffers if there is no SBuffer.

    The result is 2/3 for a backlog that grows steadily from zero, and 0 for a backlog that has settled.
    """
    waiting: list[str] = [name for name in ("station_sbuffer", "host_sbuffer") if name in over_time] or list(over_time)
    # Sizes are NaN while no node was present.
    sizes = np.array([over_time[name] for name in waiting], dtype=np.float64)
    is_late = np.arange(BUCKETS) * (end_s / BUCKETS) >= (begin_s + end_s) / 2
    buckets = np.flatnonzero(is_late & ~np.isnan(sizes).all(axis=0))
    return relative_slope(buckets.astype(np.float64), np.nansum(sizes, axis=0)[buckets])
