"""Tests that pictures state only causes that follow from the record. docs/validation/causes.md lists these causes."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from mobilenet.viz.map import draw
from mobilenet.viz.spacetime.window import _handoff, handoffs
from mobilenet.viz.spacetime.words import legend_lines

import mobilenet
from mobilenet.network.radio.frame import OUTCOMES as OF_FRAMES
from mobilenet.network.wired.link import LINK_CUT
from mobilenet.simulation.counters import OUT_OF_RANGE
from mobilenet.why.words import OUTCOMES
from tests.conftest import ROOT, SCENARIOS
from tests.scenario.examples import edit
from tests.viz.conftest import document_in

PAGE = (ROOT / "docs" / "validation" / "causes.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| (.+) \|$", PAGE, re.MULTILINE)
CAUSAL = re.compile(
    r"\b(because|due to|caused?|reason|lacks|why|owing to|leads? to|therefore|lost to|superseded)\b", re.IGNORECASE
)
FILES = [
    *(ROOT / "viz" / "map" / "web").glob("*.js"),
    *(ROOT / "viz" / "spacetime").glob("*.py"),
    *(ROOT / "viz" / "report").glob("*.py"),
    ROOT / "mobilenet" / "cli" / "explore.py",
    ROOT / "mobilenet" / "why" / "words.py",
    ROOT / "mobilenet" / "lab" / "live" / "effect.py",
]
NAMES = {
    "cause",
    "why",
    "reason",
    "mn-why",
    "span.mn-why",
    "Cause",
    r'"cause": "(\w+)"',
}  # These are keys, classes and headings, and not sentences.


def texts(path: Path) -> list[str]:
    """Return the string literals of a source file, without docstrings and comments."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        source = re.sub(r"(?m)^\s*//.*$|\s//\s.*$", "", source)
        return re.findall(r'"([^"\n]*)"', source)
    tree = ast.parse(source)
    strings = {id(node): node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            first = node.body[0]
            assert isinstance(first, ast.Expr)
            strings.pop(id(first.value), None)
    return [value for value in strings.values() if isinstance(value, str)]


@pytest.mark.parametrize(("sentence", "file", "record"), ROWS)
def test_each_listed_causal_sentence_occurs_in_the_code(sentence: str, file: str, record: str) -> None:
    assert any(sentence in text for text in texts(ROOT / file)) and len(record) > 5


def test_sentences_that_give_a_cause_are_all_listed() -> None:
    listed = [(sentence, file) for sentence, file, _ in ROWS]
    other_sentences = [
        (path.name, text)
        for path in FILES
        for text in texts(path)
        if CAUSAL.search(text)
        and text not in NAMES
        and not any(sentence in text and path == ROOT / file for sentence, file in listed)
    ]
    assert other_sentences == []
    assert len(listed) > 20


def test_sentences_that_state_a_cause_are_recognized() -> None:
    assert CAUSAL.search("late because the station is busy") and not CAUSAL.search("Delivered to all")


def test_every_frame_outcome_has_a_description() -> None:
    assert set(OUTCOMES) == (set(OF_FRAMES) - {"received"}) | {"bit_errors", "preamble_missed", LINK_CUT, OUT_OF_RANGE}


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the map data of one run for each promise."""
    folder, document_of = tmp_path_factory.mktemp("causes"), {}
    for promise, scenario in (
        ("causal", "first.yaml"),
        ("fifo", "own_protocol/roaming.yaml"),
        ("best_effort", "own_protocol/gossip.yaml"),
    ):
        run = mobilenet.run(SCENARIOS / scenario, out=folder / promise, overrides=["duration_s=15"], allow_code=True)
        assert run.manifest["promises"]["broadcast"] == promise
        draw(run.path, folder / f"{promise}.html")
        document_of[promise] = document_in(folder / f"{promise}.html")
    return document_of


@pytest.mark.parametrize("promise", ["causal", "fifo", "best_effort"])
def test_predecessors_are_shown_only_in_causal_order(promise: str, maps: dict[str, Any]) -> None:
    """A gossip message that is late was lost or has not been sent yet. It does not wait for another message."""
    document = maps[promise]
    assert document["about"]["is_causal"] == (promise == "causal")
    assert bool(document["messages"]["before"]["data"]) == (promise == "causal")


def test_a_session_without_a_cause_is_shown_without_one(tmp_path: Path) -> None:
    path = edit(tmp_path, "own_protocol/roaming", 'self.begin_handoff("cell")', 'self.begin_handoff("")')
    events = mobilenet.run(path, out=tmp_path / "run", allow_code=True).events
    assert len(handoffs(events)) > 5
    assert " (cause not recorded), " in _handoff(events, "1", None)[3]
    events.detail = events.detail.str.replace('"cause": ""', '"cause": "roof"')
    assert " (cause: roof), " in _handoff(events, "1", None)[3]
    events.detail = events.detail.str.replace("roof", "cell")
    assert " (cause: change of cell), " in _handoff(events, "1", None)[3]


def test_a_station_with_its_radio_off_is_not_described_as_down(tmp_path: Path) -> None:
    """No node crashes, but the radio of a station is off. Frames sent to this station have the same fate as frames sent
    to a receiver that is down.
    """
    changes = {
        "duration_s": 5,
        "warmup_s": 0,
        "hosts.mobility": {"model": "static"},
        "record.messages": True,
        "interventions": [{"at_s": 2, "station": "s0", "do": "radio_off"}],
    }
    run = mobilenet.run(SCENARIOS / "dynamic.yaml", out=tmp_path / "run", overrides=changes)
    assert not (run.events["event"] == "crash").any()
    down = run.messages[run.messages["fate"] == "receiver_down"]
    assert set(down["receiver"]) == {"s0"}
    assert legend_lines([], down["fate"]) == ["Lost. receiver down: the receiver was down, or its radio was off"]


def test_a_silent_station_does_not_make_its_hosts_out_of_range(tmp_path: Path) -> None:
    """The host stays in the cell. It does not receive messages of the station, because the radio of the station is
    off.
    """
    path = edit(tmp_path, "own_protocol/gossip", "self.port.broadcast(rumour)", "self.port.send(0, rumour)")
    changes = {"duration_s": 8, "hosts.mobility": {"model": "static"}, "record.messages": True}
    run = mobilenet.run(path, out=tmp_path / "one", overrides=changes, allow_code=True)
    station = run.events.query("node == 'h0' and event == 'in_coverage'")["station"].item()
    off = {"interventions": [{"at_s": 2, "station": station, "do": "radio_off"}]}
    run = mobilenet.run(path, out=tmp_path / "other", overrides=changes | off, allow_code=True)
    lost = run.messages.query("sender == @station and send_ns > 2.5e9 and send_ns < 8e9")["fate"]
    assert set(lost) == {"out_of_range"}
    assert "or the sender's radio was off" in legend_lines([], lost)[0]
