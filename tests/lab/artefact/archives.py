"""Build archives for tests, either with the command or as small valid or invalid files with arbitrary content."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mobilenet.lab.artefact.archive import CHECKSUMS
from mobilenet.lab.artefact.assembly import versions
from mobilenet.lab.artefact.writer import checksums
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.store import Store
from tests.cli.command import mobilenet, one_line
from tests.conftest import FIRST, SCENARIOS
from tests.lab.studies.test_moved_studies import make

FILES = {"README.md": b"# A study\n", "studies/a/study.yaml": b"scenario: configurations/c000/scenario.yaml\n"}
LOSS = {
    "scenario": str(FIRST), "set": {"duration_s": 4}, "factors": {"wireless.loss": [0, 0.2]}, "replications": {"min": 2}
}  # fmt: skip
COMPARE = {"factor": "wireless.loss", "baseline": 0, "metrics": ["broadcasts"]}
GOSSIP = {"scenario": "gossip.yaml", "set": {"duration_s": 4}, "replications": {"min": 2}}


def make_loss(place: Path) -> Store:
    return make(Study.of(LOSS, place, "loss"), place / "loss")


def compare_loss(place: Path) -> None:
    make(Study.of(LOSS | {"compare": COMPARE}, place, "loss"), place / "loss")
    assert mobilenet("compare", "loss", place=place).returncode == 0


def make_gossip(place: Path) -> None:
    make(Study.of(GOSSIP, SCENARIOS / "own_protocol", "gossip"), place / "gossip")


def pack(place: Path, *words: str | Path, archive: str = "x.zip") -> dict[str, bytes]:
    """Make an archive with the command, and return the files in it."""
    done = mobilenet("artefact", *words, "-o", archive, place=place)
    assert done.returncode == 0, done
    return unzip(place / archive)


def refusal(place: Path, *words: str | Path) -> str:
    """Return the error line that the command prints when it rejects an archive, by default `x.zip`."""
    return one_line(mobilenet("artefact", *(words or ("check", "x.zip")), place=place), 2)


def unpack(archive: Path, folder: Path) -> None:
    for name, data in unzip(archive).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def versions_in(archive: Path) -> dict[str, Any]:
    with zipfile.ZipFile(archive) as file:
        return dict(json.loads(file.read(CHECKSUMS))["made_by"])


def zip_files(
    target: Path,
    files: Mapping[str, bytes] = FILES,
    more: Mapping[str, bytes] | None = None,
    listed: Mapping[str, Any] | None = None,
) -> Path:
    """Write an archive that contains `files` with correct checksums, followed by `more`. `listed` replaces parts of the
    file list.
    """
    document = json.loads(checksums(files, versions())) | (listed or {})
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in {**files, CHECKSUMS: json.dumps(document).encode(), **(more or {})}.items():
            file.writestr(name, data)
    return target


def unzip(path: Path) -> dict[str, bytes]:
    """Return all files in the archive except checksums.json."""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist() if name != CHECKSUMS}
