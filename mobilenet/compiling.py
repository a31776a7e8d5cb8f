"""Makes machine code of the modules on the hot path: `python -m mobilenet.compiling`.

Model     mypyc reads their types and writes C, the C compiler does the rest; what comes out takes its name when it is whole
Needs     mypy, setuptools, a C compiler and Python's headers. Where one of them is missing nothing is made, and everything
          runs as it is
Errors    exit status 0 in any case; a line on stderr says what was made, or what is missing
Source    ours: DESIGN.md, "Speed"
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from mobilenet.compiled import PACKAGE, PLACE, folder, sources

SETTINGS = """[mypy]
ignore_missing_imports = true
follow_imports = silent
[mypy-numpy.*,scipy.*,pandas.*,pydantic.*,shapely.*,ruamel.*]
follow_imports = skip
follow_imports_for_stubs = true
"""  # reading the types of large libraries would take longer than all the rest

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


def main(tells_obstacles: bool) -> None:
    """Compile if that is to be done and can be done; `tells_obstacles`: say so if it cannot."""
    if folder().is_dir():
        return
    began = time.monotonic()
    missing = obstacle()
    failure = missing or make()
    if failure is None:
        print(f"mobilenet: compiled the modules on the hot path in {time.monotonic() - began:.0f} s", file=sys.stderr)
    elif tells_obstacles:
        print(f"mobilenet: nothing is compiled, so simulations take about twice as long: {failure}", file=sys.stderr)


if __name__ == "__main__":
    main(tells_obstacles="--tell" in sys.argv)
