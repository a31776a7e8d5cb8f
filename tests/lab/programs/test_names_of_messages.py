"""Tests that programs can name their messages, and that each name has a separate counter.

Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mobilenet.viz.spacetime import draw, window_around
from mobilenet.viz.spacetime.window import messages_to_show

from tests.lab.programs.own import AROUND, answering, play, processes

HOST = """
if e["ev"] == "join": print('{"do":"joined","session":1,"station":%d}' % e.get("station", 0))
if e["ev"] == "broadcast":
    print(json.dumps({"do": "deliver", "id": e["id"]}))
    for message in (["Says", 1], [1], {"type": "Says"}, {"kind": "says"}):
        print(json.dumps({"do": "send", "to": 0, "message": message, "bytes": 20}))
"""
PROCESS = """
    if e["ev"] == "broadcast":
        print(json.dumps({"do": "deliver", "id": e["id"]}))
        for other in (1, 2): print(json.dumps({"do": "send", "to": other, "message": ["Aa"[other - 1], e["id"]]}))
    if e["ev"] == "receive": print(json.dumps({"do": "deliver", "id": e["message"][1]}))
"""


def test_messages_without_a_name_are_counted_as_the_default(tmp_path: Path) -> None:
    kinds = play(answering(tmp_path, HOST)).counters["by_message_type"]["host"]
    assert kinds["Says"]["count"] == 3 * kinds["says"]["count"] > 0


def test_process_message_names_are_not_case_sensitive(tmp_path: Path) -> None:
    workload = {"sources": 1, "messages": 2}
    done = play(processes(tmp_path, AROUND.format(code=PROCESS), processes=3, detector=None, workload=workload))
    assert done.counters["messages"]["by_kind"] == {"a": 4}


NAMING = """
if e["ev"] == "cell": cell = e["station"]
if e["ev"] == "join": print('{"do":"joined","session":1,"station":%d}' % cell)
if e["ev"] == "broadcast":
    print(json.dumps({"do": "deliver", "id": e["id"]}))
    other = [e["id"][0], e["id"][1] + 1]
    for message in (["told", e["id"], 5], {"type": "bundle", "has": [e["id"], [8, 8], [True, 0]]}, ["next", other]):
        print(json.dumps({"do": "send", "to": cell, "message": message, "bytes": 20}))
"""


def test_a_diagram_lists_the_messages_that_a_frame_carries(tmp_path: Path) -> None:
    changes = {"record.messages": True}
    done = play(answering(tmp_path, NAMING), overrides=changes)
    events, messages = done.events, done.messages
    window = window_around(events, "message:h1:1")
    selection = messages_to_show(messages, events, window)
    assert list(selection.kind) == ["told", "bundle"]
    assert list(selection.carried) == [("h1:1",)] * 2  # h1:2 had not been sent yet.
    draw(messages, events, window, tmp_path / "way.svg", "run")
    words = (tmp_path / "way.svg").read_text()
    assert "told h1:1" in words and "bundle h1:1" in words and "next" not in words


KINDS = {"SHOUT h0:1": "Says", "told": "told", "1st": "Says", "a" * 40: "a" * 40, "a" * 41: "Says"}


@pytest.mark.parametrize("kind", KINDS)
def test_messages_with_invalid_names_share_a_counter(kind: str, tmp_path: Path) -> None:
    send = json.dumps({"do": "send", "to": 0, "message": {"kind": kind}, "bytes": 20})
    done = play(answering(tmp_path, f"if e['ev'] == 'cell': print({send!r})"))
    assert list(done.counters["by_message_type"]["host"]) == [KINDS[kind]]
