"""Tests of malformed files. The error is a single line with file, line and column, and never a traceback."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.parameters import ScenarioError
from mobilenet.world.track_mobility import require_continuous
from mobilenet.world.tracks.projection import Origin
from mobilenet.world.tracks.read import read_tracks
from mobilenet.world.tracks.sites import read_sites

from .test_round_trip import KNOWN
from .writers import DATA, WRITERS

FCD = '<fcd-export>\n<timestep time="1">\n{}\n</timestep>\n</fcd-export>'
GPX = "<gpx>\n<trk><trkseg>\n{}\n</trkseg></trk>\n</gpx>"
BOMB = (
    '<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb">'
    + "".join(f'<!ENTITY {c} "{f"&{p};" * 10}">' for p, c in zip("bcdefgh", "cdefghi", strict=True))
    + "]>"
)


def refusal(path: Path) -> str:
    with pytest.raises(ScenarioError) as caught:
        read_tracks(path).on_plane(None)
    message = str(caught.value)
    assert len(message.splitlines()) == 1 and message.startswith(f"{path}") and len(message) < 500
    return message.removeprefix(f"{path.parent}/")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FCD.format('<vehicle id="a" x="1"/>'), 'f:3:1: <vehicle> without y, expected y="..."'),
        (FCD.format('<vehicle x="1" y="1"/>'), 'f:3:1: <vehicle> without id, expected id="..."'),
        (FCD.format('  <vehicle id="a" x="1,5" y="1"/>'), "f:3:3: x: '1,5' is not a number; use a decimal point"),
        (FCD.format('<vehicle id="a" x="1" y="inf"/>'), "f:3:1: y: 'inf' is not a finite number"),
        (FCD.format('<vehicle id="" x="1" y="1"/>'), "f:3:1: id: empty, expected a name"),
        (
            FCD.format('<vehicle id="a" x="1" y="1"/>\n<vehicle id="a" x="2" y="1"/>'),
            "f:4:1: t: 'a' has a sample at 1 s and then at 1 s, expected a later time",
        ),
        (
            FCD.format('<vehicle id="a" x="1" y="1"/>').replace('time="1"', 'time="soon"'),
            "f:2:1: time: 'soon' is not a number",
        ),
        (
            FCD.format('<vehicle id="a" x="1" y="1"/>').replace('time="1"', 'time="1:b"'),
            "f:2:1: time: '1:b' is not a time, expected seconds or h:m:s",
        ),
        (
            FCD.format('<vehicle id="a" x="1" y="1"/>').replace(' time="1"', ""),
            'f:2:1: <timestep> without time, expected time="..."',
        ),
        (FCD.format(""), "f: contains no tracks"),
        (FCD.format('<vehicle id="a" x="1" y="1">'), "f:4:3: not XML: mismatched tag, inside <vehicle>"),
        ('<fcd-export>\n<timestep time="1">\n', "f:3:1: not XML: no element found, inside <timestep>"),
        ('<fcd-export>\n<timestep time="1">\n<vehicle id=', "f:3:1: not XML: unclosed token, inside <timestep>"),
        (
            '<fcd-export>\n<vehicle id="a" x="1" y="2"/></fcd-export>',
            'f:2:1: <vehicle> outside <timestep time="...">',
        ),
        ("<kml>\n</kml>", "f:1: XML that begins with <kml>; expected <fcd-export> (SUMO) or <gpx>"),
        (BOMB + FCD.format('<vehicle id="&i;" x="1" y="2"/>'), "f:1:13: a document type (<!DOCTYPE>)"),
        ("<gpx>" + "<a>" * 40, "f:1:99: elements nested more than 32 levels deep"),
        (
            GPX.format('<trkpt lat="1" lon="2"></trkpt>'),
            "f:3:1: <trkpt> without <time>; expected the time of the point",
        ),
        (
            GPX.format('<trkpt lat="1"><time>2024-05-01T08:00:00Z</time></trkpt>'),
            'f:3:1: <trkpt> without lon, expected lon="..."',
        ),
        (GPX.format('<trkpt lat="1" lon="b"/>'), "f:3:1: lon: 'b' is not a number"),
        (
            GPX.format('<trkpt lat="1" lon="2"><time>noon</time></trkpt>'),
            "f:3:34: time: 'noon' is not a date, expected a date such as 2024-05-01T08:00:00Z",
        ),
        (
            GPX.format('<trkpt lat="91" lon="2"><time>2024-05-01T08:00:00Z</time></trkpt>'),
            "f:3:1: lat: 91 is not between -90 and 90 degrees; are lon and lat swapped?",
        ),
        (
            GPX.format('<trkpt lat="1" lon="2"><time>2024-05-01T08:00:00Z</time></trkpt>'),
            "f: contains longitudes and latitudes, but the position of (0, 0) is not given; expected origin:"
            " {lon, lat}",
        ),
        ("0 1 2 3 4", "f:1:7: the line ends within a waypoint; expected t x y for each"),
        ("0 1 2\n0 1 2 5 1e5 x", "f:2:13: 'x' is not a number, expected t x y t x y ..."),
        ("5 1 2 4 1 2", "f:1:7: t: '0' has a sample at 5 s and then at 4 s, expected a later time"),
        ("$node_(0) set X_ 1\n$node_(0) set Y_ one", "f:2:18: y: 'one' is not a number"),
        ("$node_(0) set X_ 1", "f:1:1: node '0' begins with x only; expected both axes"),
        (
            '$node_(0) set X_ 1\n$node_(0) set Y_ 1\n$ns_ at 1 "$node_(0) setdest 1 2"',
            "f:3:12: '$ns_ at 1 \"$node_(0) setdest 1 2\"': expected $node_(0) set X_",
        ),
        (
            '$node_(0) set X_ 1\n$ns_ at 1 "$node_(0) setdest 1 2 -3"',
            "f:2:34: speed: got -3 m/s, expected a number ≥ 0",
        ),
        ('$node_(0) set X_ 1\n$ns_ at -1 "$node_(0) setdest 1 2 3"', "f:2:9: t: -1 s is not between 0 and 1e9"),
        ("t,id,lon,lat\n1,a,10,20\n2,a,10,95", "f:3:4: lat: 95 is not between -90 and 90 degrees"),
        ("0 1 2 5 abc 2", "f:1:9: 'abc' is not a number, expected t x y t x y ..."),
        ("t,id,x,y\r1,a,1,2\r", "f:1: lines end with CR only; expected LF, or CR and LF"),
        ("0 1 1 5 nan 2", "f:1:7: x: 'nan' is not a finite number"),
        ("$node_(0) set X_ 1\n$node_(0) set Y_ 1\n$ns", "f:3:4: the file ends within a command, '$ns'"),
        ("\n \n", "f:1: empty, expected tracks"),
        ('t,id,x,y\n1,a,1,2\n2,"a,3,4\n3,a,5,6\n', "f:3: a quotation mark is opened here and never closed"),
        (f"t,id,x,y\n1,{'a' * 1001},1,2\n", "f:2:2: a field of more than 1000 characters"),
        ("t,id,x,y,x_m\n1,a,1,2,3\n", "f:1:5: 'x_m' means the same as column 3, 'x'"),
        ("t,id,lon,lat\n1,a,10,144.9985", "f:2:4: lat: 144.9985 is not between -90 and 90 degrees"),
        ("t,id,lon,lat\n1,a,10,20\n2,a,10", "f:3:4: 3 columns, but the first line names 4"),
        ("t;id;x;y\n1;a;1,5;2", "f:2:3: x: '1,5' is not a number; use a decimal point"),
        (
            "t,id,x,y\n2024-05-01T08:00:00Z,a,1,2\n1,a,1,2",
            "f:3:1: t: '1' is not a date, expected a date such as 2024-05-01T08:00:00Z",
        ),
        (
            "t,id,x,y\n1714550400,a,1,2\n1714550400000,a,1,2",
            "f:3:1: t: 1714550400000 is beyond the year 9999; are these milliseconds? expected seconds",
        ),
        (
            "t,id,x,y\n1714521600000,a,1,2\n1714521601000,a,5,2",
            "f:2:1: t: 1714521600000 is beyond the year 9999; are these milliseconds? expected seconds",
        ),
        (
            "t,id,x,y\n1714521600000000,a,1,2",
            "f:2:1: t: 1714521600000000 is beyond the year 9999; are these microseconds? expected seconds",
        ),
        (
            "t,id,x,y\n1714521600000000000,a,1,2",
            "f:2:1: t: 1714521600000000000 is beyond the year 9999; are these nanoseconds? expected seconds",
        ),
        (
            FCD.format('<vehicle id="a" x="1" y="1"/>').replace('time="1"', 'time="1714521600000"'),
            "f:3:1: t: 1714521600000 is beyond the year 9999; are these milliseconds?",
        ),
        (
            "t,id,x,y\n0001-01-01T00:00:00+14:00,a,1,2",
            "f:2:1: t: '0001-01-01T00:00:00+14:00' is not within the years 1 to 9999 in UTC",
        ),
        (
            "t,id,x,y\n9999-12-31T23:59:59.999999Z,a,1,2",
            "f:2:1: t: '9999-12-31T23:59:59.999999Z' is not within the years 1 to 9999 in UTC",
        ),
        (
            GPX.format('<trkpt lat="1" lon="2"><time>0001-01-01T00:00:00+10:00</time></trkpt>'),
            "f:3:55: time: '0001-01-01T00:00:00+10:00' is not within the years 1 to 9999 in UTC",
        ),
        ("t,id,x,y\n1,a,1_0,2", "f:2:3: x: '1_0' is not a number"),
        ("t,id,x,y\n1_0,a,1,2", "f:2:1: t: '1_0' is not a number"),
        (GPX.format('<trkpt lat="1_0" lon="2"/>'), "f:3:1: lat: '1_0' is not a number"),
        (FCD.format('<vehicle id="a" x="1_0" y="1"/>'), "f:3:1: x: '1_0' is not a number"),
        (
            FCD.format('<vehicle id="a" x="1" y="1"/>').replace('time="1"', 'time="1_0"'),
            "f:2:1: time: '1_0' is not a number",
        ),
        (
            FCD.format('<vehicle id="a" x="1" y="1"/>').replace('time="1"', 'time="1:1_0"'),
            "f:2:1: time: '1:1_0' is not a time",
        ),
        ("$node_(0) set X_ 1_0\n$node_(0) set Y_ 1", "f:1:18: x: '1_0' is not a number"),
        ('$node_(0) set X_ 1\n$ns_ at 1_0 "$node_(0) setdest 1 2 3"', "f:2:9: t: '1_0' is not a number"),
        ("0 1_0 2 5 1 2", "f:1:3: '1_0' is not a number, expected t x y t x y ..."),
        (
            "timestep_time;vehicle_id;vehicle_x\n1;a;1",
            "f:1: no column 'vehicle_y' (or y, y_m), only: timestep_time, vehicle_id, vehicle_x",
        ),
    ],
)
def test_malformed_track_files_give_the_expected_error(text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(text)
    assert refusal(tmp_path / "f").startswith(expected)


ACROSS = "that extend across the 180° meridian are not supported"


def test_tracks_across_the_180_degree_meridian_are_rejected(tmp_path: Path) -> None:
    """The error also appears if no origin is declared."""
    (tmp_path / "a.csv").write_text("t,id,lon,lat\n0,a,179.9999,0\n1,a,-179.9999,0\n")
    tracks = read_tracks(tmp_path / "a.csv")
    with pytest.raises(
        ScenarioError, match=f"^{tmp_path}/a.csv:3:3: lon: -179.9999 here, but 179.9999 in line 2: tracks {ACROSS}$"
    ):
        tracks.origin()
    with pytest.raises(
        ScenarioError, match=f"^{tmp_path}/a.csv:2:3: lon: 179.9999, but that of the origin is -179.5: tracks {ACROSS}$"
    ):
        tracks.on_plane(Origin(lon=-179.5, lat=0))
    (tmp_path / "b.csv").write_text("name,lon,lat\na,-179.99,0\nb,179.99,0\n")
    sites = read_sites(tmp_path / "b.csv")
    with pytest.raises(
        ScenarioError, match=f"^{tmp_path}/b.csv:3: longitude 179.99 here, but -179.99 in line 2: sites {ACROSS}$"
    ):
        sites.origin()
    with pytest.raises(
        ScenarioError, match=f"^{tmp_path}/b.csv:2: longitude -179.99, but that of the origin is 180: sites {ACROSS}$"
    ):
        sites.on_plane(Origin(lon=180, lat=0))
    # The points are on both sides of the meridian, and far apart.
    (tmp_path / "c.csv").write_text("t,id,lon,lat\n0,a,120,0\n1,a,-120,0\n")
    tracks = read_tracks(tmp_path / "c.csv")
    with pytest.raises(ScenarioError, match="more than 1000 km"):
        tracks.on_plane(tracks.origin())


def test_an_ambiguous_table_states_which_coordinates_are_used(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,id,x,y,lon,lat\n0,a,1,2,13,52\n")
    plain, asked = (read_tracks(tmp_path / "a.csv", coordinates=which) for which in ("auto", "lonlat"))
    assert (plain.lonlat, plain.x[0], plain.y[0]) == (False, 1, 2) and plain.choice.startswith("x and y are used")
    assert (asked.lonlat, asked.x[0], asked.y[0]) == (True, 13, 52) and asked.choice.startswith("lon and lat are used")
    (tmp_path / "b.csv").write_text("t,id,x,y,lon\n0,a,1,2,13\n")
    assert read_tracks(tmp_path / "b.csv").choice == ""


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda packed: packed[:-20], "a truncated gzip file: its end is missing"),
        (lambda packed: packed[:40] + bytes(10) + packed[50:], "a damaged gzip file: "),
    ],
)
def test_damaged_compressed_track_files_are_rejected(
    damage: Callable[[bytes], bytes], complaint: str, tmp_path: Path
) -> None:
    rows = "".join(f"{t},a,{t * 7919 % 1000},{t * 104729 % 1000}\n" for t in range(2000))
    (tmp_path / "f.csv.gz").write_bytes(damage(gzip.compress(f"t,id,x,y\n{rows}".encode())))
    with pytest.raises(ScenarioError, match=f"^{tmp_path}/f.csv.gz: {complaint}"):
        read_tracks(tmp_path / "f.csv.gz")


def test_notes_on_gaps_and_jumps_mention_the_first_occurrence(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,id,lon,lat\n0,b,-30,45\n1,b,-30.1,45\n2,a,-30,45\n60,a,-30,45\n61,b,-30.1,45\n")
    track_set = read_tracks(tmp_path / "a.csv")
    with pytest.raises(ScenarioError, match=r"a.csv:3:3: x: 'b' moves at 7885 m/s, above max_speed_mps 150"):
        require_continuous(track_set.on_plane(track_set.origin()), 10, 150)
    with pytest.raises(
        ScenarioError, match=r"a.csv:5:1: t: 'a' has no sample for 58 s, which is more than max_gap_s 10"
    ):
        require_continuous(track_set.on_plane(track_set.origin()), 10, 1e5)


def test_an_endless_line_in_a_track_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(gzip.compress(b"t,id,x,y\n" + b"1" * 50_000_000))
    assert refusal(tmp_path / "f").startswith("f:2: a line of more than 100000 characters")
    (tmp_path / "f").write_bytes(gzip.compress(b"<gpx><a b='" + b" " * 50_000_000))
    assert refusal(tmp_path / "f").startswith("f:1:6: no element begins or ends within")


def test_hostile_names_in_track_files_are_treated_as_text(tmp_path: Path) -> None:
    path = tmp_path / "$(touch x)\n<b>\x1b[31m.csv"
    path.write_text('t,id,x,y\n0,"[red]</script>\n=1+1",1,2\n0,"[red]</script>\n=1+1",1,2\n')
    with pytest.raises(ScenarioError) as caught:
        read_tracks(path)
    assert (
        str(caught.value) == f"{tmp_path}/$(touch x)�<b>�[31m.csv:5:1: t: "
        "'[red]</script>\\n=1+1' has a sample at 0 s and then at 0 s, expected a later time; --duplicates"
        " keep-last (hosts.mobility.duplicates) uses the last of them"
        " (read as csv: the first line is taken for the names of columns)"
    )


@given(st.data())
def test_damaged_track_files_are_read_or_rejected_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Files are cut, changed, doubled or mixed. Each file is either read or rejected with a one-line error."""
    name, write = WRITERS[data.draw(st.sampled_from(sorted(WRITERS)))]
    text = write([(host, samples[:12]) for host, samples in KNOWN]).encode()
    if data.draw(st.booleans()):
        text = gzip.compress(text, mtime=0)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        to = data.draw(st.integers(at, min(len(text), at + 40)))
        what = data.draw(
            st.sampled_from(
                [
                    b"",
                    b"-",
                    b"1e400",
                    b"nan",
                    b"\xff",
                    b"\n",
                    b'"',
                    b"<",
                    b"&x;",
                    b"\x00",
                    b",,",
                    text[at:to] * 2,
                    text[:20],
                ]
            )
        )
        text = text[:at] + what + text[to:]
    if data.draw(st.booleans()):
        text = text[: data.draw(st.integers(0, len(text)))]
    path = tmp_path_factory.mktemp("damaged") / name
    path.write_bytes(text)
    for coordinates in ("auto", "lonlat", "metres"):
        try:
            track_set = read_tracks(path, coordinates=coordinates)  # type: ignore[arg-type]
            track_set = track_set.on_plane(track_set.origin()) if track_set.lonlat else track_set
            require_continuous(track_set, 10, 150)
        except ScenarioError as error:
            assert len(str(error).splitlines()) == 1 and f"/{name}" in str(error)


