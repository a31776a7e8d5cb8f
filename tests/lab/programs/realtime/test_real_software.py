"""Tests that Debian's servers and clients, and nodes of a Python package, reach each other by their addresses.

Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from pathlib import Path

import pytest

from tests.lab.programs.own import wait_until
from tests.lab.programs.realtime.own import ON_LINUX, PORTS, port_of, scenario, serve

QUESTIONS = 3
SERVERS = {
    "coap-server-notls": "exec coap-server-notls -A $address -p $own",
    "dnsmasq": "exec dnsmasq -k -p $own --listen-address=$address --bind-interfaces --no-resolv --no-hosts"
    " --address=/host.example/192.0.2.7 --conf-file=/dev/null --pid-file=",
}
CLIENTS = {
    "coap-server-notls": ("coap-client-notls", "coap-client-notls -B 60 -m get coap://$server:$port/time", ":"),
    "dnsmasq": ("dig", "dig +short +tries=1 +time=60 @$server -p $port host.example", "192.0.2.7"),
}


def listens(address: str, port: int) -> bool:
    """Return whether a program has opened a socket for datagrams at this address."""
    place = f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}:{port:04X}"
    return any(line.split()[1] == place for line in Path("/proc/net/udp").read_text().splitlines()[1:])


@pytest.mark.long
@pytest.mark.parametrize("server", SERVERS)
def test_real_servers_answer_every_request_of_a_client(server: str, tmp_path: Path) -> None:
    """Host 0 is the server and never sends first. The client uses a new port for each request."""
    client, question, answer = CLIENTS[server]
    if shutil.which(server, path=f"{os.environ['PATH']}:/usr/sbin") is None or shutil.which(client) is None:
        pytest.skip(f"{server} or {client} is not installed")
    command = ["sh", "run.sh", "{me}", "{address}", "{own_port}", "127.77.{me}.0"]
    path = scenario(tmp_path, None, 3, protocol={"command": command})
    (tmp_path / "run.sh").write_text(
        f"PATH=$PATH:/usr/sbin me=$1 address=$2 own=$3 port={port_of(path)} server=$4\n"
        f"if [ $me = 0 ]; then {SERVERS[server]}; fi\n"
        "until [ -e up ]; do sleep 0.05; done; sleep 0.4\n"
        f"for round in {' '.join(map(str, range(QUESTIONS)))}; do {question} > answer-$me-$round 2> /dev/null; done\n"
        "touch done-$me; sleep 60\n"
    )

    def wait_for_server() -> None:
        assert wait_until(lambda: listens("127.77.0.0", port_of(path) + 1))
        (tmp_path / "up").touch()

    done = serve(path, begins=wait_for_server, until=lambda names: len(list(tmp_path.glob("done-*"))) == 2)
    answers = {file.name: file.read_text() for file in tmp_path.glob("answer-*")}
    assert len(answers) == 2 * QUESTIONS and all(answer in text for text in answers.values()), answers
    assert done.metrics["datagrams_received"] == done.metrics["datagrams"] >= 4 * QUESTIONS  # type: ignore[operator]


MOSH = """export LC_ALL=C.UTF-8 TERM=xterm
if [ $1 = 0 ]; then
  mosh-server new -i $2 -p $3 -- sh -c 'read word; echo "the server has $word"; sleep 2' > key 2> /dev/null
  sleep 60
fi
until grep -q 'MOSH CONNECT' key; do sleep 0.05; done
sleep 0.4
export MOSH_KEY=$(sed -n 's/MOSH CONNECT [0-9]* //p' key)
# The server reads only the first line. Lines that are typed before the client is ready may be lost.
while sleep 0.5; do echo green; done | script -qfec "stty rows 24 cols 80; exec mosh-client $4 $5" screen > /dev/null
"""


@pytest.mark.long
@pytest.mark.skipif(not all(map(shutil.which, ("mosh-server", "script"))), reason="mosh or script is not installed")
def test_a_line_typed_into_mosh_reaches_its_server(tmp_path: Path) -> None:
    """The test covers only the connection over UDP. It reads the key from a file, whereas mosh would use ssh."""
    (tmp_path / "run.sh").write_text(MOSH)
    port = next(PORTS)
    arguments = ["{me}", "{address}", "{own_port}", "127.77.{me}.0", str(port)]
    protocol = {"command": ["sh", "run.sh", *arguments], "port": port, "own_port": port + 1}
    screen = tmp_path / "screen"
    words = "the server has green"
    done = serve(
        scenario(tmp_path, None, protocol=protocol),
        until=lambda names: screen.exists() and words in screen.read_text(errors="replace"),
    )
    assert words in screen.read_text(errors="replace")
    assert done.metrics["datagrams_received"] >= 6  # type: ignore[operator]


NODE = """
import asyncio, pathlib, sys
from kademlia.network import Server

me, address, own_port, peers = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4].split(",")

async def files(pattern, count):
    while len(list(pathlib.Path().glob(pattern))) < count:
        await asyncio.sleep(0.05)

async def main():
    node = Server()
    await node.listen(own_port, interface=address)
    pathlib.Path(f"listens-{me}").touch()
    await files("listens-*", 5)
    await asyncio.sleep(0.5)
    if me:
        to, port = peers[0].split(":")  # host 0 for all others, which find each other through it
        await node.bootstrap([(to, int(port))])
        pathlib.Path(f"knows-{me}").touch()
    await files("knows-*", 4)
    if me == 1:
        await node.set("colour", "green")
        pathlib.Path("is-set").touch()
    await files("is-set", 1)
    if me > 1:
        colour = str(await node.get("colour"))
        pathlib.Path(f"new-{me}").write_text(colour)
        pathlib.Path(f"new-{me}").rename(f"found-{me}")
    await asyncio.sleep(60)

asyncio.run(main())
"""


@ON_LINUX
@pytest.mark.long
def test_nodes_find_a_value_through_peers_they_only_heard_of(tmp_path: Path) -> None:
    (tmp_path / "node.py").write_text(NODE)
    command = [sys.executable, "node.py", "{me}", "{address}", "{own_port}", "{peers}"]
    path = scenario(tmp_path, None, 5, protocol={"command": command, "flat": True})
    done = serve(path, until=lambda names: len(list(tmp_path.glob("found-*"))) == 3)
    assert {file.name: file.read_text() for file in tmp_path.glob("found-*")} == dict.fromkeys(
        ("found-2", "found-3", "found-4"), "green"
    )
    assert done.verdicts["conservation"].answer == done.verdicts["record"].answer == "valid"
    sent = done.events[done.events.event == "datagram"]
    pairs = {(node, json.loads(detail)["to"]) for node, detail in zip(sent.node, sent.detail, strict=True)}
    # These nodes learned each other's addresses from other nodes.
    assert any("h0" not in pair for pair in pairs), pairs
