"""Tests that the verifier finds the planted bug in the sample of each language, and names the violated property."""

import shutil
from pathlib import Path

import pytest

from mobilenet.api import run
from tests.lab.programs.languages import COMMANDS, those_here

BAD = {
    "python": ("fifo_order", "overtook"),
    "js": ("duplication", "twice"),
    "c": ("creation", "which had not been broadcast"),
}
SECONDS = 6
SEEDS = (3, 4)  # The runs are short, so a single seed may not reveal every bug.


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("language", those_here(BAD))
def test_the_verifier_finds_the_sample_bug_in_each_language(
    language: str, seed: int, samples: Path, tmp_path: Path
) -> None:
    shutil.copytree(samples, tmp_path, dirs_exist_ok=True)
    verdicts = {}
    for name, command in (("good", COMMANDS[language]), ("bad", [*COMMANDS[language], "--bug"])):
        wanted = {"seed": seed, "duration_s": SECONDS, "protocol": {"command": command, "promises": "fifo"}}
        done = run(tmp_path / "flood.yaml", overrides=wanted, out=tmp_path / name, allow_code=True)
        assert done.verdict == ("valid" if name == "good" else "violated")
        verdicts[name] = done.verdicts
    check, words = BAD[language]
    assert verdicts["bad"][check].answer == "violated"
    assert words in verdicts["bad"][check].explanation
