"""What all kinds of scenarios have in common: they come from a file, are changed by options, and know the file's
folder.

Model     bytes → nodes that remember their line → overrides → the model → checks that see all groups together
Errors    ScenarioError, one line for each problem
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import PrivateAttr, ValidationError

from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.scenario.error_messages import line, problems
from mobilenet.scenario.yaml_reader import MOST_BYTES, Node, parse, parse_value
from mobilenet.scenario.yaml_writer import to_yaml

ITS_OWN = "scenario.yaml"  # in the directory of a run


class ScenarioFile(Parameters):
    kind: ClassVar[str]  # of run: hosts or processes
    _folder: Path = PrivateAttr(default=Path("."))

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> Self:
        """From a file; each override is `a.b=value`."""
        path = Path(path)
        return cls.from_nodes(read(path), in_python(overrides), path.parent)

    @classmethod
    def from_text(
        cls, text: str, overrides: Sequence[str] = (), folder: str | Path = ".", name: str = "scenario"
    ) -> Self:
        """From text; `folder` is where the files that it names are, `name` is how messages call it."""
        return cls.from_nodes(parse(text.encode("utf-8", "surrogatepass"), name), in_python(overrides), Path(folder))

    @classmethod
    def from_nodes(cls, root: Node, overrides: Sequence[str], folder: Path) -> Self:
        if not isinstance(root.value, dict):
            raise ScenarioError(f"{root.where}: expected keys with values, such as `seed: 1`")
        for each in overrides:
            override(root, each)
        try:
            scenario = cls.model_validate(root.plain())
        except ValidationError as error:
            raise ScenarioError("\n".join(problems(error, root, cls))) from None
        scenario._folder = folder
        scenario = scenario.complete(root)
        scenario.check(root)
        return scenario

    def with_changes(self, overrides: Sequence[str]) -> Self:
        """Return the scenario with other values."""
        root = Node.of(self.model_dump(), getattr(self, "name", None) or "scenario")
        return self.from_nodes(root, in_python(overrides), self._folder)

    def with_nodes(self, nodes: Mapping[str, Node]) -> Self:
        """The same with these values of keys, which need not be text first."""
        rest = {key: value for key, value in self.model_dump().items() if key not in nodes}
        root = Node.of(rest, getattr(self, "name", None) or "scenario")
        root.value |= nodes
        return self.from_nodes(root, (), self._folder)

    def complete(self, root: Node) -> Self:
        """Return the scenario with what follows from the files that it names."""
        return self

    def check(self, root: Node) -> None:
        """Raise ScenarioError for what only shows when all groups are seen together."""

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def lasts(self) -> str:
        """How long a run lasts, in words."""
        raise NotImplementedError

    def estimated_events(self) -> int:
        """How big the run is likely to be."""
        raise NotImplementedError

    @property
    def longest_drain_s(self) -> float:
        """The deadline for coming to rest, in seconds after the active part."""
        return 0.0

    def events_of_drain(self) -> int:
        """How many events the drain may add."""
        return 0

    def warnings(self) -> list[str]:
        """What can run, and is probably not meant, or not here."""
        raise NotImplementedError

    def trial(self, at_most_s: float) -> Self:
        """A scenario whose run shows what a run of this one costs, in less time where that is possible."""
        return self

    def files(self) -> Iterator[tuple[str, Path]]:
        """The files that it names: the dotted path of the key, and where the file is."""
        yield from ()

    def patterns(self) -> Iterator[tuple[str, str]]:
        """What its programs load besides those: the dotted path of the key, and a pattern for files_matching."""
        yield from ()

    def code(self) -> Iterator[tuple[str, str, str | None]]:
        """The custom code that it names: dotted path, the value there, and the file, if it is one."""
        yield from ()

    def __eq__(self, other: object) -> bool:
        """The same values; from which folder they came does not matter."""
        return type(other) is type(self) and isinstance(other, ScenarioFile) and self.model_dump() == other.model_dump()

    __hash__ = None  # type: ignore[assignment]


def code_of_metrics(metrics: Sequence[str]) -> Iterator[tuple[str, str, str | None]]:
    """As ScenarioFile.code has them."""
    yield from ((f"metrics.{i}", name, name.rpartition(":")[0]) for i, name in enumerate(metrics))


def files_of_metrics(metrics: Sequence[str], folder: Path) -> Iterator[tuple[str, Path]]:
    """As ScenarioFile.files has them."""
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
    """A file, all files of a folder, or those that match a pattern such as lib/*.py; compiled Python is left out, and
    so is what a pattern finds of the name scenario.yaml, which every run writes itself.
    """
    own = folder / pattern
    if is_file(own):
        return [own]
    paths = own.rglob("*") if own.is_dir() else (path for path in folder.glob(pattern) if path != folder / ITS_OWN)
    return sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts)


def is_pattern(folder: Path, name: str) -> bool:
    """Whether this is the name of neither a file nor a folder."""
    return not os.path.lexists(folder / name)


def is_file(path: Path) -> bool:
    """Whether it is there, of any name: too long ones and such with a NUL are not."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read(path: Path) -> Node:
    """The nodes of a file."""
    if "\0" in str(path):
        raise ScenarioError(f"{str(path)[:80]!r}: cannot be read: its name contains a NUL character")
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
    return parse(data, str(path))


def effective(scenario: ScenarioFile) -> str:
    """All values, defaults included, as YAML that loads to an equal scenario."""
    return to_yaml(scenario.model_dump())


class Change(str):
    """`a.b=value`, with the words by which messages call it. Plain text is called as an option, `--set a.b=value`."""

    where: str

    def __new__(cls, text: str, where: str) -> Change:
        change = super().__new__(cls, text)
        change.where = where
        return change

    def __reduce__(self) -> tuple[type[Change], tuple[str, str]]:
        return Change, (str(self), self.where)  # it may go to another process


def in_python(overrides: Sequence[str]) -> list[Change]:
    """What a caller in Python gives as `overrides`; what has words of its own keeps them."""
    return [one if isinstance(one, Change) else Change(one, f"overrides: {one}") for one in overrides]


def override(root: Node, change: str) -> None:
    """Set one value among the nodes: `a.b=value`."""
    option = change.where if isinstance(change, Change) else f"--set {change}"
    label = option if len(option) <= 80 else option[:77] + "..."
    path, equals, text = change.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise ScenarioError(f"{label}: expected key=value, such as wireless.range_m=100")
    node = root
    for place, key in enumerate(keys):
        inside: Any = node.value
        if inside is None and place:
            inside = node.value = {}
        last = place == len(keys) - 1
        if isinstance(inside, list) and key.isdecimal() and int(key) < len(inside):
            index: Any = int(key)
        elif isinstance(inside, dict):
            index = key
            inside.setdefault(key, Node(None, label))
        else:
            kind = f"a list of {len(inside)}" if isinstance(inside, list) else "a single value"
            raise ScenarioError(f"{label}: {'.'.join(keys[:place])} is {kind}, which does not contain {key!r}")
        if last:
            inside[index] = parse_value(text, label) if text.strip() else Node(None, label)
        node = inside[index]
