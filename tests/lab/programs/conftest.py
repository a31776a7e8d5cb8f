"""For tests of the samples: all of them in a folder of their own, those in C compiled."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[3] / "scenarios" / "programs"
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    for file in SAMPLES.glob("*.*"):  # not binaries compiled there
        shutil.copy(file, folder)
    if shutil.which("cc") is not None:
        for source in folder.glob("*.c"):
            subprocess.run(["cc", *WARNINGS, "-O2", "-o", source.stem, source.name], cwd=folder, check=True)
    return folder
