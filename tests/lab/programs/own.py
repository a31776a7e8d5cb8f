"""Write and run small scenarios of programs."""

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mobilenet.api import Run, run

AROUND = """import json, os, signal, sys, time
for line in sys.stdin:
    e = json.loads(line)
    if e["ev"] == "stop": break
{code}
    print('{{"do":"done"}}', flush=True)
"""


def alive(folder: Path) -> list[int]:
    """Return the other processes whose working directory or command line contains this folder."""
    process_ids = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with suppress(OSError):  # A process may end in the meantime.
                command = (process / "cmdline").read_bytes().decode("utf-8", "replace")
                if str(folder) in command or str(folder) in os.readlink(process / "cwd"):
                    process_ids.append(int(process.name))
    return process_ids


def has_ended(pid: int) -> bool:
    """Return whether a process has ended, even if its parent has not noticed that yet."""
    try:
        return "State:\tZ" in Path("/proc", str(pid), "status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_until(holds: Callable[[], bool], within_s: float = 100) -> bool:
    deadline = time.monotonic() + within_s
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()


def write(folder: Path, values: dict[str, Any]) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(json.dumps(values))
    return path


def play(path: Path, out: str = "run", **how: Any) -> Run:
    """Run a scenario with permission to execute its code, and write the run to a directory next to it."""
    return run(path, out=path.parent / out, allow_code=True, **how)


def scenario(folder: Path, host: list[str], station: list[str] | None = None, **more: Any) -> Path:
    """Write a scenario of a few seconds with two cells and two hosts that stand still. Return its path."""
    (folder / "silent.py").write_text(AROUND.format(code="    pass"))
    protocol = {
        "command": {"host": host, "station": station or [sys.executable, "silent.py"]},
        "answer_within_s": more.pop("answer_within_s", 100),
        "promises": "best_effort",
    }
    values = {
        "duration_s": 5,
        "drain_s": 1,
        "stations": {"layout": {"shape": "points", "points_m": [[0, 0], [200, 0]]}},
        "hosts": {"count": 2, "mobility": {"model": "static"}},
        "protocol": protocol,
        "workload": {"interval_s": 1, "payload_bytes": 10},
    }
    return write(folder, values | more)


def answering(folder: Path, code: str, **more: Any) -> Path:
    """Write a scenario in which each host runs the Python statements in `code` for each event `e`, and then reports
    that it has finished.
    """
    text = "\n".join("    " + line for line in (code or "pass").strip().splitlines())
    (folder / "host.py").write_text(AROUND.format(code=text))
    return scenario(folder, [sys.executable, "host.py"], **more)


def processes(folder: Path, program: str, protocol: dict[str, Any] | None = None, **more: Any) -> Path:
    """Write a scenario whose processes run this program, which promises only agreement. Return the path of the
    scenario.
    """
    (folder / "node.py").write_text(program)
    expected = {"command": [sys.executable, "node.py"], "order": "none", "delivers": "agreement"}
    return write(folder, {"processes": 4, "protocol": expected | (protocol or {}), **more})


def of_node(samples: Path, out: Path, node: str, **overrides: Any) -> Run:
    """Run Maelstrom nodes with the source code `node`."""
    (samples / f"{out.name}.py").write_text(node)
    changes = {"protocol.command": ["python3", "maelstrom.py", "python3", f"{out.name}.py"]}
    return run(samples / "maelstrom.yaml", out=out, allow_code=True, overrides=changes | overrides)
