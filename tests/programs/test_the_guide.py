"""The first program of docs/guide/programs.md, as a user would type it."""

import re
from pathlib import Path

import pytest

from mobilenet.api import run

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "programs.md"


@pytest.fixture
def shout(tmp_path: Path) -> Path:
    blocks = re.findall(r"```\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "shout.py").write_text(blocks[0])
    (tmp_path / "shout.yaml").write_text(blocks[1])
    return tmp_path / "shout.yaml"


def test_it_is_valid(shout: Path, tmp_path: Path) -> None:
    done = run(shout, out=tmp_path / "run", allow_code=True)
    assert done.verdict == "valid" and done.metrics["deliveries"] > 100


def test_it_is_not_causal(shout: Path, tmp_path: Path) -> None:
    promise = {"protocol.promises": "causal"}
    assert run(shout, out=tmp_path / "run", allow_code=True, overrides=promise).verdict == "violated"
