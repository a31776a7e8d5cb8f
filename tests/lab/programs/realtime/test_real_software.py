"""Servers and clients packaged by Debian reach each other by address, and every question is answered.

Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from mobilenet.api import run
from mobilenet.simulation.parties import RealTime
from tests.lab.programs.realtime.own import scenario

QUESTIONS = 3
SERVERS = {
    "coap-server-notls": "exec coap-server-notls -A $address -p $own",
    "dnsmasq": "exec dnsmasq -k -p $own --listen-address=$address --bind-interfaces --no-resolv --no-hosts"
    " --address=/host.example/192.0.2.7 --conf-file=/dev/null --pid-file=",
}
CLIENTS = {
    "coap-server-notls": ("coap-client-notls", "coap-client-notls -B 3 -m get coap://$server:$port/time", ":"),
    "dnsmasq": ("dig", "dig +short +tries=2 +time=1 @$server -p $port host.example", "192.0.2.7"),
}


@pytest.mark.long
@pytest.mark.parametrize("server", SERVERS)
def test_each_question_has_its_answer(server: str, tmp_path: Path) -> None:
    """Host 0 is the server, which never sends first; the others ask it from a new port each time."""
    client, question, answer = CLIENTS[server]
    if shutil.which(server, path=f"{os.environ['PATH']}:/usr/sbin") is None or shutil.which(client) is None:
        pytest.skip(f"{server} or {client} is not installed")
    path = scenario(tmp_path, None, hosts=3, duration_s=3.0)
    port = int(path.read_text().partition('"port": ')[2].partition(",")[0])
    (tmp_path / "run.sh").write_text(
        f"PATH=$PATH:/usr/sbin me=$1 address=$2 own=$3 port={port} server=$4\n"
        f"if [ $me = 0 ]; then {SERVERS[server]}; fi\nsleep 0.6\n"
        f"for round in {' '.join(map(str, range(QUESTIONS)))}; do {question} > answer-$me-$round 2> /dev/null; done\n"
        "sleep 60\n"
    )
    text = path.read_text().replace(
        '"own_port"', '"command": ["sh", "run.sh", "{me}", "{address}", "{own_port}", "127.77.{me}.0"], "own_port"'
    )
    path.write_text(text)
    done = run(path, out=tmp_path / "run", allow_code=True, real_time=RealTime())
    answers = {file.name: file.read_text() for file in tmp_path.glob("answer-*")}
    assert len(answers) == 2 * QUESTIONS and all(answer in text for text in answers.values()), answers
    assert done.metrics["datagrams_received"] == done.metrics["datagrams"] >= 4 * QUESTIONS  # type: ignore[operator]


MOSH = """export LC_ALL=C.UTF-8 TERM=xterm
if [ $1 = 0 ]; then
  mosh-server new -i $2 -p $3 -- sh -c 'read word; echo "the server has $word"; sleep 2' > key 2> /dev/null
  sleep 60
fi
sleep 0.6
export MOSH_KEY=$(sed -n 's/MOSH CONNECT [0-9]* //p' key)
{ sleep 1.2; echo green; sleep 60; } | script -qfec "stty rows 24 cols 80; exec mosh-client $4 $5" screen > /dev/null
"""


@pytest.mark.long
@pytest.mark.skipif(not all(map(shutil.which, ("mosh-server", "script"))), reason="mosh or script is not installed")
def test_a_line_typed_into_mosh_reaches_its_server(tmp_path: Path) -> None:
    """The part over UDP: the key is read from a file, where mosh would use ssh."""
    path = scenario(tmp_path, None, duration_s=5.0)
    values = json.loads(path.read_text())
    (tmp_path / "run.sh").write_text(MOSH)
    words = ["{me}", "{address}", "{own_port}", "127.77.{me}.0", str(values["protocol"]["port"])]
    values["protocol"]["command"] = ["sh", "run.sh", *words]
    path.write_text(json.dumps(values))
    done = run(path, out=tmp_path / "run", allow_code=True, real_time=RealTime())
    assert "the server has green" in (tmp_path / "screen").read_text(errors="replace")
    assert done.metrics["datagrams_received"] >= 6  # type: ignore[operator]
