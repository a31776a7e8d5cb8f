"""The part that all kinds of scenarios share: reading a file, and applying changes from options.

Model     bytes → nodes with their line numbers → overrides → the model → checks that involve several groups
Errors    ScenarioError, one line for each problem
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from pydantic import PrivateAttr, ValidationError

from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.scenario.error_messages import line, problems
from mobilenet.scenario.yaml_reader import Node, in_python, override, parse, read
from mobilenet.scenario.yaml_writer import to_yaml

ITS_OWN = "scenario.yaml"  # name of the scenario file in a run directory


class ScenarioFile(Parameters):
    kind: ClassVar[str]  # kind of run: hosts or processes
    _folder: Path = PrivateAttr(default=Path("."))

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> Self:
        """Load a scenario from a file. Each override has the form `a.b=value`."""
        path = Path(path)
        return cls.from_nodes(read(path, in_python(overrides)), path.parent)

    @classmethod
    def from_text(
        cls, text: str, overrides: Sequence[str] = (), folder: str | Path = ".", name: str = "scenario"
    ) -> Self:
        """Load a scenario from text. `folder` contains the files that the scenario names, and `name` identifies the
        text in messages.
        """
        root = parse(text.encode("utf-8", "surrogatepass"), name)
        return cls.from_nodes(override(root, in_python(overrides)), Path(folder))

    @classmethod
    def from_nodes(cls, root: Node, folder: Path) -> Self:
        try:
            scenario = cls.model_validate(root.plain())
        except ValidationError as error:
            raise ScenarioError("\n".join(problems(error, root, cls))) from None
        scenario._folder = folder
        scenario = scenario.complete(root)
        scenario.check(root)
        return scenario

    def with_changes(self, overrides: Sequence[str]) -> Self:
        """Return the scenario, changed by overrides of the form `a.b=value`."""
        root = Node.of(self.model_dump(), getattr(self, "name", None) or "scenario")
        return self.from_nodes(override(root, in_python(overrides)), self._folder)

    def with_nodes(self, nodes: Mapping[str, Node]) -> Self:
        """Return the scenario with the given nodes in place of its own values for these keys."""
        rest = {key: value for key, value in self.model_dump().items() if key not in nodes}
        root = Node.of(rest, getattr(self, "name", None) or "scenario")
        root.value |= nodes
        return self.from_nodes(root, self._folder)

    def complete(self, root: Node) -> Self:
        """Return the scenario, completed with values from the files that it names."""
        return self

    def check(self, root: Node) -> None:
        """Raise ScenarioError for problems that involve several groups of keys."""

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def lasts(self) -> str:
        """The length of a run, as a string."""
        raise NotImplementedError

    def estimated_events(self) -> int:
        """Return the estimated size of the run, in events."""
        raise NotImplementedError

    @property
    def events_of_joins(self) -> int:
        """The estimated number of link messages for the first joins. They are part of the estimated events."""
        return 0

    @property
    def deliveries_due(self) -> int:
        """The number of deliveries, if a run ends when everything is delivered. It is 0 for all other runs."""
        return 0

    @property
    def steady_from_s(self) -> float | None:
        """The time from which a run proceeds at an even pace, or None if it ends when everything is delivered."""
        return None

    @property
    def longest_drain_s(self) -> float:
        """The time limit for becoming quiescent, in seconds after the active part."""
        return 0.0

    def events_of_drain(self) -> int:
        """Return the number of additional events that the drain may cause."""
        return 0

    def doubts_about_files(self) -> list[str]:
        """Return warnings about files whose contents are probably not intended. Reading these files may take a long
        time.
        """
        return []

    def warnings(self) -> list[str]:
        """Return warnings about a scenario that can run, but probably does not do what the user intended, or does not
        work on this machine.
        """
        raise NotImplementedError

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield the files that the scenario names, as (dotted path of the key, path of the file)."""
        yield from ()

    def patterns(self) -> Iterator[tuple[str, str]]:
        """Yield the other files that the scenario's programs load, as (dotted path of the key, pattern). Each pattern
        has the form that files_matching accepts.
        """
        yield from ()

    def code(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield the custom code that the scenario names, as (dotted path of the key, value, file or None)."""
        yield from ()

    def __eq__(self, other: object) -> bool:
        """Return whether the values are equal. The folders may differ."""
        return type(other) is type(self) and isinstance(other, ScenarioFile) and self.model_dump() == other.model_dump()

    __hash__ = None  # type: ignore[assignment]


def code_of_metrics(metrics: Sequence[str]) -> Iterator[tuple[str, str, str | None]]:
    """Yield the code of custom metrics in the form of ScenarioFile.code."""
    yield from ((f"metrics.{i}", name, name.rpartition(":")[0]) for i, name in enumerate(metrics))


def files_of_metrics(metrics: Sequence[str], folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of custom metrics in the form of ScenarioFile.files."""
    yield from ((f"metrics.{i}", folder / name.rpartition(":")[0]) for i, name in enumerate(metrics))


def require_files(scenario: ScenarioFile, root: Node) -> None:
    absent = [
        line(root, path, f"file {file.name!r} not found next to the scenario")
        for path, file in scenario.files()
        if not is_file(file)
    ]
    absent += [
        line(root, path, f"{pattern!r} does not match any file next to the scenario")
        for path, pattern in scenario.patterns()
        if not files_matching(scenario.folder, pattern)
    ]
    if absent:
        raise ScenarioError("\n".join(absent))


def files_matching(folder: Path, pattern: str) -> list[Path]:
    """Return the files that `pattern` selects: one file, all files of a folder, or all that match a pattern such as
    lib/*.py. Compiled Python is omitted. A pattern does not match scenario.yaml in the folder itself, because every run
    writes a file of this name.
    """
    own = folder / pattern
    if is_file(own):
        return [own]
    paths = own.rglob("*") if own.is_dir() else (path for path in folder.glob(pattern) if path != folder / ITS_OWN)
    return sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts)


def is_pattern(folder: Path, name: str) -> bool:
    """Return whether this name is a pattern: it is neither a file nor a folder."""
    return not os.path.lexists(folder / name)


def is_file(path: Path) -> bool:
    """Return whether this file exists. Accept any name, even one that is too long or contains a NUL."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def effective(scenario: ScenarioFile) -> str:
    """Return all values, including defaults, as YAML that loads to an equal scenario."""
    return to_yaml(scenario.model_dump())
