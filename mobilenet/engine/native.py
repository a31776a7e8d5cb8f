"""Use machine code for the modules under every frame, if it was compiled from exactly this source.

Model     mypyc compiles MODULES as they are, so there is one source and one behaviour, only faster. The result lies
          in `mobilenet/__compiled__/DIGEST`. The digest covers the bytes of each module, of the modules that they
          import from this package with their types, the Python and the machine. An edited module is interpreted
          until it is compiled again, unless the edit touches only comments, docstrings and layout: then its syntax
          tree is the one that was compiled. Trees are compared once for each digest: a link next to the compiled
          modules keeps the answer yes, an empty file DIGEST.differs the answer no. Modules that cannot be loaded are
          interpreted too. Protocols are never compiled: users change, subclass and break them
Switch    MOBILENET_COMPILED=0 in the environment: interpret everything
Makes it  build_native.py
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
TREES = "trees"  # next to compiled modules: the digest of the syntax trees from which they were compiled
LIBRARY = "mobilenet__mypyc"  # the library that the modules share, as mypyc names it
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
    "mobilenet.why.states",
    "mobilenet.why.stories",
    "mobilenet.why.stretches",
)
KNOWN = (  # modules whose types are compiled in
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
    """Find MODULES in a folder of compiled ones, before Python looks for their source."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name == LIBRARY or name in MODULES:
            return PathFinder.find_spec(name, [str(self._folder.joinpath(*name.split(".")[:-1]))])
        return None


def sources(names: Sequence[str] = MODULES) -> list[Path]:
    return [PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in names]


def folder() -> Path:
    """Return the folder where the compiled modules of exactly this source are, or would be."""
    return PLACE / _digest(Path.read_bytes)


def digest_of_trees() -> str:
    """Digest the present code; comments, docstrings and layout do not count. Raise SyntaxError if a module has none."""
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
    """Return the folder of modules compiled from the same syntax trees, linked at this place from now on."""
    differs = place.with_suffix(".differs")
    if differs.exists():
        return None
    try:
        trees = digest_of_trees()
    except SyntaxError:
        return None
    for digest_file in PLACE.glob(f"*/{TREES}"):
        if digest_file.read_text() == trees:
            with suppress(OSError):  # another process was faster, or the package cannot be written
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
    """Return the folder of the compiled modules that travelled in an archive with the package, as to Spark's executors:
    next to it, since no library can be loaded from within. Modules of another Python or machine are not used.
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
            with suppress(OSError):  # another process was faster
                os.rename(partial / begin, target)
            shutil.rmtree(partial, ignore_errors=True)
    return target


def _find_compiled() -> Path | None:
    """Return the compiled modules, if there are any of this source."""
    try:
        if PACKAGE.parent.is_file():
            place = _unpack(PACKAGE.parent)
            return place if place.is_dir() else None
        if not PLACE.is_dir():
            return None
        place = folder()
        return place if place.is_dir() else _same_code(place)
    except (OSError, KeyError):  # e.g. a place that cannot be written
        return None


def use() -> None:
    """Import MODULES compiled from now on, where they are; call this before any of them is imported."""
    if os.environ.get("MOBILENET_COMPILED") != "0" and (compiled_folder := _find_compiled()) is not None:
        finder = Finder(compiled_folder)
        sys.meta_path.insert(0, finder)
        try:
            import_module(LIBRARY)
        except ImportError:  # of another system, or cut off
            sys.meta_path.remove(finder)


def in_use() -> bool:
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def is_outdated() -> bool:
    """Return whether they were compiled once, and their source was changed since."""
    return (
        os.environ.get("MOBILENET_COMPILED") != "0"
        and not in_use()
        and any(len(place.name) == 16 for place in PLACE.glob("*"))
    )


def why_interpreted() -> str | None:
    """Explain why modules are interpreted although the user did not ask for it, and what to do; None: they are not."""
    if in_use() or os.environ.get("MOBILENET_COMPILED") == "0":
        return None
    if (PACKAGE.parent / "make.py").is_file():
        what = "compiled modules have changed and are now interpreted" if is_outdated() else "nothing has been compiled"
        return f"{what}: python3 make.py setup"
    return "not compiled, so simulations run at half speed: install a C compiler, and then install mobilenet again"
