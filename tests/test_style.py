"""How long lines and modules may be, and that the words of the house are kept."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
CODE = [
    path
    for folder in ("mobilenet", "viz", "tests", "scenarios")
    for kind in ("*.py", "*.js", "*.css", "*.c")
    for path in sorted((ROOT / folder).rglob(kind))
] + [ROOT / "make.py", ROOT / "setup.py"]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "data/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
SETTINGS = [*sorted((ROOT / "scenarios").rglob("*.yaml")), *ROOT.glob("*.toml"), *ROOT.glob("*.yml")]
GENERATED = ("scenarios/REFERENCE.md",)


def too_long(path: Path, most: int) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [f"{path.relative_to(ROOT)}:{n}" for n, line in enumerate(lines, 1) if len(line) > most]


def test_no_line_of_code_is_longer_than_120_columns() -> None:
    assert [place for path in (*CODE, *SETTINGS) for place in too_long(path, 120)] == []


def test_no_line_of_a_document_is_longer_than_100_columns() -> None:
    """Tables, links, pictures and code blocks excepted."""
    found = []
    for path in DOCUMENTS:
        in_code = False
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            in_code ^= line.startswith("```")
            excepted = in_code or line.startswith(("|", "    ", "![", "```")) or re.search(r"\]\(|https?://", line)
            if len(line) > 100 and not excepted:
                found.append(f"{path.relative_to(ROOT)}:{n}")
    assert found == []


def test_modules_are_short() -> None:
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted((ROOT / "mobilenet").rglob("*.py"))
    }
    assert median(lengths.values()) <= 120
    web = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "viz" / "map" / "web").iterdir()
    }
    assert [f"{path.relative_to(ROOT)}: {n}" for path, n in {**lengths, **web}.items() if n > 400] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
