"""Identify the parts of an archive, which are studies and evaluated claims, by the files in their directories.

Errors    ArtefactError for a path that is neither a study nor claims, or for claims without answers. ScenarioError for
          an invalid claims file.
Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mobilenet.lab.artefact import ArtefactError
from mobilenet.lab.studies.claims.declaration import Claims
from mobilenet.lab.studies.claims.evaluation import KEPT, MARK, default_directory
from mobilenet.quoting import as_file_name, quote

STUDIES, CLAIMS = "studies", "claims"  # their folders in the archive


class Part(NamedTuple):
    """A part of an archive: a directory with a study, which may belong to a search, or with evaluated claims."""

    kind: str  # STUDIES or CLAIMS
    name: str
    path: Path

    @property
    def place(self) -> str:
        """The folder of the part within the archive."""
        return f"{self.kind}/{self.name}"


def parts_of(paths: Sequence[Path]) -> list[Part]:
    """Return the parts at these paths, in the order of the archive. Raise ArtefactError for any other path."""
    parts: dict[str, Part] = {}
    for path in paths:
        part = _part(path)
        if part.place in parts:
            what = f"{path}: has the same name as {parts[part.place].path}; rename one of the directories"
            raise ArtefactError(what)
        parts[part.place] = part
    return [parts[place] for place in sorted(parts)]


def _part(path: Path) -> Part:
    if path.is_file():
        path = _answers_of(path)
    name = as_file_name(path.resolve().name) or "study"
    if (path / MARK).is_file():
        return Part(CLAIMS, name, path)
    if (path / "study.yaml").is_file():
        return Part(STUDIES, name, path)
    raise ArtefactError(f"{path}: expected the directory of a study or of evaluated claims, or a claims file")


def _answers_of(file: Path) -> Path:
    """Return the directory with the answers to a claims file."""
    claims, place = Claims.load(file), default_directory(file)
    if not (place / KEPT).is_file():
        what = f"{place} does not contain its answers; run `mobilenet claims {quote(file)}` first"
        raise ArtefactError(f"{file}: {what}")
    stored_claims = Claims.load(place / KEPT)
    if (place / KEPT).read_text(encoding="utf-8") != claims.file_text(stored_claims.experiments):
        raise ArtefactError(f"{file}: differs from {place / KEPT}; run `mobilenet claims {quote(file)}` again")
    return place