@given(st.binary(max_size=300))
def test_any_bytes_as_tracks_are_read_or_rejected_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("any") / "f"
    path.write_bytes(data)
    for format in ("auto", "csv", "sumo_fcd", "ns2", "bonnmotion", "gpx"):
        try:
            read_tracks(path, format)  # type: ignore[arg-type]
        except ScenarioError as error:
            assert len(str(error).splitlines()) == 1
    try:
        read_sites(path)
    except ScenarioError as error:
        assert len(str(error).splitlines()) == 1


@given(st.data())
def test_damaged_site_files_are_read_or_rejected_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = (DATA / "formats" / data.draw(st.sampled_from(["sites_lonlat.csv", "sites_opencellid.csv"]))).read_bytes()
    at = data.draw(st.integers(0, len(text)))
    text = (
        text[:at]
        + data.draw(st.sampled_from([b"", b"-", b"1e400", b"nan", b"\xff", b"\n", b'"', b","]))
        + text[at + data.draw(st.integers(0, 9)) :]
    )
    path = tmp_path_factory.mktemp("sites") / "f"
    path.write_bytes(text)
    try:
        sites = read_sites(path)
        sites.on_plane(sites.origin() if sites.lonlat else None)
    except ScenarioError as error:
        assert len(str(error).splitlines()) == 1 and "/f" in str(error)
