"""Require that an unpacked archive names only files of its own, before anything reads them.

Model     studies and claims have the form in which their directories keep them: study.yaml names its own
          configurations, claims.yaml the studies next to it. The files of a scenario are next to it. Two things are
          not looked at: the levels in study.yaml, since the configurations have what they stand for; and the words of
          commands, since programs run only with permission, and may then open any file anyway
Errors    ArtefactError, ScenarioError
Source    ours: docs/guide/artefact.md; mobilenet/studies/store.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mobilenet.artefact import ArtefactError
from mobilenet.claims.answering import KEPT
from mobilenet.scenario.base import read
from mobilenet.scenario.yaml_reader import Node
from mobilenet.studies.declaration import KEPT as CONFIGURATION

NAMING = ("file", "files", "class", "metrics")  # keys of a scenario whose values are files


def require_inside(folder: Path) -> None:
    """Raise ArtefactError for a file outside, or for a study that does not consist of its own configurations."""
    for file in sorted(folder.rglob("scenario.yaml")):
        for node in _names(read(file)):
            name = PurePosixPath(str(node.value))
            if name.is_absolute() or ".." in name.parts:
                raise ArtefactError(f"{file}: {str(node.value)[:100]!r} is outside of the archive")
    for file in sorted(folder.rglob("study.yaml")):
        scenario = _value(read(file), "scenario")
        if scenario != CONFIGURATION.format(0) or not (file.parent / "configurations" / "factors.yaml").is_file():
            raise ArtefactError(f"{file}: expected the study.yaml of a study's directory")
    for file in sorted(folder.glob(f"claims/*/{KEPT}")):
        _require_own_studies(file)


def _require_own_studies(file: Path) -> None:
    experiments = read(file)
    found = experiments.value.get("experiments") if isinstance(experiments.value, dict) else None
    for name, node in found.value.items() if found is not None and isinstance(found.value, dict) else ():
        if _value(node, "study") != f"{name}/study.yaml":
            raise ArtefactError(f"{file}: experiments.{name}: expected study: {name}/study.yaml")
        if not (file.parent / str(name) / "study.yaml").is_file():
            raise ArtefactError(f"{file}: experiments.{name}: the archive has no such study")


def _value(node: Node, key: str) -> object:
    found = node.value.get(key) if isinstance(node.value, dict) else None
    return None if found is None else found.value


def _names(node: Node, is_name: bool = False) -> Iterator[Node]:
    """Yield the texts below the keys that name files."""
    if isinstance(node.value, dict):
        for key, inside in node.value.items():
            yield from _names(inside, str(key).rpartition(".")[2] in NAMING)
    elif isinstance(node.value, list):
        for inside in node.value:
            yield from _names(inside, is_name)
    elif is_name and isinstance(node.value, str):
        yield node
