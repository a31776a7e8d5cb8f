"""Make broken copies of a package. A few lines of its source are edited, and the copy is loaded under a private name.

Model     An edit names a module of the package, whole lines of code that occur there exactly once, and the lines that
          replace them. The search ignores comments, indentation and line breaks. A copy contains all modules except
          those with shared types (`shared`), such as messages, settings and stable storage. The copy and the code
          around it can therefore exchange objects.
Errors    EditError if an edit no longer applies: its lines are missing, occur more than once, or would not change.
Source    ours: docs/protocols/mobile-causal.md, Mutants
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Collection, Iterable
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

COMMENT = re.compile(r"(^|  )\s*# .*")  # comments in the format that the formatter writes
WORD = re.compile(r"\w+|[^\w\s]")


class EditError(Exception):
    """Raised if an edit does not match the source."""


class Edit(NamedTuple):
    module: str  # name of a module of the package, without .py
    old: str
    new: str
    within: str | None = None  # the function that contains the old lines; None if they occur only once in the module


def apply_edit(source: str, edit: Edit) -> str:
    """Return the source with the old lines replaced. The new lines get the indentation of the old lines."""
    lines = source.splitlines()
    first, last = place(source, edit)
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    block = textwrap.dedent(edit.new.strip("\n")).rstrip()
    if _code(block.splitlines()) == _code(lines[first : last + 1]):
        raise EditError(f"{edit.module}: this edit changes nothing:\n{edit.old}")
    new = [indent + line if line else line for line in block.splitlines()]
    return "\n".join([*lines[:first], *new, *lines[last + 1 :]]) + "\n"


def place(source: str, edit: Edit) -> tuple[int, int]:
    """Return the first and the last line of the old code. Raise EditError unless this code occurs exactly once."""
    there, wanted = _code(source.splitlines()), [word for word, _ in _code(edit.old.splitlines())]
    if not wanted:
        raise EditError(f"{edit.module}: an edit without old lines")
    if edit.within is not None:
        begin, end = _span(source, edit)
        there = [(word, line) for word, line in there if begin <= line < end]
    words, lines = [word for word, _ in there], [-1, *(line for _, line in there), -1]
    ends = (
        (at, at + len(wanted))
        for at in (at for at, word in enumerate(words) if word == wanted[0])
        if words[at : at + len(wanted)] == wanted
    )
    matches = [
        (lines[first + 1], lines[last])
        for first, last in ends
        if lines[first] != lines[first + 1] and lines[last] != lines[last + 1]  # match only whole lines
    ]
    if len(matches) != 1:
        raise EditError(f"{edit.module}: this code stands there {len(matches)} times, not once:\n{edit.old}")
    return matches[0]


def _span(source: str, edit: Edit) -> tuple[int, int]:
    """Return the first line of a function, and the first line after it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == edit.within:
            return node.lineno - 1, node.end_lineno or node.lineno
    raise EditError(f"{edit.module}: there is no function {edit.within}")


def _code(lines: list[str]) -> list[tuple[str, int]]:
    """Return the tokens of the code, without comments, together with their line numbers."""
    return [(word, number) for number, line in enumerate(lines) for word in WORD.findall(COMMENT.sub("", line))]


def mutate(package: str, name: str, edits: Iterable[Edit], shared: Collection[str] = ()) -> ModuleType:
    """Load a second copy of the package with these edits. The copy is placed next to the original, so its relative
    imports still work.
    """
    original = import_module(package)
    folder = Path(str(original.__file__)).parent
    by_module: dict[str, list[Edit]] = {}
    for edit in edits:
        by_module.setdefault(edit.module, []).append(edit)
    if not by_module:
        raise EditError(f"{name}: no edits")
    if wrong := set(by_module) & set(shared):
        raise EditError(f"{name}: {sorted(wrong)} are shared with the surroundings")
    sources = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    if missing := set(by_module) - set(sources):
        raise EditError(f"{name}: no module {sorted(missing)}")
    for module, its_edits in by_module.items():
        for edit in its_edits:
            sources[module] = apply_edit(sources[module], edit)
    copy = f"{package}__{name}"
    for loaded in [key for key in sys.modules if key == copy or key.startswith(copy + ".")]:
        del sys.modules[loaded]
    for module in shared:
        sys.modules[f"{copy}.{module}"] = import_module(f"{package}.{module}")
    finder = _Copies(copy, folder, sources)
    sys.meta_path.insert(0, finder)
    try:
        loaded_copy = import_module(copy)
        for module in by_module:
            import_module(f"{copy}.{module}")
        return loaded_copy
    finally:
        sys.meta_path.remove(finder)


class _Copies:
    """Finds and loads the modules of one edited copy."""

    def __init__(self, copy: str, folder: Path, sources: dict[str, str]) -> None:
        self._copy, self._folder, self._sources = copy, folder, sources

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname == self._copy:
            return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]
        parent, _, module = fullname.rpartition(".")
        if parent == self._copy and module in self._sources:
            return ModuleSpec(fullname, self)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        _, _, name = module.__name__.rpartition(".")
        stem = "__init__" if module.__name__ == self._copy else name
        place = f"{self._folder / stem}.py of {self._copy}"
        exec(compile(self._sources[stem], place, "exec"), module.__dict__)
