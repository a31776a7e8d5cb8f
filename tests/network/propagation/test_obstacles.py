"""Tests of reading files of buildings. Each refused file is reported in a single line."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from mobilenet.network.propagation import obstacles, shapes
from mobilenet.network.propagation.obstacles import read_buildings
from mobilenet.network.propagation.parameters import ObstaclesParameters
from mobilenet.parameters import ScenarioError
from mobilenet.world.tracks.projection import Origin, to_earth

SQUARE = [[0, 0], [10, 0], [10, 8.004], [0, 8], [0, 0]]
COURT = [[2, 2], [4, 2], [4, 4], [2, 4], [2, 2]]
IN_CM = [(0, 0), (1000, 0), (1000, 800), (0, 800)]
ORIGIN = Origin(lon=13.0, lat=52.0)


def polygon(*rings: Any) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


def feature(geometry: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def collection(*features: Any, **more: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features), **more}


def file(folder: Path, content: Any, in_plane: bool = True) -> Path:
    """Write a file of buildings. With `in_plane`, coordinates are metres unless the file states a crs."""
    path = folder / "town.geojson"
    if in_plane and isinstance(content, dict):
        content = {"crs": None, **content}
    data = content if isinstance(content, bytes) else content.encode() if isinstance(content, str) else None
    path.write_bytes(json.dumps(content).encode() if data is None else data)
    return path


def refusal(folder: Path, content: Any, origin: Origin | None = None, in_plane: bool = True) -> str:
    with pytest.raises(ScenarioError) as caught:
        read_buildings(file(folder, content, in_plane), origin)
    complaint = str(caught.value)
    assert "\n" not in complaint and complaint.startswith(str(folder / "town.geojson"))
    return complaint.removeprefix(str(folder / "town.geojson"))


@pytest.mark.parametrize(
    "content",
    [
        polygon(SQUARE),
        polygon(SQUARE[:-1]),
        polygon([[*corner, 30.0] for corner in SQUARE]),
        feature(polygon(SQUARE)),
        collection(feature(polygon(SQUARE)), feature({"type": "Point", "coordinates": [1, 2]}), feature(None)),
        {"type": "MultiPolygon", "coordinates": [[SQUARE]]},
        {"type": "GeometryCollection", "geometries": [{"type": "LineString", "coordinates": []}, polygon(SQUARE)]},
        collection(feature(polygon(COURT), building="no"), feature(polygon(SQUARE), building="yes")),
        collection(feature(polygon(COURT), leisure="park"), feature(polygon(SQUARE), building="house")),
        collection(feature(polygon(SQUARE)), crs={"type": "name", "properties": {"name": "EPSG:25833"}}),
    ],
)
def test_buildings_are_read_from_every_form_of_geojson(content: Any, tmp_path: Path) -> None:
    path = file(tmp_path, content)
    assert read_buildings(path) == [[IN_CM]]
    assert read_buildings(file(tmp_path, gzip.compress(path.read_bytes()))) == [[IN_CM]]


def test_buildings_can_have_courtyards_and_several_parts(tmp_path: Path) -> None:
    content = collection(
        feature(polygon(SQUARE, COURT)), feature({"type": "MultiPolygon", "coordinates": [[SQUARE]] * 2})
    )
    assert list(map(len, read_buildings(file(tmp_path, content)))) == [2, 1, 1]


def on_earth(ring: list[list[float]]) -> list[list[float]]:
    lon, lat = to_earth([x + 300.0 for x, _ in ring], [y - 200.0 for _, y in ring], ORIGIN)
    return [list(corner) for corner in zip(lon.tolist(), lat.tolist(), strict=True)]


def test_buildings_in_degrees_are_projected_from_the_origin(tmp_path: Path) -> None:
    there = [[(x + 30_000, y - 20_000) for x, y in IN_CM]]
    assert read_buildings(file(tmp_path, polygon(on_earth(SQUARE))), ORIGIN) == [there]
    named = {"crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}}
    assert read_buildings(file(tmp_path, collection(feature(polygon(on_earth(SQUARE))), **named)), ORIGIN) == [there]
    assert ": contains longitudes and latitudes, but the position of (0, 0) is not given" in refusal(
        tmp_path, polygon(on_earth(SQUARE))
    )
    far = refusal(tmp_path, polygon(on_earth(SQUARE)), Origin(lon=-70, lat=0))
    assert "more than 1000 km from the origin, longitude -70" in far
    assert "is not a longitude and latitude" in refusal(tmp_path, collection(feature(polygon(
        [[300, 0], [300.1, 0], [300.1, 0.1]])), **named), ORIGIN)  # fmt: skip


@pytest.mark.parametrize("in_plane", [True, False])
def test_building_coordinates_in_metres_are_not_read_as_degrees(in_plane: bool, tmp_path: Path) -> None:
    assert read_buildings(file(tmp_path, polygon(SQUARE), in_plane), ORIGIN) == [[IN_CM]]


WIDE = [[13, 52], [14, 52], [14, 53], [13, 53], [13, 52]]


@pytest.mark.parametrize("ring", [WIDE, SQUARE, [[-90, -60], [80, -60], [80, 60]]])
@pytest.mark.parametrize("more", [{}, {"crs": {"type": "name", "properties": {"name": "EPSG:9999"}}}])
def test_walls_in_degrees_are_rejected_without_an_origin(
    ring: list[list[float]], more: dict[str, Any], tmp_path: Path
) -> None:
    content = collection(feature(polygon(ring), name="Mill"), **more)
    complaint = refusal(tmp_path, content, in_plane=False)
    assert complaint.startswith(
        ": feature 1 ('Mill'): is read as longitudes and latitudes, because the file has no crs that mobilenet knows"
    )
    assert complaint.endswith(
        'expected origin: {lon, lat} or, if the coordinates are in metres, "crs": null in the file'
    )
    (building,) = read_buildings(file(tmp_path, {**content, "crs": None}))
    assert building[0][0] == (100 * ring[0][0], 100 * ring[0][1])


def test_walls_in_degrees_are_accepted_only_near_the_origin(tmp_path: Path) -> None:
    (building,) = read_buildings(file(tmp_path, polygon(WIDE), in_plane=False), ORIGIN)
    assert building[0][0] == (0, 0) and building[0][1] == pytest.approx((6_864_000, 47_000), rel=0.02)
    (building,) = read_buildings(file(tmp_path, polygon(WIDE), in_plane=False), Origin(lon=-70, lat=0))
    assert building[0][1] == (1400, 5200)
    far = [[x + 181, y] for x, y in SQUARE]
    assert read_buildings(file(tmp_path, polygon(far), in_plane=False))


@pytest.mark.parametrize(
    "name",
    ["EPSG:4326", "urn:ogc:def:crs:EPSG::4258", "urn:ogc:def:crs:EPSG:9.8:4269", "epsg:4979", "GCS_WGS_1984", "WGS 84",
     "urn:ogc:def:crs:OGC::CRS84h", "ETRS89", "http://www.opengis.net/def/crs/EPSG/0/4258"],
)  # fmt: skip
def test_a_geographic_crs_marks_buildings_as_degrees(name: str, tmp_path: Path) -> None:
    wide = collection(feature(polygon(SQUARE), name="Mill"), crs={"type": "name", "properties": {"name": name}})
    assert refusal(tmp_path, wide).startswith(
        ": feature 1 ('Mill'): contains longitudes and latitudes, but the position of (0, 0) is not given"
    )


def stretch(by: float) -> list[list[float]]:
    return [[13.4 + by * x / 10.0, 52.5 + by * y / 10.0] for x, y in SQUARE]


@pytest.mark.parametrize("width", [0.001, 0.04, 0.06, 0.3, 0.9])
def test_implausible_building_coordinates_are_rejected(width: float, tmp_path: Path) -> None:
    complaint = refusal(tmp_path, collection(feature(polygon(stretch(width)))))
    assert complaint.startswith(": feature 1: contains longitudes and latitudes")
    unknown = {"crs": {"type": "name", "properties": {"name": "EPSG:9999"}}}
    assert "longitudes and latitudes" in refusal(tmp_path, collection(feature(polygon(stretch(width))), **unknown))


def test_building_coordinates_in_degrees_are_recognized(tmp_path: Path) -> None:
    ring = [[13.0123457, 52.1234567], [16.7654321, 52.2345678], [15.1357913, 54.2468024]]
    assert "longitudes and latitudes" in refusal(tmp_path, collection(feature(polygon(ring))))
    assert read_buildings(file(tmp_path, polygon([[round(x, 2), round(y, 2)] for x, y in ring])))
    projected = {"crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::25833"}}}
    assert read_buildings(file(tmp_path, collection(feature(polygon(ring)), **projected)))


def test_buildings_are_read_from_a_sumo_file(tmp_path: Path) -> None:
    lonlat = " ".join(f"{x!r},{y!r}" for x, y in on_earth(SQUARE))
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
    <additional xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
        <location netOffset="0,0"/>
        <poly id="a" type="building" color="1,0,0" fill="1" shape="0,0 10,0 10,8 0,8 0,0"/>
        <poly id="b" type="building.house" shape="0,0,3 10,0,3 10,8,3 0,8,3"/>
        <poly id="c" type="buildings_of_sand" shape="0,0"/>
        <poly id="d" type="forest" shape="0,0 1,0 1,1"/>
        <poly id="e" type="building" geo="true" shape="{lonlat}"/>
        <poi id="f" x="1" y="2"/>
    </additional>"""
    there = [[(x + 30_000, y - 20_000) for x, y in IN_CM]]
    assert read_buildings(file(tmp_path, text), ORIGIN) == [[IN_CM], [IN_CM], there]
    assert ":8:9: poly 'e': contains longitudes and latitudes" in refusal(tmp_path, text)


