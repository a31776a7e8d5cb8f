"""Tests of programs that run as processes on each kind of network, and receive the suspicions of the failure
detector.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mobilenet.api import Run
from mobilenet.simulation.plugin_code import PluginError
from mobilenet.verify import verify_run
from tests.lab.programs.own import play, processes
from tests.tools import invoke

FLOOD = """import json, sys
told, up = set(), []
def do(action, **keys): print(json.dumps({"do": action, **keys}))
for line in sys.stdin:
    e = json.loads(line)
    if e["ev"] == "stop": break
    if e["ev"] == "start":
        me, up = e["me"], [p for p in range(e["n"]) if p != e["me"]]
    if e["ev"] == "broadcast":
        told.add(tuple(e["id"]))
        do("deliver", id=e["id"])
        for p in up: do("send", to=p, message=e["id"], bytes=10)
    if e["ev"] == "receive" and tuple(e["message"]) not in told:
        told.add(tuple(e["message"]))
        do("deliver", id=e["message"])
        for p in up: do("send", to=p, message=e["message"], bytes=10)
    if e["ev"] == "suspect": up.remove(e["process"])
    if e["ev"] == "trust": up.append(e["process"])
    do("buffer", name="told", size=0)
    print('{"do":"done"}', flush=True)
"""
WORLDS: dict[str, dict[str, Any]] = {
    "abstract": {"network": {"kind": "abstract"}, "faults": [{"process": "p1", "at": 1.5}]},
    "packet": {"network": {"kind": "packet"}, "detector": None},
    "wired": {"network": {"kind": "wired"}, "faults": [{"process": "p1", "at": 1.5}]},
}


def flood(folder: Path, world: str, code: str = FLOOD, **protocol: Any) -> Run:
    workload = {"sources": 6, "messages": 2, "instants": {"kind": "uniform", "latest": 5}}
    path = processes(folder, code, protocol, processes=6, workload=workload, **WORLDS[world])
    return play(path, overrides={"record.programs": True})


@pytest.mark.parametrize("world", WORLDS)
def test_the_flooding_sample_is_valid_in_every_world(world: str, tmp_path: Path) -> None:
    done = flood(tmp_path, world)
    assert done.verdict == "valid", done.verdicts
    crashed = 1 if "faults" in WORLDS[world] else 0
    assert (done.events["event"] == "deliver").sum() >= 5 * 5 * 2
    event_names = {json.loads(line)["ev"] for line in done.lines["line"][~done.lines["said"]]}
    assert event_names >= {"start", "broadcast", "receive"}
    assert ("suspect" in event_names) == bool(crashed)
    assert done.manifest["buffers"] == ["told"]


def test_completing_a_message_that_was_never_sent_is_a_violation(tmp_path: Path) -> None:
    lie = """do("buffer", name="told", size=0)
    if e["ev"] == "broadcast": do("complete", id=[me, 77])"""
    done = flood(tmp_path, "abstract", FLOOD.replace('do("buffer", name="told", size=0)', lie))
    assert done.verdicts["completion"].answer == "violated"
    assert re.search(
        r"is notified that p\d:77 is complete, but no process has broadcast", done.verdicts["completion"].explanation
    )


def test_a_program_that_fails_at_startup_leaves_a_readable_run(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="marked as ended early"):
        flood(tmp_path, "abstract", "import sys; sys.exit('no settings')")
    assert (tmp_path / "run" / "p0.stderr.txt").read_text() == "no settings\n"
    assert verify_run(tmp_path / "run")["record"].answer == "unknown"
    done = Run(tmp_path / "run")
    assert not len(done.events)
    assert invoke("report", done.path).exit_code == 0


def test_causal_order_of_process_programs_is_judged(tmp_path: Path) -> None:
    assert flood(tmp_path, "packet", order="causal").verdict == "violated"
