"""Read the command that made a directory from its files, which strangers may have written.

Model     capacity.json and sensitivity.parquet carry the command in normal form. Its options are those that these
          commands write, and its scenario is the first configuration of the directory. The other configurations must be
          this one with their own levels
Errors    StudyError: not such a command, or a directory that does not fit it
Source    ours: docs/guide/artefact.md; mobilenet/record/stamp.py
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.configured import apart
from mobilenet.lab.studies.declaration import KEPT, Study
from mobilenet.record.provenance import inputs_of, read_provenance
from mobilenet.record.stamp import STUDY, Provenance
from mobilenet.scenario import load_scenario
from mobilenet.scenario.yaml_reader import Change


class Options:
    """The options of a command; each method removes what it returns."""

    def __init__(self, file: Path, values: dict[str, list[str]]) -> None:
        self._file, self._values = file, values

    def text(self, name: str, otherwise: str | None = None) -> str:
        """Return an option that is given at most once."""
        values = self._values.pop(name, [])
        if len(values) > 1 or (not values and otherwise is None):
            raise _problem(self._file)
        return values[0] if values else str(otherwise)

    def number(self, name: str, otherwise: float | None = None) -> float:
        """Return a number, whole where it is."""
        try:
            value = float(self.text(name, None if otherwise is None else repr(otherwise)))
            return int(value) if value.is_integer() else value
        except (ValueError, OverflowError):
            raise _problem(self._file) from None

    def whole(self, name: str, otherwise: int | None = None) -> int:
        try:
            return int(self.text(name, None if otherwise is None else str(otherwise)))
        except ValueError:
            raise _problem(self._file) from None

    def texts(self, name: str) -> tuple[str, ...]:
        """Return an option that may be repeated."""
        return tuple(self._values.pop(name, []))

    def flag(self, name: str) -> bool:
        return self._values.pop(name, None) is not None

    def end(self) -> None:
        """Refuse all other options."""
        if self._values:
            raise _problem(self._file)


def provenance_in(file: Path) -> Provenance:
    """Return the provenance of the answer in a directory, if it is about the runs that are there."""
    provenance = read_provenance(file)
    if provenance is None:
        raise StudyError(f"{file}: contains no provenance; repeat the command that made it")
    if provenance.inputs.kind != STUDY or provenance.inputs != inputs_of(file.parent):
        raise StudyError(f"{file}: was made from other runs than those in its directory; repeat the command")
    return provenance


def options_in(file: Path, command: str, verb: str, flags: Collection[str] = ("allow-code",)) -> Options:
    """Return the options of a command of this verb about the directory's own scenario."""
    words = shlex.split(command)
    if words[:3] != ["mobilenet", verb, f"STUDY/{KEPT.format(0)}"]:
        raise _problem(file)
    values: dict[str, list[str]] = {}
    rest = iter(words[3:])
    for word in rest:
        name = word.removeprefix("--")
        value = "" if name in flags else next(rest, None)
        if not word.startswith("--") or value is None:
            raise _problem(file)
        values.setdefault(name, []).append(value)
    return Options(file, values)


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


def _problem(file: Path) -> StudyError:
    return StudyError(f"{file}: does not contain the command that made it; repeat that command")
