"""Tests of the number of walls that a line crosses, and of its length inside buildings. Results are compared with
shapely, and, for lines through corners, with values computed by hand.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.network.propagation.walls import Building, Walls
from tests.network.propagation.towns import by_shapely, town

HOUSE: Building = [[(0, 0), (1000, 0), (1000, 800), (0, 800)]]
YARD: Building = [
    [(0, 0), (3000, 0), (3000, 3000), (0, 3000)],
    [(1000, 1000), (2000, 1000), (2000, 2000), (1000, 2000)],
]
TRIANGLE: Building = [[(0, 0), (1000, 1000), (2000, 0)]]


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    buildings=st.sampled_from([1, 2, 10, 80]),
    side_cm=st.sampled_from([3000, 20_000, 200_000]),
    lines=st.lists(st.tuples(*[st.floats(-0.3, 1.3)] * 4), min_size=1, max_size=10),
)
def test_walls_cut_agree_with_shapely(seed: int, buildings: int, side_cm: int, lines: list[tuple[float, ...]]) -> None:
    """Lines may begin inside a building, and buildings may overlap."""
    made = town(seed, buildings, side_cm)
    walls = Walls(made)
    corners = {corner for building in made for ring in building for corner in ring}
    for line in lines:
        ax, ay, bx, by = (round(share * side_cm) for share in line)
        wall_count, inside_cm = walls.cut(ax, ay, bx, by)
        assert walls.cut(bx, by, ax, ay) == (wall_count, inside_cm)
        if not any((bx - ax) * (y - ay) == (by - ay) * (x - ax) for x, y in corners):
            wanted, wanted_cm = by_shapely(made, ax, ay, bx, by)
            assert inside_cm == pytest.approx(wanted_cm, abs=1)
            assert wall_count == wanted


@given(seed=st.integers(0, 10_000), ends=st.tuples(*[st.integers(-3, 13)] * 4))
def test_lines_through_corners_are_resolved_by_a_tiny_shift(seed: int, ends: tuple[int, ...]) -> None:
    """On a coarse lattice, most lines run through corners. The result must be the same as in shapely after a slight
    shift to the east and a much smaller shift to the north.
    """
    souths_and_wests = np.random.default_rng(seed).integers(0, 8, (6, 2)).tolist()
    made = [[[(100 * (west + x), 100 * (south + y)) for x, y in ((0, 0), (3, 1), (2, 4), (1, 2))]]
            for west, south in souths_and_wests]  # fmt: skip
    ax, ay, bx, by = (100 * end for end in ends)
    if (ax, ay) == (bx, by):
        return
    wall_count, inside_cm = Walls(made).cut(ax, ay, bx, by)
    scale = 10**6
    finer = [[[(scale * x - 1000, scale * y - 1) for x, y in ring] for ring in building] for building in made]
    wanted, wanted_cm = by_shapely(finer, scale * ax, scale * ay, scale * bx, scale * by)
    assert (wall_count, inside_cm) == (wanted, pytest.approx(wanted_cm / scale, abs=1))


@pytest.mark.parametrize(
    ("building", "line", "walls", "inside_cm"),
    [
        (HOUSE, (-500, 400, 1500, 400), 2, 1000),
        (HOUSE, (500, 400, 1500, 400), 1, 500),
        (HOUSE, (300, 400, 700, 400), 0, 400),
        (HOUSE, (-500, 900, 1500, 900), 0, 0),
        (HOUSE, (-800, 0, 1800, 0), 2, 1000),  # runs along the southern wall, and counts as slightly north of it
        (HOUSE, (-800, 800, 1800, 800), 0, 0),  # runs along the northern wall
        (HOUSE, (0, -500, 0, 1500), 2, 800),  # runs along the western wall, and counts as slightly east of it
        (HOUSE, (1000, -500, 1000, 1500), 0, 0),
        (HOUSE, (-1000, -800, 2000, 1600), 2, 1281),  # runs through two corners
        (HOUSE, (-400, 400, 400, -400), 2, 0),  # cuts a corner, with zero length inside
        (HOUSE, (600, -600, 1600, 400), 0, 0),  # touches a corner
        (TRIANGLE, (0, 1000, 2000, 1000), 0, 0),  # touches the tip of the triangle
        (YARD, (-500, 1500, 3500, 1500), 4, 2000),
        (YARD, (1500, 1500, 1500, 5000), 2, 1000),  # begins inside the courtyard
        (YARD, (1500, 1500, 1600, 1600), 0, 0),
        (HOUSE, (500, 400, 500, 400), 0, 0),
    ],
)
def test_wall_cuts_through_corners_agree_with_hand_counts(
    building: Building, line: tuple[int, int, int, int], walls: int, inside_cm: int
) -> None:
    ax, ay, bx, by = line
    for turned in (building, [ring[::-1] for ring in building]):
        assert Walls([turned]).cut(ax, ay, bx, by) == Walls([turned]).cut(bx, by, ax, ay) == (walls, inside_cm)


def test_each_crossed_building_adds_its_walls() -> None:
    beside: Building = [[(1000, 0), (2000, 0), (2000, 800), (1000, 800)]]
    assert Walls([HOUSE, beside]).cut(-100, 400, 2100, 400) == (4, 2000)
    assert Walls([HOUSE, HOUSE]).cut(-100, 400, 2100, 400) == (4, 2000)
    assert Walls([HOUSE, HOUSE]).cut(500, 400, 2100, 400) == (2, 1000)


def test_each_crossed_wall_and_indoor_metre_adds_loss() -> None:
    walls = Walls([HOUSE], per_wall_cdb=900, per_metre_cdb=40)
    assert walls.loss_cdb(-500, 400, 1500, 400) == 2 * 900 + 10 * 40
    assert walls.loss_cdb(-500, 400, 37, 400) == 900 + 15  # The line runs 37 cm inside the house.
    assert walls.loss_cdb(-500, 900, 1500, 900) == 0


def test_a_line_crosses_no_walls_without_buildings() -> None:
    assert Walls([]).cut(-500, 400, 100_000_000, 400) == (0, 0)


def test_the_wall_index_has_few_cells_on_any_ground() -> None:
    """One ground is a long strip, one has two distant towns, and one has walls that cross all of it. The index stays
    small, is built quickly, and gives correct answers.
    """
    far = [[(x + 90_000_000, y + 90_000_000) for x, y in ring] for ring in HOUSE]
    long: Building = [[(-90_000_000, 0), (90_000_000, 0), (90_000_000, 10), (-90_000_000, 10)]]
    teeth = [(100 * x, y) for x in range(1, 2001) for y in ((0, 90_000_000) if x % 2 else (90_000_000, 0))]
    comb: Building = [[(0, 0), *teeth, (200_100, 0), (200_100, -100), (0, -100)]]
    assert Walls([HOUSE, far]).cut(-500, -400, 90_001_500, 90_001_600)[0] == 4
    assert Walls([long]).cut(500, -500, 500, 500) == (2, 10)
    assert Walls([comb]).cut(-100, 50_000_000, 300_000, 50_000_000)[0] == 2000
