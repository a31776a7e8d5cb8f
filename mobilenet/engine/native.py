"""Use machine code for the modules that handle each frame, if it was compiled from exactly this source.

Model     mypyc compiles MODULES without changes, so that there is one source with one behaviour. The result is stored
          in `mobilenet/__compiled__/DIGEST`. The digest covers the source of MODULES and of the modules of this package
          whose types they import, the Python version and the machine. An edited module is interpreted until it is
          compiled again, unless the edit affects only comments, docstrings and layout: then its syntax tree is the one
          that was compiled. Trees are compared once for each digest. A link next to the compiled modules records that
          they are equal, or an empty file DIGEST.differs that they are not. Modules that cannot be loaded are
          interpreted too. Protocols are never compiled: users change, subclass and break them.
Switch    With MOBILENET_COMPILED=0 in the environment, everything is interpreted.
Built by  build_native.py
Source    ours: docs/performance.md
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).parents[1]
PLACE = PACKAGE / "__compiled__"
TREES = "trees"  # a file next to compiled modules with the digest of the syntax trees from which they were compiled
LIBRARY = "mobilenet__mypyc"  # the shared library of the compiled modules, as mypyc names it
MODULES = (
    "mobilenet.engine.event_queue",
    "mobilenet.simulation.hosts",
    "mobilenet.simulation.nodes",
    "mobilenet.network.radio.acking_mac",
    "mobilenet.network.radio.transceiver",
    "mobilenet.network.radio.dcf",
    "mobilenet.network.radio.frame",
    "mobilenet.network.radio.mac",
    "mobilenet.network.radio.medium",
    "mobilenet.network.radio.unit_disk.medium",
    "mobilenet.network.radio.distance_table.medium",
    "mobilenet.network.radio.sinr.medium",
    "mobilenet.network.radio.sinr.decibels",
    "mobilenet.network.radio.sinr.interference",
    "mobilenet.network.radio.sinr.reception",
    "mobilenet.network.radio.sinr.survival",
    "mobilenet.network.radio.neighbours",
    "mobilenet.network.propagation.budget",
    "mobilenet.network.propagation.serving",
    "mobilenet.network.propagation.fading",
    "mobilenet.network.propagation.shadowing",
    "mobilenet.network.propagation.walls",
    "mobilenet.network.wired.link",
    "mobilenet.network.wired.network",
    "mobilenet.network.wired.tree",
    "mobilenet.record.recorder",
    "mobilenet.simulation.causes",
    "mobilenet.simulation.counters",
    "mobilenet.simulation.processes.process",
    "mobilenet.simulation.processes.abstract_network",
    "mobilenet.engine.keyed_draws",
    "mobilenet.engine.random_streams",
    "mobilenet.engine.timer",
    "mobilenet.why.connections",
    "mobilenet.why.hops",
    "mobilenet.why.record",
    "mobilenet.why.shares",
    "mobilenet.why.states",
    "mobilenet.why.stories",
    "mobilenet.why.stretches",
)
KNOWN = (  # the machine code depends on the types in these modules
    "mobilenet.engine.clock",
    "mobilenet.engine.build_native",
    "mobilenet.engine.kernel",
    "mobilenet.protocols.port",
    "mobilenet.record.schema",
    "mobilenet.network.radio.sinr.bit_errors",
    "mobilenet.network.radio.framing",
    "mobilenet.network.radio.phy",
    "mobilenet.parameters",
    "mobilenet.network.propagation.parameters",
    "mobilenet.network.propagation.path_loss",
    "mobilenet.record.table",
    "mobilenet.why.kinds",
)


class Finder:
    """Finds MODULES in a folder of compiled modules, before Python looks for their source."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name == LIBRARY or name in MODULES:
            return PathFinder.find_spec(name, [str(self._folder.joinpath(*name.split(".")[:-1]))])
        return None


def sources(names: Sequence[str] = MODULES) -> list[Path]:
    return [PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in names]


def folder() -> Path:
    """Return the folder for the modules that are compiled from exactly this source, whether it exists or not."""
    return PLACE / _digest(Path.read_bytes)


