"""Fixtures: a folder with all sample programs, including compiled C programs, and the first program of the guide."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT, SCENARIOS

SAMPLES = SCENARIOS / "programs"
GUIDE = ROOT / "docs" / "guide" / "programs.md"
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    for file in SAMPLES.glob("*.*"):  # This skips binaries that were compiled in the clone.
        shutil.copy(file, folder)
    if shutil.which("cc") is not None:
        for source in folder.glob("*.c"):
            subprocess.run(["cc", *WARNINGS, "-O2", "-o", source.stem, source.name], cwd=folder, check=True)
    return folder


@pytest.fixture
def shout(tmp_path: Path) -> Path:
    blocks = re.findall(r"```\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "shout.py").write_text(blocks[0])
    (tmp_path / "shout.yaml").write_text(blocks[1])
    return tmp_path / "shout.yaml"
