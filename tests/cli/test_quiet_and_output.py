"""Tests that commands print nothing with `--quiet`, write either all files or none, and handle unusual files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mobilenet import api

from .command import FIRST, SHORT, everything_below, in_a_process, mobilenet, one_line


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs") / "it"
    api.run(FIRST, overrides=["duration_s=8"], out=place)
    return place


@pytest.fixture
def mine(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "it"))


def test_the_quiet_option_suppresses_messages(tmp_path: Path) -> None:
    answers = {("run", FIRST, *SHORT, "--out", "it"): "it: valid\n", ("map", "it"): "", ("export", "it", "--csv"): ""}
    for words, answer in answers.items():
        done = mobilenet(*words, "-q", place=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, answer, "")


def test_error_messages_show_paths_as_the_user_typed_them(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "x.yaml").write_text("seed: 1\nseed: 2\n")
    for name in ("deep/er/x.yaml", str(tmp_path / "deep/er/x.yaml")):
        assert one_line(mobilenet("check", name, place=tmp_path), 2).startswith(f"{name}:2: duplicate key")
        assert one_line(mobilenet("study", name, place=tmp_path), 2).startswith(f"{name}:2: duplicate key")
        assert one_line(mobilenet("inspect-tracks", name, place=tmp_path), 2).startswith(f"{name}:")


def test_the_force_option_replaces_only_run_directories(mine: Path, tmp_path: Path) -> None:
    words = ("run", FIRST, *SHORT, "-q", "--force", "--out")
    (mine / "note.txt").write_text("of the old one")
    assert mobilenet(*words, "it", "--seed", "7", place=tmp_path).returncode == 0
    assert json.loads((mine / "manifest.json").read_text())["seed"] == 7 and not (mine / "note.txt").exists()
    (tmp_path / "link").symlink_to("it")
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "thesis.txt").write_text("years")
    (tmp_path / "file").write_text("mine")
    before = everything_below(tmp_path)
    for name in ("link", "papers", "file"):
        assert "only run directories can be replaced" in one_line(mobilenet(*words, name, place=tmp_path), 2)
    failed = mobilenet(*words, "it", "--set", "hosts.count=-1", place=tmp_path)
    assert failed.returncode == 2 and everything_below(tmp_path) == before


def test_verify_does_not_write_through_dangling_symlinks(mine: Path, tmp_path: Path) -> None:
    for name in ("verdict.json", "metrics.json"):
        (mine / name).unlink()
        (mine / name).symlink_to(tmp_path / f"elsewhere-{name}")
    done = mobilenet("verify", "it", place=tmp_path)
    assert done.returncode == 0 and done.stdout.count("a dangling symbolic link") == 2
    assert not list(tmp_path.glob("elsewhere*"))


@pytest.mark.parametrize("command", ["show --all", "diff"])
def test_markup_and_escape_sequences_are_printed_as_text(command: str, mine: Path, run: Path, tmp_path: Path) -> None:
    metrics = json.loads((mine / "metrics.json").read_text())
    (mine / "metrics.json").write_text(json.dumps(metrics | {"[red]x[/blue]\x1b[31m": 1.0}))
    done = mobilenet(*command.split(), "it", *([run] if command == "diff" else []), place=tmp_path)
    assert done.returncode == 0 and r"[red]x[/blue]\x1b[31m" in done.stdout and "\x1b" not in done.stdout


@pytest.mark.long
def test_a_matplotlibrc_in_the_current_folder_changes_no_figure(mine: Path, tmp_path: Path) -> None:
    assert in_a_process("figures", "it", "-o", "plain", "--format", "png", place=tmp_path).returncode == 0
    (tmp_path / "matplotlibrc").write_text("axes.facecolor: red\nlines.linewidth: 9\nsavefig.dpi: 10\nfont.size: 30\n")
    assert in_a_process("figures", "it", "-o", "other", "--format", "png", place=tmp_path).returncode == 0
    names = sorted(path.name for path in (tmp_path / "plain").iterdir())
    assert names and names == sorted(path.name for path in (tmp_path / "other").iterdir())
    for name in names:
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "other" / name).read_bytes(), name


def test_map_removes_partial_pictures_of_killed_commands(mine: Path, tmp_path: Path) -> None:
    (mine / ".partial-99999999.map.html").write_text("cut")
    assert mobilenet("map", "it", "-q", place=tmp_path).returncode == 0
    assert (mine / "map.html").is_file() and not list(mine.glob(".partial*"))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("check", FIRST, "--set", "wireless.range_m=1e-300"), "wireless.range_m: "),
        (("reference", "-o", "/proc/x.md"), "/proc/x.md: cannot be written: "),
        (("study", "nul.yaml", "--dry-run"), "its name contains a NUL character"),
        (("study", "long.yaml", "--dry-run"), "cannot be read: File name too long"),
    ],
)
def test_invalid_strings_in_files_are_reported_in_one_line(
    words: tuple[str | Path, ...], complaint: str, tmp_path: Path
) -> None:
    (tmp_path / "nul.yaml").write_text('scenario: "a\\0b.yaml"\nfactors: {wireless.loss: [0, 0.1]}\n')
    (tmp_path / "long.yaml").write_text(f"scenario: {'a' * 300}.yaml\nfactors: {{wireless.loss: [0, 0.1]}}\n")
    assert complaint in one_line(mobilenet(*words, place=tmp_path), 2)


def test_an_endless_gpx_attribute_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.gpx").write_text('<gpx a="' + "x" * 140_000)
    assert "internal" not in one_line(mobilenet("inspect-tracks", "x.gpx", place=tmp_path), 2)
    (tmp_path / "x.csv").write_text("t,id," + "x" * 140_000 + "\n")
    assert "internal" not in one_line(mobilenet("inspect-tracks", "x.csv", place=tmp_path), 2)
