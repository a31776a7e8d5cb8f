"""Tests of the layouts of stations and of the area that their cells cover."""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.parameters import ScenarioError
from mobilenet.world.coverage import AreaParameters, Coverage
from mobilenet.world.layout import FileLayout, GridLayout, HexagonLayout, hexagon, names, station_positions

HERE = Path(".")


@pytest.mark.parametrize("rings, count", [(0, 1), (1, 7), (2, 19), (5, 91)])
def test_a_hexagon_layout_is_complete_and_evenly_spaced(rings: int, count: int) -> None:
    places = station_positions(HexagonLayout(rings=rings, spacing_m=200), HERE)
    assert places.shape == (count, 2)
    assert places[0].tolist() == [0, 0]
    distances = np.hypot(*(places[:, None] - places[None, :]).transpose(2, 0, 1))
    np.fill_diagonal(distances, np.inf)
    if rings:
        assert np.allclose(distances.min(axis=1), 200)
        assert np.allclose(np.hypot(*places[1:7].T), 200)
        assert places[1] == pytest.approx((200, 0)) and places[2] == pytest.approx((100, 100 * sqrt(3)))


def test_a_grid_layout_is_numbered_row_by_row() -> None:
    places = station_positions(GridLayout(columns=2, rows=2, spacing_m=10), HERE)
    assert places.tolist() == [[0, 0], [10, 0], [0, 10], [10, 10]]


def test_station_sites_are_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("X,name,y\n1,west,2\n\n3,east,4.5\n")
    layout = FileLayout(file="a.csv")
    assert station_positions(layout, tmp_path).tolist() == [[1, 2], [3, 4.5]]
    assert names(layout, tmp_path) == ["west", "east"]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", "a.csv:1: empty"),
        ("x,y\n", "a.csv: contains no stations"),
        ("x,z\n1,2\n", "a.csv:1: no column 'y_m'"),
        ("x,x_m,y\n1,2,3\n", "a.csv:1:2: 'x_m' means the same as column 1, 'x'"),
        ("x,y\n1,2\n3\n", "a.csv:3:2: 1 columns, but the first line names 2"),
        ("x,y\n1,\n", "a.csv:2:2: y: empty"),
        ("x,y\nnan,1\n", "a.csv:2:1: x: 'nan' is not a finite number"),
        ("x,y\n1e9,1\n", "a.csv:2:1: x: "),
        ('x,y\n"1,1\n', "a.csv:2: "),
        ("x,y\n\ud83d,1\n", "a.csv:2:1: not UTF-8 text"),
    ],
)
def test_malformed_station_sites_are_rejected(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "a.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ScenarioError) as caught:
        station_positions(FileLayout(file="a.csv"), tmp_path)
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(expected)
    assert len(str(caught.value).splitlines()) == 1


def test_the_coverage_of_two_disks_has_the_right_area() -> None:
    r, d = 120.0, 200.0
    cover = Coverage(np.array([(0.0, 0.0), (d, 0.0)]), r)
    half = np.arccos(d / (2 * r))
    lens = 2 * r * r * half - d / 2 * sqrt(4 * r * r - d * d)
    assert cover.overlaps.area == pytest.approx(lens, rel=2e-2)
    assert cover.area_m2 == pytest.approx(2 * pi * r * r - lens, rel=1e-3)
    assert cover.holes == []


def test_holes_in_the_coverage_are_detected() -> None:
    closed = Coverage(hexagon(1, 200), 120)  # The point farthest from three stations is 115.5 m away from each of them.
    assert closed.holes == []
    ring = Coverage(hexagon(1, 200)[1:], 120)
    assert len(ring.holes) == 1
    assert ring.holes[0].contains(ring.holes[0].centroid) and not ring.contains(0, 0)


@settings(max_examples=200)
@given(st.floats(-600, 600), st.floats(-600, 600))
def test_a_point_is_moved_to_the_nearest_covered_point(x: float, y: float) -> None:
    stations = hexagon(1, 250)
    cover = Coverage(stations, 120)
    nx, ny = cover.nearest_covered(x, y)
    assert cover.contains(nx, ny)
    if cover.contains(x, y):
        assert (nx, ny) == (x, y)
    else:
        moved = np.hypot(nx - x, ny - y)
        assert moved == pytest.approx(np.hypot(*(stations - (x, y)).T).min() - 120, abs=1e-6)


def test_the_ground_drawn_for_hosts_is_entirely_covered() -> None:
    cover, a_hair_more = Coverage(hexagon(1, 200), 120), Coverage(hexagon(1, 200), 120 + 1e-9)
    border = cover.ground.exterior
    assert all(
        a_hair_more.contains(*border.interpolate(share, normalized=True).coords[0]) for share in np.linspace(0, 1, 500)
    )


def test_coverage_includes_points_exactly_at_the_range() -> None:
    cover = Coverage(np.array([(0.0, 0.0)]), 120)
    assert cover.contains(120, 0) and cover.contains(0, -120)
    assert not cover.contains(120 * cos(0.1) + 0.01, 120 * sin(0.1) + 0.01)


def test_the_ground_of_a_box_excludes_holes_in_the_coverage() -> None:
    area = AreaParameters(
        box_m=(0, 0, 10, 10), hole_boxes_m=((2, 2, 4, 4),), hole_polygons_m=(((6, 6), (8, 6), (8, 8)),)
    )
    assert area.ground().area == pytest.approx(100 - 4 - 2)
    with pytest.raises(ScenarioError):
        AreaParameters(box_m=(0, 0, 10, 10), hole_boxes_m=((-1, -1, 11, 11),)).ground()
    with pytest.raises(ValueError, match="crosses itself"):
        AreaParameters(box_m=(0, 0, 10, 10), hole_polygons_m=(((0, 0), (1, 1), (1, 0), (0, 1)),))
