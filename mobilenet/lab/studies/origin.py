"""Find out which command created a directory, from files in it that may come from an untrusted source.

Model     capacity.json and sensitivity.parquet contain the command in normal form. Only options that these commands
          write are accepted. The scenario must be the first configuration of the directory, and every other
          configuration must be this scenario with other levels.
Errors    StudyError if the text is not such a command, or does not match the directory.
Source    ours: docs/guide/artefact.md; mobilenet/record/stamp.py
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from getopt import GetoptError, getopt
from pathlib import Path
from typing import Any

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.declaration import KEPT, Study
from mobilenet.lab.studies.store import apart
from mobilenet.record.provenance import inputs_of, read_provenance
from mobilenet.record.stamp import STUDY, Provenance
from mobilenet.scenario import load_scenario
from mobilenet.scenario.yaml_reader import Change


def provenance_in(file: Path) -> Provenance:
    """Return the provenance that a file records, if it refers to the runs in this directory."""
    provenance = read_provenance(file)
    if provenance is None:
        raise StudyError(f"{file}: contains no provenance; repeat the command that made it")
    if provenance.inputs.kind != STUDY or provenance.inputs != inputs_of(file.parent):
        raise StudyError(f"{file}: was made from other runs than those in its directory; repeat the command")
    return provenance


def number(text: str) -> float:
    """Parse a number. Return an int if the number is whole."""
    value = float(text)
    return int(value) if value.is_integer() else value


def options_in(file: Path, command: str, verb: str, required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    """Return the options of a recorded command. Its verb must be `verb`, and its scenario must be the one in the
    directory. The values of `required` and `optional` are functions that parse the options. The value () marks an
    option that may be repeated; its values are returned as strings.
    """
    wrong = StudyError(f"{file}: does not contain the command that made it; repeat that command")
    kinds = {**required, **optional}
    try:
        *verbs, scenario = (words := shlex.split(command))[:3]
        given, others = getopt(words[3:], "", ["allow-code", *(f"{name}=" for name in kinds)])
        options: dict[str, Any] = {name: () for name, kind in kinds.items() if kind == ()}
        for name, text in ((option.removeprefix("--"), text) for option, text in given):
            if name != "allow-code":
                options[name] = (*options[name], text) if kinds[name] == () else kinds[name](text)
    except (GetoptError, ValueError):
        raise wrong from None
    if verbs != ["mobilenet", verb] or scenario != f"STUDY/{KEPT.format(0)}" or others or required.keys() - options:
        raise wrong
    return options


def require_made_by(file: Path, study: Study, expected: dict[str, Any], changes: Sequence[Sequence[str]]) -> None:
    """Raise StudyError unless the study is the one that the command creates. `expected` contains keys of the study with
    their values. For each configuration, `changes` contains its differences from the first one, in the form of --set.
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
