"""Tests of the handoff rows of runs, and of the percentiles of handoffs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mobilenet
from mobilenet.lab.studies.measure import measure


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> mobilenet.Run:
    out = tmp_path_factory.mktemp("handoffs") / "run"
    return mobilenet.run("scenarios/dynamic.yaml", out=out, overrides=["duration_s=40"])


def test_handoff_rows_agree_with_the_handoff_metrics(walked: mobilenet.Run) -> None:
    rows = walked.handoffs
    changes = rows[rows.cause == "cell"]
    assert len(changes) == walked.metrics["handoffs"] > 5
    assert changes.duration_s.mean() == pytest.approx(walked.metrics["handoff_duration_mean_s"])
    known = changes.interruption_s.dropna()
    for name, value in (("p50", known.median()), ("p95", np.percentile(known, 95)), ("max", known.max())):
        assert walked.metrics[f"handoff_interruption_{name}_s"] == pytest.approx(value)
    assert (known >= changes.loc[known.index, "duration_s"] - 1e-9).all()


def test_a_study_computes_the_same_handoff_rows_as_the_run(walked: mobilenet.Run) -> None:
    handoffs = measure(walked.path, "terminating").handoff_rows
    assert [row["begin_s"] for row in handoffs] == list(walked.handoffs.begin_s)


def test_an_interruption_that_a_crash_explains_is_not_counted(tmp_path: Path) -> None:
    run = mobilenet.run("scenarios/churn.yaml", out=tmp_path / "run", overrides=["duration_s=60"])
    events = run.events
    for row in run.handoffs.dropna().itertuples():
        own = events[events.node == row.host]
        times = own[own.event == "deliver"].time_ns
        begin, end = round(row.begin_s * 1e9), round((row.begin_s + row.duration_s) * 1e9)
        before, after = times[times < begin].max(), times[times >= end].min()
        assert not own[own.event.isin(["crash", "leave"]) & own.time_ns.between(before, after)].size