def digest_of_trees() -> str:
    """Return a digest of the current code without comments, docstrings and layout. Raise SyntaxError if a module cannot
    be parsed.
    """
    return _digest(lambda path: _tree(path.read_bytes()))


def _tree(source: bytes) -> bytes:
    import ast

    with_docstring = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, with_docstring) and ast.get_docstring(node, clean=False):
            del node.body[0]
    return ast.dump(tree).encode()


def _same_code(place: Path) -> Path | None:
    """Return the folder of modules that were compiled from the same syntax trees, or None. Create a link to this folder
    at `place`.
    """
    differs = place.with_suffix(".differs")
    if differs.exists():
        return None
    try:
        trees = digest_of_trees()
    except SyntaxError:
        return None
    for digest_file in PLACE.glob(f"*/{TREES}"):
        if digest_file.read_text() == trees:
            with suppress(OSError):  # another process has made the link, or the package is read-only
                place.symlink_to(digest_file.parent.name)
            return digest_file.parent
    with suppress(OSError):
        differs.touch()
    return None


def _digest(read: Callable[[Path], bytes]) -> str:
    digest = hashlib.sha256(f"{EXTENSION_SUFFIXES[0]} {os.uname().machine} {MODULES}".encode())
    for path in sources((*MODULES, *KNOWN)):
        digest.update(hashlib.sha256(read(path)).digest())
    return digest.hexdigest()[:16]


def _unpack(archive: Path) -> Path:
    """Extract compiled modules from the archive that contains the package, such as on Spark's executors, and return
    their folder. It lies next to the archive, because a library cannot be loaded from within the archive. Modules for
    another Python version or machine are not used.
    """
    import shutil
    import zipfile

    try:
        file = zipfile.ZipFile(archive)
    except zipfile.BadZipFile as error:
        raise OSError(f"{archive}: {error}") from None
    with file:
        digest = _digest(lambda path: file.read(path.relative_to(archive).as_posix()))
        target = archive.with_name(f".{archive.stem}-{digest}")
        begin = f"{PACKAGE.name}/{PLACE.name}/{digest}/"
        names = [name for name in file.namelist() if name.startswith(begin)]
        if names and not target.is_dir():
            partial = archive.with_name(f"{target.name}.{os.getpid()}")
            file.extractall(partial, names)
            with suppress(OSError):  # another process has extracted the modules
                os.rename(partial / begin, target)
            shutil.rmtree(partial, ignore_errors=True)
    return target


def _find_compiled() -> Path | None:
    """Return the folder of the modules that were compiled from this source, or None."""
    try:
        if PACKAGE.parent.is_file():
            place = _unpack(PACKAGE.parent)
            return place if place.is_dir() else None
        if not PLACE.is_dir():
            return None
        place = folder()
        return place if place.is_dir() else _same_code(place)
    except (OSError, KeyError):  # for example, because the folder is read-only
        return None


def use() -> None:
    """Use the compiled versions of MODULES from now on, if they exist. Call this before any of these modules is
    imported.
    """
    if os.environ.get("MOBILENET_COMPILED") != "0" and (compiled_folder := _find_compiled()) is not None:
        finder = Finder(compiled_folder)
        sys.meta_path.insert(0, finder)
        try:
            import_module(LIBRARY)
        except ImportError:  # the library is for another system, or incomplete
            sys.meta_path.remove(finder)


def in_use() -> bool:
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def is_outdated() -> bool:
    """Return whether modules were compiled once, but their source has changed since."""
    return (
        os.environ.get("MOBILENET_COMPILED") != "0"
        and not in_use()
        and any(len(place.name) == 16 for place in PLACE.glob("*"))
    )


def why_interpreted() -> str | None:
    """Return why modules are interpreted, and a remedy. Return None if they are compiled, or if the user asked for
    interpretation.
    """
    if in_use() or os.environ.get("MOBILENET_COMPILED") == "0":
        return None
    if (PACKAGE.parent / "make.py").is_file():
        what = "compiled modules have changed and are now interpreted" if is_outdated() else "nothing has been compiled"
        return f"{what}: python3 make.py setup"
    return "not compiled, so simulations run at half speed: install a C compiler, and then install mobilenet again"
