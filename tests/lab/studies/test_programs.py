"""Tests of studies of programs on Spark. They work like studies of other protocols, and report a program that is
missing on a worker.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.batch import missing
from mobilenet.parameters import ScenarioError
from tests.conftest import SCENARIOS
from tests.lab.studies.directories import run

pytestmark = pytest.mark.spark

PROGRAMS = SCENARIOS / "programs"


def a_study(folder: Path, command: str, scenario: str = "flood.yaml") -> Path:
    shutil.copytree(PROGRAMS, folder / "programs")
    file = folder / "study.yaml"
    file.write_text(
        f"scenario: programs/{scenario}\nset: {{duration_s: 4, protocol.command: {command}}}\n"
        "replications: {min: 2}\n"
        "factors: {wireless.loss: [0, 0.2]}\n"
    )
    return file


def test_studies_support_programs(tmp_path: Path) -> None:
    study = a_study(tmp_path, f"[{sys.executable}, flood.py]")
    with pytest.raises(ScenarioError, match="pass --allow-code"):
        run(study, tmp_path / "out")
    result = run(study, tmp_path / "out", allow_code=True)
    assert (result.done, result.failed, result.violated) == (4, [], [])


def test_a_study_immediately_reports_programs_missing_on_workers(tmp_path: Path) -> None:
    study = a_study(tmp_path, "[no-such-language, flood.py]")
    with pytest.raises(
        StudyError, match=r"protocol.command: there is no no-such-language on .*; expected the programs"
    ):
        run(study, tmp_path / "out", allow_code=True)
    assert not list((tmp_path / "out" / "runs").iterdir())


def test_a_study_lists_program_files_missing_on_workers(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    there, gone = str(tmp_path / "there"), str(tmp_path / "gone")
    (lacking,) = missing(["python3", there, gone], [None])  # The check runs as a single task.
    (problem,) = lacking.column("what").to_pylist()
    assert problem.startswith(f"there is no {gone} on ")


def test_a_study_of_real_time_programs_is_rejected(tmp_path: Path) -> None:
    study = a_study(tmp_path, "[python3, udp_flood.py]", "udp.yaml")
    with pytest.raises(
        ScenarioError, match="its programs run in real time, where no two runs are the same, so it cannot be studied"
    ):
        run(study, tmp_path / "out", allow_code=True)
