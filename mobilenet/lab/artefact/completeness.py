"""Check that an unpacked archive is complete and refers only to its own files, before any of them is used.

Model     Studies and claims have the same form as in their directories: study.yaml names the configurations of the
          study, and claims.yaml names the studies next to it. The files of a scenario are next to the scenario. The
          levels in study.yaml are not checked, because the configurations contain the values that the levels stand
          for. The arguments of commands are not checked either, because programs run only with permission and may then
          open any file anyway.
Errors    ArtefactError if a file is missing or outside the archive. ScenarioError for a file that cannot be read.
Source    ours: docs/guide/artefact.md; mobilenet/lab/studies/store.py
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mobilenet.lab.artefact import ArtefactError
from mobilenet.lab.artefact.parts import CLAIMS, Part
from mobilenet.lab.artefact.searches import verb_of
from mobilenet.lab.studies.claims.evaluation import KEPT
from mobilenet.lab.studies.declaration import KEPT as CONFIGURATION
from mobilenet.lab.studies.declaration import KEPT_FACTORS, Study
from mobilenet.scenario.yaml_reader import Node, read

NAMING = ("file", "files", "class", "metrics")  # The values of these keys in a scenario are file names.


def require_inside(part: Part) -> None:
    """Raise ArtefactError if a part refers to a file outside the archive, or if a study does not name exactly its own
    configurations.
    """
    for study in _own_studies(part.path / KEPT) if part.kind == CLAIMS else [part.path]:
        _require_complete(study)


def _own_studies(file: Path) -> Iterator[Path]:
    """Yield the directories of the studies that a claims file refers to."""
    root = read(file)
    experiments = root.value.get("experiments") if isinstance(root.value, dict) else None
    for name, node in experiments.value.items() if experiments and isinstance(experiments.value, dict) else ():
        if _value(node, "study") != f"{name}/study.yaml" or "/" in str(name) or str(name) in (".", ".."):
            raise ArtefactError(f"{file}: experiments.{name}: expected study: {name}/study.yaml")
        yield file.parent / str(name)


def _require_complete(path: Path) -> None:
    file = path / "study.yaml"
    if not file.is_file():
        raise ArtefactError(f"{file}: missing from the archive")
    if _value(read(file), "scenario") != CONFIGURATION.format(0) or not (path / KEPT_FACTORS).is_file():
        raise ArtefactError(f"{file}: expected the study.yaml of a study's directory")
    if verb_of(path) is not None:
        _require_plain_levels(file)
    study = Study.load(file)
    count = math.prod(len(study.levels(factor)) for factor in study.factors)
    there = sum(1 for _ in (path / "configurations").glob("c*"))
    if count != there:
        raise ArtefactError(f"{file}: declares {count} configurations, but the archive contains {there}")
    for number in range(count):
        scenario = path / CONFIGURATION.format(number)
        if not scenario.is_file():
            raise ArtefactError(f"{scenario}: missing from the archive")
        for node in _names(read(scenario)):
            name = PurePosixPath(str(node.value))
            if name.is_absolute() or ".." in name.parts:
                raise ArtefactError(f"{scenario}: {str(node.value)[:100]!r} is outside the archive")


def _require_plain_levels(file: Path) -> None:
    """Raise ArtefactError if a level is a file, because the check applies levels to the first configuration."""
    root = read(file)
    factors = root.value.get("factors") if isinstance(root.value, dict) else None
    for node in _names(factors) if factors is not None else ():
        name = str(node.value)[:100]
        raise ArtefactError(f"{file}: {name!r} is a file; expected a search whose levels are not files")


def _value(node: Node, key: str) -> object:
    child = node.value.get(key) if isinstance(node.value, dict) else None
    return None if child is None else child.value


def _names(node: Node, is_name: bool = False) -> Iterator[Node]:
    """Yield the text nodes below keys whose values are file names."""
    if isinstance(node.value, dict):
        for key, inside in node.value.items():
            yield from _names(inside, str(key).rpartition(".")[2] in NAMING)
    elif isinstance(node.value, list):
        for inside in node.value:
            yield from _names(inside, is_name)
    elif is_name and isinstance(node.value, str):
        yield node
