"""Tests of runs that end with an error in a plug-in: the run reports when, where and why it failed, and keeps the
record until then.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.api import judge_anew
from mobilenet.lab.live.repetition import divergence
from mobilenet.lab.programs.children import LAST_WORDS
from mobilenet.lab.studies.configurations import PlannedRun
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.store import create
from mobilenet.lab.studies.task import perform_runs
from mobilenet.parameters import ScenarioError
from mobilenet.simulation.plugin_code import PluginError
from tests.cli.command import mobilenet as command
from tests.tools import editing

from .examples import edit

SMALL = ("duration_s=10", "hosts.count=8")
GOSSIP, COURIER, RING = "own_protocol/gossip", "own_protocol/courier", "own_protocol/ring"
HEARD = "if self.stable.member and rumour.id not in"
LATER = "self.port.now > 3 * 10**9"
FAILS_LATER = f"if {LATER}: raise RuntimeError('enough')\n        "


def run_to_error(scenario: Path, changes: tuple[str, ...] = SMALL) -> PluginError:
    with pytest.raises(PluginError) as caught:
        mobilenet.run(scenario, out=scenario.with_name("run"), overrides=changes, allow_code=True)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("example", "old", "new", "where"),
    [
        (GOSSIP, HEARD, FAILS_LATER.replace("if", "if sender != self.port.me and") + HEARD,
         r"in on_receive, at 3\.\d{6} s at h\d, handling Rumour from s\d"),
        (GOSSIP, "if rumour.id not in self.heard", FAILS_LATER + "if rumour.id not in self.heard",
         r"in on_receive, at 3\.\d{6} s at s\d, handling Rumour from h\d"),
        (GOSSIP, "self.heard.add(rumour.id)\n        for", FAILS_LATER + "self.heard.add(rumour.id)\n        for",
         r"in on_wired, at \d\.\d{6} s at s\d, handling Rumour from [sh]\d"),
        (GOSSIP, "if self.cell is not None:", FAILS_LATER + "if self.cell is not None:",
         r"in tell, at 3\.\d{6} s at h\d, handling a timer"),
        (GOSSIP, "rumour = Rumour(message, body)", FAILS_LATER + "rumour = Rumour(message, body)",
         r"in spread, at \d\.\d{6} s at h\d, handling a broadcast of its application"),
        (COURIER, "if parcel.id not in self.seen:", "if self.port.now > 3 * 10**9: raise RuntimeError('enough')\n"
         "        if parcel.id not in self.seen:", r"in on_message, at \d\.\d{6} s at s\d, handling Parcel"),
    ],
)  # fmt: skip
def test_a_plug_in_error_states_its_time_node_and_event(
    example: str, old: str, new: str, where: str, tmp_path: Path
) -> None:
    error = run_to_error(edit(tmp_path, example, old, new))
    name = Path(example).name
    assert re.match(rf"{tmp_path}/{name}.py:\d+: RuntimeError: enough \({where}; ", str(error)), error
    assert isinstance(error.__cause__, RuntimeError) and error.directory == tmp_path / "run"


def test_errors_of_processes_and_walkers_state_time_and_node(tmp_path: Path) -> None:
    ring = edit(tmp_path, RING, "if hop.id.source", f"if hop.id.ts: raise KeyError(hop)\n        {'if hop.id.source'}")
    assert re.search(r"at \d+\.\d{6} s at p\d+, handling Hop from p\d+", str(run_to_error(ring, ())))
    verdicts, *_ = judge_anew(tmp_path / "run")
    assert verdicts["record"].answer == "unknown" and {v.answer for v in verdicts.values()} == {"unknown"}
    (tmp_path / "walk").mkdir()
    walk = edit(tmp_path / "walk", "own_mobility/patrol", "while True:", "for _ in range(1):")
    text = walk.with_name("patrol.py").read_text(encoding="utf-8")
    walk.with_name("patrol.py").write_text(text.rstrip() + "\n        raise RuntimeError('lost')\n")
    assert re.search(
        r"at \d+\.\d{6} s at h\d, handling its next leg", str(run_to_error(walk, ("duration_s=200", "hosts.count=2")))
    )


EDITS_OF_THE_ERROR: list[Callable[[dict[str, Any]], Any]] = [
    lambda facts: facts.update(ended_by_error=f"{facts['ended_by_error']} and more"),
    lambda facts: facts.update(ended_by_error=f"a host cheated, see /{facts['ended_by_error']}"),
    lambda facts: facts.update(ended_by_error=f"{facts['ended_by_error']}{LAST_WORDS}the disk is full"),
    lambda facts: facts.pop("ended_by_error"),
]


@pytest.mark.lab
def test_the_record_before_a_plug_in_error_is_saved_as_unknown(tmp_path: Path) -> None:
    scenario = edit(tmp_path, GOSSIP, HEARD, FAILS_LATER + HEARD)
    options = [option for change in SMALL for option in ("--set", change)]
    done = command("run", scenario, "--allow-code", "--out", "run", *options, place=tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "the run up to that point is in run, marked as ended early" in done.stderr
    run = mobilenet.load(tmp_path / "run")
    assert run.manifest["ended_by_error"].startswith("gossip.py:") and 3 < run.manifest["simulated_s"] < 4
    assert run.verdict == "unknown" and run.metrics["window_s"] == run.manifest["simulated_s"]
    assert divergence(run.path, allow_code=True) is None  # the repeated run ends in the same way
    for number, edit_error in enumerate(EDITS_OF_THE_ERROR):
        edited = Path(shutil.copytree(run.path, tmp_path / f"edited-{number}"))
        with editing(edited / "manifest.json") as facts:
            edit_error(facts)
        (edited / "verdict.json").unlink()
        judge_anew(edited, allow_code=True)
        assert "manifest.json: ended_by_error: " in (divergence(edited, allow_code=True) or "")
    assert (run.events["event"] == "broadcast").sum() == run.metrics["broadcasts"] > 0
    assert command("show", "run", place=tmp_path).returncode == 0
    judged = command("verify", "run", place=tmp_path)
    assert judged.returncode == 4 and "the run ended early, at 3." in judged.stdout
    moment = re.search(r"at (\d\.\d{6}) s", done.stderr)[1]  # type: ignore[index]
    for words in (
        ("map", "run"),
        ("report", "run"),
        ("spacetime", "run", "--around", "2", "--host", "h3", "--allow-code"),
        ("spacetime", "run", "--around", moment, "--host", "h3", "--allow-code"),
        ("spacetime", "run", "--allow-code"),
        ("export", "run", "--csv"),
        ("export", "run", "--omnetpp"),
    ):
        process = command(*words, place=tmp_path)
        assert process.returncode == 0, f"{words}: {process.stderr}"
    assert list((tmp_path / "run").glob(f"spacetime-h*-{moment}.svg")), "the error is what to look at"


def test_a_violation_before_a_plug_in_error_is_reported(tmp_path: Path) -> None:
    twice = HEARD.replace("rumour.id not in", "True or rumour.id not in")
    run_to_error(edit(tmp_path, GOSSIP, HEARD, FAILS_LATER + twice))
    assert mobilenet.load(tmp_path / "run").verdicts["duplication"].answer == "violated"


def test_a_run_whose_plug_in_fails_at_the_start_leaves_nothing(tmp_path: Path) -> None:
    scenario = edit(tmp_path, GOSSIP, "self.heard: set[MessageId] = set()", "raise RuntimeError('no')")
    with pytest.raises(ScenarioError, match=r"gossip.py:\d+: RuntimeError: no"):
        mobilenet.run(scenario, out=tmp_path / "run", overrides=SMALL, allow_code=True)
    assert not (tmp_path / "run").exists()


def test_a_study_counts_a_run_with_a_plug_in_error_as_failed(tmp_path: Path) -> None:
    scenario = edit(tmp_path, GOSSIP, HEARD, FAILS_LATER + HEARD)
    (tmp_path / "study.yaml").write_text(f"scenario: {scenario.name}\nreplications: {{min: 2}}\n")
    store = create(Study.load(tmp_path / "study.yaml"), tmp_path / "study", allow_code=True)
    perform_runs(store.path, "terminating", [PlannedRun(0, 1, 1)])
    assert list(store.runs.iterdir()) == []
    note = json.loads((store.failed / "c000-r0001.json").read_text(encoding="utf-8"))
    assert re.search(r"/gossip.py:\d+: RuntimeError: enough", note["error"])
