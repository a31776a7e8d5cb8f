"""Tests that tracks written in any format are read back within 1 cm and 1 ms."""

from __future__ import annotations

import gzip
from math import cos, hypot, sin
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mobilenet.world.track_mobility import Tracks, import_tracks
from mobilenet.world.tracks.projection import A_M, E2, Origin, to_earth, to_plane
from mobilenet.world.tracks.read import is_lonlat, read_tracks, recognise_format
from mobilenet.world.tracks.samples import RecordedSamples
from mobilenet.world.tracks.sites import read_sites

from .writers import AT_SEA, DATA, WRITERS, Track, town

KNOWN: list[Track] = [
    ("first", [(t / 2, 80 * cos(t / 9), 60 * sin(t / 7)) for t in range(60)]),
    ('the & <second> "one"', [(t / 2, -200 + 1.234 * t, 33.333) for t in range(60)]),
    ("Köln ✈", [(t / 2, 10.0, -5.0) if t < 30 else (t / 2, 10 + 0.4 * (t - 30), -5.0) for t in range(60)]),
]


def at(track_set: RecordedSamples, host: int, t_s: float) -> tuple[float, float]:
    _, times, x, y = list(track_set.tracks())[host]
    return float(np.interp(t_s, times, x)), float(np.interp(t_s, times, y))


def check(track_set: RecordedSamples, known: list[Track]) -> None:
    on_plane = track_set.on_plane(AT_SEA)
    assert len(on_plane.names) == len(known)
    for host, (name, samples) in enumerate(known):
        assert track_set.format in ("ns2", "bonnmotion", "one") or on_plane.names[host] == name
        for t_s, x, y in samples:
            there = at(on_plane, host, t_s)
            assert hypot(there[0] - x, there[1] - y) < 0.01
        if not track_set.waypoints:
            _, times, _, _ = list(on_plane.tracks())[host]
            assert np.abs(times - [t_s for t_s, _, _ in samples]).max() < 0.001


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("packed", [False, True])
def test_tracks_written_in_each_format_are_read_back(format: str, packed: bool, tmp_path: Path) -> None:
    name, write = WRITERS[format]
    data = write(KNOWN).encode()
    path = tmp_path / name  # The content of the file, not its name, determines whether it is compressed.
    path.write_bytes(gzip.compress(data) if packed else data)
    expected = "csv" if format == "lonlat" else format
    assert recognise_format(path)[0] == expected
    assert is_lonlat(path) == (format in ("lonlat", "gpx", "geojson"))
    check(read_tracks(path), KNOWN)
    check(read_tracks(path, expected), KNOWN)  # type: ignore[arg-type]


@pytest.mark.parametrize("format", WRITERS)
def test_the_samples_agree_in_all_track_formats(format: str) -> None:
    check(read_tracks(DATA / "formats" / WRITERS[format][0]), town(100, 160, 6, whole=True))


@given(
    st.integers(0, 3),
    st.lists(st.tuples(st.floats(0, 50), st.floats(-500, 500), st.floats(-500, 500), st.floats(0, 40)), max_size=6),
)
def test_ns2_nodes_move_as_commanded(
    tmp_path_factory: pytest.TempPathFactory, node: int, orders: list[tuple[float, float, float, float]]
) -> None:
    """The oracle evaluates the definition at the times of the orders. A walk in steps of one millisecond would be
    slow.
    """
    orders = sorted((round(t, 2), round(x, 1), round(y, 1), round(v, 1)) for t, x, y, v in orders)
    assume(not orders or any(speed for *_, speed in orders))  # Without a speed, the file is rejected.
    lines = [
        f"$node_({node}) set X_ 1.5",
        f"$node_({node}) set Y_ -2.5",
        *(f'$ns_ at {t} "$node_({node}) setdest {x} {y} {v}"' for t, x, y, v in orders),
    ]
    path = tmp_path_factory.mktemp("ns2") / "a.tcl"
    path.write_text("\n".join(lines))
    track_set = read_tracks(path, "ns2")
    assert track_set.names == [str(node)]
    for moment in (0.0, 3.3, 17.7, 49.0, 60.0):
        place, since, goal, speed = (1.5, -2.5), 0.0, (1.5, -2.5), 0.0
        for t, x, y, v in [*(order for order in orders if order[0] <= moment), (moment, 0.0, 0.0, 0.0)]:
            left = hypot(goal[0] - place[0], goal[1] - place[1])
            share = min(1.0, speed * (t - since) / left) if left else 1.0
            place = place[0] + share * (goal[0] - place[0]), place[1] + share * (goal[1] - place[1])
            since, goal, speed = t, (x, y), v
        assert at(track_set, 0, moment) == pytest.approx(place, abs=0.01)


def test_hosts_with_waypoints_stay_until_the_end_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "a.movements").write_text("0 0 0 20 40 0\n5 1 1\n")
    tracks = import_tracks(Tracks(file="a.movements"), tmp_path, 100)
    assert tracks.names == ["0", "1"]
    assert [(t.appears_ns, t.leaves_ns) for t in tracks.trajectories] == [(0, None), (5_000_000_000, None)]


