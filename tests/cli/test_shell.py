"""Tests that messages escape invisible characters in names, and that a shell restores the original names."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mobilenet.viz.style import plain

from mobilenet.quoting import pluralize, quote, spell_out

HIDDEN = ("\u202e", "\u2066", "\u200b", "\ufeff", "\x1b", "\x07", "\x85")


@pytest.mark.parametrize("character", HIDDEN)
def test_invisible_characters_in_output_are_spelled_out(character: str) -> None:
    text = f"a {character}b 'c'"
    assert character not in spell_out(text) and character not in plain(text) and character not in quote(Path(text))
    assert spell_out("a\tb\nc\N{NO-BREAK SPACE}d") == "a\tb\nc\N{NO-BREAK SPACE}d"


@given(
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0/\r\n"), min_size=1, max_size=12).filter(
        lambda name: name not in (".", "..")
    )
)
def test_bash_reads_quoted_file_names_back_unchanged(name: str) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    done = subprocess.run(
        [bash, "-c", f"printf %s {quote(Path(name))}"], capture_output=True, env={"LC_ALL": "C.UTF-8"}, check=True
    )
    assert done.stdout.decode() == name


def test_pluralize_distinguishes_one_from_many() -> None:
    words = [pluralize(number, what) for number, what in ((1, "run"), (2, "run"), (0, "crash"), (1000, "process"))]
    assert words == ["1 run", "2 runs", "0 crashes", "1,000 processes"]
    assert [pluralize(2, what) for what in ("delivery", "way", "more row")] == ["2 deliveries", "2 ways", "2 more rows"]
