"""Tests that archives have the right contents, that an archive made twice has identical bytes, and that some studies
cannot be archived.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from mobilenet.lab.artefact import assembly
from mobilenet.lab.artefact.archive import CHECKSUMS, open_archive
from mobilenet.lab.artefact.limits import MOST_RATIO
from mobilenet.lab.artefact.writer import write
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.store import Store
from mobilenet.lab.studies.table_files import read_rows, write_table
from mobilenet.record.stamp import commit
from tests.cli.command import everything_below, mobilenet
from tests.cli.test_printed_commands import follow
from tests.conftest import FIRST, ROOT
from tests.lab.studies.test_moved_studies import make

from .archives import make_loss, pack, refusal, unzip
from .validator import issues

TWO = f"""
scenario: {FIRST}
set: {{duration_s: 12}}
factors:
  what:
    - {{hosts.count: 3}}
    - {{hosts: {{mobility: {{model: tracks, file: {ROOT / "data/formats/walk.csv"}}}}}}}
replications: {{min: 2}}
compare: {{factor: what, baseline: {{hosts.count: 3}}, metrics: [broadcasts]}}
"""
DATE = ("--date", "2026-11-26")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_loss(tmp_path_factory.mktemp("studies"))


@pytest.fixture(scope="module")
def archive(study: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("archive")
    done = mobilenet("artefact", study.path, "-o", "loss.zip", "--title", "Loss | äö", *DATE, place=place)
    assert done.returncode == 0, done
    digest = sha256((place / "loss.zip").read_bytes()).hexdigest()
    assert done.stdout.splitlines()[0].endswith(f"MB; SHA-256 {digest}")
    assert done.stdout.splitlines()[-1] == "Next: mobilenet artefact check loss.zip"
    return place / "loss.zip"


def test_an_archive_contains_studies_tables_and_configurations(archive: Path, study: Store) -> None:
    files = unzip(archive)
    for name in ("study.yaml", "runs.csv", "tables/runs.csv", "tables/summary.parquet", "configurations/factors.yaml"):
        assert files[f"studies/loss/{name}"] == (study.path / name).read_bytes()
    assert {"studies/loss/configurations/c000/scenario.yaml", "studies/loss/figures/curve.svg"} <= files.keys()
    assert not any("/runs/" in name or "/measured/" in name for name in files)
    assert files["requirements.lock"] == (ROOT / "requirements.lock").read_bytes()
    text = files["README.md"].decode()
    assert text.startswith("# Loss | äö\n") and "1 study, 4 runs in all" in text
    assert "    mobilenet artefact check FILE.zip\n" in text and "--allow-code" not in text
    assert "`studies/NAME/`" in text and "`claims/NAME/`" not in text
    with open_archive(archive) as artefact:
        artefact.verify()
        assert artefact.digests == {name: sha256(data).hexdigest() for name, data in files.items()}
        assert artefact.made_by["mobilenet"] == "0.1.0"


def test_the_same_study_gives_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    """The archive is made a second time, from a study in another folder at a different depth."""
    place = tmp_path / "other" / "place"
    place.mkdir(parents=True)
    pack(tmp_path, make_loss(place).path, "--title", "Loss | äö", *DATE)
    assert (tmp_path / "x.zip").read_bytes() == archive.read_bytes()
    with zipfile.ZipFile(archive) as file:
        names = file.namelist()
        assert names == sorted(names) and {info.date_time[0] for info in file.infolist()} == {1980}


def test_artefact_redraws_figures_that_show_other_runs(archive: Path, study: Store, tmp_path: Path) -> None:
    own = tmp_path / "loss"
    shutil.copytree(study.path, own)
    assert mobilenet("figures", "loss", "--format", "png", place=tmp_path).returncode == 0
    assert "studies/loss/figures/curve.png" in pack(tmp_path, "loss")
    (own / "figures" / "old.svg").write_text("<svg/>")
    figures = {name for name in pack(tmp_path, "loss", archive="again.zip") if "/figures/" in name}
    assert figures == {name for name in unzip(archive) if "/figures/" in name}


def problems_with(crate: Path, level: str) -> list[tuple[str, str]]:
    (crate.parent / "place").mkdir()
    return issues(crate, crate.parent / "place", level)


@pytest.fixture
def crate(archive: Path, tmp_path: Path) -> Path:
    with zipfile.ZipFile(archive) as file:
        file.extractall(tmp_path / "crate")
    return tmp_path / "crate"


@pytest.mark.long
def test_the_ro_crate_validator_accepts_an_archive(crate: Path) -> None:
    """The archive meets every requirement of RO-Crate 1.3. It ignores some recommendations that only the authors can
    follow.
    """
    problems = problems_with(crate, "RECOMMENDED")
    assert all(severity == "RECOMMENDED" for severity, _ in problems)
    assert sorted(message.partition(" should")[0].partition(" SHOULD")[0] for _, message in problems) == [
        "A License entity", "The Root Data Entity",
    ]  # fmt: skip


@pytest.mark.long
def test_the_ro_crate_validator_finds_missing_metadata(crate: Path) -> None:
    """The validator reports a missing file, a missing date, and a context in which a key is missing."""
    metadata = crate / "ro-crate-metadata.json"
    metadata.write_text(metadata.read_text().replace('"datePublished"', '"dateOfNothing"'))
    messages = " ".join(message for _, message in problems_with(crate, "REQUIRED"))
    assert "datePublished" in messages and "dateOfNothing" in messages


def test_the_archive_metadata_describe_the_license(study: Store, tmp_path: Path) -> None:
    files = pack(tmp_path, study.path, "--license", "CC-BY-4.0")
    graph = json.loads(files["ro-crate-metadata.json"])["@graph"]
    entities = {one["@id"]: one for one in graph}
    assert entities["./"]["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert entities["https://spdx.org/licenses/CC-BY-4.0"]["name"] == "CC-BY-4.0"
    assert entities["./"]["datePublished"] >= "2026-01-01"


def test_an_archive_contains_the_files_that_scenarios_mention(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(TWO)
    make(Study.load(tmp_path / "two.yaml"), tmp_path / "two")
    walk = (ROOT / "data" / "formats" / "walk.csv").read_bytes()
    assert pack(tmp_path, "two")["studies/two/configurations/c001/walk.csv"] == walk


def test_artefact_rejects_what_cannot_be_archived(study: Store, tmp_path: Path) -> None:
    unfinished = tmp_path / "unfinished"
    shutil.copytree(study.path, unfinished)
    rows = read_rows(study.path, "runs")
    write_table(unfinished, "runs", [rows[0] | {"state": "planned"}, *rows[1:]])
    link = tmp_path / "link"
    shutil.copytree(study.path, link)
    (link / "configurations" / "c000" / "x.csv").symlink_to("/etc/passwd")
    search = tmp_path / "search"
    shutil.copytree(study.path, search)
    (search / "capacity.json").write_text("{}")
    both = tmp_path / "both"
    shutil.copytree(search, both)
    (both / "sensitivity.csv").write_text("")
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "claims.json").write_text('{"claims": []}')
    (tmp_path / "claims.yaml").write_text("claims: {a: {relation: no_violation, schedules: 1}}\n")
    (tmp_path / "empty").mkdir()
    before = everything_below(tmp_path)
    out = ("-o", "x.zip")
    for words, what in (
        (["unfinished", *out], "unfinished: 1 of 4 runs are missing; repeat the command that made it"),
        (["link", *out], "link/configurations/c000/x.csv: is a link"),
        (["search", *out], "search/capacity.csv: missing; repeat the command that made the directory"),
        (["both", *out], "both: contains the answers of two commands; expected one directory for each"),
        (["answers", *out], "answers: does not contain claims.yaml; run the `mobilenet claims` command again"),
        (["claims.yaml", *out], "does not contain its answers; run `mobilenet claims claims.yaml` first"),
        (["empty", *out], "empty: expected the directory of a study or of evaluated claims, or a claims file"),
        (["nowhere", *out], "nowhere: expected the directory"),
        ([str(study.path), str(study.path), *out], "has the same name as"),
        ([str(study.path)], "--out: missing"),
        ([str(study.path), "-o", "x.tar"], "x.tar: expected a name that ends in .zip"),
        ([str(study.path), *out, "--date", "soon"], "--date soon: expected a date such as 2026-11-26"),
        ([str(study.path), *out, "--allow-code"], "apply only to `mobilenet artefact check`"),
        (["check"], "expected one archive"),
        (["check", "x.zip", "--title", "x"], "do not apply to `mobilenet artefact check`"),
        (["check", "nowhere.zip"], "nowhere.zip: cannot be read: No such file or directory"),
    ):
        assert what in refusal(tmp_path, *words)
    assert everything_below(tmp_path) == before


SCHEDULES = "claims: {safe: {relation: no_violation, schedules: 2, protocol: best_effort, says: a | b}}\n"


def test_claims_about_schedules_need_no_spark(tmp_path: Path) -> None:
    """The test runs in this process. No step from the claims file to the check needs Spark."""
    (tmp_path / "safe.yaml").write_text(SCHEDULES)
    assert mobilenet("claims", "safe.yaml", "-q", place=tmp_path).returncode == 0
    assert follow(tmp_path, "artefact", "safe.yaml", "-o", "x.zip") == [["artefact", "check", "x.zip"]]
    text = unzip(tmp_path / "x.zip")["README.md"].decode()
    assert (
        "contains 1 claim, made with" in text
        and "| safe | a \\| b | holds | 0 | 0 to 0.7764 | 0 | 2 |" in text
        and "`studies/NAME/`" not in text
    )
    done = mobilenet("artefact", "check", "x.zip", "--out", "kept", place=tmp_path)
    assert done.returncode == 0 and "claims/safe-claims: safe  bit-identical  holds" in done.stdout, done
    assert done.stdout.splitlines()[-1].startswith("Next: unpack x.zip, and read README.md")
    kept, again = tmp_path / "studies" / "safe-claims", tmp_path / "kept" / "claims" / "safe-claims"
    assert (kept / "claims.json").read_bytes() == (again / "claims.json").read_bytes()
    assert "kept: exists and is not an empty directory" in refusal(tmp_path, "check", "x.zip", "--out", "kept")
    (tmp_path / "safe.yaml").write_text(SCHEDULES.replace("2", "3"))
    line = refusal(tmp_path, "safe.yaml", "-o", "y.zip")
    assert "safe.yaml: differs from studies/safe-claims/claims.yaml; run `mobilenet claims safe.yaml` again" in line


def test_without_a_clone_the_installed_packages_are_listed(
    study: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assembly, "PACKAGE", tmp_path / "site-packages" / "mobilenet")
    files = pack(tmp_path, study.path)
    assert "requirements.lock" not in files and b"\nnumpy==" in files["installed.txt"]
    assert "`installed.txt`" in files["README.md"].decode()


def test_archive_metadata_state_the_versions_behind_the_tables(
    study: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The versions that made the tables may differ from the versions that make the archive."""
    before = assembly.versions() | {"commit": "0123456789ab"}
    monkeypatch.setattr(assembly, "versions", lambda: before)
    pack(tmp_path, study.path)
    with open_archive(tmp_path / "x.zip") as artefact:
        assert artefact.made_by["commit"] == commit()


def test_an_archive_stores_highly_compressible_files_as_is(tmp_path: Path) -> None:
    """If such files were compressed, an archive could exceed the compression ratio that the check accepts."""
    write(tmp_path / "x.zip", {"zeros": b"0" * 1_000_000, "text": b"word " * 100}, {"mobilenet": "1"})
    with open_archive(tmp_path / "x.zip") as artefact:
        artefact.verify()
    with zipfile.ZipFile(tmp_path / "x.zip") as file:
        kinds = {info.filename: info.compress_type for info in file.infolist()}
    assert kinds["zeros"] == zipfile.ZIP_STORED and kinds["text"] == kinds[CHECKSUMS] == zipfile.ZIP_DEFLATED
    assert MOST_RATIO == 100
