"""Tests of the schedule of interim looks in a search, and of the bounds of a mean at a single interim look."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from mobilenet.engine.random_streams import generator
from mobilenet.lab.studies.statistics import look, share_of_look, skewed_bounds, t_interval


def test_the_stated_error_is_shared_by_unlimited_looks() -> None:
    assert [look(number) for number in range(7)] == [10, 14, 20, 28, 40, 56, 79]
    shares = [share_of_look(number) for number in range(100_000)]
    assert all(a > b > 0 for a, b in itertools.pairwise(shares)) and 0.9999 < math.fsum(shares) < 1


def test_bounds_of_symmetric_values_equal_the_t_interval() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    interval, bounds = t_interval(values, 0.98), skewed_bounds(values, 0.01)
    assert bounds == pytest.approx((interval.mean, interval.low, interval.high))


def test_a_long_tail_moves_both_bounds_towards_it() -> None:
    values = generator(1, "tail", "").exponential(1.0, 400)
    interval, bounds = t_interval(values, 0.998), skewed_bounds(values, 0.001)
    assert bounds.high > interval.high and bounds.low > interval.low
    mirrored = skewed_bounds(-values, 0.001)
    assert mirrored == pytest.approx((-bounds.mean, -bounds.high, -bounds.low))


def test_slight_skewness_never_narrows_a_bound() -> None:
    values = np.array([1.0, 1.2, 1.1, 0.9, 1.0, 1.6, 1.1, 1.0, 0.8, 1.2])
    interval, bounds = t_interval(values, 0.98), skewed_bounds(values, 0.01)
    assert bounds.high > interval.high and bounds.low == pytest.approx(interval.low)


def test_bounds_of_identical_values_have_zero_width() -> None:
    for value in (0.0, 0.1, -3.0, 1e9):
        assert skewed_bounds(np.full(10, value), 0.01) == pytest.approx((value, value, value))


def test_two_values_are_too_few_for_bounds() -> None:
    with pytest.raises(ValueError, match="three"):
        skewed_bounds(np.array([1.0, 2.0]), 0.01)


@pytest.mark.parametrize("runs", [10, 40, 160])
def test_bounds_for_skewed_values_are_safer_than_t_intervals(runs: int) -> None:
    stream, error, count = generator(1, "coverage of bounds", str(runs)), 0.01, 2_000
    missed = students = 0
    for values in stream.exponential(1.0, (count, runs)):
        missed += skewed_bounds(values, error).high < 1
        students += t_interval(values, 1 - 2 * error).high < 1
    assert missed < students and missed / count < {10: 0.04, 40: 0.025, 160: 0.02}[runs]
