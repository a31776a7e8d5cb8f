"""The modules under every frame as machine code, where there is any made of exactly this source.

Model     mypyc compiles MODULES as they stand, so there is one source and one behaviour, only faster. The result lies in
          `__compiled__/DIGEST` beside this file; the digest covers the source of each of them, the Python and the machine.
          Whoever changes one of them runs what the file says, interpreted, until it is compiled again: there is nothing
          that could be out of date. Protocols are never compiled: they are what people change, subclass and break
Needs     for compiling: mypy, setuptools, a C compiler and Python's headers. For running: nothing
Switch    MOBILENET_COMPILED=0 in the environment: interpret everything
Run       python -m mobilenet.compiled: compile what is not compiled yet, and say what is in use; exit status 0 also where
          it cannot be done, since everything runs without it
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
SETTINGS = """[mypy]
ignore_missing_imports = true
follow_imports = silent
[mypy-numpy.*,scipy.*,pandas.*,pydantic.*,shapely.*,ruamel.*]
follow_imports = skip
follow_imports_for_stubs = true
"""  # reading the types of large libraries would take longer than all the rest


class Finder:
    """Finds MODULES in a folder of compiled ones, before anybody looks for their source."""

    def __init__(self, folder: Path) -> None:
        self._folder = [str(folder)]

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name == LIBRARY or name in MODULES:
            return PathFinder.find_spec(name, [str(Path(self._folder[0], *name.split(".")[:-1]))])
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


# --- making them


SCRIPT = """
import sys
from mypyc.build import mypycify
from setuptools import setup

settings, scratch, target, *paths = sys.argv[1:]
sys.argv[1:] = []
options = ["--config-file", settings, "--cache-dir", "/dev/null", *paths]
modules = mypycify(options, target_dir=scratch, group_name="mobilenet", debug_level="0")
setup(ext_modules=modules, script_args=["-q", "build_ext", "--build-temp", scratch, "--build-lib", target])
"""


def obstacle() -> str | None:
    """What is missing for compiling here."""
    import shutil
    import sysconfig
    from importlib.util import find_spec

    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no C compiler ({compiler})"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "Python's headers are not installed"
    for name in ("mypyc", "setuptools"):
        if find_spec(name) is None:
            return f"{name} is not installed"
    if not os.access(PACKAGE, os.W_OK):
        return f"{PACKAGE} cannot be written"
    return None


def make() -> str | None:
    """Compile the present source, unless that is done; what went wrong, in a line."""
    import shutil
    import subprocess
    import tempfile

    target = folder()
    report = target.with_suffix(".failed")
    if target.is_dir():
        return None
    if report.exists():
        return f"they could not be compiled: see {report}"
    with tempfile.TemporaryDirectory() as scratch:
        settings = Path(scratch, "mypy.ini")
        settings.write_text(SETTINGS)
        made = Path(scratch, "made")
        paths = [str(path.relative_to(PACKAGE.parent)) for path in sources()]
        command = [sys.executable, "-c", SCRIPT, str(settings), scratch, str(made), *paths]
        done = subprocess.run(command, cwd=PACKAGE.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        shutil.rmtree(PLACE, ignore_errors=True)  # what an earlier source was made to
        PLACE.mkdir(exist_ok=True)
        if done.returncode or not made.is_dir():
            report.write_bytes(done.stdout)
            return f"they could not be compiled: see {report}"
        part = target.with_suffix(f".part-{os.getpid()}")
        shutil.copytree(made, part)
        part.rename(target)  # whole, or not there
    return None


if __name__ == "__main__":
    reason = obstacle() if not folder().is_dir() else None
    reason = reason or make()
    print("the modules on the hot path are " + ("compiled" if reason is None else f"interpreted, at half the speed: {reason}"))
