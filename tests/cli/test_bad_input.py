"""Tests that invalid arguments lead to one line on stderr and exit code 2, and that no files remain."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .command import FIRST, ROOT, SHORT, everything_below, mobilenet, one_line

FIRST_TEXT = FIRST.read_text()
TRACKS = (ROOT / "scenarios" / "streets.yaml").read_text()

SCENARIOS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "it.yaml: empty"),
    "no mapping": (b"- 1\n", "it.yaml:1: expected keys with values"),
    "open bracket": (b"seed: [1\n", "it.yaml:2: not YAML"),
    "tab": (b"a:\n\tb: 1\n", "it.yaml:2: not YAML"),
    "twice": (FIRST_TEXT.encode() + b"seed: 2\n", "duplicate key 'seed'"),
    "unknown key": (FIRST_TEXT.encode() + b"wireless: {range: 3}\n", "unknown key; did you mean 'range_m'?"),
    "wrong type": (FIRST_TEXT.replace("count: 6", "count: six").encode(), "hosts.count: expected"),
    "too many": (
        FIRST_TEXT.replace("count: 6", "count: 100000").replace("interval_s: 2", "interval_s: 0.001").encode(),
        "limits.max_events",
    ),
    "deep": (b"[" * 10_000, "more than 20 levels"),
    "an alias": (b"a: &x [1]\nb: *x\n", "anchor &x"),
    "binary": (bytes(range(256)) * 8, "not UTF-8 text"),
    "zeros": (b"\0" * 100, "not YAML: contains a control character"),
    "latin": ("name: Zürich\n".encode("latin-1"), "it.yaml:1: not UTF-8 text"),
    "long": (b"#" * 2_000_000, "more than 1000000"),
    "no tracks": (TRACKS.replace("streets_tracks", "no_such_tracks").encode(), "not found next to the scenario"),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_malformed_scenario_is_rejected_in_one_line(name: str, tmp_path: Path) -> None:
    data, expected = SCENARIOS[name]
    if "data/" in data.decode("latin-1"):
        data = data.replace(b"../data/streets_sites.csv", str(ROOT / "data" / "streets_sites.csv").encode())
    scenario = tmp_path / "it.yaml"
    scenario.write_bytes(data)
    assert expected in one_line(mobilenet("run", scenario, place=tmp_path), 2)
    assert expected in one_line(mobilenet("check", scenario, place=tmp_path), 2)
    assert everything_below(tmp_path) == ["it.yaml"]


COMMAND_LINES = {
    "no command": (("fly",), "mobilenet: No such command 'fly'; see mobilenet --help"),
    "no scenario": (("run",), "mobilenet run: Missing argument 'SCENARIO'; see mobilenet run --help"),
    "no such option": (("run", FIRST, "--sed", "3"), "mobilenet run: No such option"),
    "too much": (("check", FIRST, FIRST), "mobilenet check: Got unexpected extra argument"),
    "a seed that is no number": (("run", FIRST, "--seed", "many"), "--seed: expected a whole number, got many; see"),
    "a negative seed": (("run", FIRST, "--seed", "-1"), "seed: should be at least 0, got -1"),
    "a huge seed": (("run", FIRST, "--seed", "9" * 30), "seed: "),
    "no schedules": (("swarm", "--count", "0"), "mobilenet swarm: --count: should be at least 1, got 0"),
    "no file": (("run", "nothing.yaml"), "nothing.yaml: cannot be read: No such file or directory"),
    "a directory": (("run", ROOT / "scenarios"), "scenarios: cannot be read: Is a directory"),
    "a name that is no text": (("run", b"x\xff.yaml"), "x\\udcff.yaml: cannot be read"),
    "a name too long": (("run", "x" * 5000), "cannot be read: File name too long"),
    "a huge value": (("run", FIRST, "--set", "duration_s=1e300"), "duration_s: should be at most 1000000"),
    "a value of many digits": (("run", FIRST, "--set", "hosts.count=" + "9" * 5000), "a number with 5000 characters"),
    "a value without end": (("run", FIRST, "--set", "hosts.count=[" * 3), "--set hosts.count=["),
    "a value that would fill the disk": (("run", FIRST, "--set", "workload.interval_s=0.001", "--set",
    "duration_s=1e6"), "limits.max_events"),
    "no equals sign": (("check", FIRST, "--set", "seed"), "--set seed: expected key=value"),
    "a value that is no text": (("check", FIRST, "--set", b"name=\xff"), "--set name="),
    "an output that is no text": (("run", FIRST, *SHORT, "--out", b"x\xff"),
    "x\\udcff: cannot be written: the name is not UTF-8 text"),
    "no run": (("show", "nothing"), "nothing: no such run directory"),
    "a file as a run": (("verify", FIRST), "is a file, expected the directory of a run"),
    "a seed of two lines": (("run", FIRST, "--seed", "a\nb"), r'--seed: expected a whole number, got "a\U0000000ab";'),
    "no seed in its place": (("run", FIRST, "--seed", ""), '--seed: expected a whole number, got ""; see'),
    "an option without its value": (("run", FIRST, "--out"), "mobilenet run: Option '--out' requires an argument"),
    "a misspelt command": (("map_", "x"), "No such command 'map_'. Did you mean 'map'? See mobilenet --help"),
    "another directory as a run": (("verify", ROOT / "scenarios"), "missing; this is not a complete run directory"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_a_malformed_command_line_is_rejected_in_one_line(name: str, tmp_path: Path) -> None:
    words, expected = COMMAND_LINES[name]
    complaint = one_line(mobilenet(*words, place=tmp_path), 2)
    assert expected in complaint and len(complaint) < 6000
    assert everything_below(tmp_path) == []


def _file(place: Path) -> str:
    (place / "taken").write_text("mine")
    return "taken"


def _directory(place: Path) -> str:
    (place / "taken").mkdir()
    return "taken"


def _link_to_nowhere(place: Path) -> str:
    (place / "taken").symlink_to("nowhere")
    return "taken"


def _below_a_file(place: Path) -> str:
    return f"{_file(place)}/deep/it"


def _too_long_below_a_new_folder(place: Path) -> str:
    return "new/" + "x" * 250


OUTPUTS: dict[str, tuple[Callable[[Path], str], str]] = {
    "a file": (_file, "taken: already exists"),
    "a directory": (_directory, "taken: already exists"),
    "a link to nowhere": (_link_to_nowhere, "taken: already exists"),
    "here": (lambda place: ".", "already exists"),
    "above": (lambda place: "new/..", "already exists"),
    "nothing": (lambda place: "", "already exists"),
    "below a file": (_below_a_file, "taken/deep/it: cannot be written: Not a directory"),
    "where nobody can write": (lambda place: "/proc/it/it", "/proc/it/it: cannot be written"),
    "a name too long": (_too_long_below_a_new_folder, "cannot be written: File name too long"),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_impossible_output_path_is_rejected_in_one_line(name: str, tmp_path: Path) -> None:
    prepare, expected = OUTPUTS[name]
    out = prepare(tmp_path)
    before = everything_below(tmp_path)
    assert expected in one_line(mobilenet("run", FIRST, *SHORT, "--out", out, place=tmp_path), 2)
    assert everything_below(tmp_path) == before
    if name == "a file":
        assert (tmp_path / "taken").read_text() == "mine"


def test_an_existing_run_is_replaced_only_with_force(tmp_path: Path) -> None:
    words = ("run", FIRST, "--set", "duration_s=1", "--out", "it")
    assert mobilenet(*words, place=tmp_path).returncode == 0
    complaint = one_line(mobilenet(*words, place=tmp_path), 2)
    assert complaint == "it: already exists; replace it with --force, or name another directory with --out"
    assert mobilenet(*words, "--force", place=tmp_path).returncode == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_output_in_a_read_only_folder_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    assert "Permission denied" in one_line(mobilenet("run", FIRST, *SHORT, "--out", "locked/it", place=tmp_path), 2)


def test_several_problems_are_reported_on_separate_lines(tmp_path: Path) -> None:
    done = mobilenet("check", FIRST, "--set", "hosts.count=-1", "--set", "protocol.windw=3", place=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == [
        "--set hosts.count=-1",
        "--set protocol.windw=3",
    ]
