"""The modules under every frame as machine code, where there is any made of exactly this source.

Model     mypyc compiles MODULES as they stand, so there is one source and one behaviour, only faster. The result lies
          in `__compiled__/DIGEST` beside this file; the digest covers the source of each of them, of what they import
          from this package and know the types of, the way of compiling, the Python and the machine. Whoever changes
          one of these files runs what it says, interpreted, until it is compiled again. What cannot be loaded is
          interpreted too. Protocols are never compiled: they are what people change, subclass and break
Switch    MOBILENET_COMPILED=0 in the environment: interpret everything
Makes it  compiling.py
Source    ours: docs/performance.md
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).parents[1]
PLACE = PACKAGE / "__compiled__"
LIBRARY = "mobilenet__mypyc"  # what the modules share, as mypyc calls it
MODULES = (
    "mobilenet.engine.event_queue",
    "mobilenet.simulation.hosts",
    "mobilenet.simulation.nodes",
    "mobilenet.network.radio.acking",
    "mobilenet.network.radio.antenna",
    "mobilenet.network.radio.dcf",
    "mobilenet.network.radio.frame",
    "mobilenet.network.radio.mac",
    "mobilenet.network.radio.medium",
    "mobilenet.network.radio.neighbours",
    "mobilenet.rundir.recorder",
    "mobilenet.engine.random_streams",
    "mobilenet.engine.timer",
)
KNOWN = (  # by their types, which are compiled in
    "mobilenet.engine.build_native",
    "mobilenet.engine.kernel",
    "mobilenet.protocols.port",
    "mobilenet.rundir.schema",
    "mobilenet.network.radio.framing",
    "mobilenet.network.radio.phy",
)


class Finder:
    """Finds MODULES in a folder of compiled ones, before anybody looks for their source."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name == LIBRARY or name in MODULES:
            return PathFinder.find_spec(name, [str(self._folder.joinpath(*name.split(".")[:-1]))])
        return None


def sources(names: Sequence[str] = MODULES) -> list[Path]:
    return [PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in names]


def folder() -> Path:
    """Where the compiled modules of this very source are, or would be."""
    digest = hashlib.sha256(f"{EXTENSION_SUFFIXES[0]} {os.uname().machine}".encode())
    for path in sources((*MODULES, *KNOWN)):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return PLACE / digest.hexdigest()[:16]


def use() -> None:
    """From now on MODULES are imported compiled, if they are; called before any of them is."""
    if os.environ.get("MOBILENET_COMPILED") != "0" and PLACE.is_dir() and (found := folder()).is_dir():
        finder = Finder(found)
        sys.meta_path.insert(0, finder)
        try:
            import_module(LIBRARY)
        except ImportError:  # of another system, or cut off
            sys.meta_path.remove(finder)


def in_use() -> bool:
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def is_outdated() -> bool:
    """Whether they were compiled once, and their source was changed since."""
    return (
        os.environ.get("MOBILENET_COMPILED") != "0"
        and not in_use()
        and any(len(place.name) == 16 for place in PLACE.glob("*"))
    )


def renew() -> None:
    """Compile anew what was compiled before its source was edited, and use it; says so, and says if it cannot be."""
    if is_outdated() and not any(name in sys.modules for name in MODULES):
        from mobilenet.engine import build_native

        build_native.main(tries_again=False)
        use()
