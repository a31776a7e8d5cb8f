"""Tests that --check-simulator reports faults that are planted in the simulator, accepts correct runs, and does not
change the record.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mobilenet
from mobilenet.api import simulate
from mobilenet.scenario import load_scenario
from mobilenet.simulation.invariants.fault import SimulatorFault
from mobilenet.simulation.movement import Movement
from tests.cli.command import mobilenet as call
from tests.conftest import FIRST, ROOT, SCENARIOS

from .simulator_mutants import MUTANTS, WORLDS, with_edit

VCUBE = "stations.backbone={kind: %s, shape: full_mesh}"
SOUND: dict[str, tuple[str, list[str]]] = {
    "disk": ("dynamic.yaml", ["duration_s=6", "warmup_s=0", "hosts.count=30"]),
    "capture": ("first.yaml", ["duration_s=3", "hosts.count=20", "wireless={capture_db: 10}"]),
    "fading": ("first.yaml", ["duration_s=3", "wireless={model: sinr, fading: {model: nakagami}}"]),
    "shadowing": ("first.yaml", ["duration_s=3", "wireless={model: sinr, shadowing: {sigma_db: 4}}"]),
    "acking": ("paper/static.yaml", ["duration_s=2", "warmup_s=0", "hosts.count=20"]),
    "half_duplex": ("paper/dynamic.yaml", ["duration_s=2", "warmup_s=0", "wireless.full_duplex=false"]),
    "tcp": ("tcp_dynamic.yaml", ["duration_s=3", "warmup_s=0", "hosts.count=20"]),
    "by_hand": ("by_hand.yaml", []),
    "cut_and_off": ("cut_and_off.yaml", []),
    "churn": ("churn.yaml", ["duration_s=8", "warmup_s=0", "hosts.count=20"]),
    "vcube_best_effort": ("first.yaml", ["duration_s=5", VCUBE % "vcube_best_effort"]),
    "vcube_reliable": ("first.yaml", ["duration_s=5", VCUBE % "vcube_reliable"]),
    "bundling": ("vcube/bundling.yaml", []),
    "causal_reliable": ("vcube/causal_reliable.yaml", []),
    **{name: world for name, world in WORLDS.items() if name not in ("crowd", "disk", "sinr")},
}


@pytest.fixture(scope="module")
def reports() -> dict[str, str | None]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation.simulator_mutants"],
        env=os.environ | {"MOBILENET_COMPILED": "0"}, cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("name", MUTANTS)
def test_check_simulator_detects_each_simulator_mutant(name: str, reports: dict[str, str | None]) -> None:
    report = reports[name]
    assert report is not None and report.startswith("at ") and MUTANTS[name].reports in report


@pytest.mark.parametrize("name", SOUND)
def test_check_simulator_does_not_change_a_correct_run(name: str) -> None:
    file, overrides = SOUND[name]
    plain, watched = (
        simulate(load_scenario(SCENARIOS / file, overrides), check_simulator=checks).recording
        for checks in (False, True)
    )
    assert watched.fingerprint() == plain.fingerprint()
    assert watched.counters == plain.counters


def test_check_simulator_does_not_change_the_files_of_a_run(tmp_path: Path) -> None:
    overrides = ["duration_s=4", "record.frames=true", "record.messages=true", "record.causes=true"]
    plain, watched = (
        mobilenet.run(FIRST, out=tmp_path / name / "run", overrides=overrides, check_simulator=name == "watched")
        for name in ("plain", "watched")
    )
    times = ("wall_s", "manifest_sha256", "created", "started")
    assert watched.manifest["files"] == plain.manifest["files"]
    assert {key: value for key, value in watched.manifest.items() if key not in times} == {
        key: value for key, value in plain.manifest.items() if key not in times
    }


def test_a_simulator_fault_is_reported_and_no_run_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS["walks_too_fast"]
    monkeypatch.setattr(Movement, mutant.function, with_edit(Movement._walk, mutant.old, mutant.new))
    words = ("run", str(FIRST), "--set", "duration_s=3", "--out", "run")
    done = call(*words, "--check-simulator", place=tmp_path)
    assert done.returncode == 3 and list(tmp_path.iterdir()) == []
    assert mutant.reports in done.stderr and "please report it with" in done.stderr
    assert call(*words, place=tmp_path).returncode == 0
    with pytest.raises(SimulatorFault, match=f"{mutant.reports}.*; this is a bug in mobilenet"):
        mobilenet.run(FIRST, out=tmp_path / "another", overrides=["duration_s=3"], check_simulator=True)


def test_the_run_help_hides_the_check_simulator_option(tmp_path: Path) -> None:
    assert "--check-simulator" not in call("run", "--help", place=tmp_path).stdout
