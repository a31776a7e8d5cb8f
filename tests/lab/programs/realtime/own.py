"""Small scenarios in real time, with programs written for a test."""

import itertools
import json
import sys
from pathlib import Path
from typing import Any

PORTS = itertools.count(20_000 + (id(sys) >> 12) % 2000 * 4, 2)  # several test processes run beside each other
PROGRAM = """import socket, sys, time
address, port, peers = sys.argv[1], int(sys.argv[2]), [p.split(":") for p in sys.argv[3].split(",")]
me = int(address.rpartition(".")[2])
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind((address, port))
own.settimeout(0.2)
peers = {int(a.rpartition(".")[2]): (a, int(p)) for a, p in peers}
def say(text): print(text, flush=True)
"""


def scenario(folder: Path, code: str | None, hosts: int = 2, duration_s: float = 1.0, **more: Any) -> Path:
    """Two cells, hosts that stand; `code` runs in each of them after PROGRAM. None: nothing is started."""
    port = next(PORTS)
    protocol: dict[str, Any] = {"name": "datagrams", "port": port, "own_port": port + 1, **more.pop("protocol", {})}
    if code is not None:
        (folder / "program.py").write_text(PROGRAM + code)
        protocol |= {"command": [sys.executable, "program.py", "{address}", "{own_port}", "{peers}"], "lines": {}}
    values = {
        "duration_s": duration_s,
        "drain_s": 1.5,
        "stations": {"layout": {"shape": "points", "points_m": [[0, 0], [200, 0]]}},
        "hosts": {"count": hosts, "mobility": {"model": "static"}},
        "workload": {"arrivals": "none"},
        "protocol": protocol,
        **more,
    }
    path = folder / "scenario.yaml"
    path.write_text(json.dumps(values))
    return path
