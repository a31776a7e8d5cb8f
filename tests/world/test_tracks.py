"""Tests of imported movement. Files are read and cut correctly, and an error in a file names the line."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import pytest

from mobilenet.engine.clock import SECOND
from mobilenet.parameters import ScenarioError
from mobilenet.world.track_mobility import ImportedTracks, Tracks, import_tracks
from tests.conftest import ROOT

from .walks import check_continuous, place

DATA = ROOT / "data"
# Host a moves east from 0 to 20 s, host b moves north from 5 to 11 s, and host c exists only at 8 and 9 s.
LINES = (
    [f"{t},a,{t * 2},0" for t in range(21)],
    [f"{t},b,100,{t}" for t in range(5, 12)],
    ["8,c,0,0", "9,c,0,0"],
)
SAMPLES = sorted((line for lines in LINES for line in lines), key=lambda line: int(line.split(",")[0]))


def write(folder: Path, text: str) -> Path:
    (folder / "t.csv").write_text(text, encoding="utf-8")
    return folder


def read(folder: Path, duration_s: float = 100, **parameters: object) -> ImportedTracks:
    return import_tracks(Tracks(file="t.csv", **parameters), folder, duration_s)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, "t,id,x,y\n" + "\n".join(SAMPLES) + "\n")


def test_hosts_join_and_leave_with_their_tracks(folder: Path) -> None:
    tracks = read(folder)
    a, b = tracks.trajectories
    assert tracks.names == ["a", "b"] and tracks.too_short == 1
    assert (a.appears_ns, a.leaves_ns, a.disappears_ns) == (0, 15 * SECOND, 20 * SECOND)
    assert (b.appears_ns, b.leaves_ns, b.disappears_ns) == (5 * SECOND, 6 * SECOND, 11 * SECOND)
    assert place(a.legs(), (0, 3.5, 20, 500)) == [(0, 0, 2), (7, 0, 2), (40, 0, 0), (40, 0, 0)]
    assert place(b.legs(), (0, 1.5))[1] == pytest.approx((100, 6.5, 1))
    check_continuous(list(a.legs()))
    assert tracks.speed_limit_mps == pytest.approx(2)


def test_a_host_whose_track_outlasts_the_run_does_not_leave(folder: Path) -> None:
    a, b = read(folder, duration_s=12).trajectories
    assert (a.leaves_ns, a.disappears_ns) == (None, None)
    assert b.leaves_ns == 6 * SECOND
    assert place(a.legs(), (12,))[0][:2] == (24, 0)


def test_imported_tracks_can_be_cut_to_a_window(folder: Path) -> None:
    tracks = read(folder, start_s=2.5, end_s=10.5)
    a, b = tracks.trajectories
    assert (a.appears_ns, a.leaves_ns, a.disappears_ns) == (0, 3 * SECOND, 8 * SECOND)
    assert place(a.legs(), (0, 8))[0][:2] == (5, 0) and place(a.legs(), (8,))[0][:2] == (21, 0)
    assert (b.appears_ns, b.disappears_ns) == (round(2.5 * SECOND), 8 * SECOND)
    assert read(folder, start_s=2.5, max_hosts=1).names == ["a"]


def test_compressed_track_files_can_have_other_columns(tmp_path: Path) -> None:
    text = "speed,Y,x_m,id,Time\n" + "\n".join(f"1,{t},0,a b,{t}" for t in range(10)) + "\n"
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode("utf-8-sig")))
    tracks = import_tracks(Tracks(file="t.csv.gz"), tmp_path, 100)
    assert tracks.names == ["a b"] and place(tracks.trajectories[0].legs(), (4,))[0][:2] == (0, 4)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", "t.csv:1: empty"),
        ("\n\n", "t.csv:1: empty"),
        ("t,id,x,y\n", "t.csv: contains no tracks"),
        ("t,x,y\n0,1,2\n", "t.csv:1: no column 'id'"),
        ("t,id,x,y\n0,a,1,2\n1,a,1\n", "t.csv:3:4: 3 columns, but the first line names 4"),
        ("t,id,x,y\n0,a,1,2,3\n", "t.csv:2:5: 5 columns, but the first line names 4"),
        ("t,id,x,y\n0,a,1,2\n1,a,,2\n", "t.csv:3:3: x: empty, expected a number"),
        ("t,id,x,y\n0,a,1,2\n1,,1,2\n", "t.csv:3:2: id: empty"),
        ("t,id,x,y\n0,a,1,two\n", "t.csv:2:4: y: 'two' is not a number"),
        ("t,id,x,y\n0,a,1,nan\n", "t.csv:2:4: y: 'nan' is not a finite number"),
        ("t,id,x,y\n0,a,1e300,0\n", "t.csv:2:3: x: 1e+300 m is more than 100000 km"),
        ("t,id,x,y\n-1,a,1,0\n", "t.csv:2:1: t: -1 s is not between"),
        ("t,id,x,y\n2,a,1,0\n1,a,1,0\n", "t.csv:3:1: t: 'a' has a sample at 2 s and then at 1 s"),
        ("t,id,x,y\n2,a,1,0\n2,a,1,0\n", "t.csv:3:1: t: 'a' has a sample at 2 s and then at 2 s"),
        ("t,id,x,y\n2,a,1,0\n60,a,1,0\n", "t.csv:3:1: t: 'a' has no sample for 58 s"),
        ("t,id,x,y\n2,a,1,0\n3,a,900,0\n", "t.csv:3:3: x: 'a' moves at 899 m/s"),
        ("t,id,x,y\n2,a,1,0\n3,a,1,0\n", "t.csv: no host is present for more than 5 s"),
        ('t,id,x,y\n2,"a,1,0\n3,a,1,0\n', "t.csv:"),
        ("t,id,x,y\n0,a,1,\x00\n", "t.csv:2"),
    ],
)
def test_malformed_track_files_are_rejected_with_their_line(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        read(write(tmp_path, text))
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(expected)
    assert len(str(caught.value).splitlines()) == 1


def test_track_files_that_are_not_text_are_rejected(tmp_path: Path) -> None:
    packed = gzip.compress(b"t,id,x,y\n" + b"0,a,1,2\n" * 100)
    for name, data in (
        ("a.csv", bytes(range(256))),
        ("a.csv.gz", b"no gzip"),
        ("b.csv.gz", packed[:-20]),
        ("c.csv.gz", b""),
    ):
        (tmp_path / name).write_bytes(data)
    for name in ("a.csv", "a.csv.gz", "b.csv.gz", "c.csv.gz", "nowhere.csv", "."):
        with pytest.raises(ScenarioError) as caught:
            import_tracks(Tracks(file=name), tmp_path, 100)
        assert len(str(caught.value).splitlines()) == 1


def test_tracks_of_the_streets_recording_are_plausible() -> None:
    tracks = import_tracks(Tracks(file="streets_tracks.csv.gz"), DATA, 400)
    assert len(tracks.names) + tracks.too_short == 471
    assert tracks.speed_limit_mps < 20
    for trajectory in tracks.trajectories[::20]:
        check_continuous(list(trajectory.legs()))
        assert trajectory.leaves_ns is None or trajectory.appears_ns < trajectory.leaves_ns < 400 * SECOND


def test_the_checksums_in_the_readme_are_right() -> None:
    digests = re.findall(r"^SHA-256: `(\w{64})`", (DATA / "README.md").read_text(), re.MULTILINE)
    files = (DATA / "streets_tracks.csv.gz", DATA / "streets_sites.csv", DATA / "radio" / "ns3_receptions.csv")
    assert digests == [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    digests = dict(re.findall(r"^\| `([\w.]+)` \|.*\| `(\w{64})` \|$", (DATA / "README.md").read_text(), re.MULTILINE))
    tables = [*(DATA / "formats").iterdir(), *(path for path in (DATA / "town").iterdir() if path.suffix != ".py")]
    tables = [path for path in tables if path.is_file()]
    assert digests == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in tables}


def test_the_seed_selects_which_recorded_hosts_are_used() -> None:
    """The same seed always selects the same hosts, and a different seed selects different hosts. A larger subset
    contains the smaller ones.
    """

    def names(seed: int, **parameters: float) -> list[str]:
        tracks = Tracks(file="streets_tracks.csv.gz", **parameters)  # type: ignore[arg-type]
        return import_tracks(tracks, DATA, 100, seed=seed).names

    whole = names(1)
    few, more = names(1, random_hosts=10), names(1, random_hosts=20)
    assert len(few) == 10 and set(few) < set(more) < set(whole) and few == [name for name in whole if name in few]
    assert names(1, random_hosts=10) == few and names(2, random_hosts=10) != few
    thin = names(1, random_share=0.3)
    assert 0.15 * len(whole) < len(thin) < 0.45 * len(whole) and thin != names(2, random_share=0.3)
    starts = {
        tuple(t.appears_ns for t in import_tracks(Tracks(file="streets_tracks.csv.gz", random_start_s=200), DATA, 100,
                                             seed=seed).trajectories)
        for seed in (1, 1, 2, 3)
    }  # fmt: skip
    assert len(starts) == 3
