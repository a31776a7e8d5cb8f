"""Write and run small scenarios in real time.

A busy machine may start programs late, or stop them for seconds. Therefore emulated time begins when all programs are
ready, a run may take a minute, and its clock jumps ahead as soon as the programs have done what a test waits for.
"""

import json
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from mobilenet.api import Run
from mobilenet.lab.programs.realtime.pace import Pace
from mobilenet.simulation.parties import RealTime
from tests.lab.programs.own import play, wait_until, write

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="all of 127.0.0.0/8 is local on Linux alone")
PATIENCE_S = 60.0
BLOCK = 100  # number of ports that a process of the tests reserves
# Whether the clock may jump, given the names of the events so far.
Holds = Callable[[Sequence[str]], bool]
PROGRAM = """import os, socket, sys, time
address, port, peers = sys.argv[1], int(sys.argv[2]), [p.split(":") for p in sys.argv[3].split(",")]
me = int(address.rpartition(".")[2])
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind((address, port))
own.settimeout(0.2)
peers = {int(a.rpartition(".")[2]): (a, int(p)) for a, p in peers}
def say(text): print(text, flush=True)
def ready():  # waits for the other programs, and for the beginning of emulated time
    open(f"ready-{me}", "w").close()
    while os.path.exists("hold"): time.sleep(0.01)
def read():  # waits until the emulator has read what this program has written
    open(f"unread-{me}", "w").close()
    while os.path.exists(f"unread-{me}"): time.sleep(0.01)
"""


def _own_ports() -> Iterator[int]:
    """Yield every second port of a block that no other tests on this machine use. The socket reserves the block as long
    as this process lives.
    """
    for first in range(20_000, 32_000, BLOCK):
        reserved = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            reserved.bind(("127.0.0.1", first))
        except OSError:
            reserved.close()
            continue
        while True:  # When the first ports are used again, their runs are over.
            yield from range(first + 2, first + BLOCK, 2)
    raise OSError("all blocks of ports are in use")


PORTS = _own_ports()


def scenario(folder: Path, code: str | None, hosts: int = 2, duration_s: float = PATIENCE_S, **more: Any) -> Path:
    """Write a scenario with two cells and hosts that do not move. Each host runs PROGRAM followed by `code`. If `code`
    is None, the scenario does not start programs. A program is ready at the beginning of its code, unless the code
    calls `ready` itself.
    """
    port = next(PORTS)
    protocol: dict[str, Any] = {"name": "datagrams", "port": port, "own_port": port + 1, **more.pop("protocol", {})}
    if code is not None:
        (folder / "program.py").write_text(PROGRAM + ("" if "ready()" in code else "ready()\n") + code)
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


def jumping(folder: Path, *jumps: tuple[float, Holds]) -> AbstractContextManager[None]:
    """Let the clock of a run jump ahead to a time in seconds as soon as a condition holds, one jump after the other."""
    return jumping_when(folder, [(at_s, partial(_holds_in, holds)) for at_s, holds in jumps])


def _holds_in(holds: Holds, applications: Any) -> bool:
    return holds(applications._note.__self__.event)


@contextmanager
def jumping_when(folder: Path, jumps: Sequence[tuple[float, Callable[[Any], bool]]]) -> Iterator[None]:
    """Let the clock jump when a condition of the applications holds. Programs whose function `read` waits in this
    folder may continue after each step.
    """
    elapsed_ns, finish_step = Pace._elapsed_ns, Pace.finish_step
    ahead_ns, left = 0, list(jumps)

    def finish(pace: Pace) -> None:
        nonlocal ahead_ns
        waiting = list(folder.glob("unread-*"))
        finish_step(pace)
        for each in waiting:
            each.unlink()
        if left and left[0][1](pace._take.__self__):  # type: ignore[attr-defined]
            at_s, _ = left.pop(0)
            ahead_ns += max(0, int(at_s * 1e9) - pace._elapsed_ns())

    with (
        mock.patch.object(Pace, "_elapsed_ns", lambda pace: elapsed_ns(pace) + ahead_ns),
        mock.patch.object(Pace, "finish_step", finish),
    ):
        yield


def serve(
    path: Path, out: str = "run", limit_ms: float | None = None, *, until: Holds | None = None,
    jumps: Sequence[tuple[float, Holds]] = (), begins: Callable[[], None] = lambda: None, **how: Any,
) -> Run:  # fmt: skip
    """Run a scenario in real time, and write the run to a directory next to it. If `until` holds, the active part is
    over. `jumps` are earlier jumps of the clock.
    """
    folder, values = path.parent, json.loads(path.read_text())
    hold = folder / "hold"
    waits = "program.py" in values["protocol"].get("command", [])
    for old in folder.glob("ready-*"):
        old.unlink()
    if waits:
        hold.touch()

    def begin() -> None:
        if waits:
            assert wait_until(lambda: len(list(folder.glob("ready-*"))) == values["hosts"]["count"])
            hold.unlink()
        begins()

    all_jumps = [*jumps, *([] if until is None else [(values["duration_s"], until)])]
    with jumping(folder, *all_jumps):
        return play(path, out, real_time=RealTime(limit_ms, begins=begin), **how)


def talk(folder: Path, code: str, hosts: int = 2, until: Holds | None = None, **more: Any) -> Run:
    """Run programs that send datagrams to each other."""
    jumps = more.pop("jumps", ())
    return serve(scenario(folder, code, hosts, **more), until=until, jumps=jumps)


def port_of(path: Path) -> int:
    return int(json.loads(path.read_text())["protocol"]["port"])