def test_buildings_of_a_scenario_become_walls(tmp_path: Path) -> None:
    file(tmp_path, polygon(SQUARE))
    walls = obstacles.walls(ObstaclesParameters(file="town.geojson", per_wall_db=6.0, per_metre_db=0.5), tmp_path)
    assert walls.cut(-500, 300, 1500, 300) == (2, 1000)
    assert walls.loss_cdb(-500, 300, 1500, 300) == 2 * 600 + 10 * 50


BOW_TIE = [[0, 0], [10, 10], [10, 0], [0, 10], [0, 0]]
NESTED: dict[str, Any] = polygon(SQUARE)
for _ in range(40):
    NESTED = {"type": "GeometryCollection", "geometries": [NESTED]}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", ":1:1: neither GeoJSON nor XML: Expecting value"),
        ("{\n  oops", ":2:3: neither GeoJSON nor XML"),
        (b'{"type": "\xff"}', ":1: not UTF-8 text"),
        ("[1, 2]", ": not GeoJSON; expected an object with a type"),
        ("[" * 100_000, ": nested too deeply"),
        (NESTED, ": collections nested more than 32 levels deep"),
        ('{"type": "Polygon", "coordinates": [[[0, NaN], [1, 1], [2, 1]]]}', ": contains NaN, which is not a finite"),
        (collection(feature(polygon(SQUARE)), feature(polygon([[0, math.nan], [1, 1], [2, 1]]), name="Mill")),
         ": feature 2 ('Mill'): contains NaN, which is not a finite number"),
        (collection(feature(polygon(SQUARE), height=-math.inf)), ": feature 1: contains -Infinity, which is not a"),
        (collection(feature(polygon(SQUARE)), bbox=[0, math.nan]), ": contains NaN, which is not a finite number"),
        ('{"type": "Polygon", "coordinates": [[[0, 1e999], [1, 1], [2, 1]]]}', ": '[0, Infinity]': not finite numbers"),
        ('{"type": "Polygon", "coordinates": [[[0, 1' + "0" * 400 + '], [1, 1], [2, 1]]]}', "not finite numbers"),
        ("[1" + "0" * 5000 + "]", ": contains a number with too many digits"),
        ({"type": "Topology"}, ": not a GeoJSON geometry"),
        ({"type": "FeatureCollection"}, ": features: expected a list"),
        (collection(7), ": feature 1: expected an object"),
        (collection(feature({"type": "Polygon"})), ": feature 1: coordinates: expected a list"),
        (collection(feature({"type": "MultiPolygon", "coordinates": [7]})), ": feature 1: coordinates: expected"),
        (collection(feature({"type": "GeometryCollection"})), ": feature 1: geometries: expected a list"),
        (collection(feature(polygon(7))), ": feature 1: coordinates: expected a list of rings"),
        (collection(feature(polygon([7]))), ": feature 1: '7' is not a corner, expected [x, y]"),
        (collection(feature(polygon([["1", 2]]))), """: feature 1: '["1", 2]' is not a corner"""),
        (collection(), ": contains no buildings"),
        (collection(crs={"type": "link"}), ": crs: expected"),
        (collection(feature(polygon(SQUARE)), feature(polygon(BOW_TIE), name="Mill")),
         ": feature 2 ('Mill'): its border crosses or touches itself at (5, 5): self-intersection"),
        (collection({**feature(polygon(SQUARE, [[20, 20], [30, 20], [30, 30]])), "id": 12}),
         ": feature 1 ('12'): its border crosses or touches itself at (20, 20): hole lies outside shell"),
        (polygon([[0, 0], [5, 5], [9, 9], [0, 0]]), ": has no area, because its corners lie on a line"),
        (polygon([[0, 0], [5, 5], [0, 0]]), ": has no area; expected rings with at least three corners"),
        (polygon(), ": has no area"),
        (polygon([[0, 0], [100, 0], [100, 0.001], [0, 0.002]]), ": has no area when rounded to centimetres"),
        (polygon([[0, 0], [2e6, 0], [2e6, 1]]), ": (2000000, 0) m is more than 1000 km from the origin"),
        ("<net></net>", ":1:1: <net>, expected <additional>"),
        ("<additional><poly", ":1:13: not XML"),
        ("<additional>" * 40, "elements nested more than 32 levels deep"),
        ('<additional>\n<poly id="m" type="building" shape="0,0 1"/></additional>',
         ":2:1: poly 'm': shape: '1' is not a corner, expected x,y"),
        ('<additional>\n<poly id="m" type="building" shape="0,0 1,inf"/></additional>',
         ":2:1: poly 'm': shape: '1,inf': not finite numbers"),
        ('<additional>\n<poly id="m" type="building" shape="0,0 1,1"/></additional>', ":2:1: poly 'm': has no area"),
        ('<additional>\n<poly id="m" type="building"/></additional>', ":2:1: poly 'm': has no area"),
    ],
)  # fmt: skip
def test_malformed_building_files_are_rejected(content: Any, complaint: str, tmp_path: Path) -> None:
    assert complaint in refusal(tmp_path, content)


def test_a_missing_building_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="file not found"):
        read_buildings(tmp_path / "none.geojson")


def test_a_building_file_with_too_many_walls_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shapes.MOST_EDGES == 1_000_000
    monkeypatch.setattr(shapes, "MOST_EDGES", 9)
    two = collection(feature(polygon(SQUARE)), feature(polygon(SQUARE), name="East"))
    assert ": feature 2 ('East'): more than 9 walls up to this point" in refusal(tmp_path, two)


def test_a_building_file_that_is_too_large_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obstacles, "MOST_BYTES", 2_000_000)
    assert refusal(tmp_path, gzip.compress(b" " * 3_000_000 + b"{}")).startswith(": more than 2 MB")
