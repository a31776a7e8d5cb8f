"""Tests of the complete link budget, with path loss, shadowing and walls."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.engine import native
from mobilenet.network.propagation.budget import UNREACHABLE, LinkBudget
from mobilenet.network.propagation.parameters import PathLossParameters, ShadowingParameters
from mobilenet.network.propagation.path_loss import loss_table, sight_table
from mobilenet.network.propagation.shadowing import ONE, ShadowField
from mobilenet.network.propagation.walls import Building, Walls
from tests.network.propagation.digest import digest
from tests.network.propagation.towns import town

UMI = PathLossParameters(model="umi")
LOG = PathLossParameters()
SHADOWS = ShadowingParameters()
THICK_WALL: Building = [[(1000, -10_000), (1030, -10_000), (1030, 10_000), (1000, 10_000)]]


@cache
def budgets(number: int = 0) -> list[LinkBudget]:
    """Return `number` identical budgets, each with its own empty cache."""
    return [
        LinkBudget(path_loss, shadowing, walls, seed=3)
        for path_loss in (LOG, UMI, PathLossParameters(model="three_slope"))
        for shadowing in (None, SHADOWS)
        for walls in (None, Walls(town(5, 100, 60_000)))
    ]


metres = st.floats(-100, 700) | st.floats(-1e5, 1e5) | st.sampled_from([0.25, -0.25, 0.75, 100.0])


@given(ax=metres, ay=metres, bx=metres, by=metres, a=st.booleans(), b=st.booleans())
def test_link_loss_is_symmetric_for_single_and_many_links(
    ax: float, ay: float, bx: float, by: float, a: bool, b: bool
) -> None:
    for budget, fresh in zip(budgets(), budgets(1), strict=True):
        loss = budget.loss_cdb(ax, ay, a, bx, by, b)
        assert budget.loss_cdb(bx, by, b, ax, ay, a) == loss
        assert [fresh.loss_cdb(ax, ay, a, *place, b) for place in ((bx, by), (by, bx))] == [
            loss, budget.loss_cdb(ax, ay, a, by, bx, b),
        ]  # fmt: skip
        assert budget.loss_cdb(ax, ay, a, bx, by, b) == loss  # The cache answers the second query.


@given(ax=metres, ay=metres, bx=metres, by=metres, most=st.integers(0, 15_000), asked_before=st.booleans())
def test_bounded_link_loss_is_exact_below_its_bound(
    ax: float, ay: float, bx: float, by: float, most: int, asked_before: bool
) -> None:
    for budget, fresh in zip(budgets(), budgets(1), strict=True):
        if asked_before:
            fresh.loss_up_to_cdb(bx, by, False, ax, ay, True, most // 2)
        loss, bounded = (
            budget.loss_cdb(ax, ay, True, bx, by, False),
            fresh.loss_up_to_cdb(ax, ay, True, bx, by, False, most),
        )
        assert bounded == loss if loss <= most else bounded > most
        assert fresh.loss_cdb(ax, ay, True, bx, by, False) == loss


def test_a_link_budget_can_consist_of_path_loss_alone() -> None:
    budget = LinkBudget(LOG)
    assert budget.loss_cdb(0.0, 0.0, False, 119.77, 0.0, True) == 10240
    assert budget.plain is not None and budget.plain[11977] == 10240
    assert budget.loss_cdb(0.0, 0.0, False, 0.0, 3000.0, True) == budget.plain[300_000]
    assert budget.loss_cdb(0.0, 0.0, False, 0.0, 3000.01, True) == UNREACHABLE
    assert budget.loss_cdb(0.0, 0.0, False, 0.0, 1e300, True) == UNREACHABLE
    assert LinkBudget(LOG, reach_m=100.0).loss_cdb(0.0, 0.0, False, 100.01, 0.0, False) == UNREACHABLE
    assert LinkBudget(LOG, ShadowingParameters(sigma_db=0.0)).plain is not None
    assert [b.plain is None for b in budgets()] == [
        False,
        True,
        True,
        True,
        True,
        True,
        True,
        True,
        False,
        True,
        True,
        True,
    ]


def test_walls_add_their_loss_to_the_link_budget() -> None:
    for shadowing in (None, SHADOWS):
        open_air = LinkBudget(LOG, shadowing, seed=3).loss_cdb(0.0, 0.0, False, 20.0, 0.0, False)
        behind = LinkBudget(LOG, shadowing, Walls([THICK_WALL]), seed=3).loss_cdb(0.0, 0.0, False, 20.0, 0.0, False)
        assert behind - open_air == 2 * 900 + 12


def test_the_link_budget_samples_shadowing_at_half_metres() -> None:
    budget = LinkBudget(LOG, SHADOWS, seed=3)
    field = ShadowField(3, "shadows", 13.0)
    table = loss_table(LOG, 3000.0)
    loss = budget.loss_cdb(-10.1, 0.2, False, 40.3, -7.76, False)
    d = math.hypot(50.4, 7.96)
    assert loss == table[int(d * 100 + 0.5)] + round(field.between(-20, 0, 81, -16) * 700 / ONE)


def test_walls_block_the_line_of_sight_in_a_street() -> None:
    """In the `umi` model, walls block the line of sight but add no further loss."""
    budget = LinkBudget(UMI, None, Walls([THICK_WALL]))
    for stations in range(3):
        a, b = stations > 0, stations > 1
        assert budget.loss_cdb(0.0, 0.0, a, 9.0, 0.0, b) == loss_table(UMI, 3000.0, stations, True)[900]
        assert budget.loss_cdb(0.0, 0.0, a, 25.0, 0.0, b) == loss_table(UMI, 3000.0, stations, False)[2500]


@pytest.mark.parametrize("distance_m", [15.0, 40.0, 100.0])
def test_line_of_sight_is_random_without_walls(distance_m: float) -> None:
    seen = hidden = 0
    place = int(100 * distance_m)
    for seed in range(40):
        budget = LinkBudget(UMI, seed=seed, reach_m=200.0)
        for i in range(100):
            loss = budget.loss_cdb(100.0 * i, 0.0, True, 100.0 * i + distance_m, 0.0, False)
            seen += loss == loss_table(UMI, 200.0, 1, True)[place]
            hidden += loss == loss_table(UMI, 200.0, 1, False)[place]
    assert seen + hidden == 4000
    assert seen / 4000 == pytest.approx(sight_table(200.0)[place] / 2**32, abs=0.03)


def all_together() -> str:
    links = np.random.default_rng(1).random((150, 4)) * 600
    return digest(
        budget.loss_cdb(ax, ay, i % 2 > 0, bx, by, i % 3 > 0)
        for budget in budgets()
        for i, (ax, ay, bx, by) in enumerate(links.tolist())
    )


def test_link_budgets_are_bit_identical_on_every_machine() -> None:
    assert all_together() == "9973e3b6bc4b8b2b"


@pytest.mark.skipif(not native.in_use(), reason="the tests themselves run interpreted")
def test_compiled_and_interpreted_link_budgets_agree() -> None:
    code = "from tests.network.propagation.test_budget import all_together; print(all_together())"
    env = {**os.environ, "MOBILENET_COMPILED": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == all_together()
