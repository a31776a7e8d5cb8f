"""Messages of programs have the names that their authors like; counters count each of them.

Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mobilenet.api import run
from tests.programs.own import AROUND, answering

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


def test_a_name_of_ours_beside_messages_without_one(tmp_path: Path) -> None:
    found = run(answering(tmp_path, HOST), out=tmp_path / "run", allow_code=True)
    kinds = found.counters["by_message_type"]["host"]
    assert kinds["Says"]["count"] == 3 * kinds["says"]["count"] > 0
    assert found.verdicts["conservation"].answer == "valid"


def test_names_of_processes_that_differ_in_case(tmp_path: Path) -> None:
    (tmp_path / "process.py").write_text(AROUND.format(code=PROCESS))
    values = {
        "processes": 3,
        "detector": None,
        "protocol": {"command": [sys.executable, "process.py"], "order": "none"},
        "workload": {"sources": 1, "messages": 2},
    }
    (tmp_path / "scenario.yaml").write_text(json.dumps(values))
    found = run(tmp_path / "scenario.yaml", out=tmp_path / "run", allow_code=True)
    assert found.counters["messages"]["by_kind"] == {"a": 4}
    assert found.verdicts["conservation"].answer == "valid"
