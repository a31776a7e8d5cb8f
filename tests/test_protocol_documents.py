"""Tests that the files and names in the documents of the protocols exist, and that lines of these documents are
wrapped.
"""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

DOCUMENTS = [ROOT / "docs" / "protocols" / f"{name}.md" for name in ("mobile-causal", "tcp-flooding", "vcube")]
PLACES = (ROOT, ROOT / "mobilenet", *(path for path in (ROOT / "mobilenet" / "protocols").iterdir() if path.is_dir()))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_protocol_documents_are_wrapped_at_100_columns(path: Path) -> None:
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert [line for line in text.splitlines() if len(line) > 100 and not line.startswith("|")] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_files_mentioned_in_protocol_documents_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.(?:py|yaml|md)|(?:tests|mobilenet|scenarios)/[\w/.]*)`", text))
    assert [name for name in sorted(named) if not any((place / name).exists() for place in PLACES)] == []
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_within_a_document_point_to_existing_headings(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    headings = {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}
    assert [link for link in re.findall(r"\]\(#([^)]+)\)", text) if link not in headings] == []
