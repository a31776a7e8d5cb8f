"""Build small scenarios of real software, and check whether this machine supports them."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mobilenet.api import Run, run
from mobilenet.simulation.parties import RealTime
from tests.lab.programs.realtime.own import PATIENCE_S, jumping_when

# Continuous integration runs these tests as an ordinary user, and sets this variable so that root skips them.
APART = os.getuid() == 0 and bool(os.environ.get("MOBILENET_NAMESPACES_APART"))
MUST = bool(os.environ.get("MOBILENET_REQUIRE_NAMESPACES"))
SBIN = f"{os.environ['PATH']}:/usr/sbin:/sbin"
FOR_ALL = 0o666
USUAL = [pytest.mark.programs, pytest.mark.long, pytest.mark.skipif(APART, reason="run apart")]
BACKBONE = {"kind": "tree", "shape": "chain", "bandwidth_mbps": 100, "delay_ms": 2}
WAITS = ["sleep", "60"]


@functools.cache
def is_allowed() -> bool:
    """Return whether this machine allows a user to create namespaces with a network device."""
    unshare = shutil.which("unshare")
    there = unshare is not None and os.access("/dev/net/tun", os.R_OK | os.W_OK)
    if there and os.getuid() == 0:  # If the tests run as root, the programs run as another user.
        there = os.stat("/dev/net/tun").st_mode & FOR_ALL == FOR_ALL
    return there and subprocess.run([str(unshare), "-Urn", "true"], capture_output=True).returncode == 0


def skip_without(*tools: str) -> None:
    """Skip a test if namespaces or one of these programs are not available. If they are required, the test fails
    instead.
    """
    missing = [tool for tool in tools if shutil.which(tool, path=SBIN) is None]
    if not is_allowed() or missing:
        reason = f"{', '.join(missing)} missing" if missing else "no namespaces here"
        pytest.fail(reason) if MUST else pytest.skip(reason)


def cells(*x_m: int, **backbone: Any) -> dict[str, Any]:
    layout = {"shape": "points", "points_m": [[x, 0] for x in x_m]}
    return {"layout": layout, "backbone": BACKBONE | backbone}


def standing(folder: Path, **places_m: tuple[int, int]) -> dict[str, Any]:
    """Write tracks of hosts that do not move, and return the scenario keys that use these tracks."""
    rows = [f"{t},{host},{x},{y}" for t in (0, 10, 20) for host, (x, y) in places_m.items()]
    (folder / "tracks.csv").write_text("\n".join(["t,id,x,y", *rows]) + "\n")
    return {"mobility": {"model": "tracks", "file": "tracks.csv"}}


def scenario(
    folder: Path, commands: dict[str, Any], count: int = 2, duration_s: float = PATIENCE_S, **more: Any
) -> Path:
    """Write a scenario whose hosts are in one cell by default. A command is either a list of words or a shell command
    line.
    """
    words = {name: ["sh", "-c", each] if isinstance(each, str) else each for name, each in commands.items()}
    values = {
        "duration_s": duration_s,
        "drain_s": 1.5,
        "stations": cells(0),
        "hosts": {"count": count, "mobility": {"model": "static"}},
        "workload": {"arrivals": "none"},
        "protocol": {"name": "ip", "commands": words, **more.pop("protocol", {})},
        **more,
    }
    folder.chmod(0o755)  # The tests may run as root, but the programs do not.
    path = folder / "scenario.yaml"
    path.write_text(json.dumps(values))
    return path


def until_success(request: str) -> str:
    """Return a shell command that repeats a request until it succeeds, because servers start slowly on a busy machine.
    Usually, the first request succeeds after half a second.
    """
    return f"sleep 0.5; until {request}; do sleep 0.2; done"


def play(path: Path, *ends: str) -> Run:
    """Run a scenario in real time, and write the run to `run` next to it. If `ends` names nodes, the active part is
    over as soon as their programs have ended, however long a busy machine takes for that.
    """
    jumps = [(json.loads(path.read_text())["duration_s"], partial(_have_ended, ends))] if ends else []
    with jumping_when(path.parent, jumps):
        return run(path, out=path.parent / "run", allow_code=True, real_time=RealTime())


def _have_ended(names: Sequence[str], applications: Any) -> bool:
    return not any(applications._exchange._machines.running[name].is_running for name in names)


def output_of(done: Run, node: str) -> str:
    file = done.path / f"{node}.stdout.txt"
    return file.read_text() if file.exists() else ""
