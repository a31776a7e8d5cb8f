"""`mobilenet verify --repeat` finds what no check of the record can find: the run is repeated and compared.

Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import mobilenet
from mobilenet.cli.main import app
from mobilenet.replay.comparison import difference
from mobilenet.rundir.reader import RunError
from mobilenet.scenario import Scenario
from mobilenet.swarm.campaign import record_adversary
from mobilenet.swarm.schedule import draw
from mobilenet.verify import verify_run
from mobilenet.verify.judge import overall
from tests.conftest import SCENARIOS

from .damage import SCENARIO, Copy


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("repeat") / "run"
    mobilenet.run(Scenario.from_text(SCENARIO, ["record={messages: true, frames: true}"]), out=path)
    return path


def _late(copy: Copy) -> str:
    """What no check of the record finds: it arrives within the longest propagation delay."""
    row = copy.messages.where(kind="AckH", fate="received")[0]
    copy.messages.receive_ns[row] += 1
    return f"messages: row {row} has receive_ns"


def _fewer_rows(copy: Copy) -> str:
    for column in copy.samples.values():
        column.pop()
    return "samples: "


def _counter(copy: Copy) -> str:
    copy.counters["radio"]["queue_drops"] += 1
    return "counters.json: radio: queue_drops: 1, the repeat has 0"


def _fact(copy: Copy) -> str:
    copy.manifest["skipped_tracks"] = 3
    return "manifest.json: skipped_tracks: 3, the repeat has 0"


@pytest.mark.parametrize("edit", [_late, _fewer_rows, _counter, _fact])
def test_every_edit_is_found(edit: object, whole: Path, tmp_path: Path) -> None:
    assert callable(edit)
    copy = Copy(whole, tmp_path / "copy")
    found = edit(copy)
    copy.save()
    assert (difference(copy.path) or "").startswith(found)


def test_the_command_calls_it_violated(whole: Path, tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["verify", str(whole), "--repeat"]).exit_code == 0
    copy = Copy(whole, tmp_path / "copy")
    _late(copy)
    copy.save()
    assert overall(verify_run(copy.path)) == "valid"
    told = CliRunner().invoke(app, ["verify", str(copy.path), "--repeat"])
    assert told.exit_code == 1 and "a new run of its scenario differs: messages: row" in told.output


def test_a_run_of_processes_is_repeated(tmp_path: Path) -> None:
    path = mobilenet.run(SCENARIOS / "vcube" / "reliable.yaml", out=tmp_path / "run").path
    assert difference(path) is None


def test_what_cannot_be_repeated_is_refused(whole: Path, tmp_path: Path) -> None:
    drawn = tmp_path / "drawn"
    drawn.mkdir()
    record_adversary(draw(4), drawn)
    with pytest.raises(RunError, match="drawn by the swarm, which repeats it: mobilenet swarm --count 1 --seed 4"):
        difference(drawn)
    copy = Copy(whole, tmp_path / "copy")
    copy.manifest["ended_by_error"] = "stopped by hand at 5 s"
    copy.save()
    with pytest.raises(RunError, match="stopped by hand"):
        difference(copy.path)
