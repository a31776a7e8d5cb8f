"""Tests that archives are reproduced on a real Spark, even with an empty home directory and without the settings of
this environment.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from mobilenet.lab.artefact.archive import open_archive
from mobilenet.lab.artefact.writer import write
from mobilenet.record.provenance import read_provenance
from tests.cli.command import COMMAND, everything_below, mobilenet
from tests.conftest import FIRST, ROOT

from .archives import compare_loss, make_gossip, pack, refusal, unzip, versions_in, zip_files

pytestmark = [pytest.mark.spark, pytest.mark.long]

CLAIMS = """\
name: Loss
rare: 0.5
experiments:
  loss:
    scenario: first.yaml
    factors: {wireless.loss: [0, {label: some, value: 0.05}]}
    set: {duration_s: 3}
  one: {scenario: first.yaml, first_seed: 9, set: {duration_s: 3}}
claims:
  few: {relation: within, metric: broadcasts, value: {experiment: one}, at_most: 1000}
  same:
    says: A few lost frames hardly change the number of broadcasts.
    relation: ratio
    metric: broadcasts
    value: {experiment: loss, at: {wireless.loss: some}}
    to: {experiment: loss, at: {wireless.loss: 0}}
    at_least: 0.5
    at_most: 1.5
  safe: {relation: no_violation, schedules: 4, protocol: best_effort}
"""
OURS = (
    "studies/loss", "claims/answers/loss", "claims/answers/one", "claims/answers: few", "claims/answers: same",
    "claims/answers: safe",
)  # fmt: skip
THEIRS = "studies/gossip"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder with a study, evaluated claims, a study with a plug-in, and archives of all three."""
    place = tmp_path_factory.mktemp("made")
    shutil.copy(FIRST, place / "first.yaml")
    (place / "claims.yaml").write_text(CLAIMS)
    done = mobilenet("claims", "claims.yaml", "--workers", "2", "--out", "answers", "-q", place=place)
    assert done.returncode == 0, done
    compare_loss(place)
    make_gossip(place)
    pack(place, "gossip", "answers", "loss", archive="all.zip")
    pack(place, "answers", "loss", archive="ours.zip")
    return place


