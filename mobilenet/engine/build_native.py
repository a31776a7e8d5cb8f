"""Compile the modules on the hot path to machine code: `python -m mobilenet.engine.build_native`.

Model     mypyc reads the type annotations and writes C, and the C compiler does the rest. The output receives its final
          name only when it is complete.
Needs     mypy, setuptools, a C compiler and Python's headers. If one of them is missing, the build is skipped, and
          everything runs as Python.
Errors    The exit status is always 0. A line on stderr reports what was built, or what is missing.
Source    ours: docs/performance.md
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from importlib.util import find_spec
from pathlib import Path

from mobilenet.engine import native, safe_path
from mobilenet.engine.native import PACKAGE, PLACE, folder, sources
from mobilenet.engine.scratch import scratch_folder

SETTINGS = """[mypy]
ignore_missing_imports = true
follow_imports = silent
[mypy-numpy.*,scipy.*,pandas.*,pydantic.*,shapely.*,ruamel.*]
follow_imports = skip
follow_imports_for_stubs = true
"""  # Reading the types of large libraries would take longer than all other work.

SCRIPT = """
import sys
from mypyc.build import mypycify
from setuptools import setup

settings, scratch, target, *paths = sys.argv[1:]
sys.argv[1:] = []
options = ["--config-file", settings, "--cache-dir", "/dev/null", *paths]
modules = mypycify(options, target_dir=scratch, group_name="mobilenet", debug_level="0")
for module in modules:  # a product and a sum are rounded twice, as in Python, also where one instruction could do both
    module.extra_compile_args.append("-ffp-contract=off")
no_more: list[str] = []  # else setuptools looks for packages around it, and finds too many
setup(
    ext_modules=modules,
    packages=no_more,
    py_modules=no_more,
    script_args=["-q", "build_ext", "--build-temp", scratch, "--build-lib", target],
)
"""
# `make dist` sets this variable to a folder that may contain compiled modules of the same source.
COMPILED_THERE = "MOBILENET_COMPILED_THERE"
# These variables of the caller's environment are ignored, because the digest does not cover their effects.
FLAGS = ("CFLAGS", "CPPFLAGS", "LDFLAGS")


def obstacle() -> str | None:
    """Return the reason why modules cannot be compiled on this machine, or None."""
    compiler = [*(os.environ.get("CC") or sysconfig.get_config_var("CC") or "").split(), "cc"][0]
    if shutil.which(compiler) is None:
        return f"C compiler not found ({compiler})"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "Python's headers are not installed"
    for name in ("mypyc", "setuptools"):
        if find_spec(name) is None:
            return f"{name} is not installed"
    place = PLACE if PLACE.exists() else PACKAGE
    if not (place.is_dir() and os.access(place, os.W_OK)):
        return f"{place} cannot be written"
    return None


def make() -> str | None:
    """Compile the current source, and then remove older compiled modules. Return None, or an error message in one
    line.
    """
    target = folder()
    report = target.with_suffix(".failed")
    PLACE.mkdir(exist_ok=True)
    with scratch_folder("build") as scratch:
        settings = Path(scratch, "mypy.ini")
        settings.write_text(SETTINGS)
        build_folder = Path(scratch, "made")
        paths = [str(path.relative_to(PACKAGE.parent)) for path in sources()]
        command = safe_path.python("-c", SCRIPT, str(settings), str(scratch), str(build_folder), *paths)
        env = {name: value for name, value in os.environ.items() if name not in FLAGS}
        process = subprocess.run(
            command, cwd=PACKAGE.parent, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if process.returncode or not build_folder.is_dir():
            report.write_bytes(process.stdout)
            return f"the compiler failed: see {report}"
        part = target.with_suffix(f".part-{os.getpid()}")
        try:
            shutil.copytree(build_folder, part)
            (part / native.TREES).write_text(native.digest_of_trees())
            for file in part.rglob("*"):
                if file.is_file():
                    with file.open("rb") as written:
                        os.fsync(written.fileno())
            if not target.is_dir():  # Otherwise, another process has already built the modules.
                part.rename(target)  # the modules appear all at once or not at all
        finally:
            shutil.rmtree(part, ignore_errors=True)
    for old in PLACE.iterdir():
        if old != target and ".part-" not in old.name:
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    return None


def main(tries_again: bool) -> None:
    """Compile if necessary and possible. With `tries_again`, also compile after an earlier failure, and report what is
    missing.
    """
    target = folder()
    if target.is_dir():
        return
    failure = obstacle()
    if failure is not None:
        if tries_again:
            say(f"nothing is compiled, so simulations take about twice as long: {failure}")
        return
    report = target.with_suffix(".failed")
    if report.exists() and not tries_again:
        say(
            f"simulations take about twice as long, since the hot path could not be compiled: see {report}; `make"
            " setup` tries again"
        )
        return
    there = os.environ.get(COMPILED_THERE)
    if there and Path(there, target.name).is_dir():
        shutil.copytree(Path(there, target.name), target)
        return
    began = time.monotonic()
    say("compiling the hot path, about 40 s")
    try:
        failure = make()
    except OSError as error:
        failure = f"{error.filename or PLACE}: {error.strerror or error}"
    say(
        f"compiled in {time.monotonic() - began:.0f} s"
        if failure is None
        else f"not compiled, so simulations take about twice as long: {failure}"
    )


def renew() -> None:
    """Recompile and use modules whose source was edited after they had been compiled. Report success or failure."""
    if native.is_outdated() and not any(name in sys.modules for name in native.MODULES):
        main(tries_again=False)
        native.use()


def say(text: str) -> None:
    print("mobilenet: " + text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        main(tries_again="--again" in sys.argv)
    except KeyboardInterrupt:
        sys.exit(130)
