"""The modules under every frame as machine code, where there is any made of exactly this source.

Model     mypyc compiles MODULES as they stand, so there is one source and one behaviour, only faster. The result lies in
          `__compiled__/DIGEST` beside this file; the digest covers the source of each of them, the Python and the machine.
          Whoever changes one of them runs what the file says, interpreted, until it is compiled again: there is nothing
          that could be out of date. Protocols are never compiled: they are what people change, subclass and break
Switch    MOBILENET_COMPILED=0 in the environment: interpret everything
Makes it  compiling.py
Source    ours: DESIGN.md, "Speed"
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).parent
PLACE = PACKAGE / "__compiled__"
LIBRARY = "mobilenet__mypyc"  # what the modules share, as mypyc calls it
MODULES = (
    "mobilenet.nodes",
    "mobilenet.radio.antenna",
    "mobilenet.radio.frame",
    "mobilenet.radio.mac",
    "mobilenet.radio.medium",
    "mobilenet.radio.neighbours",
    "mobilenet.recording",
    "mobilenet.streams",
    "mobilenet.timer",
)


class Finder:
    """Finds MODULES in a folder of compiled ones, before anybody looks for their source."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name == LIBRARY or name in MODULES:
            return PathFinder.find_spec(name, [str(self._folder.joinpath(*name.split(".")[:-1]))])
        return None


def sources() -> list[Path]:
    return [PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in MODULES]


def folder() -> Path:
    """Where the compiled modules of this very source are, or would be."""
    digest = hashlib.sha256(EXTENSION_SUFFIXES[0].encode())
    for path in sources():
        digest.update(path.read_bytes())
    return PLACE / digest.hexdigest()[:16]


def use() -> None:
    """From now on MODULES are imported compiled, if they are; called before any of them is."""
    if os.environ.get("MOBILENET_COMPILED") != "0" and PLACE.is_dir() and (found := folder()).is_dir():
        sys.meta_path.insert(0, Finder(found))


def in_use() -> bool:
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def is_outdated() -> bool:
    """Whether they were compiled once, and their source was changed since."""
    return os.environ.get("MOBILENET_COMPILED") != "0" and not in_use() and any(PLACE.glob(f"*/{LIBRARY}.*"))
