"""Tests that the document of the VCube family names every mutant, every file, and all lines that the headers cite."""

import re

from tests.conftest import ROOT

from .mutants import MUTANTS

PROTOCOLS = ROOT / "mobilenet" / "protocols" / "vcube"
TEXT = (ROOT / "docs" / "protocols" / "vcube.md").read_text(encoding="utf-8")


def test_the_vcube_document_lists_every_mutant() -> None:
    assert [name for name in MUTANTS if f"`{name}`" not in TEXT] == []


def test_the_vcube_document_mentions_every_protocol_file() -> None:
    beside = {"__init__.py", "parameters.py", "port.py", "causal_messages.py"}
    files = {path.name for path in PROTOCOLS.glob("*.py")} - beside
    assert {name for name in files if f"`{name}`" not in TEXT} == set()


def test_the_vcube_document_has_the_repaired_lines_of_headers() -> None:
    for name in ("best_effort.py", "reliable.py"):
        header = (PROTOCOLS / name).read_text(encoding="utf-8").partition("Deviations")[2].partition("Reads")[0]
        for line in re.findall(r"^  (l\.\d+)", header, re.MULTILINE):
            assert line in TEXT, (name, line)


def test_the_printed_causal_broadcast_cites_every_printed_line() -> None:
    """The ends of loops and functions are exempt."""
    source = (PROTOCOLS / "causal_printed.py").read_text(encoding="utf-8")
    line_numbers = set()
    for first, last in re.findall(r"# (?:[^#\n]*, )?l\.(\d+)(?:, \d+|-(\d+))?", source):
        line_numbers |= set(range(int(first), int(last or first) + 1))
    line_numbers |= {int(n) for n in re.findall(r"# l\.\d+, (\d+)", source)}
    procedures = {5, 13, 23, 29}  # docstrings cite these lines
    assert set(range(2, 34)) - procedures == line_numbers & set(range(2, 34))
