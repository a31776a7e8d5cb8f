"""Tests of statistics with known results. `make validate-statistics` measures the coverage of intervals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.engine.random_streams import generator
from mobilenet.lab.studies.compare import findings
from mobilenet.lab.studies.configurations import Configuration
from mobilenet.lab.studies.declaration import Compare
from mobilenet.lab.studies.precedence import Delivered
from mobilenet.lab.studies.statistics import (
    compare_means,
    grows,
    holm,
    may_grow,
    mser5,
    relative_slope,
    replications_needed,
    survival_quantiles,
    t_interval,
)
from tests.lab.studies.directories import of_runs
from validation.statistics import alarms_of_looks


def test_the_t_interval_agrees_with_a_textbook() -> None:
    # Law (2015), example 4.26
    interval = t_interval(np.array([1.20, 1.50, 1.68, 1.89, 0.95, 1.49, 1.58, 1.55, 0.50, 1.09]), 0.90)
    assert interval.mean == pytest.approx(1.343, abs=5e-4)
    assert interval.half_width == pytest.approx(0.24, abs=5e-3)


def test_holm_adjustment_agrees_with_its_definition() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@pytest.mark.parametrize(("p_values", "adjusted"), [
    ([0.5], [0.5]),
    ([0.9, 0.2, 0.2, 0.0, 1.0, 1e-17], [1.0, 0.8, 0.8, 0.0, 1.0, 5e-17]),
    ([0.3, 0.01, float("nan")], [0.6, 0.03, float("nan")]),
])  # fmt: skip
def test_holm_adjustment_handles_ties_ends_and_gaps(p_values: list[float], adjusted: list[float]) -> None:
    """The values were computed with multipletests of statsmodels 0.15."""
    assert holm(p_values) == pytest.approx(adjusted, nan_ok=True)


def test_equivalence_is_tested_by_two_one_sided_tests() -> None:
    """The values were computed with ttost_mean of statsmodels 0.15."""
    logs = np.array([0.012, -0.03, 0.041, 0.007, 0.02])
    comparison = compare_means(np.exp(logs), np.ones(5), margin=0.05)
    assert comparison.equivalence_p == pytest.approx(0.01422197533371548, rel=1e-9)


@pytest.mark.parametrize(("effect", "level", "pairs"), [
    (0.005, 0.05, 313957), (0.01, 0.001, 170752), (0.1, 0.05, 787), (0.5, 0.05, 34), (1.0, 0.05, 10),
    (1.0, 0.001, 23), (3.0, 0.05, 4), (3.0, 1e-5, 11),
])  # fmt: skip
def test_replication_estimates_agree_with_statsmodels(effect: float, level: float, pairs: int) -> None:
    """The values were computed with TTestPower of statsmodels 0.15, two-sided, with a power of 0.8."""
    differences = np.array([1.0, -1.0]) / np.sqrt(2) + effect  # The standard deviation is 1.
    assert replications_needed(differences, np.zeros(2), level, None) == pytest.approx(pairs, rel=1e-5)


def test_replication_estimates_handle_extreme_differences() -> None:
    assert replications_needed(np.array([1.0, -1.0]), np.zeros(2), 0.05, None) is None
    assert replications_needed(np.array([1.0, 1.0 + 1e-12]), np.zeros(2), 0.05, None) == 3


@given(st.lists(st.floats(0.1, 10), min_size=3, max_size=20))
def test_identical_pairs_do_not_differ(values: list[float]) -> None:
    same = compare_means(np.array(values), np.array(values), margin=0.05)
    assert same.p == 1 and same.ratio == pytest.approx(1) and same.equivalence_p == 0


def test_a_constant_difference_is_significant() -> None:
    values = np.array([1.0, 2.0, 4.0])
    assert compare_means(values + 1, values).p == 0
    assert compare_means(values * 1.2, values, margin=0.05).equivalence_p == pytest.approx(1)


def test_replications_are_planned_without_ratios_if_a_value_is_0() -> None:
    """Shares are around 0.003, and one of them is 0. Differences of 0.0007 are small, but must not be reported as
    'within 5 %'.
    """
    values, baseline = np.array([0.0, 0.004, 0.003]), np.array([0.003, 0.002, 0.0031])
    assert replications_needed(values, baseline, 0.05, 0.05) == replications_needed(values, baseline, 0.05, None) > 10


def test_the_required_number_of_replications_grows_with_noise() -> None:
    stream = generator(1, "test")
    baseline = np.full(10, 1.0)
    quiet = replications_needed(1.05 + 0.02 * stream.normal(0, 1, 10), baseline, 0.05, None)
    noisy = replications_needed(1.05 + 0.30 * stream.normal(0, 1, 10), baseline, 0.05, None)
    assert quiet is not None and (noisy is None or noisy > quiet)


def test_mser5_removes_the_warm_up_ramp_and_nothing_else() -> None:
    stream = generator(1, "test")
    steady = stream.normal(10, 1, 1000)
    assert (mser5(steady) or 0) <= 50
    ramp = steady - np.concatenate([np.linspace(9, 0, 200), np.zeros(800)])
    cut = mser5(ramp)
    assert cut is not None and 100 <= cut <= 250
    assert mser5(np.linspace(0, 1, 400) ** 4) is None  # This series never settles.
    assert mser5(steady[:15]) is None


def test_endless_growth_is_distinguished_from_a_settled_level() -> None:
    stream = generator(1, "test")
    times = np.arange(30.0)
    growing = np.array([relative_slope(times, 10 * (30 + times) + stream.normal(0, 20, 30)) for _ in range(10)])
    settled = np.array([relative_slope(times, 300 + stream.normal(0, 60, 30)) for _ in range(10)])
    assert grows(growing) and not grows(settled)
    assert not may_grow(growing) and not may_grow(settled)
    two = np.array([0.66, 0.57])  # These are slopes of a level whose backlog really grows.
    assert not grows(two) and may_grow(two)
    assert not may_grow(two[:1]) and not may_grow(np.array([0.66, 0.2]))
    alike = np.array([0.61, 0.62, 0.6, 0.61, 0.62])  # These slopes are significant with any number of runs.
    assert not grows(alike[:4]) and may_grow(alike[:4]) and grows(alike) and grows(np.full(5, 0.6))
    assert relative_slope(times, np.zeros(30)) == 0


def test_the_kaplan_meier_estimate_agrees_with_a_hand_count() -> None:
    delays, waiting = np.array([1.0, 2.0, 4.0]), np.array([3.0])
    assert survival_quantiles(delays, waiting, [0.5]) == [2]  # 1 - 3/4 * 2/3 = 0.5
    assert survival_quantiles(delays, waiting, [0.75]) == [4]
    assert survival_quantiles(np.array([1.0]), np.array([2.0, 2.0]), [0.9]) == [None]  # The quantile is never reached.


def test_repeated_looks_at_equal_configurations_rarely_mislead() -> None:
    alarms, claimed = alarms_of_looks(30)
    assert claimed <= 0.05 < alarms  # A p-value is valid for only one look.


def test_comparisons_of_a_study_give_the_right_verdicts() -> None:
    wanted = Compare(factor="p", baseline="a", metrics=("m", "n"), equivalence_margin=0.05)
    all_of_them = [
        Configuration(i, {"p": p, "x": x}, ()) for i, (x, p) in enumerate([(1, "a"), (1, "b"), (2, "a"), (2, "b")])
    ]
    noise = generator(1, "test").normal(0, 0.01, (8, 10))

    def replicate(mean: float, row: int) -> dict[int, float]:
        return {r + 1: mean + float(noise[row, r]) for r in range(10)}

    values = {
        (0, "m"): replicate(1, 0), (1, "m"): replicate(2, 1), (0, "n"): replicate(1, 2),
        (1, "n"): replicate(1.001, 3),
        (2, "m"): replicate(1, 4), (3, "m"): {1: 1.0},
    }  # fmt: skip
    unknown = Delivered({}, Path())
    all_findings = findings(wanted, all_of_them, of_runs(values), set(), 0.95, unknown)
    assert [(f.others, f.metric, f.verdict) for f in all_findings] == [
        ({"x": 1}, "m", "different"), ({"x": 1}, "n", "equivalent"), ({"x": 2}, "m", "no data"),
        ({"x": 2}, "n", "no data"),
    ]  # fmt: skip
    assert {f.verdict for f in findings(wanted, all_of_them, of_runs(values), {0, 2}, 0.95, unknown)} == {"unstable"}
    wide = {
        key: {r: v + (3 if r % 2 else -0.9) for r, v in row.items()} if key == (1, "n") else row
        for key, row in values.items()
    }
    inconclusive = findings(wanted, all_of_them, of_runs(wide), set(), 0.95, unknown)[1]
    assert inconclusive.verdict == "inconclusive"
