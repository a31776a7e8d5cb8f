"""Tests of inspect-tracks. The numbers agree with a known case and with a run, and the command prints them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import StepPatch

from mobilenet import api
from mobilenet.scenario import Scenario
from mobilenet.viz import tracks_figure
from mobilenet.world.inspection import Inspection, inspect
from mobilenet.world.tracks.read import read_tracks
from mobilenet.world.tracks.sites import read_sites
from tests.cli.command import mobilenet, one_line
from tests.conftest import ROOT, SCENARIOS

from .writers import DATA

AS_CSV = " (read as csv: the first line is taken for the names of columns)"


def test_inspect_tracks_reports_correct_numbers_for_a_known_case(tmp_path: Path) -> None:
    """Host a walks 400 m at 2 m/s past two stations. Host b stands out of reach, is silent for a while, and jumps at
    the end.
    """
    lines = (
        [f"{t},a,{2 * t},0" for t in range(201)]
        + [f"{t},b,0,900" for t in (*range(50), *range(100, 151))]
        + ["151,b,100,900"]
    )
    (tmp_path / "a.csv").write_text("t,id,x,y\n" + "\n".join(lines) + "\n")
    inspection = inspect(read_tracks(tmp_path / "a.csv"), np.array([(100.0, 0.0), (300.0, 0.0)]), 120)
    assert inspection.cells is not None and inspection.extent_m == (0, 0, 400, 900)
    assert inspection.gaps == [(253, "b", 51.0)] and inspection.jumps == [(304, "b", 100.0)]
    assert inspection.host_s == 200 + 49 + 51 and inspection.speed_mps[3] == 100 and inspection.speed_mps[1] == 2
    assert inspection.cells.handoffs_m.tolist() == [[204, 0]]  # The host has passed the middle by at least 2.5 m.
    assert (
        inspection.cells.covered_share == pytest.approx(200 / (200 + 49 + 51))
        and inspection.cells.busiest == 1
        and inspection.cells.unused == 0
    )
    assert inspect(read_tracks(tmp_path / "a.csv"), None, 120).handoffs_per_host_hour is None


def test_track_inspection_predicts_the_handoffs_of_a_run(tmp_path: Path) -> None:
    recorded, sites = read_tracks(DATA / "formats/town_lonlat.csv.gz"), read_sites(DATA / "formats/sites_lonlat.csv")
    inspection = inspect(recorded.on_plane(sites.origin()), np.column_stack(sites.on_plane(sites.origin())), 120)
    assert inspection.cells is not None
    events = api.run(Scenario.load(ROOT / "scenarios/own_tracks.yaml", ["warmup_s=0"]), out=tmp_path / "run").events
    changed = events[(events.event == "handoff_start") & events.detail.str.contains('"cell"', na=False)]
    assert 0.8 * len(inspection.cells.handoffs_m) < len(changed) <= len(inspection.cells.handoffs_m)


@pytest.mark.long
def test_track_inspection_predicts_the_handoffs_of_a_sinr_run(unpainted: None, tmp_path: Path) -> None:
    text = (ROOT / "scenarios/town.yaml").read_text()
    (tmp_path / "town.yaml").write_text(text.replace("../data", str(DATA)).replace("start_s: 40", "start_s: 0"))
    file = tmp_path / "town.yaml"
    expected: dict[int, int] = {}
    for hysteresis_db in (3, 9):
        file.write_text(file.read_text().replace("hysteresis_db: 3}", f"hysteresis_db: {hysteresis_db}}}"))
        done = mobilenet(
            "inspect-tracks", DATA / "town/tracks.csv.gz", "--radio-of", "town.yaml", "-o", "a.svg", place=tmp_path
        )
        assert (
            done.returncode == 0 and (f"best-received station, with a hysteresis of {hysteresis_db} dB") in done.stdout
        ), done
        assert done.stdout.endswith("\nNext: mobilenet check town.yaml\n")
        expected[hysteresis_db] = int(re.findall(r"expected handoffs +(\d+) ", done.stdout)[0])
    assert 1.4 * expected[9] < expected[3]
    quiet = ["warmup_s=0", "duration_s=180", "workload.interval_s=60", "hosts.attachment.tick_ms=1000"]
    events = api.run(Scenario.load(file, quiet), out=tmp_path / "run").events
    changed = events[(events.event == "handoff_start") & events.detail.str.contains('"cell"', na=False)]
    assert 0.8 * expected[9] < len(changed) <= expected[9]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (
            ("--stations", "sites.csv"),
            "--stations and --radio-of: the scenario already sets this value; omit one option",
        ),
        (("--range-m", "50"), "--range-m and --radio-of: the scenario already sets this"),
        (("--scenario", "own.yaml"), "--scenario and --radio-of: the scenario already sets this"),
        (("--origin", "13,52"), "--origin and --radio-of: "),
        ((), "--radio-of: "),
    ],
)
def test_inspect_tracks_rejects_options_that_the_scenario_sets(
    words: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    scenario = SCENARIOS / ("own_tracks.yaml" if words else "vcube/causal.yaml")
    tracks = DATA / "formats/town_lonlat.csv.gz"
    if words and words[0] == "--origin":
        (tmp_path / "a.yaml").write_text(
            scenario.read_text().replace("../data", str(DATA)) + "\norigin: {lon: -30, lat: 45}\n"
        )
        scenario = tmp_path / "a.yaml"
    done = mobilenet("inspect-tracks", tracks, "--radio-of", scenario, *words, place=tmp_path)
    assert one_line(done, 2).startswith(complaint)


def test_the_radio_of_a_scenario_gives_the_same_inspection(unpainted: None, tmp_path: Path) -> None:
    tracks, sites = DATA / "formats/town_lonlat.csv.gz", DATA / "formats/sites_lonlat.csv"
    rows = []
    for how in (("--stations", sites), ("--radio-of", ROOT / "scenarios/own_tracks.yaml")):
        done = mobilenet("inspect-tracks", tracks, *how, "-o", "a.svg", place=tmp_path)
        rows.append([line for line in done.stdout.splitlines() if line.startswith(("covered", "expected", "hosts in"))])
    assert rows[0] == rows[1] and len(rows[0]) == 3


def test_inspect_tracks_writes_a_scenario_that_runs(tmp_path: Path) -> None:
    for name in ("town_lonlat.csv.gz", "sites_lonlat.csv"):
        (tmp_path / name).write_bytes((DATA / "formats" / name).read_bytes())
    done = mobilenet(
        "inspect-tracks",
        "town_lonlat.csv.gz",
        "--stations",
        "sites_lonlat.csv",
        "--scenario",
        "own.yaml",
        place=tmp_path,
    )
    assert (
        done.returncode == 0
        and "98.4 per host per hour" in done.stdout
        and done.stdout.endswith("Next: mobilenet run own.yaml\n")
    ), done
    assert (tmp_path / "town_lonlat_tracks.png").stat().st_size > 10_000
    done = mobilenet("run", "own.yaml", "--set", "duration_s=20", "--out", "run", place=tmp_path)
    assert done.returncode == 0, done
    assert (
        Scenario.load(tmp_path / "run" / "scenario.yaml").origin
        == Scenario.load(tmp_path / "own.yaml").origin
        is not None
    )


@pytest.mark.parametrize("name", ["walk.tcl", "walk.gpx", "walk.fcd.xml"])
def test_inspect_tracks_without_sites_lays_cells_over_the_tracks(name: str, unpainted: None, tmp_path: Path) -> None:
    done = mobilenet(
        "inspect-tracks",
        DATA / "formats" / name,
        "-o",
        "a.svg",
        "--scenario",
        "own.yaml",
        "--range-m",
        "150",
        place=tmp_path,
    )
    assert done.returncode == 0, done
    scenario = Scenario.load(tmp_path / "own.yaml")
    recorded = read_tracks(DATA / "formats" / name).on_plane(scenario.origin)
    stations = np.array(scenario.stations.layout.points_m)  # type: ignore[union-attr]
    assert inspect(recorded, stations, 150).cells.covered_share == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("nowhere.csv",), "nowhere.csv: file not found"),
        (
            (DATA / "formats/walk.csv", "--stations", DATA / "formats/sites_lonlat.csv"),
            "the stations are in longitude and latitude, the tracks in metres",
        ),
        ((DATA / "formats/walk.csv", "--format", "kml"), "--format: unknown value 'kml'; expected one of auto, csv"),
        ((DATA / "formats/walk.csv", "--format", "gpx"), f"{DATA}/formats/walk.csv:1:1: not XML"),
        ((DATA / "formats/walk.csv", "--origin", "1"), "--origin '1': expected LON,LAT in degrees"),
        ((DATA / "formats/walk.csv", "-o", "a.txt"), "a.txt: expected a name that ends in .svg or .png or .pdf"),
    ],
)
def test_inspect_tracks_rejects_wrong_arguments_in_one_line(
    words: tuple[str | Path, ...], complaint: str, tmp_path: Path
) -> None:
    done = mobilenet("inspect-tracks", *words, place=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith(complaint) and done.stderr.count("\n") == 1, done
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("layout", "tracks", "complaint"),
    [
        (
            "{shape: csv, file: sites_lonlat.csv}",
            "walk.csv",
            (
                "a.yaml:2: stations.layout.file: the stations are in longitude and latitude, the tracks in metres:"
                " specify the position of (0, 0) on Earth"
            ),
        ),
        (
            "{shape: points, points_m: [[0, 0]]}",
            "walk.gpx",
            (
                "a.yaml:3: hosts.mobility.file: the tracks are in longitude and latitude, the stations in metres:"
                " specify the position of (0, 0) on Earth"
            ),
        ),
        ("{shape: csv, file: sites_lonlat.csv}", "walk.gpx", ""),
        ("{shape: hexagon, rings: 1}", "walk_lonlat.csv", ""),
    ],
)
def test_tracks_and_stations_have_to_use_one_coordinate_system(
    layout: str, tracks: str, complaint: str, tmp_path: Path
) -> None:
    text = (
        f"duration_s: 10\nstations: {{layout: {layout}}}\nhosts: {{mobility: {{model: tracks, file:"
        f" {tracks}}}}}\nprotocol: {{name: mobile_causal}}\nworkload: {{interval_s: 5, payload_bytes: 100}}\n"
    )
    for name in ("sites_lonlat.csv", tracks):
        (tmp_path / name).write_bytes((DATA / "formats" / name).read_bytes())
    (tmp_path / "a.yaml").write_text(text)
    done = mobilenet("check", "a.yaml", place=tmp_path)
    if complaint:
        assert one_line(done, 2).startswith(complaint)
        (tmp_path / "a.yaml").write_text(text + "origin: {lon: -30, lat: 45}\n")
        done = mobilenet("check", "a.yaml", place=tmp_path)
    assert done.returncode == 0, done


def test_common_column_titles_of_tracks_are_recognized(tmp_path: Path) -> None:
    for number, titles in enumerate(
        ("time_s,host,x_m,y_m", "timestamp,vehicle,x,y", "t_s,node_id,x,y_m", "t,id,x,y,vehicle,time_s")
    ):
        row = "{},a,1,2" + ",5,5" * (titles.count(",") > 3)
        (tmp_path / f"{number}.csv").write_text("\n".join([titles, row.format(0), row.format(1)]) + "\n")
        assert read_tracks(tmp_path / f"{number}.csv").names == ["a"]
    (tmp_path / "a.csv").write_text("when,id,x,y\n0,a,1,2\n")
    complaint = one_line(mobilenet("inspect-tracks", "a.csv", place=tmp_path), 2)
    assert (
        complaint
        == "a.csv:1: no column 't' (or time, t_s, timestep_time, timestamp, time_s), only: when, id, x, y" + AS_CSV
    )
    words = mobilenet("inspect-tracks", "--help", place=tmp_path).stdout
    assert all(title in words for title in ("time_s", "timestamp", "host", "vehicle", "x_m", "lon"))


def test_inspect_tracks_never_writes_an_invalid_scenario(tmp_path: Path) -> None:
    (tmp_path / "tracks.csv").write_text("t,id,x,y\n0,a,0,0\n30,a,40,0\n")
    for sites, complaint in (
        ("name,x_m,y_m\na,0,0\na,50,0\n", "sites.csv:3:1: name: another station has the name 'a'; see line 2"),
        ("x,y\n1,2\n1,2\n", "sites.csv:3:1: x: another station has the same"),
    ):
        (tmp_path / "sites.csv").write_text(sites)
        for more in ((), ("--scenario", "own.yaml")):
            done = mobilenet("inspect-tracks", "tracks.csv", "--stations", "sites.csv", *more, place=tmp_path)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1)
            assert complaint in done.stderr
        assert not (tmp_path / "own.yaml").exists()


def test_inspect_tracks_handles_short_and_odd_tracks(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,id,x,y\n1e308,a,0,0\n1.5e308,a,1,0\n")
    assert (
        one_line(mobilenet("inspect-tracks", "a.csv", place=tmp_path), 2)
        == "a.csv:2:1: t: 1e+308 s is not between 0 and 1e9" + AS_CSV
    )
    (tmp_path / "b.csv").write_text("t,id,x,y\n0,a,0,0\n")
    done = mobilenet("inspect-tracks", "b.csv", "-o", "b.svg", place=tmp_path)
    assert done.returncode == 0 and [
        line.split()[-1] for line in done.stdout.splitlines() if line.startswith(("speed", "sample interval"))
    ] == ["–", "–"], done
    (tmp_path / "own.yaml").write_text("")
    assert one_line(
        mobilenet("inspect-tracks", "b.csv", "-o", "c.svg", "--scenario", "own.yaml", place=tmp_path), 2
    ).startswith("own.yaml: already exists")
    assert not (tmp_path / "c.svg").exists()
    # The host is near the Arctic Circle. Its longitude and latitude have been exchanged.
    lines = [f"{t},a,{67 + 0.0003 * t},{20 + 0.001 * t}" for t in range(9)]
    (tmp_path / "d.csv").write_text("t,id,lon,lat\n" + "\n".join(lines) + "\n")
    assert "are lon and lat swapped?" in " ".join(
        mobilenet("inspect-tracks", "d.csv", "-o", "d.svg", place=tmp_path).stdout.split()
    )


GAP = "t,id,x,y\n0,a,0,0\n1,a,3,0\n2,a,5,2\n100,a,100,40\n101,a,103,40\n"


def test_the_track_figure_and_table_count_the_same_hosts(tmp_path: Path) -> None:
    """The area under the curve of the figure is the host time in the table, with and without stations. Hosts are absent
    during gaps.
    """
    (tmp_path / "a.csv").write_text(GAP)
    for stations in (None, np.array([(0.0, 0.0)])):
        inspection = inspect(read_tracks(tmp_path / "a.csv"), stations, 90)
        for edges in (np.array([0.0, 2, 100, 101]), np.linspace(0, 101, 2001), np.array([-3.0, 1.5, 50, 1000])):
            assert inspection.present(edges) @ np.diff(edges) == pytest.approx(inspection.host_s) == 3
        assert inspection.present(np.array([0.0, 2, 100, 101])).tolist() == [1, 0, 1]
    assert inspection.cells is not None and inspection.cells.moments_s.tolist() == [0, 1, 2, 100, 101]
    assert (
        inspection.cells.looked_s.tolist() == [1, 1, 0, 1, 0]
        and inspection.cells.covered_share == pytest.approx(2 / 3)
        and inspection.cells.uncovered_host_s == 1
    )
    (tmp_path / "b.csv").write_text("t,id,x,y\n0.5,a,0,0\n")  # This sample does not coincide with a sampling time.
    assert inspect(read_tracks(tmp_path / "b.csv"), stations, 90).cells.covered_share == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("stations", [None, np.array([(0.0, 0.0)])])
def test_the_track_figure_is_interrupted_at_gaps(stations: np.ndarray | None, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(GAP + "50,b,1,1\n")
    where, _, when = axes_of(inspect(read_tracks(tmp_path / "a.csv"), stations, 90), tmp_path)
    lines = [
        path.vertices.tolist()
        for each in where.collections
        if isinstance(each, LineCollection)
        for path in each.get_paths()
    ]
    assert lines == [[[0, 0], [3, 0], [5, 2]], [[100, 40], [103, 40]]]
    assert [line.get_xydata().tolist() for line in where.lines if "isolated" in str(line.get_label())] == [[[1, 1]]]
    assert _height(when.patches[-1], np.array([0.5, 1.5, 2.5, 30, 50, 99.5, 100.5])).tolist() == [1, 1, 0, 0, 0, 0, 1]


def axes_of(inspection: Inspection, folder: Path) -> list[Axes]:
    kept: list[Axes] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracks_figure, "save", lambda figure, target: kept.extend(figure.axes))
        tracks_figure.draw(inspection, folder / "a.svg", "a.csv")
    return sorted(kept, key=lambda axes: ("Where", "How fast", "When").index(axes.get_title(loc="left")))


def _height(patch: StepPatch, moments: np.ndarray) -> np.ndarray:
    values, edges, _ = patch.get_data()
    return np.asarray(values)[np.searchsorted(edges, moments, side="right") - 1]


def test_tracks_with_single_samples_are_drawn_but_not_simulated(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,id,x,y\n0,a,0,0\n1,b,3,0\n")
    where, speeds, when = axes_of(inspect(read_tracks(tmp_path / "a.csv"), None, 120), tmp_path)
    assert where.lines[0].get_xydata().tolist() == [[0, 0], [3, 0]] and when.lines[0].get_xydata().tolist() == [
        [0, 0],
        [1, 0],
    ]
    assert min(*speeds.get_ylim(), *speeds.get_xlim(), *when.get_ylim(), *when.get_xlim()) == 0
    done = mobilenet("inspect-tracks", "a.csv", place=tmp_path)
    assert (
        done.returncode == 0
        and (
            "\nCannot write a scenario for these tracks: no host is present for more than 5 s, since each"
            " has only one sample\n"
        )
        in done.stdout
    ), done
    assert done.stdout.endswith(
        "\nNext: provide at least two samples of each host, under the same id, then mobilenet inspect-tracks a.csv\n"
    )
    done = mobilenet("inspect-tracks", "a.csv", "--scenario", "own.yaml", place=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "own.yaml: not written: no host is present for more than 5 s, since each has only one sample\n",
    )
    assert not (tmp_path / "own.yaml").exists() and "mobilenet run" not in done.stdout


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ("0,a,0,0\n5,a,1,0\n9,b,0,0\n", "no host is present for more than 5 s (the longest stay is 5 s)"),
        ("0,a,0,0\n2000000,a,1,0\n", "line 3: 'a' has no sample for 2000000 s, but at most 1000000 s can be bridged"),
        ("0,a,0,0\n1,a,0,0\n400,b,0,0\n406,b,1,1\n", ""),
        ("0,a,0,0\n6,b,0,0\n12,a,0,0\n", ""),
    ],
)
def test_inspect_tracks_writes_a_scenario_only_if_it_can_run(rows: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,id,x,y\n" + rows)
    done = mobilenet("inspect-tracks", "a.csv", "--scenario", "own.yaml", place=tmp_path)
    assert done.stderr == (f"own.yaml: not written: {reason}\n" if reason else ""), done
    if not reason:
        done = mobilenet("run", "own.yaml", "--out", "run", place=tmp_path)
        assert done.returncode in (0, 1, 4) and not done.stderr.startswith("a.csv"), done


def test_inspect_tracks_notes_gaps_and_duplicate_coordinates(tmp_path: Path) -> None:
    lines = GAP.splitlines()
    (tmp_path / "a.csv").write_text("\n".join([lines[0] + ",lon,lat", *(line + ",13,52" for line in lines[1:])]))
    done = mobilenet("inspect-tracks", "a.csv", "--scenario", "own.yaml", place=tmp_path)
    assert (
        "\nCoordinates: x and y are used, as metres; the columns lon and lat are ignored (--coordinates lonlat uses"
        " them)\n" in done.stdout
    ), done
    assert (
        "\nIn this scenario, hosts cross 1 gap in a straight line (max_gap_s 99). The table and the picture leave out "
        in done.stdout
    )
    done = mobilenet("inspect-tracks", "a.csv", "--coordinates", "lonlat", "--range-m", "50", place=tmp_path)
    assert "\nCoordinates: lon and lat are used, as requested" in done.stdout
    assert done.stdout.endswith(
        "Next: mobilenet inspect-tracks a.csv --range-m 50 --coordinates lonlat --scenario own.yaml\n"
    )


def test_runs_reject_timestamps_in_milliseconds_like_inspection(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,id,x,y\n1714521600000,a,1,2\n1714521601000,a,5,2\n")
    (tmp_path / "a.yaml").write_text(
        "duration_s: 10\nstations: {layout: {shape: hexagon, rings: 1}}\nhosts: {mobility: {model: tracks, file:"
        " a.csv}}\nprotocol: {name: mobile_causal}\nworkload: {interval_s: 5, payload_bytes: 100}\n"
    )
    complaint = "a.csv:2:1: t: 1714521600000 is beyond the year 9999; are these milliseconds? expected seconds"
    assert (
        one_line(mobilenet("inspect-tracks", "a.csv", place=tmp_path), 2)
        == one_line(mobilenet("run", "a.yaml", "--out", "run", place=tmp_path), 2)
        == complaint + AS_CSV
    )
