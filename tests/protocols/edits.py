"""Broken copies of a package: a few lines of its source are edited, and the copy is loaded under a private name.

Model     an edit names a module of the package, lines that stand there exactly once, and what stands there instead. A
          block of lines may be given with any common indentation: it is found, and replaced, at its own. Modules are
          copied whole, but for those that carry the vocabulary (`shared`: messages, settings, what survives crashes),
          so that objects of the copy and of its surroundings understand each other
Errors    EditError when an edit does not apply any more: the lines are not there, or more than once, or change nothing
Source    ours: docs/protocols/mobile-causal.md, Mutants
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Collection, Iterable
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple


class EditError(Exception):
    """An edit that does not fit the source."""


class Edit(NamedTuple):
    module: str  # of the package, without .py
    old: str
    new: str


def edited(source: str, edit: Edit) -> str:
    """The source with the old lines replaced, at the indentation at which they stand."""
    lines, wanted = source.splitlines(), _block(edit.old)
    if not wanted:
        raise EditError(f"{edit.module}: an edit without old lines")
    found = [i for i in range(len(lines)) if _block("\n".join(lines[i : i + len(wanted)])) == wanted]
    if len(found) != 1:
        raise EditError(f"{edit.module}: these lines stand there {len(found)} times, not once:\n{edit.old}")
    at = found[0]
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    new = [indent + line if line else line for line in _block(edit.new)]
    if new == lines[at : at + len(wanted)]:
        raise EditError(f"{edit.module}: this edit changes nothing:\n{edit.old}")
    return "\n".join([*lines[:at], *new, *lines[at + len(wanted) :]]) + "\n"


def _block(text: str) -> list[str]:
    return textwrap.dedent(text.strip("\n")).rstrip().splitlines()


def broken(package: str, name: str, edits: Iterable[Edit], shared: Collection[str] = ()) -> ModuleType:
    """The package anew with these edits, beside the original (so that its relative imports mean the same)."""
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
            sources[module] = edited(sources[module], edit)
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
    """Finds and loads the modules of one copy."""

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
