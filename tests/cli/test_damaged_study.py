"""Tests that commands report a damaged study directory in one line or rebuild the damaged file, and never fail with an
internal error.

A study can be damaged in more than a thousand ways. The tests cover a sample of them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mobilenet.cli.main import app
from mobilenet.lab.studies import study as studies
from mobilenet.lab.studies.spark import local_master, spark_session
from mobilenet.lab.studies.study import run_study
from tests.tools import editing

from .command import FIRST
from .study_damages import study_damages
from .test_damaged import wrong

pytestmark = pytest.mark.spark

COMMANDS: tuple[Callable[[str], list[str]], ...] = (
    lambda study: ["show", study],
    lambda study: ["verify", study],
    lambda study: ["compare", study],
    lambda study: ["compare", study, "--json"],
    lambda study: ["report", study],
    lambda study: ["figures", study, "--format", "svg"],
    lambda study: ["export", study, "--csv"],
    lambda study: ["export", study, "--omnetpp"],
)
REFUSING: tuple[Callable[[str], list[str]], ...] = tuple(
    lambda study, command=command: [command, study]  # type: ignore[misc]
    for command in ("map", "spacetime")
)
ALL = bool(os.environ.get("MOBILENET_ALL_DAMAGES"))
THIN = 1 if ALL else 24
AGAIN = 1 if ALL else 110  # Resuming the study takes seconds, so it is tested with only one damaged study in 110.
STUDY = f"""scenario: {FIRST}
set: {{duration_s: 12, warmup_s: 0}}
factors: {{wireless.loss: [0, 0.2]}}
replications: {{min: 2}}
compare: {{factor: wireless.loss, baseline: 0, metrics: [delivery_delay_mean_s]}}
"""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with spark_session(local_master(1)) as session:
        yield session


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("studies")
    (place / "small.yaml").write_text(STUDY)
    run_study(place / "small.yaml", place / "whole", spark, lambda standing: None)
    return place / "whole"


def first_refusal(
    whole: Path, spoil: Callable[[Path], None], words: Callable[[str], list[str]], capsys: object
) -> str | None:
    with tempfile.TemporaryDirectory(dir=whole.parent) as folder:
        study = Path(folder, "study")
        shutil.copytree(whole, study)
        spoil(study)
        return wrong(words(str(study)), capsys)  # type: ignore[arg-type]


def test_commands_report_every_damage_to_a_study_directory(
    whole: Path, unpainted: None, capsys: pytest.CaptureFixture[str]
) -> None:
    problems = []
    for number, (name, spoil) in islice(enumerate(study_damages(whole)), 0, None, THIN):
        commands = COMMANDS if ALL else COMMANDS[number // THIN % len(COMMANDS) :][:1]
        for words in commands:
            if problem := first_refusal(whole, spoil, words, capsys):
                problems.append(f"{' '.join(words('STUDY'))} after {name}: {problem}")
    assert problems == []


def test_a_study_resumes_after_every_kind_of_damage(
    whole: Path,
    spark: SparkSession,
    unpainted: None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(studies, "spark_session", lambda master: nullcontext(spark))
    file = str(whole.parent / "small.yaml")
    problems = []
    for name, spoil in islice(study_damages(whole), 7, None, AGAIN):
        if problem := first_refusal(whole, spoil, lambda study: ["study", file, "--out", study, "--quiet"], capsys):
            problems.append(f"after {name}: {problem}")
    assert problems == []


def test_verify_lists_runs_of_a_study_that_differ_or_are_damaged(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study"
    shutil.copytree(whole, study)
    damaged, edited, *_ = sorted((study / "runs").iterdir())
    (damaged / "verdict.json").write_bytes(b"")
    assert app(["verify", str(study), "--quiet"], standalone_mode=False) == 2
    assert f"damaged: {damaged}/verdict.json" in capsys.readouterr().out
    with editing(edited / "manifest.json") as facts:
        facts["skipped_tracks"] = 3
    assert app(["verify", str(study), "--repeat", "--quiet"], standalone_mode=False) == 1
    assert f"not the same when repeated: {edited}\n" in capsys.readouterr().out


@pytest.mark.parametrize("words", REFUSING)
def test_commands_that_read_a_run_point_from_a_study_to_its_runs(
    words: Callable[[str], list[str]], whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app(words(str(whole)), standalone_mode=False) == 2
    assert "is a study, expected a run directory; the runs of the study are in" in capsys.readouterr().err
