"""Prepare a directory of answers to claims for an archive.

Shapes    Files are a mapping from the name in the archive to the content.
Errors    ArtefactError if some claims are not answered, or if the answers are damaged.
Source    ours: docs/guide/artefact.md; mobilenet/lab/studies/claims/answer.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mobilenet.lab.artefact import ArtefactError
from mobilenet.lab.studies.claims.evaluation import KEPT, MARK

ANSWERS = (MARK, "claims.csv", "claims.parquet", "claims.md")
Files = dict[str, bytes]


def answers_in(data: bytes) -> dict[str, Any]:
    """Parse the content of claims.json. Raise ValueError if it is invalid."""
    document = json.loads(data)
    rows = document.get("claims") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("no answers")
    if not all(isinstance(row.get("claim"), str) for row in rows):
        raise ValueError("no answers")
    return dict(document)


def require_answered(path: Path) -> None:
    again = "run the `mobilenet claims` command again"
    if not (path / KEPT).is_file():
        raise ArtefactError(f"{path}: does not contain {KEPT}; {again}")
    try:
        rows = answers_in((path / MARK).read_bytes())["claims"]
    except (OSError, ValueError):
        raise ArtefactError(f"{path / MARK}: damaged; {again}") from None
    if not rows or any(row.get("left") for row in rows):
        raise ArtefactError(f"{path}: some claims have no verdict yet; {again}, without --quick")


def answers_of(path: Path, place: str) -> Files:
    """Return the claims in a directory and their answers, as files below `place`. The author's directory names are
    removed.
    """
    return {f"{place}/{name}": (path / name).read_bytes() for name in (KEPT, *ANSWERS)}
