"""Tests of the bootstrap script make.py and of the lists that it reads. The tests install nothing."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from mobilenet.cli.console import EXTRAS
from mobilenet.engine import build_native
from tests.conftest import ROOT


@pytest.fixture
def make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make", ROOT / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def locked_versions() -> dict[str, str]:
    entries = re.split(r"\n(?=[a-z0-9])", (ROOT / "requirements.lock").read_text())
    return {entry.split("==")[0]: entry for entry in entries if not entry.startswith("#")}


def test_make_py_rejects_an_old_python_without_a_syntax_error() -> None:
    ast.parse((ROOT / "make.py").read_text(), feature_version=(3, 6))


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 10, 13), (3, 14, 0)])
def test_unsupported_python_versions_are_rejected_in_one_line(
    make: ModuleType, monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...]
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(make.Refusal, match=r"^Python 3\.11 to 3\.13 is needed, but .*$"):
        make.main()


def test_the_lock_holds_every_dependency_once_with_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    assert extras["all"] == [f"mobilenet[{name}]" for name in extras if name != "all"]
    optional = [one for name, own in extras.items() if name != "all" for one in own]
    wanted = project["project"]["dependencies"] + optional + project["dependency-groups"]["dev"]
    pins = locked_versions()
    table = [line for line in (ROOT / "docs/architecture/set-up.md").read_text().splitlines() if line[:1] == "|"]
    explained = {name.lower() for line in table for name in re.findall(r"[\w.-]+", line.split("|")[1])}
    for requirement in wanted:
        name = re.split(r"[<>=!~\[ ]", requirement)[0].lower()
        assert name in explained or name.removesuffix("-python") in explained, name
        assert name.replace(".", "-").replace("_", "-") in pins, name
    for name, entry in pins.items():
        assert re.match(rf"{name}==\S+", entry) and "--hash=sha256:" in entry
        assert "http" not in entry and "file:" not in entry


def test_each_missing_library_has_an_extra_that_installs_it() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for library, extra in EXTRAS.items():
        assert any(requirement.lower().startswith(library.lower()) for requirement in extras[extra]), library
    assert set(EXTRAS.values()) == extras.keys() - {"all"}


def test_one_locked_requirement_can_be_extracted(make: ModuleType, tmp_path: Path) -> None:
    text = Path(make.requirements_of("uv", str(tmp_path))).read_text()
    assert text.startswith("uv==") and "--hash=sha256:" in text and "urllib3" not in text
    with pytest.raises(make.Refusal):
        make.requirements_of("nothing-of-that-name", str(tmp_path))


def test_an_incomplete_environment_is_recognized(
    make: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stamp, python = tmp_path / "made-of.json", tmp_path / "python"
    monkeypatch.setattr(make, "STAMP", str(stamp))
    monkeypatch.setattr(make, "PYTHON", str(python))
    assert make.stamp() == {}
    for text in ("", "{", "[]"):
        stamp.write_text(text)
        assert make.stamp() == {}
    stamp.write_text(json.dumps(make.made_of()))
    assert make.stamp() == {}  # The Python of this stamp no longer exists.
    python.symlink_to(sys.executable)
    assert make.stamp() == make.made_of()


def children_cpu_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def test_running_setup_again_does_nothing(make: ModuleType) -> None:
    if make.stamp() != make.made_of():
        pytest.skip("this environment was not made by make.py")
    cpu_s = children_cpu_s()
    done = subprocess.run([sys.executable, "make.py", "setup"], cwd=ROOT, capture_output=True, text=True, check=False)
    missing = build_native.obstacle()  # The obstacle is printed whenever the user calls `setup` by name.
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (0, "", 0 if missing is None else 1)
    assert children_cpu_s() - cpu_s < 2  # takes 0.05 s on an idle machine


def test_commands_run_without_a_usable_home(make: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(make, "VENV", str(tmp_path))
    for home in ("", "relative", "/dev/null", str(tmp_path / "nowhere")):
        monkeypatch.setenv("HOME", home)
        env = make.surroundings()
        assert Path(env["HOME"]).parent == tmp_path and env["MPLCONFIGDIR"].startswith(str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    env = make.surroundings()
    assert env["HOME"] == str(tmp_path) and "PYTHONPATH" not in env


def test_the_pip_configuration_of_the_user_is_respected(
    make: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://mirror.example/simple\ncert = /c.pem\n")
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_CERT", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    assert make.pip_settings()["index-url"] == "https://mirror.example/simple"
    assert make.pip_settings()["cert"] == "/c.pem"
    monkeypatch.setenv("PIP_INDEX_URL", "https://other.example/simple")
    assert make.pip_settings()["index-url"] == "https://other.example/simple"


def test_the_makefile_wraps_every_make_py_command(make: ModuleType) -> None:
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets is not None and sorted(targets[1].split()) == sorted(make.COMMANDS)
    output = subprocess.run(
        [sys.executable, "make.py", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert all(re.search(rf"^  {name} +\S", output, re.MULTILINE) for name in make.COMMANDS)
