"""What one run contributes to the tables of a study: its metrics, its buffers over time, and all its delays as counts.

Model     a value is (metric, bucket, value); bucket -1 stands for the whole window, 0..BUCKETS-1 for equal parts of the
          simulated time. Delays go into bins of equal ratio, 0.1 % wide, so that counts of many runs add up in any
          order and a percentile read from them is off by less than that.
          steady_state: the warm-up is what MSER-5 cuts off the series of mean delays per message, in the order of their
          broadcasts, up to the next whole second
Units     seconds and messages, as the names say
Shapes    columns of equal length
Source    Wilhelm, Arantes, Sens (2020), section V, for the quantities; ours: docs/guide/studies.md
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mobilenet.api import own_metrics_of
from mobilenet.experiments.study.statistics import mser5, relative_slope, survival_quantile
from mobilenet.metrics import metrics
from mobilenet.metrics.buffers import BUFFERS
from mobilenet.metrics.fold import EventFold
from mobilenet.rundir.reader import read_columns, read_frame, read_json

SECOND = 1_000_000_000
BUCKETS = 60
WHOLE = -1
RATIO = 1.001  # of two neighbouring bins
SHORTEST_S = 1e-7
SURVIVAL = {"p50": 0.50, "p95": 0.95, "p99": 0.99}

Value = tuple[str, int, float]


class Measured(NamedTuple):
    values: list[Value]
    bins: list[tuple[int, int]]  # bin of the delay, deliveries


def measure(directory: Path, kind: str) -> Measured:
    """All that a study needs of one run directory."""
    manifest = read_json(directory, "manifest.json")
    begin, end = manifest["warmup_s"], manifest["duration_s"]
    events = read_frame(directory, "events", ("time_ns", "node", "event", "message"))
    samples = read_frame(directory, "samples")
    if kind == "steady_state":
        cut_s = steady_from_s(events, begin, end)
        found = _metrics_from(directory, manifest, begin if cut_s is None else cut_s)
        found |= {"steady": 0 if cut_s is None else 1, "warmup_cut_s": cut_s}
        begin = begin if cut_s is None else cut_s
    else:
        found = read_json(directory, "metrics.json")
    values: list[Value] = [(name, WHOLE, float(value)) for name, value in found.items() if value is not None]
    sent, delays = delays_of(events)
    inside = (sent >= begin * SECOND) & (sent < end * SECOND)
    values += _survival(events, delays[inside], begin, end, found.get("broadcasts_undelivered") or 0)
    over_time = buffers_over_time(events, samples, end)
    values += [(name, bucket, value) for name, series in over_time.items() for bucket, value in series]
    values.append(("backlog_slope", WHOLE, _backlog_slope(over_time, begin, end)))
    return Measured(values, counted(delays[inside]))


def delays_of(events: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Of all deliveries: when the message was broadcast (ns), and how long it took (s)."""
    broadcasts = events[events["event"] == "broadcast"]
    deliveries = events[events["event"] == "deliver"]
    at = pd.Series(broadcasts["time_ns"].to_numpy(), index=broadcasts["message"].to_numpy())
    sent = deliveries["message"].map(at)
    known = sent.notna().to_numpy()
    sent_ns = sent.to_numpy()[known].astype(np.int64)
    return sent_ns, (deliveries["time_ns"].to_numpy()[known] - sent_ns) / SECOND


def counted(delays_s: NDArray[np.float64]) -> list[tuple[int, int]]:
    """(bin, deliveries) of the bins that are not empty."""
    bins = np.floor(np.log(np.maximum(delays_s, SHORTEST_S) / SHORTEST_S) / math.log(RATIO)).astype(np.int64)
    found, counts = np.unique(bins, return_counts=True)
    return [(int(b), int(c)) for b, c in zip(found, counts, strict=True)]


def delay_of_bin(number: int) -> float:
    """Its middle, in seconds."""
    return float(SHORTEST_S * RATIO ** (number + 0.5))


def steady_from_s(events: pd.DataFrame, begin_s: float, end_s: float) -> float | None:
    """The second from which on delays look steady; None: they do not."""
    sent, delays = delays_of(events)
    per_message = pd.Series(delays).groupby(sent).mean().sort_index()
    window = per_message[(per_message.index >= begin_s * SECOND) & (per_message.index < end_s * SECOND)]
    cut = mser5(window.to_numpy())
    if cut is None:
        return None
    if not cut:
        return float(begin_s)
    cut_s = float(math.ceil(window.index[cut] / SECOND))
    return cut_s if cut_s < end_s else None


