"""Tests that the documented table of random streams names every purpose in the code, and the file that draws from the
stream.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture" / "time-and-chance.md"
# Any code that creates a stream passes a seed.
MADE = r"\b(?:(?:Stream|generator|KeyedDraws)\(\s*[\w.]*seed\b|key_of\(\s*\w+\.seed\b)"
CALL = re.compile(MADE + r",\s*(f?)\"([^\"]+)\"")
ANY_CALL = re.compile(MADE)


def streams_in_code() -> set[tuple[str, str]]:
    """Return the purpose and the file of every stream that the code creates."""
    streams = set()
    for path in sorted((ROOT / "mobilenet").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        calls = CALL.findall(source)
        made = ANY_CALL.findall(source.replace("def generator(seed", "def _(seed"))
        assert len(calls) == len(made), f"{path}: a stream whose purpose is no text"
        for is_formatted, purpose in calls:
            plain = re.sub(r"\{\w+\}", lambda name: name[0].strip("{}").upper(), purpose) if is_formatted else purpose
            streams.add((plain, path.relative_to(ROOT / "mobilenet").as_posix()))
    return streams


def streams_in_docs() -> set[tuple[str, str]]:
    streams = set()
    for line in PAGE.read_text(encoding="utf-8").partition("| purpose |")[2].splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 4:
            break
        files = re.findall(r"`([\w/]+\.py)`", cells[3])
        streams |= {(purpose, file) for purpose in re.findall(r"`([^`]+)`", cells[0]) for file in files}
    return streams


def test_every_random_stream_is_documented() -> None:
    assert len(streams_in_code()) >= 25
    assert streams_in_docs() == streams_in_code()
