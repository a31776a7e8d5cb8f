"""Cells: the rules, one by one, and against a slow and obvious implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.world import attachment
from mobilenet.world.attachment import Attachment

RANGE_M, HYSTERESIS_M = 120.0, 5.0


def obvious(stations: np.ndarray, xy: np.ndarray, current: list[int]) -> list[int]:
    cells = []
    for (x, y), cell in zip(xy, current, strict=True):
        distances = [((x - sx) ** 2 + (y - sy) ** 2) ** 0.5 for sx, sy in stations]
        nearest = min(range(len(stations)), key=distances.__getitem__)
        if cell >= 0 and distances[cell] <= RANGE_M and not distances[nearest] <= distances[cell] - HYSTERESIS_M:
            cells.append(cell)
        else:
            cells.append(nearest if distances[nearest] <= RANGE_M else -1)
    return cells


def one(x_m: float, current: int, stations: tuple[float, ...] = (0.0, 200.0)) -> int:
    places = np.array([(x, 0.0) for x in stations])
    found = Attachment(places, RANGE_M, HYSTERESIS_M).update(np.array([[x_m, 0.0]]), np.array([current]))
    return int(found[0])


def test_rules() -> None:
    assert one(99.0, -1) == 0  # the nearer one
    assert one(120.0, 0, (0.0,)) == 0  # the range is inclusive
    assert one(120.001, 0, (0.0,)) == -1
    assert one(120.001, -1, (0.0,)) == -1
    assert one(102.4, 0) == 0  # the other one is nearer by 4.8 m only
    assert one(102.5, 0) == 1  # by 5 m
    assert one(121.0, 0) == 1  # out of range of its own
    assert one(97.6, 1) == 1
    assert one(1e12, 1) == -1  # hosts that are not there


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), stations=st.sampled_from([1, 2, 7, 64, 65, 150]), hosts=st.integers(0, 40))
def test_agrees_with_the_obvious_one(seed: int, stations: int, hosts: int) -> None:
    random = np.random.default_rng(seed)
    side = 150 * stations**0.5
    places = random.random((stations, 2)) * side
    xy = random.random((hosts, 2)) * side * 1.4 - 0.2 * side
    current = random.integers(-1, stations, hosts)
    before = current.copy()
    found = Attachment(places, RANGE_M, HYSTERESIS_M).update(xy, current)
    assert found.tolist() == obvious(places, xy, current.tolist())
    assert (current == before).all()
    assert (Attachment(places, RANGE_M, HYSTERESIS_M).update(xy, found) == found).all(), "who stands still keeps the cell"


def test_tree_and_table_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    places, xy = random.random((60, 2)) * 1000, random.random((500, 2)) * 1000
    current = random.integers(-1, 60, 500)
    table = Attachment(places, RANGE_M, HYSTERESIS_M).update(xy, current)
    monkeypatch.setattr(attachment, "DENSE", 0)
    tree = Attachment(places, RANGE_M, HYSTERESIS_M).update(xy, current)
    assert (table == tree).all()


def test_nobody_flips_between_two_stations_while_walking_along_their_border() -> None:
    places = np.array([(0.0, 0.0), (200.0, 0.0)])
    cells = Attachment(places, RANGE_M, HYSTERESIS_M)
    cell = np.array([-1])
    changes = 0
    for step in range(200):
        x = 100 + (1.9 if step % 2 else -1.9)  # at most 3.8 m nearer to one than to the other
        found = cells.update(np.array([[x, step * 0.3]]), cell)
        changes += int(found[0] != cell[0])
        cell = found
    assert changes == 1


def test_an_error_of_place_lets_a_host_in_the_middle_go_back_and_forth() -> None:
    places = np.array([[0.0, 0.0], [100.0, 0.0]])
    sure = Attachment(places, RANGE_M, 0.0)
    unsure, again = (Attachment(places, RANGE_M, 0.0, error_m=0.5, seed=3) for _ in range(2))
    here, cells, seen = np.array([[50.2, 0.0], [20.0, 0.0]]), np.array([1, 0]), set()
    for _ in range(100):
        cells = unsure.update(here, cells)
        seen.add(int(cells[0]))
        assert cells[1] == 0 and (sure.update(here, np.array([1, 0])) == [1, 0]).all()
    assert seen == {0, 1}
    unsure.update(here, cells)
    assert [again.update(here, np.array([1, 0]))[0] for _ in range(20)].count(0) > 0
