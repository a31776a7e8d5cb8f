"""Tests that build and run the first program of docs/guide/programs.md as a user would type it."""

from pathlib import Path

import pytest

from tests.lab.programs.conftest import GUIDE
from tests.lab.programs.own import answering, play


def test_the_first_program_of_the_guide_is_valid(shout: Path) -> None:
    done = play(shout)
    assert done.verdict == "valid" and done.metrics["deliveries"] > 100
    events = done.events
    assert events[events["event"] == "broadcast"].groupby("node")["message"].first()["h1"] == "h1:0"


def test_the_first_program_of_the_guide_violates_causal_order(shout: Path) -> None:
    promise = {"protocol.promises": "causal"}
    assert play(shout, overrides=promise).verdict == "violated"


JOINS_LATE = """
if e['ev'] == 'start' and e['role'] == 'host': wish, cell = e['stable'], None
if e['ev'] == 'cell': cell = e['station']
if e['ev'] == 'join':
    print('{"do":"log","text":"asked to join"}')
    print('{"do":"store","stable":true}')
if e['ev'] == 'join' or e['ev'] == 'recover' and wish and REMEMBERS:
    print('{"do":"timer","name":"joins","after_ns":1000000000}')
if e['ev'] == 'timer': print(json.dumps({"do": "joined", "session": 1, "station": cell}))
if e['ev'] == 'broadcast': print('{"do":"refuse"}')
"""


@pytest.mark.parametrize("remembers", [True, False])
def test_a_host_that_crashes_before_joining_is_asked_only_once(remembers: bool, tmp_path: Path) -> None:
    faults = {"schedule": "explicit", "outages": [{"host": "h0", "at_s": 0.5, "duration_s": 1}]}
    more = {"faults": faults, "record": {"programs": True}}
    file = answering(tmp_path, JOINS_LATE.replace("REMEMBERS", str(remembers)), **more)
    done = play(file)
    lines, events = done.lines, done.events
    asked = lines[(lines["node"] == "h0") & lines["line"].str.contains('"ev":"join"', regex=False)]
    assert len(asked) == 1
    assert ("join" in set(events[events["node"] == "h0"]["event"])) is remembers


def test_the_programs_guide_explains_numbering_and_rejoining() -> None:
    words = " ".join(GUIDE.read_text(encoding="utf-8").split())
    assert "To have `join` repeated" not in words
    assert "The numbers of a sender begin at 0" in words and "after `recover`, join again and send `joined`" in words


SERVES_NOT = """
if e['ev'] == 'join': print('{"do":"joined","session":1,"station":%d}' % cell)
if e['ev'] == 'cell': cell = e['station']
if e['ev'] == 'broadcast': print('{"do":"refuse"}')
"""


def test_a_run_cannot_rest_while_a_station_does_not_serve_a_host(tmp_path: Path) -> None:
    file = answering(tmp_path, SERVES_NOT)
    assert play(file, "served").verdicts["drained"].answer == "valid"
    silent = tmp_path / "silent.py"
    owing = """
    if e['ev'] == 'start': print('{"do":"serves","host":1,"value":false}')"""
    silent.write_text(silent.read_text().replace("    pass", owing))
    verdict = play(file, "owed").verdicts["drained"]
    assert verdict.answer == "unknown" and "h1 is in the cell of s" in verdict.explanation
