"""Tests of Morris screening on functions whose important keys are known."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.sensitivity.ranges import LEVELS
from mobilenet.lab.studies.sensitivity.screening import STEP, KeyEffect, complete, p_of_no_effect, screen, trajectories
from mobilenet.lab.studies.statistics import holm

KEYS, WORLDS = 10, 3


@pytest.fixture(autouse=True)
def _no_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable garbage collection, which the library for Holm's procedure runs at each call. It takes longer than the
    test itself.
    """
    monkeypatch.setattr(gc, "collect", lambda: 0)


def responses(points: np.ndarray, important: list[int], chance: np.random.Generator, noise: float) -> np.ndarray:
    """Return responses to three important keys. The first has a linear effect and the second a quadratic one. The third
    has an effect only in combination with the first. The noise has a skewed distribution.
    """
    x = points / (LEVELS - 1)
    a, b, c = (x[..., key] for key in important)
    means = 2 + 5 * a + 4 * b**2 + 3 * a * c + 0.2 * x.sum(axis=-1)
    shape = (*means.shape, WORLDS)
    return means[..., None] * np.exp(chance.normal(0, noise, shape)) + chance.exponential(noise, shape)


def test_each_trajectory_step_moves_one_key_by_half_its_levels() -> None:
    points = trajectories(KEYS, 12, 3)
    moves = np.abs(np.diff(points, axis=1))
    assert points.min() == 0 and points.max() == LEVELS - 1
    assert set(moves.reshape(-1, KEYS).sum(axis=1).tolist()) == {STEP}
    assert (moves.sum(axis=1) == STEP).all()  # Each key moves once in a trajectory.
    assert (trajectories(KEYS, 12, 3) == points).all() and (trajectories(KEYS, 12, 4) != points).any()


def test_screening_finds_the_coefficients_of_a_linear_function() -> None:
    points = trajectories(3, 6, 1)
    values = (points / (LEVELS - 1)) @ np.array([2.0, -7.0, 0.0])
    row_of = {row.key: row for row in screen(points, np.repeat(values[..., None], 2, axis=2), 0.95, 1)}
    assert [row_of[key].size.mean for key in range(3)] == pytest.approx([2, 7, 0])
    assert [row_of[key].mean for key in range(3)] == pytest.approx([2, -7, 0])
    assert [row_of[key].spread for key in range(3)] == pytest.approx([0, 0, 0], abs=1e-12)
    assert [row_of[key].p_adjusted for key in range(3)] == [0, 0, 1]


@pytest.mark.parametrize("noise", [0.05, 0.1])
def test_screening_ranks_three_effective_keys_of_ten_first(noise: float) -> None:
    """In at least 17 of 20 repetitions, these three keys have the highest ranks."""
    right = 0
    for repetition in range(20):
        chance = np.random.default_rng(repetition)
        important = chance.permutation(KEYS)[:3].tolist()
        points = trajectories(KEYS, 10, repetition)
        ranking = screen(points, responses(points, important, chance, noise), 0.95, repetition)
        right += {row.key for row in ranking[:3]} == set(important)
    assert right >= 17


def rejections(repetitions: int) -> int:
    """Count the repetitions that report an effect of an unimportant key."""
    count = 0
    drawn = [trajectories(4, 10, seed) for seed in range(10)]
    for repetition in range(repetitions):
        chance, points = np.random.default_rng(1000 + repetition), drawn[repetition % 10]
        values = 5 + 3 * points[..., :1] + chance.exponential(1, (*points.shape[:2], WORLDS))
        adjusted = holm([p_of_no_effect(points, values, key) for key in range(4)])
        count += min(adjusted[1:]) < 0.05
    return count


def test_screening_rarely_reports_a_key_that_has_no_effect() -> None:
    """With an error of 5 %, at most 18 of 200 repetitions may be wrong (binomial bound of 99 %), although the noise is
    skewed.
    """
    assert rejections(200) <= 18


def test_screening_with_a_single_replication_finds_no_effect() -> None:
    points = trajectories(2, 4, 1)
    assert p_of_no_effect(points, points[..., :1].astype(float), 0) == 1.0


def test_trajectories_with_missing_values_are_excluded() -> None:
    points = trajectories(3, 6, 1)
    values = points.sum(axis=-1, keepdims=True).astype(float) + np.zeros(2)
    values[4, 2, 1] = np.nan
    kept, whole = complete(points, values)
    assert len(kept) == len(whole) == 5 and not np.isnan(whole).any()
    values[:3, 0, 0] = np.nan
    with pytest.raises(StudyError, match="only 2 of 6 trajectories have a mean at each point, expected at least 4"):
        complete(points, values)


def test_screening_gives_the_same_ranking_for_the_same_numbers() -> None:
    points = trajectories(4, 8, 2)
    values = responses_of(points)
    first: list[KeyEffect] = screen(points, values, 0.95, 5)
    np.random.seed(99)  # noqa: NPY002  (a caller may do so)
    assert screen(points, values, 0.95, 5) == first


def responses_of(points: np.ndarray) -> np.ndarray:
    return np.random.default_rng(8).exponential(points.sum(axis=-1)[..., None] + 1.0, (*points.shape[:2], WORLDS))
