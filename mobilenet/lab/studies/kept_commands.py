"""Read the command that made a directory from its files, which strangers may have written.

Model     capacity.json and sensitivity.parquet carry the command in normal form. Its options are those that these
          commands write, and its scenario is the first configuration of the directory. The other configurations must be
          this one with their own levels
Errors    StudyError: not such a command, or a directory that does not fit it
Source    ours: docs/guide/artefact.md; mobilenet/record/stamp.py
"""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.configured import apart
from mobilenet.lab.studies.declaration import KEPT, Study
from mobilenet.record.provenance import inputs_of, read_provenance
from mobilenet.record.stamp import STUDY, Provenance
from mobilenet.scenario import load_scenario
from mobilenet.scenario.yaml_reader import Change


def provenance_in(file: Path) -> Provenance:
    """Return the provenance of the answer in a directory, if it is about the runs that are there."""
    provenance = read_provenance(file)
    if provenance is None:
        raise StudyError(f"{file}: contains no provenance; repeat the command that made it")
    if provenance.inputs.kind != STUDY or provenance.inputs != inputs_of(file.parent):
        raise StudyError(f"{file}: was made from other runs than those in its directory; repeat the command")
    return provenance


class _Parser(ArgumentParser):
    """The options of the command in a file."""

    def __init__(self, file: Path) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self._file = file

    def error(self, message: str) -> NoReturn:
        raise StudyError(f"{self._file}: does not contain the command that made it; repeat that command")


def number(text: str) -> float:
    """Read a number, whole where it is."""
    value = float(text)
    return int(value) if value.is_integer() else value


def options_in(
    file: Path, command: str, verb: str, required: Mapping[str, Callable[[str], Any]], **optional: Any
) -> dict[str, Any]:
    """Return the options of a command of this verb about the directory's own scenario. `optional`: what they are if
    they are missing; (): they may be repeated.
    """
    parser = _Parser(file)
    for name, kind in required.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    for name, value in optional.items():
        if value == ():
            parser.add_argument(f"--{name}", action="append", default=[])
        else:
            parser.add_argument(f"--{name}", type=int if isinstance(value, int) else number, default=value)
    parser.add_argument("--allow-code", action="store_true")
    words = shlex.split(command)
    if words[:3] != ["mobilenet", verb, f"STUDY/{KEPT.format(0)}"]:
        parser.error("another command")
    options = vars(parser.parse_args(words[3:]))
    return {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}


def require_made_by(file: Path, study: Study, expected: dict[str, Any], changes: Sequence[Sequence[str]]) -> None:
    """Require the study that a command makes. `expected`: some of its keys; `changes`: what sets each configuration
    apart from the first one, as for --set.
    """
    different = next((key for key, value in expected.items() if getattr(study, key) != value), None)
    if different is not None:
        raise StudyError(
            f"{study.folder / 'study.yaml'}: its {different} do not follow from the command in {file.name}"
        )
    first = study.folder / KEPT.format(0)
    for number, texts in enumerate(changes):
        own = study.folder / KEPT.format(number)
        differences = apart(load_scenario(first, [Change(text, text) for text in texts]), load_scenario(own))
        if differences:
            raise StudyError(f"{own}: its {differences[0][0]} does not follow from the command in {file.name}")
