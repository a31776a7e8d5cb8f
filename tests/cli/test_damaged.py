"""Tests that commands report a damaged run directory in lines of limited length, and never as an internal error.

A run can be damaged in a few hundred ways. Each damaged run is passed to one of the commands, which take turns.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from mobilenet import api
from mobilenet.cli.main import app
from mobilenet.record.soundness import fault

from .command import FIRST
from .damages import damages

LONGEST = 1000
COMMANDS: tuple[Callable[[str], list[str]], ...] = (
    lambda run: ["show", run],
    lambda run: ["verify", run],
    lambda run: ["map", run],
    lambda run: ["diff", run, f"{run}/../whole"],
    lambda run: ["export", run, "--csv"],
    lambda run: ["spacetime", run],
    lambda run: ["export", run, "--geojson", "--origin", "0,0"],
    lambda run: ["export", run, "--shiviz"],
    lambda run: ["export", run, "--omnetpp"],
    lambda run: ["compare", run],
)
DRAWING: tuple[Callable[[str], list[str]], ...] = (lambda run: ["figures", run], lambda run: ["report", run])
# Drawing takes seconds, so these commands are tested with only one damaged run in 25.
DRAWN = 25
PART = 8  # The damaged runs are divided among eight tests.
THIN = 3  # One damaged run in three is tested. MOBILENET_ALL_DAMAGES=1 tests all of them.


SOUND = {
    "first.yaml": ("duration_s=3",),
    "own_tracks.yaml": ("duration_s=20", "warmup_s=0"),
    "vcube/bundling.yaml": ("processes=8",),
    "by_hand.yaml": (),
}


@pytest.mark.parametrize("name", SOUND)
def test_reading_an_intact_run_reports_no_fault(name: str, tmp_path: Path) -> None:
    api.run(FIRST.parent / name, out=tmp_path / "run", overrides=SOUND[name])
    assert fault(tmp_path / "run") is None


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs") / "whole"
    api.run(FIRST, overrides=["duration_s=12"], out=place)
    return place


def wrong(words: list[str], capsys: pytest.CaptureFixture[str]) -> str | None:
    """Return a description of what is wrong with the exit code or output of a command, or None."""
    try:
        code = app(words, standalone_mode=False)
    except BaseException as error:
        return f"raised {error!r}"
    output = "".join(capsys.readouterr())
    if code == 3 or "internal error" in output or "Traceback" in output:
        return f"exit {code}: {output[:300]}"
    if "\x1b" in output:
        return f"a raw escape: {output[:300]!r}"
    longest = max((len(line) for line in output.splitlines()), default=0)
    return f"a line of {longest} characters: {output[:300]}" if longest > LONGEST else None


@pytest.mark.long
@pytest.mark.parametrize("part", range(PART))
def test_commands_report_every_damage_to_a_run_directory(
    part: int, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problems = []
    for number, (name, spoil) in islice(
        enumerate(damages(whole)), part, None, PART * (1 if os.environ.get("MOBILENET_ALL_DAMAGES") else THIN)
    ):
        commands = [COMMANDS[(number + number // len(COMMANDS)) % len(COMMANDS)]]
        if number % DRAWN == 0:
            commands.append(DRAWING[number // DRAWN % 2])
        for words in commands:
            with tempfile.TemporaryDirectory(dir=whole.parent) as folder:
                run = Path(folder, "run")
                shutil.copytree(whole, run)
                (Path(folder) / "whole").symlink_to(whole)
                spoil(run)
                if problem := wrong(words(str(run)), capsys):
                    problems.append(f"{' '.join(words('RUN'))} after {name}: {problem}")
    assert problems == []
