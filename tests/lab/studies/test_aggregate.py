"""Tests that compare tables with a slow aggregation of the same run directories, which follows the definitions in
pandas.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mobilenet.engine.random_streams import generator
from mobilenet.lab.studies.measure import delay_of_bin, histogram, measure, steady_from_s
from mobilenet.lab.studies.study import Result
from mobilenet.metrics.deliveries import Deliveries
from mobilenet.metrics.over_time import BUCKETS, integral_of
from mobilenet.record.table import Table
from tests.conftest import REPLICATIONS

BUFFERS = {"station_sbuffer": ("s", "sbuffer"), "station_rbuffer": ("s", "rbuffer"),
           "host_sbuffer": ("h", "sbuffer"), "host_rbuffer": ("h", "rbuffer")}  # fmt: skip


def close(a: float, b: float) -> bool:
    return a == pytest.approx(b, rel=1e-9, abs=1e-12)


def runs_of(finished: Result, configuration: int) -> list[Path]:
    return [finished.store.runs / f"c{configuration:03d}-r{r:04d}" for r in range(1, REPLICATIONS + 1)]


@pytest.mark.long
def test_the_study_summary_uses_t_intervals_over_runs(finished: Result) -> None:
    table = pd.read_parquet(finished.store.tables / "summary.parquet")
    for configuration in range(len(finished.store.configurations)):
        rows = [json.loads((run / "metrics.json").read_text()) for run in runs_of(finished, configuration)]
        own = table[table["configuration"] == configuration].set_index("metric")
        for metric in rows[0]:
            values = np.array([row[metric] for row in rows if row[metric] is not None], dtype=float)
            assert (metric in own.index) == (len(values) > 0)
            if len(values) < 2:
                continue
            half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
            summary_row = own.loc[metric]
            assert (
                summary_row["n"] == len(values)
                and close(summary_row["mean"], values.mean())
                and close(summary_row["high"], values.mean() + half)
            )


def test_study_delays_combine_the_delays_of_all_runs(finished: Result) -> None:
    table = pd.read_parquet(finished.store.tables / "delays.parquet")
    for configuration in range(len(finished.store.configurations)):
        delays = []
        for run in runs_of(finished, configuration):
            manifest = json.loads((run / "manifest.json").read_text())
            events = pd.read_parquet(run / "events.parquet")
            sent = dict(events[events["event"] == "broadcast"][["message", "time_ns"]].itertuples(index=False))
            for message, time in events[events["event"] == "deliver"][["message", "time_ns"]].itertuples(index=False):
                if manifest["warmup_s"] * 1e9 <= sent[message] < manifest["duration_s"] * 1e9:
                    delays.append((time - sent[message]) / 1e9)
        own = table[table["configuration"] == configuration]
        assert set(own["deliveries"]) == {len(delays)}
        exact = np.percentile(delays, own["share"] * 100, method="inverted_cdf")
        assert np.allclose(own["delay_s"], exact, rtol=1e-3)


def test_aggregated_buffers_match_a_brute_force_computation(finished: Result) -> None:
    table = pd.read_parquet(finished.store.tables / "buffers.parquet")
    own = table[table["configuration"] == 0]
    per_run: dict[tuple[str, int], list[float]] = {}
    for run in runs_of(finished, 0):
        end_s = json.loads((run / "manifest.json").read_text())["duration_s"]
        events, samples = pd.read_parquet(run / "events.parquet"), pd.read_parquet(run / "samples.parquet")
        joined = events[events["event"] == "join"].groupby("node")["time_ns"].min()
        for name, (kind, quantity) in BUFFERS.items():
            rows = samples[(samples["quantity"] == quantity) & samples["node"].str.startswith(kind)]
            for bucket in range(0, BUCKETS, 7):
                begin, end = bucket * end_s / BUCKETS * 1e9, (bucket + 1) * end_s / BUCKETS * 1e9
                if kind == "h":
                    time = sum(max(0.0, end - max(begin, at)) for at in joined)
                else:
                    time = (end - begin) * rows["node"].nunique()
                area = sum(_area(own.to_numpy(), begin, end) for _, own in rows.groupby("node")[["time_ns", "value"]])
                if time:
                    per_run.setdefault((name, bucket), []).append(area / time)
    for (name, bucket), values in per_run.items():
        bucket_rows = own[(own["buffer"] == name) & np.isclose(own["from_s"], bucket * end_s / BUCKETS)]
        assert len(bucket_rows) == 1 and close(bucket_rows["mean"].item(), np.mean(values)), (name, bucket)


def _area(steps: np.ndarray, begin: float, end: float) -> float:
    """Return the area under the step function of one node, computed interval by interval."""
    total, level, since = 0.0, 0.0, 0.0
    for time, value in [*steps, (np.inf, 0.0)]:
        total += level * max(0.0, min(time, end) - max(since, begin))
        level, since = value, time
    return total


@given(st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(["s0", "s1"]), st.integers(0, 9)), max_size=30))
def test_the_integral_is_the_sum_over_all_nodes(samples: list[tuple[int, str, int]]) -> None:
    rows = pd.DataFrame(sorted(samples, key=lambda row: row[0]), columns=["time_ns", "node", "value"]).astype(
        {"time_ns": "int64", "value": "float64"}
    )
    edges = np.array([0.0, 100.0, 250.0, 1000.0, 1500.0])
    integrals = np.diff(integral_of(rows, edges))
    for place, (begin, end) in enumerate(pairwise(edges)):
        expected = sum(_area(own.to_numpy(), begin, end) for _, own in rows.groupby("node")[["time_ns", "value"]])
        assert integrals[place] == pytest.approx(expected)


@given(st.lists(st.floats(1e-6, 1e3), min_size=1))
def test_histogram_bins_are_about_a_thousandth_of_a_delay_wide(delays: list[float]) -> None:
    for delay in delays:
        [number], [count] = histogram(np.array([delay]))
        assert count == 1 and delay_of_bin(number) == pytest.approx(delay, rel=0.6e-3)
    assert sum(histogram(np.array(delays))[1]) == len(delays)


def test_the_steady_state_excludes_the_warm_up() -> None:
    noise = generator(1, "test").normal(0, 0.01, 1000)
    rows = []
    for i in range(1000):
        delay = (2.0 if i < 150 else 0.2) + noise[i]
        rows += [
            (i * 10**8, "h0", "broadcast", f"h0:{i}"),
            (round(i * 10**8 + delay * 1e9), "h1", "deliver", f"h0:{i}"),
        ]
    times, nodes, kinds, messages = zip(*rows, strict=True)
    events = Table.of({"time_ns": times, "node": nodes, "event": kinds, "message": messages})
    cut_s = steady_from_s(*Deliveries(events).times_and_delays(), 0, 100)
    assert cut_s is not None and 15 <= cut_s <= 30


def test_measure_counts_every_delivery_in_the_window(finished: Result) -> None:
    run = finished.store.runs / "c000-r0001"
    measurements = measure(run, "terminating")
    events = pd.read_parquet(run / "events.parquet")
    window = json.loads((run / "manifest.json").read_text())
    sent = events[events["event"] == "broadcast"].set_index("message")["time_ns"]
    at = events[events["event"] == "deliver"]["message"].map(sent) / 1e9
    assert sum(measurements.delay_counts) == ((at >= window["warmup_s"]) & (at < window["duration_s"])).sum()
    assert Path(run).is_dir() and {"delivery_delay_survival_p95_s", "backlog_slope"} <= measurements.metrics.keys()
