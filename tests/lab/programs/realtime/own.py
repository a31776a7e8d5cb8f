"""Write and run small scenarios in real time."""

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mobilenet.api import Run
from mobilenet.simulation.parties import RealTime
from tests.lab.programs.own import play, write

# Test processes that run in parallel need different ports.
PORTS = itertools.count(20_000 + (id(sys) >> 12) % 2000 * 4, 2)
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="all of 127.0.0.0/8 is local on Linux alone")
PROGRAM = """import socket, sys, time
address, port, peers = sys.argv[1], int(sys.argv[2]), [p.split(":") for p in sys.argv[3].split(",")]
me = int(address.rpartition(".")[2])
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind((address, port))
own.settimeout(0.2)
peers = {int(a.rpartition(".")[2]): (a, int(p)) for a, p in peers}
def say(text): print(text, flush=True)
"""


def scenario(folder: Path, code: str | None, hosts: int = 2, duration_s: float = 2.0, **more: Any) -> Path:
    """Write a scenario with two cells and hosts that do not move. Each host runs PROGRAM followed by `code`. If `code`
    is None, the scenario does not start programs.
    """
    port = next(PORTS)
    protocol: dict[str, Any] = {"name": "datagrams", "port": port, "own_port": port + 1, **more.pop("protocol", {})}
    if code is not None:
        (folder / "program.py").write_text(PROGRAM + code)
        command = [sys.executable, "program.py", "{address}", "{own_port}", "{peers}"]
        protocol = {"command": command, "lines": {}} | protocol
    values = {
        "duration_s": duration_s,
        "drain_s": 1.5,
        "stations": {"layout": {"shape": "points", "points_m": [[0, 0], [200, 0]]}},
        "hosts": {"count": hosts, "mobility": {"model": "static"}},
        "workload": {"arrivals": "none"},
        "protocol": protocol,
        **more,
    }
    return write(folder, values)


def serve(path: Path, out: str = "run", limit_ms: float | None = None, **how: Any) -> Run:
    """Run a scenario in real time, and write the run to a directory next to it."""
    return play(path, out, real_time=RealTime(limit_ms), **how)


def talk(folder: Path, code: str, hosts: int = 2, duration_s: float = 2.0, **more: Any) -> Run:
    """Run programs that send datagrams to each other."""
    return serve(scenario(folder, code, hosts, duration_s, **more))


def port_of(path: Path) -> int:
    return int(json.loads(path.read_text())["protocol"]["port"])