def _metrics_from(directory: Path, manifest: dict[str, Any], warmup_s: float) -> dict[str, Any]:
    events, samples = read_columns(directory, "events"), read_columns(directory, "samples")
    counters = read_json(directory, "counters.json")
    return dict(metrics(events, samples, counters, {**manifest, "warmup_s": warmup_s}, own_metrics_of(directory)))


def _survival(
    events: pd.DataFrame, delays: NDArray[np.float64], begin_s: float, end_s: float, undelivered: int
) -> list[Value]:
    """Percentiles with the undelivered counted as 'at least as long as until the end of the record'."""
    waited = _still_waiting(events, begin_s, end_s) if undelivered else np.zeros(0)
    found = []
    for name, share in SURVIVAL.items():
        value = survival_quantile(delays, waited, share)
        if value is not None:
            found.append((f"delivery_delay_survival_{name}_s", WHOLE, value))
    return found


def _still_waiting(events: pd.DataFrame, begin_s: float, end_s: float) -> NDArray[np.float64]:
    """How long the members at the end have waited for each message of the window that they do not have."""
    last = int(events["time_ns"].max())
    columns = {name: events[name].tolist() for name in events.columns}
    columns |= {name: [None] * len(events) for name in ("session", "detail")}  # of handoffs, which are not asked for
    owed = EventFold(round(begin_s * SECOND), round(end_s * SECOND)).take(columns).owed()
    waits = [(last - sent) / SECOND for _, _, sent in owed if begin_s * SECOND <= sent < end_s * SECOND]
    return np.array(waits, dtype=np.float64)


def buffers_over_time(events: pd.DataFrame, samples: pd.DataFrame, end_s: float) -> dict[str, list[tuple[int, float]]]:
    """Mean messages per node and bucket; hosts count while they are members."""
    edges = np.linspace(0, end_s * SECOND, BUCKETS + 1)
    changes = events[events["event"].isin(("join", "leave"))]
    membership = pd.DataFrame(
        {"time_ns": changes["time_ns"], "node": changes["node"], "value": (changes["event"] == "join").astype(float)}
    )
    left = membership[membership["value"] == 0]
    found: dict[str, list[tuple[int, float]]] = {}
    for name, (kind, quantity) in BUFFERS.items():
        rows = samples[(samples["quantity"] == quantity) & samples["node"].str.startswith(kind)]
        if kind == "h":  # what a host had when it left, or vanished, no longer counts
            rows = pd.concat([rows, left]).sort_values("time_ns", kind="stable")
            time = np.diff(integral(membership, edges))
        else:
            time = np.diff(edges) * rows["node"].nunique()
        area = np.diff(integral(rows, edges))
        found[name] = [(bucket, float(area[bucket] / time[bucket])) for bucket in range(BUCKETS) if time[bucket] > 0]
    return found


def integral(rows: pd.DataFrame, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the sum over all nodes of a step function, from 0 to each edge; value times nanoseconds."""
    times = rows["time_ns"].to_numpy().astype(np.float64)
    steps = (rows["value"] - rows.groupby("node")["value"].shift(fill_value=0.0)).to_numpy()
    level = np.cumsum(steps)
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(times))]) if len(times) else np.zeros(0)
    place = np.searchsorted(times, edges, side="right") - 1
    found: NDArray[np.float64] = np.where(
        place >= 0, area[place] + level[place] * (edges - times[place]) if len(times) else 0.0, 0.0
    )
    return found


def _backlog_slope(over_time: dict[str, list[tuple[int, float]]], begin_s: float, end_s: float) -> float:
    """Growth over the second half of the window of what waits at stations and hosts, as a multiple of its mean.

    A backlog that grows from nothing, all the time, gives 2/3; one that has settled, 0.
    """
    width, middle_s = end_s / BUCKETS, (begin_s + end_s) / 2
    levels: dict[int, float] = {}
    for name in ("station_sbuffer", "host_sbuffer"):
        for bucket, value in over_time[name]:
            if bucket * width >= middle_s:
                levels[bucket] = levels.get(bucket, 0.0) + value
    buckets = sorted(levels)
    return relative_slope(np.array(buckets, dtype=np.float64), np.array([levels[b] for b in buckets]))
