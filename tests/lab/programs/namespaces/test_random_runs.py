"""Tests that random runs of real programs with faults and interventions always end, leave no processes or files behind,
and are never judged violated.

    python -m tests.lab.programs.namespaces.test_random_runs 0:50

Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from mobilenet.parameters import ScenarioError
from mobilenet.simulation.plugin_code import PluginError
from mobilenet.verify import verify_run
from tests.lab.programs.namespaces.own import USUAL, play, scenario, skip_without
from tests.lab.programs.namespaces.test_cleanup import MARK, processes_with
from tests.lab.programs.own import wait_until

pytestmark = USUAL
DURATION_S = 6.0
LONGEST_S = 40  # time limit for a run outside of pytest, which has its own timeout
TOOLS = ("ping", "iperf3", "curl", "mosquitto", "mosquitto_pub", "mosquitto_sub", "redis-server", "redis-cli", "socat")
BROKER = "exec mosquitto -c broker.conf"
WEB = "exec python3 -m http.server 80"


def draw(seed: int, folder: Path) -> Path:
    """Draw a scenario in which each host runs one of the programs, with an event in every second of the run."""
    stream = random.Random(seed)
    hosts, stations = stream.randint(2, 7), stream.randint(1, 3)
    (folder / "file").write_bytes(stream.randbytes(200_000))
    (folder / "broker.conf").write_text("listener 1883\nallow_anonymous true\n")
    commands = {"s0": stream.choice((BROKER, WEB))}
    for number in range(hosts):
        commands[f"h{number}"] = _program(stream, commands["s0"], f"h{stream.randrange(hosts)}")
    return scenario(
        folder,
        commands,
        count=hosts,
        duration_s=DURATION_S,
        seed=seed,
        stations={
            "layout": {"shape": "points", "points_m": [[120 * place, 0] for place in range(stations)]},
            "backbone": {"kind": "tree", "shape": "chain", "bandwidth_mbps": 100, "delay_ms": stream.choice((2, 30))},
        },
        hosts={"count": hosts, "mobility": {"model": "random_waypoint", "speed_mps": [5, 40]}},
        wireless={"loss": stream.choice((0, 0.05, 0.4))},
        protocol={
            "forward": stream.random() < 0.5,
            "broadcast": stream.choice(("cell", "all")),
            "mtu_bytes": stream.choice((576, 1500, 2296)),
        },
        interventions=_interventions(stream, hosts, stations),
    )


def _program(stream: random.Random, server: str, peer: str) -> str:
    of_station = (
        ["mosquitto_sub -h s0 -t t -q 1 -W 5", "for n in 1 2 3; do mosquitto_pub -h s0 -t t -q 1 -m $n; sleep 1; done"]
        if server == BROKER
        else ["for n in 1 2 3; do curl -s --max-time 3 http://s0/file | sha256sum; done"]
    )  # fmt: skip
    programs = [
        *of_station,
        f"ping -i 0.1 -c 40 -s {stream.choice((56, 3000))} {peer}",
        "exec iperf3 -s",
        f"sleep 1; timeout 5 iperf3 -c {peer} -t 2",
        f"sleep 1; timeout 5 iperf3 -c {peer} -u -b {stream.choice(('1M', '12M'))} -t 2",
        "exec redis-server --save '' --protected-mode no",
        f"for n in 1 2 3 4 5; do timeout 1 redis-cli -h {peer} incr n; sleep 0.5; done",
        "for n in 1 2 3 4 5; do echo $n | socat -u - UDP4-DATAGRAM:239.1.1.1:5555; sleep 0.5; done",
        "timeout 5 socat -u UDP4-RECV:5555,ip-add-membership=239.1.1.1:mob0 -",
    ]
    return f"{stream.choice(programs)}; true".replace("exec ", "")


def _interventions(stream: random.Random, hosts: int, stations: int) -> list[dict[str, Any]]:
    """Draw single interventions, and pairs whose second intervention undoes the first."""
    interventions: list[dict[str, Any]] = []
    for second in range(1, int(DURATION_S) - 1):
        at_s = second + stream.random() / 2
        host = f"h{stream.randrange(hosts)}"
        station = stream.randrange(stations)
        pairs = [
            ({"do": "crash", "host": host}, {"do": "recover", "host": host}),
            ({"do": "leave", "host": host}, {"do": "join", "host": host}),
            ({"do": "radio_off", "station": f"s{station}"}, {"do": "radio_on", "station": f"s{station}"}),
            ({"do": "loss", "loss": stream.random()}, {"do": "loss", "loss": 0}),
            ({"do": "impair", "host": host, "loss": 0.3, "delay_s": 0.02}, {"do": "impair", "host": host}),
            ({"do": "drag", "host": host, "to_m": [stream.uniform(-50, 300), 0]}, None),
        ]
        if station:
            link = [f"s{station - 1}", f"s{station}"]
            pairs.append(({"do": "cut", "link": link, "loses": stream.random() < 0.5}, {"do": "mend", "link": link}))
            impaired = {"do": "impair_link", "link": link, "loss": 0.2, "delay_s": 0.05}
            pairs.append((impaired, {"do": "impair_link", "link": link}))
        first, second_one = stream.choice(pairs)
        interventions.append({"at_s": at_s, **first})
        if second_one is not None:
            interventions.append({"at_s": at_s + 0.45, **second_one})
    return interventions


def problems_of(seed: int, folder: Path) -> tuple[str, list[str]]:
    """Run the scenario of a seed, and return its verdict and its problems."""
    mark = f"{os.getpid()}-{seed}"
    os.environ[MARK] = mark
    before = len(os.listdir("/proc/self/fd"))
    try:
        play(draw(seed, folder))
    except PluginError as error:  # If a program fails, the run ends early, but it is still judged.
        print(error)
    is_alone = wait_until(lambda: not processes_with(mark), within_s=5)
    verdicts = verify_run(folder / "run")
    problems = [f"{name}: {each.explanation}" for name, each in verdicts.items() if each.answer == "violated"]
    if not is_alone:
        problems.append("processes are left")
    if len(os.listdir("/proc/self/fd")) > before:
        problems.append(f"{len(os.listdir('/proc/self/fd')) - before} descriptors are left")
    if list((folder / "run").glob("machines.json")):
        problems.append("machines.json is left")
    return "/".join(verdict.answer for verdict in verdicts.values()), problems


@pytest.mark.parametrize("seed", [0, 1, 2, 215])  # In the scenario of seed 215, a host leaves during a handoff.
def test_random_runs_of_real_programs_have_no_problems(seed: int, tmp_path: Path) -> None:
    skip_without(*TOOLS)
    assert problems_of(seed, tmp_path)[1] == []


if __name__ == "__main__":
    first, last = map(int, sys.argv[1].split(":"))
    for number in range(first, last):
        with tempfile.TemporaryDirectory(prefix="mobilenet-random-") as name:
            signal.alarm(LONGEST_S)
            try:
                print(number, *problems_of(number, Path(name)), flush=True)
            except ScenarioError as error:
                print(number, "refused:", error, flush=True)
