"""Tests of shadowing. They check its distribution and correlation, and that all nodes see the same field."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.network.propagation.shadowing import CLIP, GRID_M, ONE, ShadowField
from tests.network.propagation.digest import digest
from tests.network.propagation.shadows import between_many

D_M = 13.0
SEEDS = range(240)
LINKS = 150

steps = st.integers(-2_000_000, 2_000_000)
places = st.tuples(steps, steps)
FIELD = ShadowField(1, "shadows", D_M)


@given(a=places, b=places)
def test_shadowing_is_symmetric(a: tuple[int, int], b: tuple[int, int]) -> None:
    assert FIELD.between(*a, *b) == FIELD.between(*b, *a)


@given(links=st.lists(st.tuples(places, places), min_size=1, max_size=20), d=st.sampled_from([0.5, 13.0, 1000.0]))
def test_single_and_vectorized_shadowing_agree(links: list[tuple[tuple[int, int], tuple[int, int]]], d: float) -> None:
    field = ShadowField(7, "shadows", d)
    a, b = np.array(links).swapaxes(0, 1)
    shadows = between_many(field, a, b)
    assert shadows.tolist() == [field.between(*one, *other) for one, other in links]
    assert (np.abs(shadows) <= CLIP).all()


def by_random(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(-4000, 4000, (count, 4))


def test_shadow_fields_are_bit_identical_on_every_machine() -> None:
    values = [
        ShadowField(seed, "shadows", d).between(*link)
        for seed in (1, 2, 12345) for d in (10.0, 13.0, 50.0) for link in by_random(300).tolist()
    ]  # fmt: skip
    assert digest(values) == "5449bc161e5f4ae8"


def test_shadow_fields_differ_between_seeds_and_purposes() -> None:
    links = by_random(500)
    fields = [ShadowField(1, "shadows", D_M), ShadowField(2, "shadows", D_M), ShadowField(1, "line of sight", D_M)]
    values = [between_many(field, links[:, :2], links[:, 2:]) / ONE for field in fields]
    for one, other in pairwise([*values, values[0]]):
        assert abs((one * other).mean()) < 0.2


def around(centre: np.ndarray, metres: float, random: np.random.Generator) -> np.ndarray:
    turns = random.random(len(centre)) * 2 * np.pi
    return centre + np.round(metres / GRID_M * np.stack([np.cos(turns), np.sin(turns)], axis=1)).astype(np.int64)


def metres(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return GRID_M * np.sqrt(((a - b) ** 2).sum(axis=1))


@pytest.fixture(scope="module", params=[5.0, 20.0, 200.0])
def moved(request: pytest.FixtureRequest) -> dict[str, np.ndarray]:
    """Return the shadowing of links of equal length in many worlds, before and after one or both ends move by D_M."""
    random = np.random.default_rng(5)
    a = random.integers(-3000, 3000, (LINKS, 2))
    b = around(a, request.param, random)
    c, d = around(a, D_M, random), around(b, D_M, random)
    fields = [ShadowField(seed, "shadows", D_M) for seed in SEEDS]
    ends = {"ab": (a, b), "cb": (c, b), "ad": (a, d), "cd": (c, d)}
    values = {name: np.array([between_many(field, *pair) for field in fields]) / ONE for name, pair in ends.items()}
    return {**values, "a": a, "b": b, "c": c, "d": d, "metres": np.array(request.param)}


def test_shadowing_is_normally_distributed_everywhere(moved: dict[str, np.ndarray]) -> None:
    values = moved["ab"]
    assert abs(values.mean()) < 0.03
    assert values.std() == pytest.approx(1, abs=0.03)
    for level, share in ((-2, 0.0228), (-1, 0.1587), (0, 0.5), (1, 0.8413), (2, 0.9772)):
        assert (values < level).mean() == pytest.approx(share, abs=0.012)


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    return float((one * other).mean() / np.sqrt((one * one).mean() * (other * other).mean()))


def expectation(moved: dict[str, np.ndarray], after: str) -> float:
    """Return the expected correlation of two links. The reverse direction matters if the ends of a link are close."""
    a, b, c, d = moved["a"], moved["b"], moved[after[0]], moved[after[1]]
    there = np.exp(-(metres(a, c) + metres(b, d)) / D_M) + np.exp(-(metres(a, d) + metres(b, c)) / D_M)
    rho, rho_after = np.exp(-2 * metres(a, b) / D_M), np.exp(-2 * metres(c, d) / D_M)
    return float((there / np.sqrt((1 + rho) * (1 + rho_after))).mean())


@pytest.mark.parametrize(("after", "alone"), [("cb", np.exp(-1)), ("ad", np.exp(-1)), ("cd", np.exp(-2))])
def test_shadowing_correlation_follows_the_model(moved: dict[str, np.ndarray], after: str, alone: float) -> None:
    measurement = correlation(moved["ab"], moved[after])
    assert measurement == pytest.approx(expectation(moved, after), abs=0.03)
    if moved["metres"] > 5 * D_M:
        assert measurement == pytest.approx(alone, abs=0.03)


def test_a_single_shadow_field_has_nearly_the_model_correlation() -> None:
    """Twenty worlds, each seen from a distant station, are compared with the model."""
    here = np.random.default_rng(1).integers(-40_000, 40_000, (10_000, 2))
    station = np.full_like(here, 100_000)
    fields = [ShadowField(seed, "shadows", D_M) for seed in range(20)]
    values = [between_many(field, here, station) / ONE for field in fields]
    assert all(one.std() == pytest.approx(1, abs=0.05) for one in values)
    for lag in (4, 26, 52):
        after = [between_many(field, here + np.array([lag, 0]), station) / ONE for field in fields]
        correlations = np.array([correlation(one, other) for one, other in zip(values, after, strict=True)])
        off = correlations - np.exp(-lag * GRID_M / D_M)
        assert abs(off.mean()) < 0.03 and off.std() < 0.08
