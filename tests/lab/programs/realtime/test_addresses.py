"""Tests of the senders and destinations of datagrams. Programs pass on addresses to each other, and run as clients and
servers with several sockets.

Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mobilenet.api import Run
from mobilenet.cli.serve import _summary
from tests.lab.programs.realtime.own import Holds, talk


def talk_on(folder: Path, code: str, until: Holds, **protocol: Any) -> Run:
    """Run three programs until the condition holds."""
    return talk(folder, f"{code}\nwhile True: time.sleep(1)", 3, until, protocol=protocol)


def has_text(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def facts(done: Run) -> dict[str, Any]:
    return dict(done.manifest["real_time"])


GOSSIP = """
own.settimeout(None)
time.sleep(0.4)  # A host may not be connected at the beginning.
if me == 1: own.sendto(b"hello", peers[0])
if me == 0:  # it passes host 1's address on to host 2
    _, (a, p) = own.recvfrom(100)
    own.sendto(f"{a}:{p}".encode(), peers[2])
if me == 2:
    a, p = own.recvfrom(100)[0].decode().split(":")
    own.sendto(b"from 2", (a, int(p)))
if me == 1:
    data, (a, p) = own.recvfrom(100)
    with open("heard", "w") as file: file.write(f"{data.decode()} {a}")
"""


@pytest.mark.long
@pytest.mark.parametrize("flat", [False, True])
def test_a_program_can_use_an_address_it_received(flat: bool, tmp_path: Path) -> None:
    """The emulator identifies a sender by the address of its socket, even if the destination address belongs to another
    pair of hosts.
    """
    done = talk_on(tmp_path, GOSSIP, lambda names: has_text(tmp_path / "heard"), flat=flat)
    assert (tmp_path / "heard").read_text() == f"from 2 127.77.{2 if flat else 1}.2"
    assert facts(done)["senders_renamed"] == ([] if flat else [["h2", "h0"]])
    assert ("programs that pass on addresses may need protocol.flat: true" in _summary(done)) is not flat
    nodes = [done.events[done.events.event == event].node.tolist() for event in ("datagram", "datagram_received")]
    assert nodes == [["h1", "h0", "h2"], ["h0", "h2", "h1"]]


SERVER = """
if me == 0:  # a server, which never speaks first
    own.settimeout(None)
    while True:
        data, where = own.recvfrom(100)
        own.sendto(data.upper(), where)
own.close()
time.sleep(0.4)
for round in range(3):  # a client, with another port for each question
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asking.sendto(f"{me}-{round}".encode(), peers[0])
    answer = asking.recv(100)
    with open(f"answer-{me}-{round}", "wb") as file: file.write(answer)
"""


def test_clients_on_any_port_get_the_answers_of_a_server(tmp_path: Path) -> None:
    done = talk_on(tmp_path, SERVER, lambda names: sum(map(has_text, tmp_path.glob("answer-*"))) == 6)
    answers = sorted(file.read_text() for file in tmp_path.glob("answer-*"))
    assert answers == ["1-0", "1-1", "1-2", "2-0", "2-1", "2-2"]
    assert facts(done)["datagrams_not_taken"] == 0 and done.metrics["datagrams_received"] == 12


TWO_SOCKETS = """
sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
time.sleep(0.4)
for peer in peers.values(): sending.sendto(b"x", peer)
own.settimeout(None)
for number in range(2):
    own.recv(10)
    open(f"came-{me}-{number}", "w").close()
"""


def test_a_program_can_send_and_listen_on_different_sockets(tmp_path: Path) -> None:
    talk_on(tmp_path, TWO_SOCKETS, lambda names: len(list(tmp_path.glob("came-*"))) == 6)
    assert len(list(tmp_path.glob("came-*"))) == 6


@pytest.mark.long
def test_a_datagram_to_a_closed_port_is_not_received(tmp_path: Path) -> None:
    code = """
if me: own.close()
ready()
time.sleep(0.4)
if me == 0:
    for number in range(5): own.sendto(b"x", peers[1]); time.sleep(0.05)
"""
    done = talk_on(tmp_path, code, lambda names: names.count("datagram") == 5)
    assert facts(done)["datagrams_not_taken"] == 5 and done.metrics["datagrams_received"] == 0
    lines = _summary(done).splitlines()
    assert lines[1].startswith("from 0 to 60 s: 5 datagrams, 0 received")
    why = "because no program had a socket open, or because the socket's buffer was full"
    assert f"in the whole run: 5 datagrams not received {why}" in lines


def test_a_packet_from_an_unbound_socket_has_no_known_sender(tmp_path: Path) -> None:
    code = """
if me == 0: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", peers[1])
read()
open(f"sent-{me}", "w").close()
"""
    done = talk_on(tmp_path, code, lambda names: (tmp_path / "sent-0").exists(), flat=True)
    assert facts(done)["datagrams_unidentified"] == 1 and done.metrics["datagrams"] == 0


@pytest.mark.long
def test_a_run_without_datagrams_is_unknown(tmp_path: Path) -> None:
    done = talk_on(tmp_path, "", lambda names: True)
    assert done.verdicts["conservation"].explanation == "no program sent a datagram" and done.verdict == "unknown"
