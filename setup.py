"""Build the wheel. In addition to `mobilenet/` it contains the pictures, scenarios and data, and the hot path as
machine code.

Model     `viz/` becomes `mobilenet/viz`, and `scenarios/` and `data/` go below `mobilenet/examples`. With a C
          compiler, the hot path is compiled in the wheel's own copy of the source, as `make setup` does in a clone,
          and the wheel is only for this platform. Without a compiler, or with MOBILENET_COMPILED=0, the wheel is for
          any platform, and the code is interpreted. `make dist` names the folder of compiled modules in the clone,
          which are reused for the same source
Errors    on Windows, the build fails with an error of one line
Source    ours: docs/architecture/set-up.md
"""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py

if sys.platform == "win32":
    raise SystemExit("mobilenet runs on Linux and macOS; on Windows use it within WSL")

HERE = Path(__file__).resolve().parent
EXAMPLES = ("scenarios", "data")
BUILD_NATIVE = "mobilenet.engine.build_native"


@functools.cache
def compiles() -> bool:
    """Return whether the hot path can be compiled here. The source itself decides this with only the standard
    library.
    """
    if os.environ.get("MOBILENET_COMPILED") == "0":
        return False
    code = f"from {BUILD_NATIVE} import obstacle; import sys; sys.exit(obstacle())"
    return subprocess.call([sys.executable, "-c", code], cwd=HERE, env=surroundings(HERE)) == 0


def surroundings(place: Path) -> dict[str, str]:
    """Return environment variables with which Python imports the source in `place`."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(place), os.environ.get("PYTHONPATH", "")]))}


class Compiled(Distribution):
    """A distribution for this platform and this version of Python, if the hot path is compiled."""

    def has_ext_modules(self) -> bool:
        return compiles()


class WithExamples(build_py):
    def run(self) -> None:
        if getattr(self, "editable_mode", False):
            super().run()
            return
        place = Path(self.build_lib).resolve()
        # An earlier build may contain files that no longer exist.
        shutil.rmtree(place / "mobilenet", ignore_errors=True)
        super().run()
        for name in EXAMPLES:
            target = place / "mobilenet" / "examples" / name
            shutil.copytree(HERE / name, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        if self.distribution.has_ext_modules():
            subprocess.call([sys.executable, "-m", BUILD_NATIVE, "--again"], cwd=place, env=surroundings(place))
            for report in place.glob("mobilenet/__compiled__/*.failed"):
                report.unlink()


pictures = [f"mobilenet.viz.{name}" for name in find_packages(str(HERE / "viz"))]
setup(
    packages=[*find_packages(str(HERE), include=["mobilenet", "mobilenet.*"]), *pictures],
    package_dir={"mobilenet.viz": "viz"},
    package_data={
        "mobilenet": ["py.typed", "commit.txt"],
        "mobilenet.lab.export": ["*.lua"],
        "mobilenet.viz.map": ["web/*"],
        "mobilenet.viz.report": ["*.css"],
        "mobilenet.viz.vendor": ["README.md", "*/*"],
    },
    include_package_data=False,
    distclass=Compiled,
    cmdclass={"build_py": WithExamples},
)
