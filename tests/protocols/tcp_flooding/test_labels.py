"""Tests that the labels R1 to R13 occur in the code of the rules, in its headers, and in the document."""

import re

from tests.conftest import ROOT

from .mutants import MUTANTS

PROTOCOL = ROOT / "mobilenet" / "protocols" / "tcp_flooding"
TEXT = (ROOT / "docs" / "protocols" / "tcp-flooding.md").read_text(encoding="utf-8")
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in sorted(PROTOCOL.glob("*.py"))}
STEPS = {"broadcast", "receive", "forward", "deliver", "ping", "pong", "buffer", "safe"}


def test_code_and_document_list_the_same_flooding_rules() -> None:
    at_lines = {label for text in SOURCES.values() for tail in re.findall(r"# (.*)$", text, re.MULTILINE)
                for label in re.findall(r"\bR\d+\b", tail)}  # fmt: skip
    documented = set(re.findall(r"^\| (R\d+) \|", TEXT, re.MULTILINE))
    in_headers = set(re.findall(r"^ +(R\d+) ", SOURCES["host.py"] + SOURCES["station.py"], re.MULTILINE))
    assert at_lines == documented == in_headers == {f"R{n}" for n in range(1, 14)}


def test_pc_broadcast_steps_in_code_and_document_agree() -> None:
    named = {step for text in SOURCES.values() for step in re.findall(r"\bPC (\w+)", text)}
    assert named == STEPS == set(re.findall(r"`PC (\w+)`", TEXT))


def test_the_document_lists_every_flooding_message_and_parameter() -> None:
    messages = re.findall(r"^class ([A-Z]\w+)\(", SOURCES["messages.py"], re.MULTILINE)
    assert [name for name in messages if f"`{name}`" not in TEXT] == []
    parameters = re.findall(r"^    (\w+): .*= Field", SOURCES["parameters.py"], re.MULTILINE)
    assert [name for name in parameters if name not in TEXT and name not in ("spacing", "first_join_spread_s")] == []


def test_the_document_lists_every_tcp_flooding_mutant() -> None:
    assert [name for name in MUTANTS if f"`{name}`" not in TEXT] == []
    rules = re.findall(r"^\| R\d+ \|.*\| (.*) \|$", TEXT, re.MULTILINE)
    assert len(rules) == 13
    assert {name for cell in rules for name in re.findall(r"`(\w+)`", cell)} <= set(MUTANTS)
