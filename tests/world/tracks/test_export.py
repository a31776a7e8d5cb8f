"""Tests of exports. The content is correct, an export is never incomplete, and names are exported as plain text."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mobilenet import api
from mobilenet.lab.export.geojson import without_trip, write_geojson, write_kepler
from mobilenet.lab.export.shiviz import HEADER, RECEIPT, happenings, with_clocks, write_shiviz
from mobilenet.lab.export.source import NoOrigin, source
from mobilenet.lab.export.tables import run_tables, study_tables
from mobilenet.parameters import ScenarioError
from mobilenet.record.reader import RunError
from mobilenet.scenario import Scenario
from mobilenet.world.tracks.projection import Origin, to_plane
from mobilenet.world.tracks.read import read_tracks
from tests.cli.command import mobilenet, one_line
from tests.conftest import SCENARIOS

HOSTILE = [
    '=HYPERLINK("http://x")',
    "</script><img src=x onerror=alert(1)>",
    "{{7*7}} ${x}",
    "a\nb",
    'h1 {"h1": 9}',
    "[red]no[/red] \x1b[31m",
    "../../etc/passwd",
    "'; DROP TABLE",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with hostile names for hosts and stations. Its hosts cross the border between two cells."""
    folder = tmp_path_factory.mktemp("hostile")
    with (folder / "t$(id) {{x}}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["t", "id", "lon", "lat"])
        writer.writerows(
            [t, name, -30 + 0.00015 * t, 45 + 0.0001 * i] for t in range(31) for i, name in enumerate(HOSTILE)
        )
    with (folder / "sites.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["name", "lon", "lat"], [HOSTILE[0], -30.0, 45.0], [HOSTILE[1], -29.9975, 45.0], ["", -29.995, 45.0]]
        )
    text = (
        "duration_s: 30\nstations: {layout: {shape: csv, file: sites.csv}}\nhosts: {mobility: {model: tracks, file:"
        ' "t$(id) {{x}}.csv"}}\nprotocol: {name: mobile_causal}\nworkload: {interval_s: 3, payload_bytes: 100}\nrecord:'
        " {messages: true}\n"
    )
    done = api.run(Scenario.from_text(text, folder=folder), out=folder / "run")
    assert done.verdict == "valid"
    return folder / "run"


def test_exported_tables_and_tracks_can_be_read_again(run: Path, tmp_path: Path) -> None:
    opened = source(run)
    run_tables(opened, run, tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {
        *(f"{n}.csv" for n in ("tracks", "handoffs", "stations", "events", "samples", "messages", "metrics")),
        "contents.json",
    }
    tracks = pd.read_csv(tmp_path / "tracks.csv")
    assert (
        set(tracks.name)
        == {"'" + HOSTILE[0], *(name.replace("\n", "\\n").replace("\x1b", "\\x1b") for name in HOSTILE[1:])}
        and not tracks.name.str.match(r"[=+@-]").any()
    )
    again = read_tracks(tmp_path / "tracks.csv")
    assert again.names == [f"h{i}" for i in range(8)] and len(again.t_s) == len(opened.tracks)
    assert np.hypot(again.x - opened.tracks.x_m, again.y - opened.tracks.y_m).max() < 0.01
    x, y = to_plane(tracks.lon, tracks.lat, opened.origin)  # type: ignore[arg-type]
    assert np.hypot(x - tracks.x_m, y - tracks.y_m).max() < 0.01
    handoffs = pd.read_csv(tmp_path / "handoffs.csv")
    assert len(handoffs) >= 8 and set(handoffs.from_station) == {"s0"} | ({"s1"} & set(handoffs.from_station))
    assert ((handoffs.end_s - handoffs.start_s - handoffs.duration_s).abs() < 1e-6).all()


def test_exported_geojson_follows_the_standard(run: Path, tmp_path: Path) -> None:
    opened = source(run)
    count = write_geojson(opened, tmp_path / "a.geojson")
    text = (tmp_path / "a.geojson").read_text()
    document = json.loads(text)
    assert document["type"] == "FeatureCollection" and len(document["features"]) == count == 3 + 8 + len(
        opened.handoffs
    )
    assert "<" not in text and "crs" not in document
    for feature in document["features"]:
        assert set(feature) == {"type", "geometry", "properties"}
        places = feature["geometry"]["coordinates"]
        for lon, lat in [places] if feature["geometry"]["type"] == "Point" else places:
            assert -30.001 < lon < -29.99 and 44.99 < lat < 45.01
    assert [f["properties"]["name"] for f in document["features"] if f["properties"]["kind"] == "track"] == HOSTILE
    again = read_tracks(tmp_path / "a.geojson").on_plane(opened.origin)
    assert again.names == [f"h{i}" for i in range(8)] and len(again.t_s) == len(opened.tracks)
    assert np.hypot(again.x - opened.tracks.x_m, again.y - opened.tracks.y_m).max() < 0.01
    write_kepler(opened, tmp_path / "k.geojson", epoch_s=1000)
    trip = json.loads((tmp_path / "k.geojson").read_text())["features"][0]["geometry"]["coordinates"]
    assert all(len(place) == 4 for place in trip) and trip[0][2:] == [0, 1000] and trip[1][3] == 1001
    assert [place[3] for place in trip] == sorted(place[3] for place in trip)


def parse(path: Path) -> list[tuple[str, dict[str, int], str]]:
    """Parse a log with the expression in its first line, as ShiViz does."""
    head, empty, rest = path.read_text().split("\n", 2)
    assert head == HEADER and empty == ""
    pattern = re.compile(head.replace("(?<", "(?P<"))
    entries = [(m["host"], json.loads(m["clock"]), m["event"]) for m in pattern.finditer(rest)]
    assert 2 * len(entries) == len(rest.splitlines())
    return entries


@pytest.mark.parametrize("slice_s", [(0.0, None), (8.0, 11.0)])
def test_vector_clocks_of_receipts_dominate_those_of_sends(
    run: Path, slice_s: tuple[float, float | None], tmp_path: Path
) -> None:
    opened = api.Run(run)
    happened = happenings(opened.messages, opened.events, *slice_s)
    sent: dict[int, dict[str, int]] = {}
    last: dict[str, dict[str, int]] = {}
    receipts = 0
    for happening, (node, clock, _) in zip(happened, with_clocks(happened), strict=True):
        assert clock[node] == last.get(node, {}).get(node, 0) + 1  # An event advances the clock of its own node by one.
        assert all(clock[other] >= count for other, count in last.get(node, {}).items())  # Other clocks never go back.
        last[node] = clock
        if happening.text.split()[2] == "sends":
            sent[happening.number] = clock
        elif happening.order == RECEIPT and happening.number in sent:
            before = sent[happening.number]
            assert all(clock.get(other, 0) >= count for other, count in before.items()) and clock != before
            receipts += 1
    assert receipts > 50
    count = write_shiviz(opened.messages, opened.events, tmp_path / "a.log", *slice_s)
    entries = parse(tmp_path / "a.log")
    assert count == len(entries) == len(happened)
    assert {host for host, _, _ in entries} <= {f"h{i}" for i in range(8)} | {"s0", "s1", "s2"}
    received = opened.messages[(opened.messages.fate == "received") & (opened.messages.receive_ns.notna())]
    if slice_s[1] is None:
        assert sum(" receives " in text for _, _, text in entries) == len(received)


def test_a_run_repeats_if_its_inputs_are_named_like_its_tables(tmp_path: Path) -> None:
    """The files of tracks and sites have the same name, which is also the name of a table of the run."""
    for folder, text in (("a", "t,id,x,y\n0,v,0,0\n9,v,5,5\n"), ("b", "x,y\n0,0\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "events.parquet").write_text(text)
    text = (
        "duration_s: 9\nstations: {layout: {shape: csv, file: b/events.parquet}}\nhosts: {mobility: {model: tracks,"
        " file: a/events.parquet}}\nprotocol: {name: mobile_causal}\nworkload: {interval_s: 3, payload_bytes: 100}\n"
    )
    once = api.run(Scenario.from_text(text, folder=tmp_path), out=tmp_path / "once")
    again = api.run(tmp_path / "once" / "scenario.yaml", out=tmp_path / "again")
    assert once.manifest["fingerprint"] == again.manifest["fingerprint"] and len(once.events) == len(again.events)


def test_exports_too_large_for_a_browser_are_rejected(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mobilenet.lab.export.shiviz.MOST_EVENTS", 100)
    opened = api.Run(run)
    with pytest.raises(ScenarioError, match="select a slice with --from-s and --to-s"):
        write_shiviz(opened.messages, opened.events, tmp_path / "a.log")


def test_exports_to_earth_coordinates_require_an_origin(tmp_path: Path) -> None:
    api.run(SCENARIOS / "first.yaml", out=tmp_path / "run", overrides=["duration_s=5"])
    with pytest.raises(NoOrigin, match=r"expected the position of .0, 0., as --origin LON,LAT"):
        write_geojson(source(tmp_path / "run"), tmp_path / "a.geojson")
    assert one_line(mobilenet("export", "run", "--geojson", place=tmp_path), 2).startswith(
        "run: the position of this run on Earth is unknown; expected the position of (0, 0), as --origin"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run"] and not (tmp_path / "run" / "geojson.geojson").exists()
    done = mobilenet("export", "run", "--geojson", "--origin", "-30,45", "-o", "a.geojson", place=tmp_path)
    assert done.returncode == 0 and json.loads((tmp_path / "a.geojson").read_text())["features"], done
    assert source(tmp_path / "run", Origin(lon=1, lat=2)).origin == Origin(lon=1, lat=2)
    for words, complaint in (
        ((), "expected one of --csv, --geojson, --kepler, --shiviz, --omnetpp, --pcap or --radio-pcap"),
        (("--csv", "--kepler"), "expected one of"),
        (("--csv", "-o", "run"), "run: already exists"),
        (("--shiviz", "-o", "a.xml"), "a.xml: expected a name that ends in .log or .txt"),
        (("--kepler", "--origin", "5,95"), "--origin '5,95': expected LON,LAT"),
    ):
        assert one_line(mobilenet("export", "run", *words, place=tmp_path), 2).startswith(complaint)
    assert one_line(mobilenet("export", ".", "--csv", place=tmp_path), 2).startswith(
        ".: neither a run directory nor a study directory"
    )
    done = mobilenet("export", "run", "--csv", place=tmp_path)
    assert (
        done.returncode == 0 and "lon" not in (tmp_path / "run" / "csv" / "tracks.csv").read_text().splitlines()[0]
    ), done


def test_runs_with_few_events_or_no_hosts_can_be_exported(tmp_path: Path) -> None:
    api.run(SCENARIOS / "first.yaml", out=tmp_path / "none", overrides=["duration_s=5", "hosts.count=0"])
    api.run(SCENARIOS / "first.yaml", out=tmp_path / "short", overrides=["duration_s=0.5", "drain_s=0"])
    done = mobilenet("export", "none", "--geojson", "--origin", "1,1", "-o", "a.geojson", place=tmp_path)
    assert done.returncode == 0 and {
        f["properties"]["kind"] for f in json.loads((tmp_path / "a.geojson").read_text())["features"]
    } == {"station"}, done
    assert mobilenet("export", "none", "--csv", place=tmp_path).returncode == 0
    assert (
        one_line(mobilenet("export", "none", "--kepler", "--origin", "1,1", place=tmp_path), 2)
        == "none: no tracks to show: no hosts"
    )
    assert one_line(mobilenet("export", "short", "--kepler", "--origin", "1,1", place=tmp_path), 2).startswith(
        "short: no tracks to show: every track has only one position"
    )
    assert not list(tmp_path.glob("*/kepler*"))


def test_a_host_with_one_position_is_exported_without_a_trip(run: Path, tmp_path: Path) -> None:
    opened = source(run)
    short = replace(opened, tracks=opened.tracks[(opened.tracks.id != "h2") | (opened.tracks.t_s == 0)])
    assert without_trip(short) == ["h2"] and write_kepler(short, tmp_path / "k.json") == 7


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--from-s", "inf"), "--from-s inf: expected a finite number of seconds"),
        (("--to-s", "inf"), "--to-s inf: expected a finite number of seconds"),
        (("--from-s", "1e300"), "--from-s 1e+300: after the end of the run at "),
        (("--from-s", "20", "--to-s", "10"), "--from-s 20 is after --to-s 10"),
    ],
)  # fmt: skip
def test_the_shiviz_export_rejects_malformed_slices(
    run: Path, words: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    assert one_line(mobilenet("export", run, "--shiviz", "-o", "a.log", *words, place=tmp_path), 2).startswith(
        complaint
    )
    assert not list(tmp_path.iterdir())


def test_tables_of_a_study_can_be_exported(tmp_path: Path) -> None:
    for name in ("study.yaml", "runs.csv", "tables/runs.csv", "tables/summary.csv", "tables/runs.parquet"):
        (tmp_path / "s" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "s" / name).write_text(name)
    (tmp_path / "to").mkdir()
    assert study_tables(tmp_path / "s", tmp_path / "to") == 3
    assert {p.name for p in (tmp_path / "to").iterdir()} == {
        "runs.csv",
        "summary.csv",
        "planned_runs.csv",
        "contents.json",
    }
    (tmp_path / "s" / "tables" / "summary.csv").write_text("level,mean\n=HYPERLINK(1),-0.5\n,1e-3\n")
    study_tables(tmp_path / "s", tmp_path / "to")
    assert (tmp_path / "to" / "summary.csv").read_text() == "level,mean\n'=HYPERLINK(1),-0.5\n,1e-3\n"
    (tmp_path / "s" / "tables" / "summary.csv").write_text("")
    with pytest.raises(RunError, match=r"summary\.csv: damaged"):
        study_tables(tmp_path / "s", tmp_path / "to")
    (tmp_path / "s" / "tables" / "runs.csv").unlink()
    with pytest.raises(RunError, match="the study has no tables yet"):
        study_tables(tmp_path / "s", tmp_path / "to")


@pytest.mark.lab
def test_hostile_track_and_station_names_are_escaped_in_maps(run: Path, tmp_path: Path) -> None:
    done = mobilenet("map", run, "-o", "map.html", place=tmp_path)
    assert done.returncode == 0, done
    assert "<img src=x" not in (tmp_path / "map.html").read_text()
    done = mobilenet(
        "inspect-tracks",
        run / "t$(id) {{x}}.csv",
        "--stations",
        run / "sites.csv",
        "--scenario",
        "own.yaml",
        place=tmp_path,
    )
    assert done.returncode == 0 and sorted(p.name for p in tmp_path.iterdir()) == [
        "map.html",
        "own.yaml",
        "t--id----x--_tracks.png",
    ], done
