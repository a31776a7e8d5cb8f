"""Tests that code, document and mutants use the same labels for lines of the paper, repaired rules and invariants."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.protocols.edits import Edit, EditError, apply_edit, mutate, place

from .labels import DOCUMENT, LABELS, PRINTED, PROTOCOL, ROOT, comments, labels_in, lines_of, protocol_labels
from .mutants import MUTANTS, PACKAGE, SHARED, load

TEXT = DOCUMENT.read_text(encoding="utf-8")
NO_MUTANT = {"F16": "the backbone routes and floods: there is no line to take back"}


def section(title: str) -> str:
    return re.split(r"^#{2,3} ", TEXT.partition(f" {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def rows(title: str) -> dict[str, str]:
    """Return the rows of the tables in a section, with their first cells as keys."""
    table_rows = [line for line in section(title).splitlines() if line.startswith("| ")]
    return {line.split("|")[1].strip(): line for line in table_rows if not set(line) <= set("|- ")}


def in_code(kind: str) -> set[str]:
    return {entry.label for entry in protocol_labels()[0] if entry.label.startswith(kind)}


def test_every_rule_label_in_the_code_is_well_formed() -> None:
    _, malformed = protocol_labels()
    assert malformed == []
    assert LABELS.match("# A4:64, F1b (why (so))") and not LABELS.match("# A5:1") and not LABELS.match("# F1b why")


def test_each_printed_line_is_cited_in_the_code_or_excused() -> None:
    tagged = {line for label in in_code("A") for line in lines_of(label)}
    missing = {
        line for cell in rows("Lines of print without a statement") if cell != "line"
        for label in cell.split(", ") for line in lines_of(label)
    }  # fmt: skip
    printed = {(algorithm, line) for algorithm, lines in PRINTED.items() for line in lines}
    assert tagged <= printed and missing <= printed
    assert tagged | missing == printed and tagged & missing == set()


def test_every_printed_line_cited_in_the_document_exists() -> None:
    printed = {(algorithm, line) for algorithm, lines in PRINTED.items() for line in lines}
    for label in re.findall(r"A[1-4]:\d+(?:[–-]\d+)?", TEXT):
        assert set(lines_of(label.replace("–", "-"))) <= printed, label


@pytest.mark.parametrize("path", sorted(PROTOCOL.glob("*.py")), ids=lambda path: path.name)
def test_headers_cite_lines_together_with_their_algorithm(path: Path) -> None:
    """A header must not cite "l.35" without the algorithm, because Algorithms 1 and 2 both have a line 35."""
    assert not re.findall(r"\bl\.\s*\d", path.read_text(encoding="utf-8"))
    for label in re.findall(r"A[1-4]:\d+(?:-\d+)?", path.read_text(encoding="utf-8")):
        assert all(line in PRINTED[algorithm] for algorithm, line in lines_of(label)), label


def test_code_and_document_list_the_same_repaired_rules() -> None:
    assert in_code("F") == {label for label in rows("Deviations") if re.fullmatch(r"F\d+[a-e]?", label)}


def test_labels_cited_in_headers_exist_in_the_document() -> None:
    known = in_code("F")
    for path in sorted(PROTOCOL.glob("*.py")):
        named = set(re.findall(r"\bF\d+[a-e]?\b", path.read_text(encoding="utf-8")))
        assert named <= known, path.name


def test_every_repaired_rule_has_a_mutant_or_a_reason() -> None:
    assert in_code("F") == {m.rule for m in MUTANTS.values() if m.rule[0] == "F"} | set(NO_MUTANT)
    assert {m.rule for m in MUTANTS.values() if m.rule[0] == "A"} <= in_code("A") | {"A1:48", "A3:50"}


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_edits_a_line_labelled_with_its_rule(name: str) -> None:
    rule, edits = MUTANTS[name].rule, MUTANTS[name].edits
    attacked = []
    for edit in edits:
        source = (PROTOCOL / f"{edit.module}.py").read_text(encoding="utf-8")
        first, last = place(source, edit)
        attacked += source.splitlines()[first : last + 1]
    assert rule in ("A1:48", "A3:50") or any(re.search(rf"# .*\b{rule}\b", line) for line in attacked)


def test_the_document_lists_every_mutant_at_its_rule() -> None:
    deviations = rows("Deviations")
    for name, m in MUTANTS.items():
        place = deviations[m.rule] if m.rule[0] == "F" else section("Deviations")
        assert f"`{name}`" in place, name
    for label, row in deviations.items():
        for name in re.findall(r"`(\w+)`", row.split("|")[-2]):
            assert name not in MUTANTS or MUTANTS[name].rule == label


def test_code_and_document_list_the_same_invariants() -> None:
    places = [*(ROOT / "mobilenet").rglob("*.py"), ROOT / "tests/protocols/mobile_causal/test_swarm.py"]
    named = set()
    for path in places:
        text = path.read_text(encoding="utf-8")
        named |= {entry.label for entry in labels_in(path)[0] if entry.label[0] == "I"}
        named |= set(re.findall(r'assert .*"(I\d+): ', text))
    assert named == {label for label in rows("Invariants") if re.fullmatch(r"I\d+", label)}


def test_each_state_assertion_cites_the_invariant_it_checks() -> None:
    for path in sorted(PROTOCOL.glob("*.py")):
        named = {line for line, comment in comments(path) if re.match(r"# I\d", comment)}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert "assert not self._check" not in line or number in named, (path.name, number)


# --- edits


def test_an_edit_that_does_not_apply_exactly_once_is_an_error() -> None:
    source = "def f():\n    a = 1\n    b = 1\n    a = 1\n"
    assert apply_edit(source, Edit("m", "b = 1", "b = 2\nc = 3")) == source.replace("b = 1", "b = 2\n    c = 3")
    for old in ("a = 1", "d = 1", "", "b ="):
        with pytest.raises(EditError):
            apply_edit(source, Edit("m", old, "x"))
    with pytest.raises(EditError):
        apply_edit(source, Edit("m", "b = 1", "b = 1"))


def test_making_a_mutant_leaves_the_original_unchanged() -> None:
    original, copy = __import__(PACKAGE, fromlist=["Host"]), load("gt")
    assert copy.Host is not original.Host and copy.Stable is original.Stable
    assert copy.Station.__module__ != original.Station.__module__
    for edits in ((), (Edit("messages", "ID, NUMBER, FLAG = 4, 8, 1", ""),), (Edit("nowhere", "a", "b"),)):
        with pytest.raises(EditError):
            mutate(PACKAGE, "wrong", edits, SHARED)
