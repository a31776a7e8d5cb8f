"""Tests that each sentence of a comparison agrees with its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.lab.studies.compare import Finding
from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.sentences import sentence
from mobilenet.lab.studies.statistics import compare_means

NAMES = LevelNames({"protocol.name": [{"label": "TCP", "value": "tcp_flooding"}]})
COMPARISON = {"factor": "protocol.name", "baseline": "mobile_causal", "confidence": 0.95, "equivalence_margin": 0.05}
DELAY = "delivery_delay_mean_s"


def sentence_of(
    values: list[float], base: list[float], verdict: str, metric: str = DELAY, more: int | None = None
) -> str:
    result = compare_means(np.array(values), np.array(base), 0.95, 0.05)
    finding = Finding({}, "tcp_flooding", "mobile_causal", metric, verdict, result, 0.01, 0.5, more)
    return sentence(finding.row(), COMPARISON, NAMES)


def test_low_delays_are_better_and_low_delivery_ratios_worse() -> None:
    line = sentence_of([0.18, 0.181, 0.182], [0.40, 0.405, 0.41], "different")
    change = "0.181 s, 55 % lower than for mobile_causal (0.405 s); 95 % interval 55 to 56 % lower, 3 pairs"
    assert line == f"TCP: {change}: better"
    assert sentence_of([0.4, 0.41, 0.42], [0.8, 0.81, 0.82], "different", "delivery_ratio").endswith(": worse")
    assert sentence_of([40.0, 41.0, 42.0], [80.0, 81.0, 82.0], "different", "handoffs").endswith(": different")


def test_a_test_that_contradicts_the_ratio_states_what_it_tests() -> None:
    line = sentence_of([1.0, 2.1, 80.0], [0.2, 0.4, 15.0], "inconclusive", more=1)
    assert "times as high as for mobile_causal" in line and "about 1 more replication would probably settle it" in line
    assert "the test applies to the difference" in line and "p = 0.01 after Holm" in line


def test_sentences_handle_equal_pairs_and_missing_means() -> None:
    assert (
        sentence_of([0.0, 0.0], [0.0, 0.0], "inconclusive") == "TCP: 0 s, the same as for mobile_causal in every pair"
    )
    row: dict[str, Any] = {"level": "tcp_flooding", "metric": DELAY, "verdict": "unstable"}
    assert "has no mean" in sentence(row, COMPARISON, NAMES)
    assert "fewer than two pairs" in sentence(row | {"verdict": "no data"}, COMPARISON, NAMES)


@given(st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.01, 100)), min_size=2, max_size=6))
def test_the_stated_direction_agrees_with_the_means(pairs: list[tuple[float, float]]) -> None:
    values, base = [list(column) for column in zip(*pairs, strict=True)]
    line = sentence_of(values, base, "different")
    mean, other = float(np.mean(values)), float(np.mean(base))
    change = line.partition(";")[0]
    if " lower than" in change:
        assert mean <= other + 1e-9
    elif " higher than" in change:
        assert mean >= other - 1e-9
    assert line.endswith("better") == (mean < other) or "(the test" in line or mean == pytest.approx(other)
