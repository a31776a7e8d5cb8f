"""Tests that a call of `figures` writes either all its files or none, and removes the files that a killed call has left
behind.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from mobilenet import api
from mobilenet.cli.main import app

from .command import FIRST


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("figures") / "run"
    api.run(FIRST, overrides=["duration_s=5"], out=place)
    return place


def figures(run: Path, folder: Path, *more: str) -> int:
    return int(app(["figures", str(run), "--format", "svg", "-o", str(folder), *more], standalone_mode=False) or 0)


def below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("is_there", [False, True])
def test_a_killed_figures_command_keeps_the_previous_figures(
    is_there: bool, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    painted: list[str] = []

    def paint(figure: Figure, name: Path, **options: object) -> None:
        painted.append(name.name)
        name.write_text("new")
        if len(painted) == 3 and os.getpid() != ours:
            os.kill(os.getpid(), signal.SIGKILL)

    ours = os.getpid()
    monkeypatch.setattr(Figure, "savefig", paint)
    folder = tmp_path / "figures"
    if is_there:
        folder.mkdir()
        (folder / "delays.svg").write_text("old")
        (folder / "mine.txt").write_text("mine")
    before = below(folder)
    child = os.fork()
    if child == 0:
        figures(run, folder)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert folder.exists() == is_there
    assert {name: data for name, data in below(folder).items() if ".partial-" not in name} == before
    assert figures(run, folder, "--plain") == 0
    assert below(tmp_path).keys() == {f"figures/{name}" for name in below(folder)}
    assert list(tmp_path.rglob(".partial-*")) == []
    assert (folder / "delays.svg").read_text() == "new" and (folder / "captions.txt").is_file()
    assert (folder / "mine.txt").exists() == is_there


def test_figures_leave_no_files_if_the_disk_fills_up(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    painted: list[Path] = []

    def paint(figure: Figure, name: Path, **options: object) -> None:
        painted.append(name)
        name.write_text("new")
        if len(painted) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", paint)
    assert figures(run, tmp_path / "a" / "b") == 3
    complaint = capsys.readouterr().err
    assert (
        complaint.startswith(f"{tmp_path / 'a' / 'b'}") and ".partial" not in complaint and complaint.count("\n") == 1
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("width", ["nan", "inf", "-1", "0", "1e9", "wide"])
def test_figures_rejects_impossible_widths(width: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert figures(run, run / "never", "--width", width) == 2
    complaint = capsys.readouterr().err
    assert "--width" in complaint and complaint.count("\n") == 1 and not (run / "never").exists()