def bare(place: Path, *words: str | Path, clone: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in an empty folder below `place`, with an empty home directory and without the settings of this
    environment. If `clone` is given, the command uses the package in that clone.
    """
    (place / "home").mkdir(exist_ok=True)
    kept = {name: text for name, text in os.environ.items() if name in ("PATH", "JAVA_HOME", "LANG")}
    env = kept | {"HOME": str(place / "home"), "TMPDIR": str(place / "temporary")}
    env |= {} if clone is None else {"PYTHONPATH": str(clone)}
    words = ("artefact", "check", *words, "--workers", "2")
    with leaving_nothing(place) as work:
        return subprocess.run(
            [*COMMAND, *words], cwd=work, env=env, capture_output=True, text=True, timeout=560, check=False
        )


def here(place: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command in this process, with the Spark context of the other tests."""
    with leaving_nothing(place) as work, mock.patch.object(tempfile, "tempdir", str(place / "temporary")):
        return mobilenet("artefact", "check", *words, "--workers", "2", place=work)


@contextmanager
def leaving_nothing(place: Path) -> Iterator[Path]:
    """Yield an empty folder below `place`, and check afterwards that no files or temporary folders remain."""
    for name in ("work", "temporary"):
        (place / name).mkdir(exist_ok=True)
    yield place / "work"
    assert everything_below(place / "work") == []
    assert not [name for name in everything_below(place / "temporary") if "artefact" in name]


def comes_out(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Parse the printed table into a dictionary that maps each study or claim to its result."""
    lines = [
        line for line in done.stdout.splitlines() if line.startswith(("studies/", "claims/")) and "again" not in line
    ]
    return {what: rest.strip() for line in lines for what, _, rest in [line.partition("  ")]}


@pytest.fixture
def clone(tmp_path: Path) -> Path | None:
    """Clone the last commit without compiling or installing it. Return None if the tests do not run in a Git clone."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return None
    subprocess.run(["git", "clone", "-q", ROOT, tmp_path / "clone"], check=True, timeout=120)
    return tmp_path / "clone"


@pytest.mark.timeout(600)
def test_an_archive_is_reproduced_exactly_in_another_clone(place: Path, clone: Path | None, tmp_path: Path) -> None:
    """Without permission to run code, the study with a plug-in is skipped."""
    done = bare(tmp_path, place / "all.zip", clone=clone)
    outcomes = comes_out(done)
    assert done.returncode == 4, done
    own = (*OURS, "claims/answers/loss", "claims/answers/one")
    assert all(outcomes[what].startswith("bit-identical") for what in own)
    assert outcomes[THEIRS].startswith("not run")
    assert "needs --allow-code, as it runs gossip.py:Gossip" in outcomes[THEIRS]
    assert done.stdout.splitlines()[-1].endswith("all.zip --allow-code")
    # The compiled files show that the code of the clone ran.
    assert clone is None or any(clone.rglob("simulation/__pycache__/*.pyc"))


def test_an_archive_with_code_is_reproduced_if_code_is_allowed(place: Path, tmp_path: Path) -> None:
    text = pack(tmp_path, place / "gossip")["README.md"].decode()
    assert "gossip.py:Gossip" in text and "--allow-code" in text
    done = here(tmp_path, tmp_path / "x.zip", "--allow-code")
    assert done.returncode == 0 and comes_out(done)[THEIRS].startswith("bit-identical"), done


def test_commands_in_archived_answers_omit_private_folders(place: Path) -> None:
    files = unzip(place / "ours.zip")
    rows = json.loads(files["claims/answers/claims.json"])["claims"]
    report = "mobilenet report CLAIMS"
    assert [row["command"] for row in rows[:2]] == [f"{report}/one", f"{report}/loss"]
    assert f"{report}/one".encode() in files["claims/answers/claims.csv"] and b"report answers/" not in b"".join(
        files[f"claims/answers/claims.{suffix}"] for suffix in ("csv", "md", "json", "parquet")
    )
    assert "| same | A few lost frames" in files["README.md"].decode()


def test_answers_keep_their_provenance(place: Path, tmp_path: Path) -> None:
    files = unzip(place / "ours.zip")
    for name in ("claims.parquet", "claims.json", "claims.md"):
        (tmp_path / name).write_bytes(files[f"claims/answers/{name}"])
        provenance = read_provenance(tmp_path / name)
        assert provenance is not None and provenance == read_provenance(place / "answers" / name)


def test_a_modified_file_in_an_archive_is_rejected(place: Path, tmp_path: Path) -> None:
    files = unzip(place / "ours.zip")
    right = files["claims/answers/claims.json"]
    with open_archive(place / "ours.zip") as artefact:
        digests = artefact.digests
    files["claims/answers/claims.json"] = right.replace(b'"holds"', b'"fails"')
    zip_files(tmp_path / "x.zip", files, listed={"files": digests})
    assert (
        refusal(tmp_path)
        == "x.zip: claims/answers/claims.json is not the file that checksums.json names: its SHA-256 differs"
    )


def test_reproduction_detects_a_forged_answer(place: Path, tmp_path: Path) -> None:
    """The checksums are correct, but an answer, a table and the scenario of a study are forged."""
    files = unzip(place / "ours.zip")
    document = json.loads(files["claims/answers/claims.json"])
    document["claims"][1]["answer"] = "does not hold"
    files["claims/answers/claims.json"] = json.dumps(document).encode()
    table = files["studies/loss/tables/summary.csv"].decode().splitlines()
    files["studies/loss/tables/summary.csv"] = "\n".join([*table[:-1], ""]).encode()
    name = "claims/answers/one/configurations/c000/scenario.yaml"
    files[name] = files[name].replace(b"duration_s: 3", b"duration_s: 4")
    write(tmp_path / "x.zip", files, versions_in(place / "ours.zip"))
    done = here(tmp_path, tmp_path / "x.zip")
    lines = comes_out(done)
    assert done.returncode == 1, done
    assert lines["claims/answers: same"].startswith("differs") and "holds here, does not hold in" in done.stdout
    assert lines["studies/loss"].startswith("differs") and "tables/summary.csv: " in lines["studies/loss"]
    assert lines["claims/answers/one"].startswith("differs")
    assert lines["claims/answers/loss"].startswith("bit-identical")
