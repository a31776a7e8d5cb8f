"""Tests of nodes with their own clock. If a node cannot keep a promise in virtual time, the verdict is unknown, not
violated.
"""

import time
from pathlib import Path
from typing import Any

import pytest

from mobilenet.api import Run
from mobilenet.lab.programs import run_programs
from mobilenet.verify import verify_run
from tests.lab.programs.own import of_node, play, processes

# On a slow machine, a node gossips during the run, too. It never passes on all values, so deliveries are missing.
GOSSIP = """
import json, sys, threading, time

values, neighbours, me, lock = [], [], None, threading.Lock()

def say(to, body):
    print(json.dumps({"src": me, "dest": to, "body": body}), flush=True)

def gossip():
    while True:
        time.sleep(0.1)
        with lock:
            for neighbour in neighbours if values else []:
                say(neighbour, {"type": "gossip", "messages": values[:1]})

threading.Thread(target=gossip, daemon=True).start()
for line in sys.stdin:
    request = json.loads(line)
    body = request["body"]
    with lock:
        if body["type"] == "init":
            me = body["node_id"]
        elif body["type"] == "topology":
            neighbours = body["topology"][me]
        elif body["type"] == "broadcast":
            values.append(body["message"])
        elif body["type"] == "gossip":
            values += [value for value in body["messages"] if value not in values]
        if "msg_id" in body:
            answer = {"type": body["type"] + "_ok", "in_reply_to": body["msg_id"]}
            say(request["src"], answer | ({"messages": values} if body["type"] == "read" else {}))
"""
# This program never forwards its input. At the end, it prints the line that the test has inserted.
CLOCKED = """
import json, sys
for line in sys.stdin:
    e = json.loads(line)
    if e["ev"] == "stop":
        if "listens_s" in e: print({said!r}, flush=True)
        break
    if e["ev"] == "broadcast": print(json.dumps({{"do": "deliver", "id": e["id"]}}))
    print('{{"do":"done"}}', flush=True)
"""


def gossip(samples: Path, out: Path, node: str = GOSSIP) -> Run:
    return of_node(samples, out, node, processes=4, **{"workload.sources": 4})


def play_clocked(folder: Path, line: str, **more: Any) -> Run:
    path = processes(folder, CLOCKED.format(said=line), processes=3, workload={"sources": 3, "messages": 1}, **more)
    return play(path)


def test_a_node_that_gossips_on_its_own_clock_is_always_unknown(samples: Path, tmp_path: Path) -> None:
    for out in ("one", "two"):
        done = gossip(samples, tmp_path / out)
        assert done.verdict == "unknown"
        assert done.manifest["own_clock"]
        agreement = done.verdicts["agreement"]
        assert agreement.answer == "unknown"
        assert " never delivers " in agreement.explanation
        assert f"{done.manifest['own_clock'][0]}'s program acts on its own clock" in agreement.explanation
        answers = {name: verdict.answer for name, verdict in done.verdicts.items() if name != "agreement"}
        assert set(answers.values()) == {"valid"}, answers
        assert verify_run(done.path) == done.verdicts


def test_acting_on_a_clock_does_not_excuse_invented_messages(samples: Path, tmp_path: Path) -> None:
    invents = GOSSIP.replace('values.append(body["message"])', 'values.extend([body["message"], 7_000_999])')
    assert invents != GOSSIP
    done = gossip(samples, tmp_path / "invents", invents)
    assert done.verdicts["creation"].answer == "violated" and done.verdicts["agreement"].answer == "unknown"


def test_any_program_can_declare_that_it_acts_on_a_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_programs, "LISTENS_S", 100.0)
    began = time.monotonic()
    done = play_clocked(tmp_path, '{"do": "own_clock"}')
    assert time.monotonic() - began < run_programs.LISTENS_S  # The run stops waiting after the first report.
    assert done.verdicts["agreement"].answer == "unknown" and done.verdicts["validity"].answer == "valid"
    assert set(done.manifest["own_clock"]) <= {"p0", "p1", "p2"}


@pytest.mark.parametrize("line", ["", "own_clock", '{"do":"own_clock","why":1}', '{"do":"done"}', "[" * 5000])
def test_other_program_output_does_not_report_a_clock(line: str, tmp_path: Path) -> None:
    done = play_clocked(tmp_path, line)
    assert done.verdicts["agreement"].answer == "violated" and "own_clock" not in done.manifest


def test_a_clock_does_not_matter_if_no_delivery_is_missing(tmp_path: Path) -> None:
    done = play_clocked(
        tmp_path, '{"do":"own_clock"}', faults=[{"process": "p0", "at": 50}, {"process": "p1", "at": 50}]
    )
    assert done.verdict == "valid" and "own_clock" not in done.manifest
