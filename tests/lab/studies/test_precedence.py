"""Tests that the delivery ratio takes precedence over other metrics. Matched deliveries agree with a slow count, and
sentences never favour a level that loses deliveries.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mobilenet
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.compare import findings
from mobilenet.lab.studies.configurations import Configuration, PlannedRun
from mobilenet.lab.studies.declaration import Compare, Study
from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.precedence import (
    LOSS_MARGIN,
    Delivered,
    NotPaired,
    Share,
    common_deliveries,
    objection,
    opening,
)
from mobilenet.lab.studies.sentences import sentence
from mobilenet.lab.studies.store import Store
from mobilenet.lab.studies.study import compare_study
from mobilenet.metrics.registry import OF_HOSTS
from tests.conftest import FIRST, SCENARIOS
from tests.lab.studies.directories import of_runs
from tests.lab.studies.test_moved_studies import make

GOSSIP = SCENARIOS / "own_protocol" / "gossip.yaml"
LOSES = {"label": "gossip", "class": "gossip.py:Gossip", "promises": "best_effort", "settings": {"times": 1}}
DELAY = "delivery_delay_mean_s"
COMPARISON = {"factor": "p", "baseline": "a", "confidence": 0.95, "equivalence_margin": None}
P95 = "delivery_delay_survival_p95_s"
PAIRS = 4


def study_without_spark(place: Path, factors: dict[str, object], compare: dict[str, object], **more: object) -> Store:
    values = {
        "scenario": str(GOSSIP), "factors": factors, "replications": {"min": PAIRS}, "compare": compare,
        "set": {"duration_s": 8, "hosts.count": 8, "wireless.loss": 0.4, **more},
    }  # fmt: skip
    return make(Study.of(values, GOSSIP.parent), place, PAIRS)


def deliveries_by_rows(run: Path) -> dict[tuple[str, int, str], int]:
    """Return the delay in ns of the first delivery for each sender, planned time and receiver. The function reads the
    events row by row.
    """
    opened = mobilenet.load(run)
    begin_ns, end_ns = (round(opened.manifest[key] * 1e9) for key in ("warmup_s", "duration_s"))
    sent: dict[str, tuple[str, int]] = {}
    delays: dict[tuple[str, int, str], int] = {}
    for row in opened.events.itertuples():
        if row.event == "broadcast":
            sent[row.message] = row.node, row.time_ns
        elif row.event == "deliver" and begin_ns <= sent[row.message][1] < end_ns:
            delays.setdefault((*sent[row.message], row.node), row.time_ns - sent[row.message][1])
    return delays


def test_common_deliveries_match_a_brute_force_count(lossy: Store) -> None:
    shifted = False
    for replication in range(1, PAIRS + 1):
        runs = [lossy.runs / PlannedRun(number, replication, 0).id for number in (1, 0)]
        slow, common = [deliveries_by_rows(run) for run in runs], common_deliveries(*runs)
        keys = sorted(slow[0].keys() & slow[1].keys())
        assert 0 < len(keys) < len(slow[1])
        for delays_s, own in ((common.delays_s, slow[0]), (common.other_delays_s, slow[1])):
            assert sorted(np.round(delays_s * 1e9).astype(int).tolist()) == sorted(own[key] for key in keys)
        assert int(common.is_own.sum()) == sum(sender == receiver for sender, _, receiver in keys)
        names = [
            {(row.node, row.time_ns): row.message for row in frame[frame.event == "broadcast"].itertuples()}
            for frame in (mobilenet.load(run).events for run in runs)
        ]
        shifted |= any(names[0][key] != names[1][key] for key in names[0].keys() & names[1].keys())
    assert shifted, "a refused broadcast shifts the numbers of later messages; no pair of this study shows it"


def test_delay_metrics_over_all_deliveries_match_the_run(lossy: Store) -> None:
    run = lossy.runs / "c000-r0001"
    same, metrics = common_deliveries(run, run), json.loads((run / "metrics.json").read_text())
    for name in (DELAY, "delivery_delay_others_mean_s", "delivery_delay_p50_s", "delivery_delay_max_s"):
        metric = OF_HOSTS.of_delays(name)
        assert metric is not None and same.compare(metric) == pytest.approx([metrics[name]] * 2, rel=1e-9), name


def test_runs_with_different_planned_broadcasts_are_not_paired(tmp_path: Path) -> None:
    runs = [tmp_path / str(seed) for seed in (1, 2)]
    for seed, run in zip((1, 2), runs, strict=True):
        mobilenet.run(FIRST, seed=seed, out=run, overrides=["duration_s=5"])
    with pytest.raises(NotPaired):
        common_deliveries(*runs)


def test_the_setting_that_loses_messages_is_not_called_better(lossy: Store) -> None:
    document = json.loads((lossy.path / "comparison.json").read_text())
    ratio = pd.read_csv(lossy.tables / "runs.csv").groupby("configuration")["delivery_ratio"].mean()
    assert ratio[1] < 0.95 and ratio[0] == 1
    judged = {DELAY, "delivery_delay_p95_s", "radio_bytes"}
    for finding in (one for one in document["findings"] if one["metric"] in judged):
        line = sentence(finding, document, LevelNames(lossy.study.factors))
        assert line.startswith("gossip: delivered ") and "ours: 100 %" in line and "; behind)" in line, line
        is_delay = finding["metric"] != "radio_bytes"  # For radio_bytes, neither direction counts as better.
        assert ("lower, but not called better, because gossip is behind" in line) is is_delay, line
        assert finding["difference"] < 0 and ("that both made" in line) is is_delay
    finding = next(one for one in document["findings"] if one["metric"] == DELAY)
    pairs = []
    for replication in range(1, PAIRS + 1):
        slow = [deliveries_by_rows(lossy.runs / PlannedRun(number, replication, 0).id) for number in (1, 0)]
        keys = slow[0].keys() & slow[1].keys()
        pairs.append([sum(own[key] for key in keys) / len(keys) / 1e9 for own in slow])
    means = np.mean(pairs, axis=0)
    assert [finding["common_mean"], finding["common_baseline_mean"]] == pytest.approx(means, rel=1e-9)
    # The mean covers all deliveries of the level, and not only the common ones.
    assert finding["mean"] != pytest.approx(finding["common_mean"], rel=1e-6)


@pytest.mark.parametrize("name", ["tables/runs", "tables/summary", "runs"])
def test_a_truncated_or_altered_table_is_rejected(lossy: Store, tmp_path: Path, name: str) -> None:
    shutil.copytree(lossy.path, tmp_path / "study")
    file = tmp_path / "study" / f"{name}.parquet"
    data = file.read_bytes()
    page = data.index(b"c000-r0001" if name.endswith("runs") else b"airtime")
    for spoilt in (data[: len(data) // 2], data[:page] + b"?" + data[page + 1 :]):
        file.write_bytes(spoilt)
        with pytest.raises(StudyError, match=f"{file.name}: not readable as Parquet"):
            compare_study(tmp_path / "study")


shares = st.builds(
    lambda own, baseline, half: Share("delivery_ratio", own, baseline, own - baseline - half, own - baseline + half),
    st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.2),
)  # fmt: skip


@given(st.lists(shares, min_size=1, max_size=3), st.floats(0.01, 10), st.floats(0.01, 10))
def test_a_setting_that_delivers_less_is_never_called_better(all_shares: list[Share], own: float, base: float) -> None:
    half = abs(own - base) / 10
    row = {
        "level": "b", "metric": DELAY, "verdict": "different", "pairs": 5, "mean": own, "baseline_mean": base,
        "difference": own - base, "difference_low": own - base - half, "difference_high": own - base + half,
        "ratio": None, "shares": [share._asdict() for share in all_shares],
    }  # fmt: skip
    line = sentence(row, COMPARISON, LevelNames({}))
    judged = re.search(r": (better|worse)$", line)
    if judged is None:
        assert own == base or any(
            (low if own < base else -high) < -LOSS_MARGIN or (high if own < base else -low) < 0
            for _, _, _, low, high in all_shares
        )
        return
    favours_own = judged[1] == "better"
    assert favours_own is (own < base)
    for share in all_shares:
        assert not (share.high < 0 if favours_own else share.low > 0)
        assert (share.low if favours_own else -share.high) >= -LOSS_MARGIN


@given(shares)
def test_the_first_sentence_states_which_setting_is_behind(share: Share) -> None:
    words = opening([share], "base")
    if share.high < 0:
        assert "; behind)" in words
    elif share.low > 0:
        assert "base is behind" in words
    elif share.differs:
        assert "is not settled" in words
    else:
        assert (words == "") is (share.own == share.baseline == 1) and ("in every pair" in words) is bool(words)
    if share.own < 1:
        assert not words.startswith("delivered 100 %")


def known_shares(ratios: dict[int, list[float]], **shares_of: dict[int, list[float]]) -> Delivered:
    by_share = {"delivery_ratio": ratios, **shares_of}
    return Delivered({name: pd.DataFrame(own, dtype=float) for name, own in by_share.items()}, Path())


def verdicts_on(metric: str, known: Delivered) -> Iterator[str]:
    """Yield a verdict in words on a level whose value of the metric is clearly lower than that of the baseline."""
    values = {
        (0, metric): {1: 5.0, 2: 5.1, 3: 5.2, 4: 5.3},
        (1, metric): {1: 3.0, 2: 3.2, 3: 3.1, 4: 3.3},
    }
    compare = Compare(factor="p", baseline="a", metrics=(metric,))
    configurations = [Configuration(n, {"p": p}, ()) for n, p in enumerate("ab")]
    for finding in findings(compare, configurations, of_runs(values), set(), 0.95, known):
        yield sentence(finding.document(), COMPARISON, LevelNames({})).rpartition(": ")[2]


ALL, LESS = [1.0] * 4, [0.5, 0.6, 0.7, 0.5]


@pytest.mark.parametrize(
    ("metric", "share", "baseline", "own", "word"),
    [
        ("collision_loss_ratio", "valid_ratio", ALL, [1, 1, 0, 1], "it is not settled"),  # One run ended early.
        ("collision_loss_ratio", "valid_ratio", ALL, [0] * 4, "has no valid run"),  # The verdicts are unknown.
        # All runs of both levels were violated.
        ("collision_loss_ratio", "valid_ratio", [0] * 4, [0] * 4, "has no valid run"),
        ("collision_loss_ratio", "broadcast_ratio", ALL, LESS, "is behind"),
        ("collision_loss_ratio", "handoff_return_ratio", ALL, LESS, "better"),
        ("handoff_interruption_mean_s", "handoff_return_ratio", ALL, LESS, "is behind"),
        ("handoff_interruption_mean_s", "handoff_return_ratio", ALL, ALL, "better"),
        ("handoff_duration_mean_s", "confirmed_ratio", ALL, LESS, "is behind"),
    ],
)
def test_all_delivery_shares_prevent_calling_a_setting_better(
    metric: str, share: str, baseline: list[float], own: list[float], word: str
) -> None:
    (verdict,) = verdicts_on(metric, known_shares({0: ALL, 1: ALL}, **{share: {0: baseline, 1: own}}))
    assert word in verdict


def test_a_margin_decides_what_the_interval_leaves_open() -> None:
    small, large = 0.001, 0.03
    for loss, is_better in ((small, True), (large, False)):
        ratios = {0: [0.99, 0.98, 0.99, 0.98], 1: [0.99 - loss, 0.98 + loss, 0.99 - loss, 0.98 + loss]}
        (verdict,) = verdicts_on("collision_loss_ratio", known_shares(ratios))
        assert (verdict == "better") is is_better, verdict
    assert math.isclose(LOSS_MARGIN, 0.01)
    assert objection([Share("delivery_ratio", 0.9, 1.0, -0.2, 0.0)], of_baseline=True, names=("a", "b")) is None