def test_heights_and_comments_in_bonnmotion_files_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("#3D\n# more\n0 1 2 99 10 3 4 99\n\n0 5 6 7\n")
    track_set = read_tracks(tmp_path / "a", "bonnmotion")
    assert track_set.x.tolist() == [1, 3, 5] and track_set.names == ["0", "1"]


@pytest.mark.parametrize(
    "times",
    [
        ("1714550400.25", "1714550401.5"),
        ("2024-05-01T08:00:00.250Z", "2024-05-01T10:00:01.5+02:00"),
        ("2024-05-01 08:00:00.25", "2024-05-01 08:00:01.5"),
    ],
)
def test_times_of_day_are_relative_to_the_earliest_one(times: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"time;id;lon;lat\n{times[0]};a;-30;45\n{times[1]};a;-30;45\n")
    track_set = read_tracks(tmp_path / "a.csv")
    assert track_set.t_s.tolist() == [0, 1.25] and track_set.begins_s == 1714550400.25 and track_set.lonlat


def test_sumo_tracks_can_have_clock_times_and_degrees(tmp_path: Path) -> None:
    text = (
        '<!--<configuration><output><fcd-output.geo value="true"/></output></configuration>-->\n<fcd-export><timestep'
        ' time="1:00:00.50"><vehicle id="v" x="-30.01" y="45.01"/><bus id="c" x="0"'
        ' y="0"/></timestep></fcd-export>'
    )
    (tmp_path / "a.xml").write_text(text)
    track_set = read_tracks(tmp_path / "a.xml")
    assert (
        track_set.lonlat
        and is_lonlat(tmp_path / "a.xml")
        and track_set.t_s.tolist() == [3600.5]
        and track_set.names == ["v"]
    )


def test_tracks_of_one_name_in_gpx_are_different_hosts(tmp_path: Path) -> None:
    point = '<trkseg><trkpt lat="45" lon="-30"><time>2024-05-01T08:00:0{}Z</time></trkpt></trkseg>'
    body = "".join(
        f"<trk>{name}{point.format(i)}</trk>" for i, name in enumerate(["<name>a</name>", "<name>a</name>", ""])
    )
    (tmp_path / "a.gpx").write_text(f'<x:gpx xmlns:x="http://www.topografix.com/GPX/1/0">{body}</x:gpx>')
    assert read_tracks(tmp_path / "a.gpx").names == ["a", "a (2)", "track 3"]


def test_sites_in_lonlat_and_opencellid_files_are_read_alike() -> None:
    own, cells = (read_sites(DATA / "formats" / f"sites_{kind}.csv") for kind in ("lonlat", "opencellid"))
    plain = read_sites(DATA / "streets_sites.csv")
    x, y = own.on_plane(AT_SEA)
    assert np.hypot(x - (plain.a - 240), y - (plain.b - 240)).max() < 0.01
    assert own.names == plain.names and not plain.lonlat
    assert cells.merged == 9 and cells.names[0] == "1-1-100-257" and np.array_equal(cells.a, own.a)


def test_exported_stations_are_read_by_name_or_id(tmp_path: Path) -> None:
    (tmp_path / "sites.csv").write_text("id,name,x_m,y_m\ns0,,0,0\ns1,harbour,10,0\n", encoding="utf-8")
    assert read_sites(tmp_path / "sites.csv").names == ["s0", "harbour"]


def test_opencellid_files_without_titles_are_read(tmp_path: Path) -> None:
    (tmp_path / "262.csv").write_text("GSM,262,2,801,86355,0,13.285512,52.522202,1000,7,1,1282569574,1300155341,0\n")
    sites = read_sites(tmp_path / "262.csv")
    assert sites.names == ["262-2-801-86355"] and sites.lonlat and sites.a[0] == 13.285512


@given(st.floats(-179, 179), st.floats(-84, 84), st.floats(-1e5, 1e5), st.floats(-1e5, 1e5))
def test_conversion_to_earth_coordinates_and_back_is_exact(lon: float, lat: float, x: float, y: float) -> None:
    origin = Origin(lon=lon, lat=lat)
    assert np.allclose(np.hypot(*(np.array(to_plane(*to_earth(x, y, origin), origin)) - [[x], [y]])), 0, atol=1e-5)


@given(st.floats(-50, 50))
def test_the_projection_near_the_origin_follows_the_curvature(lat: float) -> None:
    origin = Origin(lon=10.0, lat=lat)
    normal = A_M / np.sqrt(1 - E2 * np.sin(np.radians(lat)) ** 2)
    meridian = normal**3 * (1 - E2) / A_M**2
    for x, y in ((300.0, 0.0), (0.0, 300.0), (-200.0, 200.0)):
        lon_, lat_ = (float(v[0]) for v in to_earth(x, y, origin))
        east = np.radians(lon_ - 10) * normal * np.cos(np.radians((lat_ + lat) / 2))
        assert hypot(east - x, np.radians(lat_ - lat) * meridian - y) < 0.01
