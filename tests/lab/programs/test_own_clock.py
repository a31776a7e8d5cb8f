"""Nodes that act by a clock of their own: what virtual time keeps from them is unknown, and no violation."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mobilenet.api import Run, run
from mobilenet.lab.programs import cast
from mobilenet.verify import verify_run

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
                say(neighbour, {"type": "gossip", "messages": values})

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
# It never passes on what it was told, and says at the end what it is told to say
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
    (samples / f"{out.name}.py").write_text(node)
    overrides = [f"protocol.command=[{sys.executable}, maelstrom.py, {sys.executable}, {out.name}.py]", "processes=4"]
    return run(samples / "maelstrom.yaml", out=out, allow_code=True, overrides=[*overrides, "workload.sources=4"])


def play(folder: Path, line: str, **more: Any) -> Run:
    (folder / "node.py").write_text(CLOCKED.format(said=line))
    protocol = {"command": [sys.executable, "node.py"], "order": "none", "delivers": "agreement"}
    values = {"processes": 3, "workload": {"sources": 3, "messages": 1}, "protocol": protocol, **more}
    path = folder / "scenario.yaml"
    path.write_text(json.dumps(values))
    return run(path, out=folder / "run", allow_code=True)


def test_a_node_that_gossips_by_its_clock_is_unknown_each_time(samples: Path, tmp_path: Path) -> None:
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


def test_a_clock_excuses_no_invented_message(samples: Path, tmp_path: Path) -> None:
    invents = GOSSIP.replace('values.append(body["message"])', 'values.extend([body["message"], 7_000_999])')
    assert invents != GOSSIP
    done = gossip(samples, tmp_path / "invents", invents)
    assert done.verdicts["creation"].answer == "violated" and done.verdicts["agreement"].answer == "unknown"


def test_any_program_may_report_a_clock(tmp_path: Path) -> None:
    began = time.monotonic()
    done = play(tmp_path, '{"do": "own_clock"}')
    assert time.monotonic() - began < cast.LISTENS_S  # the first report ends the wait
    assert done.verdicts["agreement"].answer == "unknown" and done.verdicts["validity"].answer == "valid"
    assert set(done.manifest["own_clock"]) <= {"p0", "p1", "p2"}


@pytest.mark.parametrize("line", ["", "own_clock", '{"do":"own_clock","why":1}', '{"do":"done"}', "[" * 5000])
def test_anything_else_reports_none(line: str, tmp_path: Path) -> None:
    done = play(tmp_path, line)
    assert done.verdicts["agreement"].answer == "violated" and "own_clock" not in done.manifest


def test_nobody_is_asked_where_nothing_is_missing(tmp_path: Path) -> None:
    done = play(tmp_path, '{"do":"own_clock"}', faults=[{"process": "p0", "at": 50}, {"process": "p1", "at": 50}])
    assert done.verdict == "valid" and "own_clock" not in done.manifest
