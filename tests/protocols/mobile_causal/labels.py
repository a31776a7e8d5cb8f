"""Read the labels in the code of the mobile causal broadcast: lines of the paper, repaired rules, invariants.

Model     a label stands in a comment at the end of a line of code: `# A4:64, F1b` or `# F15 (why)`. A1:16-18 is a
          range. Labels in docstrings are ordinary text and are ignored
Source    ours: docs/protocols/mobile-causal.md, Notation
"""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
PROTOCOL = ROOT / "mobilenet" / "protocols" / "mobile_causal"
DOCUMENT = ROOT / "docs" / "protocols" / "mobile-causal.md"
PRINTED = {1: range(1, 53), 2: range(1, 48), 3: range(48, 51), 4: range(51, 104)}  # algorithm -> its lines

LABEL = r"(?:A[1-4]:\d+(?:-\d+)?|F\d+[a-e]?|I\d+)"
LABELS = re.compile(rf"# (?P<labels>{LABEL}(?:, {LABEL})*)(?: \([^()]*(?:\([^()]*\)[^()]*)*\))?$")
LOOKS_LIKE_ONE = re.compile(r"# *(?:A\d|F\d|I\d|l\.\s*\d)")


class FoundLabel(NamedTuple):
    label: str
    file: str
    line: int


def comments(path: Path) -> list[tuple[int, str]]:
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]


def labels_in(path: Path) -> tuple[list[FoundLabel], list[str]]:
    """Return the labels of a file, and the comments that look like labels but are not valid ones."""
    labels, malformed = [], []
    for line, comment in comments(path):
        match = LABELS.match(comment)
        if match:
            labels += [FoundLabel(label, path.name, line) for label in match["labels"].split(", ")]
        elif LOOKS_LIKE_ONE.match(comment):
            malformed.append(f"{path.name}:{line}: {comment}")
    return labels, malformed


def protocol_labels() -> tuple[list[FoundLabel], list[str]]:
    labels, malformed = [], []
    for path in sorted(PROTOCOL.glob("*.py")):
        some, wrong = labels_in(path)
        labels += some
        malformed += wrong
    return labels, malformed


def lines_of(label: str) -> list[tuple[int, int]]:
    """Return (algorithm, line) for each line that a label such as A2:13-17 refers to."""
    algorithm, lines = label[1:].split(":")
    first, _, last = lines.partition("-")
    return [(int(algorithm), line) for line in range(int(first), int(last or first) + 1)]
