"""Tests that the verdict is unknown, neither valid nor violated, if a program delivers a message that the network
cannot have carried.
"""

from pathlib import Path

import pytest

from tests.lab.programs.own import AROUND, answering, play, processes

JOINS = """
if e["ev"] == "cell" and e["station"] is not None: cell = e["station"]
if e["ev"] == "join": print(json.dumps({"do": "joined", "session": 1, "station": cell}))
"""
GUESSES = (
    JOINS
    + """
if e["ev"] == "start": me, number = e["me"], 0; print(json.dumps({"do": "timer", "name": "x", "after_ns": 4 * 10**9}))
if e["ev"] == "broadcast": print(json.dumps({"do": "deliver", "id": e["id"]}))
if e["ev"] == "timer": print(json.dumps({"do": "deliver", "id": [1 - me, 0]}))
"""
)


@pytest.mark.parametrize("recorded", (False, True))
def test_hosts_that_guess_message_ids_get_verdict_unknown(recorded: bool, tmp_path: Path) -> None:
    done = play(answering(tmp_path, GUESSES, record={"programs": recorded}))
    creation = done.verdicts["creation"]
    assert creation.answer == done.verdict == "unknown", done.verdicts
    words = "no frame that was sent after the broadcast of" if recorded else "0 frames were received in the whole run"
    assert words in creation.explanation
    others = {name: verdict.answer for name, verdict in done.verdicts.items() if name != "creation"}
    assert set(others.values()) == {"valid"}, done.verdicts


@pytest.mark.parametrize("recorded", (False, True))
def test_processes_that_guess_message_ids_get_verdict_unknown(recorded: bool, tmp_path: Path) -> None:
    code = """
    def do(action, **keys): print(json.dumps({"do": action, **keys}))
    if e["ev"] == "start":
        me = e["me"]
        do("buffer", name="held", size=1)  # it is not at rest
        do("timer", name="x", after_ns=2 * 10**9)
    if e["ev"] == "broadcast": do("deliver", id=e["id"])
    if e["ev"] == "timer": do("deliver", id=[1 - me, 0]); do("buffer", name="held", size=0)"""
    path = processes(
        tmp_path,
        AROUND.format(code=code),
        {"delivers": "correct_source"},
        processes=2,
        duration=10,
        workload={"sources": 2, "messages": 1},
        record={"programs": recorded},
    )
    creation = play(path).verdicts["creation"]
    assert creation.answer == "unknown"
    assert ("had received no message that was sent after the broadcast of" in creation.explanation) == recorded
