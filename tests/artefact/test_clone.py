"""An archive made in this clone is checked in another one, with an empty home: all claims come out the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import mobilenet
from tests.conftest import FIRST, ROOT

from .test_checking import CLAIMS, bare, comes_out

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of the last commit, in which nothing is compiled or installed."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is not a clone, or there is no git")
    place = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", ROOT, place], check=True, timeout=120)
    return place


def test_all_claims_come_out_the_same_in_another_clone(clone: Path, tmp_path: Path) -> None:
    place = tmp_path / "made"
    place.mkdir()
    shutil.copy(FIRST, place / "first.yaml")
    (place / "claims.yaml").write_text(CLAIMS)
    done = mobilenet("claims", "claims.yaml", "--workers", "2", "--out", "answers", "-q", place=place)
    assert done.returncode == 0, done
    assert mobilenet("artefact", "answers", "-o", "x.zip", place=place).returncode == 0
    shutil.rmtree(place / "answers")
    words = (sys.executable, "-c", "import mobilenet; print(mobilenet.__file__)")
    env = os.environ | {"PYTHONPATH": str(clone)}
    found = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=True, timeout=60)
    assert Path(found.stdout.strip()).is_relative_to(clone)
    done = bare(tmp_path, place / "x.zip", clone=clone)
    lines = comes_out(done)
    assert done.returncode == 0, done
    assert {what.rpartition(": ")[2] for what in lines if ": " in what} == {"few", "same", "safe"}
    assert all(text.startswith("same to the bit") for text in lines.values()), lines
    assert any(clone.rglob("simulation/__pycache__/*.pyc"))  # it was this code that ran
