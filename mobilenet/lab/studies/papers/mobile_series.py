"""The course of a run, as in the figures and the text of Section V, from run directories.

Model     buckets of equal length from 0 to the end of the run. Of each replication one value for each bucket;
          intervals over replications, for each bucket by itself
Units     seconds, messages; time in the record is in nanoseconds
Shapes    edges: float64 (buckets + 1,), seconds; series: float64 (buckets,), NaN where there is no value
Errors    RunError for a directory that is damaged
Source    Wilhelm, Arantes, Sens (2020), Figures 6 to 8; ours: docs/validation/paper.md
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mobilenet.engine.clock import SECOND
from mobilenet.lab.studies.statistics import t_interval
from mobilenet.metrics.deliveries import delays_in
from mobilenet.metrics.over_time import integral_of
from mobilenet.record.reader import read_frame, read_json

Series = NDArray[np.float64]
Course = Callable[[Path, Series], Series]


def edges(end_s: float, step_s: float) -> Series:
    return np.linspace(0.0, round(end_s / step_s) * step_s, round(end_s / step_s) + 1)


def duration_s(directory: Path) -> float:
    return float(read_json(directory, "manifest.json")["duration_s"])


def buffer(directory: Path, at: Series, quantity: str = "sbuffer", station: str | None = None) -> Series:
    """Messages that a station keeps: the mean over all stations, or one of them."""
    samples = read_frame(directory, "samples")
    rows = samples[samples["quantity"] == quantity]
    rows = rows[rows["node"].str.startswith("s") if station is None else rows["node"] == station]
    count = read_json(directory, "manifest.json")["stations"] if station is None else 1
    return np.asarray(np.diff(integral_of(rows, at * SECOND)) / (np.diff(at) * SECOND * count), dtype=np.float64)


def host_rbuffer(directory: Path, at: Series) -> Series:
    """Messages that a host holds back, the mean over all hosts; the preset's hosts are members from the first
    seconds on.
    """
    samples = read_frame(directory, "samples")
    rows = samples[(samples["quantity"] == "rbuffer") & samples["node"].str.startswith("h")]
    hosts = read_json(directory, "manifest.json")["hosts"]
    return np.asarray(np.diff(integral_of(rows, at * SECOND)) / (np.diff(at) * SECOND * hosts), dtype=np.float64)


def sent_per_delivery(directory: Path, at: Series) -> Series:
    """Copies of application messages and acknowledgements since the beginning over deliveries since then, at the end
    of each bucket.
    """
    samples, events = read_frame(directory, "samples"), read_frame(directory, "events")
    totals = samples[samples["node"] == "network"]
    payload, acknowledgements = (
        totals[totals["quantity"] == quantity] for quantity in ("radio_payload_bytes", "radio_acknowledgements")
    )
    sent = (
        payload["value"].to_numpy() / read_json(directory, "manifest.json")["payload_bytes"]
        + acknowledgements["value"].to_numpy()
    )
    deliveries = events.loc[events["event"] == "deliver", "time_ns"].to_numpy()
    ends = at[1:] * SECOND
    so_far = sent[np.searchsorted(payload["time_ns"].to_numpy(), ends, side="right") - 1]
    delivered = np.searchsorted(deliveries, ends, side="right")
    return np.where(delivered > 0, so_far / np.maximum(delivered, 1), np.nan)


def delivery_delay(directory: Path, at: Series) -> Series:
    """Mean delay of the messages broadcast in each bucket."""
    sent, delays = delays_in(read_frame(directory, "events"))
    bucket = np.digitize(sent / SECOND, at) - 1
    inside = (bucket >= 0) & (bucket < len(at) - 1)
    count = np.bincount(bucket[inside], minlength=len(at) - 1)
    total = np.bincount(bucket[inside], delays[inside], len(at) - 1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def delays_by_length(directory: Path, lengths_s: tuple[float, ...]) -> dict[float, tuple[float, float]]:
    """Length of a run -> mean delays of messages broadcast after the warm-up: those delivered within that length, as a
    simulation that stops there sees them; and all deliveries of what was broadcast until then."""
    warmup_s = read_json(directory, "manifest.json")["warmup_s"]
    sent, delays = delays_in(read_frame(directory, "events"))
    sent_s = sent / SECOND
    mean_delays = {}
    for length_s in lengths_s:
        inside = (sent_s >= warmup_s) & (sent_s < length_s)
        seen = inside & (sent_s + delays <= length_s)
        mean_delays[length_s] = (float(delays[seen].mean()), float(delays[inside].mean()))
    return mean_delays


def backlog_growth_per_s(directory: Path) -> float:
    """Slope of a straight line through what all stations together keep, after the warm-up: messages a second."""
    manifest = read_json(directory, "manifest.json")
    at = edges(manifest["duration_s"], 1.0)
    backlog = buffer(directory, at) * manifest["stations"]
    middle = (at[:-1] + at[1:]) / 2
    inside = middle >= manifest["warmup_s"]
    return float(np.polyfit(middle[inside], backlog[inside], 1)[0])


def never_joined(directory: Path) -> int:
    """Hosts that never became members."""
    events = read_frame(directory, "events")
    return int(read_json(directory, "manifest.json")["hosts"]) - int(
        events.loc[events["event"] == "join", "node"].nunique()
    )


def over_replications(
    directories: list[Path], at: Series, course: Course, experiment: str, quantity: str
) -> list[dict[str, Any]]:
    """A row for each bucket: mean and interval over the runs, and the value of the first run by itself."""
    values = np.array([course(directory, at) for directory in directories])
    rows = []
    for k in range(len(at) - 1):
        known = values[:, k][~np.isnan(values[:, k])]
        if len(known) < 2:
            continue
        i = t_interval(known)
        rows.append({
            "experiment": experiment, "quantity": quantity, "from_s": float(at[k]), "to_s": float(at[k + 1]),
            "n": i.n, "mean": i.mean,
            "low": i.low, "high": i.high, "first": None if np.isnan(values[0, k]) else float(values[0, k]),
        })  # fmt: skip
    return rows


def step_mean(times: Any, values: Any, begin: float, end: float) -> float:
    """The mean of a step function that is 0 before its first value."""
    inside = (times > begin) & (times < end)
    start = np.searchsorted(times, begin, side="right") - 1
    around = np.concatenate([[begin], times[inside], [end]])
    levels = np.concatenate([[values[start] if start >= 0 else 0.0], values[inside]])
    return float((levels * np.diff(around)).sum() / (end - begin))


def before_faults(directory: Path, look_s: float) -> list[float]:
    """SBuffer of the station where hosts fail: the mean of the `look_s` before each fault of the schedule."""
    faults = faults_of(directory)
    samples = read_frame(directory, "samples")
    rows: pd.DataFrame = samples[(samples["node"] == faults["station"]) & (samples["quantity"] == "sbuffer")]
    times, values = rows["time_ns"].to_numpy() / SECOND, rows["value"].to_numpy()
    end_s = duration_s(directory)
    means, at = [], float(faults["first_at_s"])
    while at < end_s:
        means.append(step_mean(times, values, at - look_s, at))
        at += faults["every_s"]
    return means


def faults_of(directory: Path) -> dict[str, Any]:
    """The schedule of a run."""
    from mobilenet.scenario import Scenario

    faults = Scenario.load(directory / "scenario.yaml").faults
    assert faults is not None
    return faults.model_dump()


def unrest(directory: Path) -> str | None:
    """Why the run had not come to rest when its time was over; None: it had."""
    if read_json(directory, "manifest.json")["quiescent"]:
        return None
    samples = read_frame(directory, "samples")
    last = samples[samples["quantity"].isin(("sbuffer", "rbuffer"))].groupby(["node", "quantity"])["value"].last()
    if last.any():
        return "messages still in transit"
    return "hosts that could not join" if never_joined(directory) else "something else in progress"
