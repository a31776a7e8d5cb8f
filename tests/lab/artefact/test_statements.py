"""Tests that a README, metadata and a report are rejected if they belong to another study or were edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from mobilenet.lab.artefact.assembly import make
from mobilenet.lab.artefact.comparison import Sameness
from mobilenet.lab.artefact.parts import CLAIMS, STUDIES, Part
from mobilenet.lab.artefact.statements import REPORTS, differing_reports, differing_statements, not_compared
from tests.cli.command import mobilenet

from .archives import compare_loss, unpack, versions_in

TEXT = "claims:\n  safe: {relation: no_violation, schedules: 2, protocol: best_effort}\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that contains answers and an archive of them."""
    place = tmp_path_factory.mktemp("statements")
    (place / "asked.yaml").write_text(TEXT)
    assert mobilenet("claims", "asked.yaml", "--out", "answers", "-q", place=place).returncode == 0
    make([place / "answers"], place / "x.zip", "A title", "CC-BY-4.0", "2026-11-26")
    return place


@pytest.fixture
def kept(made: Path, tmp_path: Path) -> Path:
    unpack(made / "x.zip", tmp_path)
    return tmp_path


def part(kept: Path) -> Part:
    return Part(CLAIMS, "answers", kept / "claims" / "answers")


def test_statements_of_an_unmodified_archive_agree(made: Path, kept: Path) -> None:
    assert differing_statements(kept, [part(kept)], versions_in(made / "x.zip")) == []
    assert differing_reports(part(kept), made / "answers") == []
    left = not_compared(kept, [part(kept)], True)
    assert left in (["requirements.lock"], ["installed.txt"])
    assert {"README.md", "ro-crate-metadata.json"} < set(not_compared(kept, [part(kept)], False))


@pytest.mark.parametrize("name", REPORTS)
def test_a_forged_report_of_claims_is_found(name: str, made: Path, kept: Path) -> None:
    path = kept / "claims" / "answers" / name
    path.write_bytes(path.read_bytes().replace(b"holds", b"fails"))
    (line,) = differing_reports(part(kept), made / "answers")
    assert (line.what, line.sameness) == (f"claims/answers/{name}", Sameness.DIFFERS)
    path.unlink()
    assert len(differing_reports(part(kept), made / "answers")) == 1


def test_a_forged_readme_in_an_archive_is_found(made: Path, kept: Path) -> None:
    """The forgery also invalidates the metadata, which contain the SHA-256 of the README."""
    path = kept / "README.md"
    path.write_text(path.read_text().replace("| holds |", "| does not hold |"))
    lines = differing_statements(kept, [part(kept)], versions_in(made / "x.zip"))
    assert [line.what for line in lines] == ["README.md", "ro-crate-metadata.json"]


@pytest.mark.parametrize("text", ["{}", "[", "[]", '{"@graph": [{"@id": "./"}]}', '{"@graph": [5]}'])
def test_forged_archive_metadata_is_detected(text: str, made: Path, kept: Path) -> None:
    (kept / "ro-crate-metadata.json").write_text(text)
    lines = differing_statements(kept, [part(kept)], versions_in(made / "x.zip"))
    assert [line.what for line in lines] == ["ro-crate-metadata.json"]
    assert {line.sameness for line in lines} == {Sameness.DIFFERS}


@pytest.mark.long
def test_a_forged_file_of_an_archived_study_is_reported(tmp_path: Path) -> None:
    """Even if the checksums of the file are corrected, the metadata describe another file."""
    compare_loss(tmp_path)
    make([tmp_path / "loss"], tmp_path / "x.zip", "A title", "CC-BY-4.0", "2026-11-26")
    kept = tmp_path / "kept"
    unpack(tmp_path / "x.zip", kept)
    own = Part(STUDIES, "loss", kept / "studies" / "loss")
    assert differing_statements(kept, [own], versions_in(tmp_path / "x.zip")) == []
    for name in ("comparison.csv", "comparison.json", "summary.csv"):
        (file, *_) = kept.rglob(name)
        right = file.read_bytes()
        file.write_bytes(right.replace(b"0", b"1"))
        (line,) = differing_statements(kept, [own], versions_in(tmp_path / "x.zip"))
        assert line.what == str(file.relative_to(kept)) and line.sameness is Sameness.DIFFERS
        file.write_bytes(right)
