"""Known answers. Whether intervals cover what they should is measured by `make validate-statistics`."""

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
from mobilenet.lab.studies.delivered import Delivered
from mobilenet.lab.studies.statistics import (
    compare_pairs,
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


def test_t_interval_of_a_textbook() -> None:
    # Law (2015), example 4.26
    interval = t_interval(np.array([1.20, 1.50, 1.68, 1.89, 0.95, 1.49, 1.58, 1.55, 0.50, 1.09]), 0.90)
    assert interval.mean == pytest.approx(1.343, abs=5e-4)
    assert interval.half_width == pytest.approx(0.24, abs=5e-3)


def test_holm_of_the_definition() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def test_holm_of_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    for p_values in ([0.01, 0.04, 0.03, 0.005], [0.5], [0.9, 0.2, 0.2, 0.0, 1.0, 1e-17], [0.3, 0.01, float("nan")]):
        assert np.array_equal(holm(p_values), multipletests(p_values, method="holm")[1], equal_nan=True)


@given(st.lists(st.floats(0.1, 10), min_size=3, max_size=20))
def test_pairs_that_are_the_same_do_not_differ(values: list[float]) -> None:
    same = compare_pairs(np.array(values), np.array(values), margin=0.05)
    assert same.p == 1 and same.ratio == pytest.approx(1) and same.equivalence_p == 0


def test_a_constant_difference_leaves_no_doubt() -> None:
    values = np.array([1.0, 2.0, 4.0])
    assert compare_pairs(values + 1, values).p == 0
    assert compare_pairs(values * 1.2, values, margin=0.05).equivalence_p == pytest.approx(1)


def test_no_margin_of_ratios_without_ratios() -> None:
    """Shares around 0.003, one of them 0: differences of 0.0007 are not 'within 5 %', however small they are."""
    values, baseline = np.array([0.0, 0.004, 0.003]), np.array([0.003, 0.002, 0.0031])
    assert replications_needed(values, baseline, 0.05, 0.05) == replications_needed(values, baseline, 0.05, None) > 10


def test_replications_needed_grow_with_noise() -> None:
    stream = generator(1, "test")
    baseline = np.full(10, 1.0)
    quiet = replications_needed(1.05 + 0.02 * stream.normal(0, 1, 10), baseline, 0.05, None)
    noisy = replications_needed(1.05 + 0.30 * stream.normal(0, 1, 10), baseline, 0.05, None)
    assert quiet is not None and (noisy is None or noisy > quiet)


def test_mser5_cuts_the_ramp_and_nothing_else() -> None:
    stream = generator(1, "test")
    steady = stream.normal(10, 1, 1000)
    assert (mser5(steady) or 0) <= 50
    ramp = steady - np.concatenate([np.linspace(9, 0, 200), np.zeros(800)])
    cut = mser5(ramp)
    assert cut is not None and 100 <= cut <= 250
    assert mser5(np.linspace(0, 1, 400) ** 4) is None  # never settles
    assert mser5(steady[:15]) is None


def test_growth_without_end_is_told_from_a_settled_level() -> None:
    stream = generator(1, "test")
    times = np.arange(30.0)
    growing = np.array([relative_slope(times, 10 * (30 + times) + stream.normal(0, 20, 30)) for _ in range(10)])
    settled = np.array([relative_slope(times, 300 + stream.normal(0, 60, 30)) for _ in range(10)])
    assert grows(growing) and not grows(settled)
    assert not may_grow(growing) and not may_grow(settled)
    two = np.array([0.66, 0.57])  # of a level that does grow
    assert not grows(two) and may_grow(two)
    assert not may_grow(two[:1]) and not may_grow(np.array([0.66, 0.2]))
    alike = np.array([0.61, 0.62, 0.6, 0.61, 0.62])  # significant however few there are
    assert not grows(alike[:4]) and may_grow(alike[:4]) and grows(alike) and grows(np.full(5, 0.6))
    assert relative_slope(times, np.zeros(30)) == 0


def test_kaplan_meier_by_hand() -> None:
    delays, waiting = np.array([1.0, 2.0, 4.0]), np.array([3.0])
    assert survival_quantiles(delays, waiting, [0.5]) == [2]  # 1 - 3/4 * 2/3 = 0.5
    assert survival_quantiles(delays, waiting, [0.75]) == [4]
    assert survival_quantiles(np.array([1.0]), np.array([2.0, 2.0]), [0.9]) == [None]  # never seen


def test_repeated_looks_at_equal_configurations() -> None:
    alarms, claimed = alarms_of_looks(30)
    assert claimed <= 0.05 < alarms  # a p value is for one look


def test_verdicts() -> None:
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
