"""Tests of files that other programs have written. Each format is recognised, or the error asks the user for the
format.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import mobilenet
from mobilenet.cli.main import app
from mobilenet.engine.clock import SECOND
from mobilenet.network.propagation.obstacles import read_buildings
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import load_scenario
from mobilenet.world.inspection import inspect
from mobilenet.world.layout import station_positions
from mobilenet.world.track_mobility import Tracks, doubt_about_metres, import_tracks
from mobilenet.world.tracks.projection import Offset
from mobilenet.world.tracks.read import read_tracks
from mobilenet.world.tracks.sites import read_sites, sites_near

ONE = "0 100 0 900 0 900\n0 n0 10 20\n0 n1 30 40\n5 n0 15 20\n5 n1 30 45\n"
CABSPOTTING = "37.75134 -122.39488 0 1213084687\n37.75136 -122.39527 0 1213084659\n37.75199 -122.3946 1 1213084540\n"
WALKER = "0 0 0\n30 12.5 -4\n60 20 -4\n"


def read(folder: Path, text: str, name: str = "walk.txt", **how: str) -> dict[str, list[tuple[float, float, float]]]:
    (folder / name).write_text(text)
    tracks = read_tracks(folder / name, **how).tracks()  # type: ignore[arg-type]
    return {host: list(zip(*(column.tolist() for column in columns), strict=True)) for host, *columns in tracks}


def refusal(folder: Path, text: str, **how: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        read(folder, text, **how)
    return str(caught.value).removeprefix(f"{folder}/")


def test_tracks_of_the_one_simulator_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, ONE) == {"n0": [(0, 10, 20), (5, 15, 20)], "n1": [(0, 30, 40), (5, 30, 45)]}
    assert read(tmp_path, ONE.replace("900\n", "900 0 0\n", 1).replace(" 20\n", " 20 0\n"))["n0"][1] == (5, 15, 20)
    cab = read(tmp_path, CABSPOTTING, "new_abboip.txt")
    assert cab == {"new_abboip": [(0, -122.3946, 37.75199), (119, -122.39527, 37.75136), (147, -122.39488, 37.75134)]}
    assert read_tracks(tmp_path / "new_abboip.txt").lonlat
    assert read(tmp_path, WALKER, format="walker") == {"walk": [(0, 0, 0), (30, 12.5, -4), (60, 20, -4)]}
    assert read(tmp_path, "0 1 2 9 4 3\n0 5 6\n") == {"0": [(0, 1, 2), (9, 4, 3)], "1": [(0, 5, 6)]}  # BonnMotion


@pytest.mark.parametrize(
    ("text", "formats"),
    [
        (WALKER, ("bonnmotion", "walker")),
        ("0 1 2\n30 2 3\n30 3 3\n", ("bonnmotion", "walker")),  # One second occurs twice.
        ("0 100 0 900 0 900\n", ("bonnmotion", "one")),
        ("0 20 0 900 0 900\n0 1 2\n", ("bonnmotion", "one")),  # The last line is too short for the format ONE.
    ],
)
def test_an_ambiguous_track_format_has_to_be_specified(text: str, formats: tuple[str, str], tmp_path: Path) -> None:
    message = refusal(tmp_path, text)
    assert message.startswith("walk.txt:1: fits ") and "--format" in message and "hosts.mobility.format" in message
    assert all(f"{one} (" in message for one in formats)


def test_track_errors_state_the_format_and_why_it_was_assumed(tmp_path: Path) -> None:
    message = refusal(tmp_path, ONE + "7 n0 x 3\n")
    assert message.startswith("walk.txt:6:6: x: 'x' is not a number (read as one: the first line has the limits of ")
    assert "read as" not in refusal(tmp_path, ONE + "7 n0 x 3\n", format="one")
    assert refusal(tmp_path, ONE + "7 n0\n").startswith("walk.txt:6:5: the line ends too soon; expected time id x y")
    assert "(read as csv: " in refusal(tmp_path, "t,id,x,y\n1,a,x,2\n")


def test_an_ns2_node_can_appear_late_and_jump(tmp_path: Path) -> None:
    text = (
        '$ns_ at 5 "$node_(7) set X_ 100"\n$ns_ at 5 "$node_(7) set Y_ 30"\n$ns_ at 5 "$node_(7) set Z_ 0"\n'
        '$ns_ at 10 "$node_(7) setdest 200 30 10"\n$ns_ at 15 "$node_(7) set X_ 0"\n$god_ set-dist 0 1 2\n'
        '$ns_ at 99 "$node_(7) reset"\n$ns_ at 2 "$node_(9) setdest 0 40 4"\n'
    )
    tracks = read(tmp_path, text)
    assert tracks == {
        "7": [(5, 100, 30), (10, 100, 30), (15, 150, 30), (15.001, 0, 30)],
        "9": [(0, 0, 0), (2, 0, 0), (12, 0, 40)],
    }
    assert read_tracks(tmp_path / "walk.txt").skipped == 2
    parameters = Tracks(file="walk.txt", max_speed_mps=1e6)
    hosts = import_tracks(parameters, tmp_path, 20).trajectories
    assert [host.appears_ns for host in hosts] == [5_000_000_000, 0]
    assert refusal(tmp_path, text.replace('"$node_(7) set Y_ 30"', '"$node_(7) set Z_ 1"')).startswith(
        "walk.txt:1:1: y:"
    )
    assert refusal(tmp_path, text.replace("X_ 0", "X_ nan")).startswith("walk.txt:5:30: x: not a finite number")
    assert refusal(tmp_path, "$node_(1) set X_ 4\n").startswith("walk.txt:1:1: node '1' begins with x only")


DEGREES = "t,id,x,y\n" + "".join(f"{t},a,{9.43 + t / 90_000:.6f},47.51\n" for t in range(9))


def test_coordinates_in_metres_that_look_like_degrees_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(DEGREES)
    (tmp_path / "a.yaml").write_text(
        "seed: 1\nduration_s: 9\nstations: {layout: {shape: hexagon, rings: 1}}\nprotocol: {name: mobile_causal}\n"
        "hosts: {mobility: {model: tracks, file: a.csv}}\nwireless: {range_m: 120}\n"
        "workload: {interval_s: 2, payload_bytes: 100}\n"
    )
    for command in (["inspect-tracks", "a.csv"], ["check", "a.yaml"]):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0 and "warning: a.csv: x and y may be longitude and latitude" in done.output
        assert "--coordinates lonlat" in " ".join(done.output.split())
    for sound in (["inspect-tracks", "a.csv", "--coordinates", "metres"], ["inspect-tracks", "b.csv"]):
        (tmp_path / "b.csv").write_text("t,id,x,y\n0,a,9.4,47.5\n1,a,10.4,47.5\n")  # a step of one metre
        assert "may be longitude" not in CliRunner().invoke(app, sound).output


def test_degrees_and_metres_in_one_track_file_are_rejected(tmp_path: Path) -> None:
    message = refusal(tmp_path, DEGREES + "0,b,532226.5,761\n1,b,532227.5,761\n")
    assert message.startswith("walk.txt:11:3: x: (532226.5, 761) here, but (9.43, 47.51) in line 2: ")
    near = read(tmp_path, "t,id,x,y\n0,a,10,20\n0,b,532226,761\n1,b,5000,761\n")
    assert np.shape(near["b"]) == (2, 3)  # distance in metres between the two points
    (tmp_path / "walk.txt").write_text(DEGREES + "0,b,532226.5,761\n1,b,532227.5,761\n")
    assert not read_tracks(tmp_path / "walk.txt", coordinates="metres").lonlat  # The declaration takes precedence.
    # a file in the format BonnMotion, which always uses metres
    nodes = "0 0.5 0.5\n0 20000.5 20000.5 9 20000.6 20000.5\n"
    assert read(tmp_path, nodes)["0"] == [(0, 0.5, 0.5)]
    assert doubt_about_metres(read_tracks(tmp_path / "walk.txt"), 1e6) == ""
    (tmp_path / "walk.txt").write_text("0 9.4 47.5\n0 9.5 47.5 99 9.6 47.5\n")
    assert doubt_about_metres(read_tracks(tmp_path / "walk.txt"), 120) != ""


def test_track_tables_without_names_can_describe_a_single_host(tmp_path: Path) -> None:
    text = "t,x,y\n0,1,2\n1,2,2\n"
    assert read(tmp_path, text, id="bus 7") == {"bus 7": [(0, 1, 2), (1, 2, 2)]}
    assert "; if all lines are one host, name it with --id NAME (hosts.mobility.id)" in refusal(tmp_path, text)
    assert "leave out --id" in refusal(tmp_path, "t,id,x,y\n0,a,1,2\n", id="b")
    assert "leave id out, which is for tables without names" in refusal(tmp_path, ONE, id="b")
    point = '<trkpt lat="52.5" lon="{}"><time>2024-05-01T08:00:0{}Z</time></trkpt>'
    gpx = (
        f"<gpx><trk><trkseg>{point.format(13.1, 0)}{point.format(13.2, 1)}{point.format(13.3, 1)}</trkseg></trk></gpx>"
    )
    assert read(tmp_path, gpx, duplicates="keep-last") == {"track 1": [(0, 13.1, 52.5), (1, 13.3, 52.5)]}
    assert "--duplicates keep-last" in refusal(tmp_path, gpx)
    back = gpx.replace("0Z", "2Z", 1)  # A decreasing time and a repeated time are different errors.
    assert "expected a later time" in refusal(tmp_path, back, duplicates="keep-last")


def test_sumo_containers_and_empty_steps_are_handled(tmp_path: Path) -> None:
    fcd = (
        '<fcd-export><timestep time="0"><vehicle id="v" x="1" y="2"/><container id="c" x="3" y="4"/></timestep>'
        '<timestep time="1"/><timestep time="2"><container id="c" x="5" y="4"/></timestep></fcd-export>'
    )
    assert read(tmp_path, fcd) == {"v": [(0, 1, 2)], "c": [(0, 3, 4), (2, 5, 4)]}
    table = (
        "timestep_time,vehicle_id,vehicle_x,vehicle_y,container_id,container_x,container_y\n0,v,1,2,,,\n0,,,,c,3,4\n"
    )
    assert read(tmp_path, table) == {"v": [(0, 1, 2)], "c": [(0, 3, 4)]}


@pytest.mark.parametrize("title", ["x_ft", "x (ft)", "x[ft]", "X_FEET"])
def test_station_sites_in_feet_are_rejected(title: str, tmp_path: Path) -> None:
    (tmp_path / "sites.csv").write_text(f"name,{title},y_ft\na,1,2\n")
    with pytest.raises(ScenarioError, match=r"seems to be in feet: expected x_m in metres$"):
        read_sites(tmp_path / "sites.csv")


def geojson(*features: tuple[str, list[Any], dict[str, Any]]) -> str:
    each = [
        {"type": "Feature", "geometry": {"type": kind, "coordinates": positions}, "properties": properties}
        for kind, positions, properties in features
    ]
    return json.dumps({"type": "FeatureCollection", "features": each})


def test_tracks_are_read_from_geojson(tmp_path: Path) -> None:
    points = geojson(
        ("Point", [13.1, 52.5], {"id": "a", "time": 4}), ("Point", [13.2, 52.5, 30], {"id": "a", "time": 6}),
        ("Point", [13.0, 52.0], {"name": "a station"}),
    )  # fmt: skip
    assert read(tmp_path, points) == {"a": [(4, 13.1, 52.5), (6, 13.2, 52.5)]}
    assert read_tracks(tmp_path / "walk.txt").skipped == 1 and read_tracks(tmp_path / "walk.txt").lonlat
    way = [[13.1, 52.5], [13.2, 52.5]]
    lines = geojson(
        ("LineString", way, {"name": "b", "coordTimes": ["2024-05-01T08:00:00Z", "2024-05-01T08:00:05Z"]}),
        ("LineString", way, {"coordinateProperties": {"times": ["2024-05-01T08:00:01Z", "2024-05-01T08:00:02Z"]}}),
    )
    assert read(tmp_path, lines) == {"b": [(0, 13.1, 52.5), (5, 13.2, 52.5)], "2": [(1, 13.1, 52.5), (2, 13.2, 52.5)]}
    trip = geojson(("LineString", [[13.1, 52.5, 0, 1_704_067_200], [13.2, 52.5, 0, 1_704_067_203]], {"id": 7}))
    assert read(tmp_path, trip) == {"7": [(0, 13.1, 52.5), (3, 13.2, 52.5)]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"type": "FeatureCollection", "features": [', "walk.txt: not JSON: "),
        ('{"type": "FeatureCollection", "features": [3]}', "walk.txt:1:1: '3': expected a Feature"),
        (geojson(("Polygon", [[[0, 0]]], {})), "walk.txt: contains no tracks: 1 feature without times"),
        (geojson(("LineString", [[1, 2], [1, 3]], {"times": [1]})), "walk.txt:1:1: 1 times for 2 positions"),
        (geojson(("Point", [1, "x"], {"t": 1})), "walk.txt:1:1: \"[1, [1, 'x']]\": not numbers"),
        (geojson(("Point", [1, 2], {"t": "noon"})), "walk.txt:1:1: t: 'noon' is not a date"),
        (geojson(("Point", [1, 2], {})), "walk.txt: contains no tracks"),
        (geojson(("Point", [1, 95], {"t": 1})), "walk.txt:1:1: lat: 95 is not between -90 and 90 degrees"),
    ],
)
def test_malformed_geojson_tracks_are_rejected(text: str, expected: str, tmp_path: Path) -> None:
    message = refusal(tmp_path, text)
    assert message.startswith(expected) and message.endswith("(read as geojson: the file begins as JSON does)")


FAR = (532226.123, 5261763.456)  # in zone 32 of UTM


def test_tracks_in_metres_far_from_the_origin_are_shifted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    x, y = FAR
    Path("a.csv").write_text("t,id,x,y\n" + "".join(f"{t},a,{x + t},{y}\n" for t in range(30)))
    Path("sites.csv").write_text(f"name,x_m,y_m\nmast,{x},{y + 20}\n")
    command = ["inspect-tracks", "a.csv", "--stations", "sites.csv", "--scenario", "a.yaml"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0 and "Offset: 532000,5262000 is subtracted" in done.output
    scenario = load_scenario(Path("a.yaml"))
    assert scenario.offset_m == (532_000, 5_262_000)
    assert station_positions(scenario.stations.layout, tmp_path, scenario.anchor).tolist() == [[226.123, -216.544]]
    near = read_tracks(Path("a.csv")).on_plane(scenario.anchor)
    assert near.x[:2].tolist() == [226.123, 227.123] and near.y[0] == -236.544  # exact to the millimetre
    assert mobilenet.run("a.yaml", out="run").verdict == "valid"
    chosen = CliRunner().invoke(app, ["inspect-tracks", "a.csv", "--offset", "532226,5261763"])
    assert "x 0.1 to 29.1, y 0.5 to 0.5" in " ".join(chosen.output.split())
    for more, expected in (
        (["--offset", "5"], "--offset '5': expected X,Y in metres, such as 532000,5261000"),
        (["--offset", "1,2", "--origin", "1,2"], "--offset: is for metres"),
        (["--offset", "nan,0"], "--offset 'nan,0': expected X,Y in metres"),
        (["--offset", "0,0"], "a.csv:2:3: x: (532226.123, 5261763.456) m is more than 1000 km from the origin"),
    ):
        done = CliRunner().invoke(app, ["inspect-tracks", "a.csv", *more])
        assert done.exit_code == 2 and expected in done.output
    text = Path("a.yaml").read_text().replace("offset_m", "# offset_m")
    Path("b.yaml").write_text(text)
    done = CliRunner().invoke(app, ["check", "b.yaml"])
    assert done.exit_code == 2 and "expected --offset 532000,5262000 (offset_m in a scenario)" in done.output


def test_walls_are_shifted_like_the_tracks(tmp_path: Path) -> None:
    x, y = FAR
    ring = [[x, y], [x + 10, y], [x + 10, y + 10], [x, y + 10], [x, y]]
    (tmp_path / "walls.geojson").write_text(json.dumps(
        {"type": "FeatureCollection", "crs": None, "features": [
            {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}}
        ]}
    ))  # fmt: skip
    [[corners]] = read_buildings(tmp_path / "walls.geojson", Offset(532_000.0, 5_261_000.0))
    assert corners[0] == (22612, 76346)
    with pytest.raises(ScenarioError, match="more than 1000 km"):
        read_buildings(tmp_path / "walls.geojson")


def cells(*rows: tuple[float, float, int]) -> str:
    """Return a table of these cells in the format of OpenCelliD. A cell is given as (lon, lat, range)."""
    lines = [
        f"LTE,262,1,1,{place},0,{lon!r},{lat!r},{range_m},1,1,0,0,0" for place, (lon, lat, range_m) in enumerate(rows)
    ]
    return "\n".join([*lines, ""])


def test_the_cell_table_of_a_country_is_cropped_to_cell_ranges(tmp_path: Path) -> None:
    """At the equator, a thousandth of a degree is 111 m. The host walks from longitude 9.000 to 9.010."""
    (tmp_path / "walk.csv").write_text("t,id,lon,lat\n0,h,9.0,0.0\n600,h,9.01,0.0\n", encoding="utf-8")
    near = [
        (9.005, 0.009, 1000),  # 995 m from the middle of the path, where the host has no sample
        (9.005, -0.0091, 1000),  # 1,006 m from the path
        (9.005, 0.001, 0),  # The range is unknown, and the cell is 111 m away.
        (9.005, 0.0012, 0),  # The range is unknown, and the cell is 133 m away.
        (9.02, 0.0, 1000),  # 1,113 m from the end of the path
        (9.02, 0.0, 1200),  # another sector of the same mast
    ]
    country = [(6 + place % 100 / 20, 1 + place // 100 / 20, 900) for place in range(12_000)]
    (tmp_path / "262.csv").write_text(cells(*country, *near), encoding="utf-8")
    recorded = read_tracks(tmp_path / "walk.csv")
    sites = sites_near(tmp_path / "262.csv", recorded, recorded.origin(), 120)
    assert sites.names == ["262-1-1-12000", "262-1-1-12002", "262-1-1-12004"]
    assert sites.ranges_m[[0, 2]].tolist() == [1000, 1200]
    with pytest.raises(ScenarioError, match=r"more than 10000 stations; .*--crop"):
        read_sites(tmp_path / "262.csv")
    (tmp_path / "far.csv").write_text(cells(*country), encoding="utf-8")
    with pytest.raises(ScenarioError, match="contains no stations within whose range a host comes"):
        sites_near(tmp_path / "far.csv", recorded, recorded.origin(), 120)


def test_tracks_and_sites_far_from_the_origin_are_cropped(tmp_path: Path) -> None:
    (tmp_path / "walk.csv").write_text("t,id,x,y\n0,h,532000,5261000\n9,h,532050,5261000\n", encoding="utf-8")
    (tmp_path / "sites.csv").write_text(
        'name,x_m,y_m\n"a, b",532025,5261100\nc,532025,5261121\nd,0,0\n', encoding="utf-8"
    )
    target, scenario = tmp_path / "new" / "near.csv", tmp_path / "own.yaml"
    files = [str(tmp_path / "walk.csv"), "--stations", str(tmp_path / "sites.csv"), "--scenario", str(scenario)]
    done = CliRunner().invoke(app, ["inspect-tracks", *files, "--crop", str(target)])
    assert done.exit_code == 0, done.output
    assert target.read_text(encoding="utf-8") == 'name,x_m,y_m\n"a, b",532025.0,5261100.0\n'
    assert "new/near.csv" in scenario.read_text(encoding="utf-8")
    assert CliRunner().invoke(app, ["inspect-tracks", *files[:3], "--crop", str(target)]).exit_code == 2
    assert CliRunner().invoke(app, ["inspect-tracks", files[0], "--crop", str(tmp_path / "x.csv")]).exit_code == 2


def test_the_last_line_of_an_ns2_file_needs_no_newline(tmp_path: Path) -> None:
    begins = "$node_(0) set X_ 1\n$node_(0) set Y_ 2\n"
    moves = begins + '$ns at 3 "$node_(0) setdest 5 2 1"\n'
    for last in ("$ns run", '$ns at 9 "$ns halt"', "$god_ set-dist 0 1 2"):
        assert read(tmp_path, moves + last, "a.tcl") == {"0": [(0, 1, 2), (3, 1, 2), (7, 5, 2)]}
    for last in ("$", "$node_(", "$node_(0) s", "$node_(0) set", "$ns a", "$ns at 9", '$ns at 9 "$no'):
        assert f"the file ends within a command, '{last}'" in refusal(tmp_path, moves + last)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ('$time 1.0 "$node_(0) 9 4 0"', "walk.txt:3:12: "),
        ("$n0 set X_ 4", "walk.txt:3:1: "),
        ("$wnode(1) set X_ 4", "walk.txt:3:1: "),
        ('$ns at 1 "$n0 setdest 3 4 5"', "walk.txt:3:11: "),
        ("  $node_($i) set X_ 4", "walk.txt:3:3: "),
    ],
)
def test_unsupported_ns2_movement_commands_are_rejected(tmp_path: Path, line: str, place: str) -> None:
    message = refusal(tmp_path, f"$node_(0) set X_ 1\n$node_(0) set Y_ 2\n{line}\n")
    assert message.startswith(place), message
    assert ": expected $node_(0) set X_ 1.0 or $ns_ at 2.0" in message
    assert ("variables of Tcl are not evaluated" in message) == ("$i" in line)


def test_an_ns2_script_is_recognized_by_its_movements(tmp_path: Path) -> None:
    script = "set ns [new Simulator]\nset n0 [$ns node]\n$ns initial_node_pos $node_(0) 30\n"
    assert refusal(tmp_path, script + "$n0 set X_ 1.0\n").startswith("walk.txt:4:1: '$n0 set X_ 1.0': expected $node_")
    assert "contains no tracks; expected $node_(0) set X_" in refusal(tmp_path, "$ns_ at 1 finish\n")


def test_ns2_nodes_that_all_have_zero_speed_are_rejected(tmp_path: Path) -> None:
    """CORE makes such nodes jump to their destination, while ns-2 leaves them where they are."""
    begins = "$node_(0) set X_ 1\n$node_(0) set Y_ 2\n"
    stands = '$ns_ at 1 "$node_(0) setdest 1 2 0"\n'
    assert read(tmp_path, begins + stands) == {"0": [(0, 1, 2), (1, 1, 2)]}
    jumps = begins + stands + '$ns_ at 2 "$node_(0) setdest 9 2 0"\n'
    assert refusal(tmp_path, jumps).startswith("walk.txt:4:1: speed: 0 m/s in all lines, so no node would ever move")
    assert len(read(tmp_path, jumps + '$ns_ at 3 "$node_(0) setdest 9 2 4"\n')["0"]) == 5


def test_track_files_without_times_or_names_are_rejected(tmp_path: Path) -> None:
    for geometry in ("LINESTRING (1 2, 3 4)", "MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))", "point z (1 2 3)"):
        assert refusal(tmp_path, geometry) == (
            "walk.txt:1: WKT, such as a map of ONE, has places without times; expected tracks with times"
        )
    assert refusal(tmp_path, "20.00 CONN 17 6 up\n").startswith(
        "walk.txt:1: contacts, as ONE has them, have no positions"
    )
    assert "ns-3's log" in refusal(tmp_path, "now=+0.0ns node=0 pos=1.0:2.0:0.0 vel=0.5:0.5:0.0\n")
    assert "expected the file itself" in refusal(tmp_path, "version https://git-lfs.github.com/spec/v1\nsize 9\n")
    cooja = refusal(tmp_path, "#node time(s) x y\n0 0.0 0 10\n0 1.0 10 10\n")
    assert cooja.startswith("walk.txt:1: each line has four numbers without names; expected a first line")
    route = '<gpx version="1.1"><wpt lat="1" lon="2"/><rte><rtept lat="1" lon="2"/></rte></gpx>'
    assert "contains no tracks, only waypoints or routes" in refusal(tmp_path, route)


def test_tracks_of_gpx_without_times_are_skipped_and_counted(tmp_path: Path) -> None:
    """A planned route is not movement. However, a recorded track in which a time is missing is an error."""
    timed = '<trkpt lat="1" lon="2"><time>2024-05-01T08:00:0{}Z</time></trkpt>\n'
    plan, point = (
        '<trk><name>plan</name><trkseg>\n<trkpt lat="3" lon="4"/>\n</trkseg></trk>',
        '<trkpt lat="5" lon="6"/>',
    )
    walk = "<trk><name>walk</name><trkseg>\n" + timed.format(0) + timed.format(9)
    end = "</trkseg></trk></gpx>"
    assert read(tmp_path, f"<gpx>{plan}{walk}{end}", "a.gpx") == {"walk": [(0, 2, 1), (9, 2, 1)]}
    done = CliRunner().invoke(app, ["inspect-tracks", str(tmp_path / "a.gpx"), "--out", str(tmp_path / "a.svg")])
    assert "Skipped: 1 track without times" in done.output
    wrong = "<trkpt> without <time>; expected the time of the point"
    assert refusal(tmp_path, f"<gpx>{plan}{plan}</gpx>").startswith(f"walk.txt:2:1: {wrong}")
    assert refusal(tmp_path, f"<gpx>{walk}{point}{end}").startswith(f"walk.txt:4:1: {wrong}")
    assert refusal(tmp_path, f"<gpx>{walk}<!-- -->{point}{timed.format(9)}{end}").startswith(f"walk.txt:4:9: {wrong}")
    first = walk.replace("<trkseg>", f"<trkseg>{point}")
    assert refusal(tmp_path, f"<gpx>{first}{end}").startswith(f"walk.txt:1:36: {wrong}")


def test_one_simulator_hosts_move_straight_between_samples(tmp_path: Path) -> None:
    """At 300 s, host a is 300 m to the east of its start, so at 100 s it has moved a third of that distance."""
    (tmp_path / "walk.txt").write_text("0 600 0 900 0 900 0 0\n0 a 0 0\n0 b 9 9\n300 a 300 0\n300 b 9 9\n", "utf-8")
    recorded = read_tracks(tmp_path / "walk.txt")
    assert inspect(recorded.on_plane(None), None, 120).host_s == 600
    imported = import_tracks(Tracks(file="walk.txt"), tmp_path, 500)
    legs = imported.trajectories[0].legs()
    assert next(legs) == (300 * SECOND, 0, 0, 1, 0)
    assert next(legs)[1:] == (300, 0, 0, 0)
    assert imported.trajectories[0].leaves_ns is None


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (DEGREES + "9,a,0,0\n", "csv"),  # The device had no GPS fix.
        ("0 9.43 47.51 10 9.431 47.511\n0 9.44 47.51 10 9.441 47.511\n", "bonnmotion"),
        ('$node_(0) set X_ 9.43\n$node_(0) set Y_ 47.51\n$ns_ at 1 "$node_(0) setdest 9.44 47.51 0.001"\n', "ns2"),
    ],
)
def test_coordinates_in_degrees_raise_a_warning_in_every_format(text: str, format: str, tmp_path: Path) -> None:
    (tmp_path / "walk.txt").write_text(text, encoding="utf-8")
    recorded = read_tracks(tmp_path / "walk.txt")
    assert recorded.format == format
    advice = "files of ns-2 are in metres" if format == "ns2" else "--coordinates lonlat"
    assert advice in doubt_about_metres(recorded, 120)
    if format == "bonnmotion":
        chosen = read_tracks(tmp_path / "walk.txt", coordinates="lonlat")
        assert chosen.lonlat and chosen.waypoints


def test_tables_can_be_separated_by_blanks(tmp_path: Path) -> None:
    assert read(tmp_path, "t id x y\n0 a  1 2\n 9 a 3 2 \n") == {"a": [(0, 1, 2), (9, 3, 2)]}


def feature(geometry: dict[str, Any] | None, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": {"id": "a", **properties}, "geometry": geometry}


POINT = {"type": "Point", "coordinates": [9.43, 47.51]}


def test_features_of_geojson_that_are_not_movement_are_skipped(tmp_path: Path) -> None:
    area = {"type": "Polygon", "coordinates": [[[9, 47], [10, 47], [10, 48], [9, 47]]]}
    lines = {"type": "MultiLineString", "coordinates": [[[9, 47], [9.1, 47]], [[9.2, 47]]]}
    features = [feature(area, t=0), feature(None), feature(POINT, t=0), feature(lines, id="b", times=[[0, 5], [9]])]
    text = json.dumps({"type": "FeatureCollection", "features": features})
    assert read(tmp_path, text) == {"a": [(0, 9.43, 47.51)], "b": [(0, 9, 47), (5, 9.1, 47), (9, 9.2, 47)]}
    assert read_tracks(tmp_path / "walk.txt").skipped == 2


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ({"features": [feature(POINT, t=True)]}, "walk.txt:1:1: '[True, [9.43, 47.51]]': not numbers"),
        ({"features": [feature(POINT, t=0), None]}, "walk.txt:2:1: 'None': expected a Feature"),
        ({"features": [feature(POINT)]}, "walk.txt: contains no tracks: 1 feature without times"),
        (
            {"crs": {"type": "name", "properties": {"name": "EPSG:25832"}}, "features": [feature(POINT, t=0)]},
            "walk.txt: crs: 'EPSG:25832'; expected longitudes and latitudes",
        ),
    ],
)
def test_unsuitable_geojson_tracks_are_rejected(content: dict[str, Any], what: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, json.dumps(content)).startswith(what)


def test_a_crs_in_degrees_is_accepted(tmp_path: Path) -> None:
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    assert read(tmp_path, json.dumps({"crs": crs, "features": [feature(POINT, t=0)]})) == {"a": [(0, 9.43, 47.51)]}
