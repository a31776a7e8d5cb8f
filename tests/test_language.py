"""Words that must not come back into what people read: documents, docstrings, comments, messages.

Model     a ratchet: `LEFT` says how often a phrase may still stand; a smaller count has to be written down here
Source    ours: CONTRIBUTING.md, "Language"
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache

import pytest

from tests.conftest import ROOT
from tests.test_style import DOCUMENTS, inside_vendor

pytestmark = pytest.mark.text

PHRASES = {  # name -> what is looked for, and what to write instead
    "nobody, somebody, everybody": (r"\b(no|some|every)body\b", "the role that is meant: the caller, the host"),
    "is no": (r"\b(is|are|was|were) no (?!longer|more|less|fewer|later|earlier|better|worse)\w", "is not a"),
    "anew": (r"\banew\b", "again, re-..."),
    "beside": (r"\bbeside\b", "next to, besides, with"),
    "mend": (r"\b[Mm]end(s|ed|ing)?\b", "fix"),
    "under way": (r"\bunder way\b", "in progress"),
    "of one's own": (r"\bof (one's|your|their|his) own\b", "custom, their"),
    "whoever": (r"\b[Ww]hoever\b", "the subject by name"),
    "a sentence of who": (r"(?:^|[.;:] )Who (?!\w+[^.;:]*\?)", "the subject by name"),
    "alone": (r"\balone\b", "only"),
    "tell": (r"\b([Tt]ells?|[Tt]old|[Tt]elling)\b", "report, notify, print, return"),
    "say": (r"\b([Ss]ays?|[Ss]aid|[Ss]aying)\b", "print, report, state"),
    "so many": (r"\bso (many|much|long)\b(?! as)", "the quantity"),
    "a docstring of of": (r"(?:^|\n)Of (the|a|an|each|what)\b", "an imperative sentence"),
    "a docstring of those": (r"^(Those|For people|In words|As above)\b", "an imperative sentence that names the thing"),
    "the same, ...": (r"(?:^|[.;:] )The same,", "a sentence that stands for itself"),
}
LEFT: dict[str, tuple[int, int]] = {  # in the documents, in the code
    "is no": (2, 1),
    "beside": (0, 1),
    "mend": (0, 2),
    "of one's own": (0, 1),
    "whoever": (1, 0),
    "alone": (1, 1),
    "tell": (0, 19),
    "say": (1, 20),
}


def prose_of_python(source: str) -> Iterator[str]:
    """Docstrings, comments, and texts of more than one word."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


def prose_of_script(source: str) -> Iterator[str]:
    for match in re.finditer(r"//\s*(.*)|/\*(.*?)\*/|\"([^\"\n]* [^\"\n]*)\"|`([^`]* [^`]*)`", source, re.DOTALL):
        yield next(part for part in match.groups() if part is not None)


def prose_of_document(source: str) -> str:
    return re.sub(r"(?s:```.*?```)|`[^`\n]*`|^ {4}.*$", "", source, flags=re.MULTILINE)


@cache
def documents() -> list[str]:
    return [prose_of_document(path.read_text(encoding="utf-8")) for path in DOCUMENTS if path.name != "CHANGELOG.md"]


@cache
def code() -> list[str]:
    prose = []
    for folder in ("mobilenet", "viz", "scenarios"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix == ".py":
                prose += prose_of_python(path.read_text(encoding="utf-8"))
            elif path.suffix == ".js" and not inside_vendor(path):
                prose += prose_of_script(path.read_text(encoding="utf-8"))
    return prose


def count(phrase: str, texts: list[str]) -> int:
    pattern = re.compile(PHRASES[phrase][0])
    return sum(len(pattern.findall(text)) for text in texts)


@pytest.mark.parametrize("phrase", PHRASES)
def test_phrases_do_not_come_back(phrase: str) -> None:
    now = count(phrase, documents()), count(phrase, code())
    allowed = LEFT.get(phrase, (0, 0))
    assert now[0] <= allowed[0] and now[1] <= allowed[1], f"write: {PHRASES[phrase][1]}"
    assert now == allowed, f"fewer than before: write LEFT[{phrase!r}] = {now}"
