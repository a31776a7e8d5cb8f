"""The Python package kademlia, whose nodes tell each other addresses: a value that one node sets, others find."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from mobilenet.api import run
from mobilenet.simulation.parties import RealTime
from tests.lab.programs.realtime.own import scenario

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="all of 127.0.0.0/8 is local on Linux alone"),
]
NODE = """
import asyncio, pathlib, sys
from kademlia.network import Server

me, address, own_port, peers = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4].split(",")

async def main():
    node = Server()
    await node.listen(own_port, interface=address)
    await asyncio.sleep(0.5)
    if me:
        to, port = peers[0].split(":")  # host 0 for all others, which find each other through it
        await node.bootstrap([(to, int(port))])
        await asyncio.sleep(1)
    if me == 1:
        await node.set("colour", "green")
    await asyncio.sleep(2)
    if me > 1:
        pathlib.Path(f"found-{me}").write_text(str(await node.get("colour")))
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.long
def test_a_value_is_found_by_nodes_that_only_heard_of_each_other(tmp_path: Path) -> None:
    (tmp_path / "node.py").write_text(NODE)
    path = scenario(tmp_path, None, hosts=5, duration_s=7.0)
    values = json.loads(path.read_text())
    command = [sys.executable, "node.py", "{me}", "{address}", "{own_port}", "{peers}"]
    values["protocol"] |= {"command": command, "flat": True}
    path.write_text(json.dumps(values))
    done = run(path, out=tmp_path / "run", allow_code=True, real_time=RealTime())
    assert {file.name: file.read_text() for file in tmp_path.glob("found-*")} == dict.fromkeys(
        ("found-2", "found-3", "found-4"), "green"
    )
    assert done.verdicts["conservation"].answer == done.verdicts["record"].answer == "valid"
    sent = done.events[done.events.event == "datagram"]
    pairs = {(node, json.loads(detail)["to"]) for node, detail in zip(sent.node, sent.detail, strict=True)}
    assert any("h0" not in pair for pair in pairs), pairs  # nodes that only heard of each other
