"""Small scenarios of programs, written for a test."""

import json
import sys
from pathlib import Path

AROUND = """import json, os, signal, sys, time
for line in sys.stdin:
    e = json.loads(line)
    if e["ev"] == "stop": break
{code}
    print('{{"do":"done"}}', flush=True)
"""


def scenario(folder: Path, host: list[str], station: list[str] | None = None, **more: float) -> Path:
    """Two cells, two hosts that stand, a few seconds; the file."""
    protocol = {"answer_within_s": 5, "promises": "best_effort"} | {
        key: more.pop(key) for key in ("answer_within_s",) if key in more
    }
    (folder / "silent.py").write_text(AROUND.format(code="    pass"))
    command = {"host": host, "station": station or [sys.executable, "silent.py"]}
    values = {
        "duration_s": 5,
        "drain_s": 1,
        "stations": {"layout": {"shape": "points", "points_m": [[0, 0], [200, 0]]}},
        "hosts": {"count": 2, "mobility": {"model": "static"}},
        "protocol": {"command": command, **protocol},
        "workload": {"interval_s": 1, "payload_bytes": 10},
        **more,
    }
    path = folder / "scenario.yaml"
    path.write_text(json.dumps(values))
    return path


def answering(folder: Path, code: str, **more: float) -> Path:
    """Hosts that run `code` at each event `e`, and then are done."""
    text = "\n".join("    " + line for line in (code or "pass").strip().splitlines())
    (folder / "host.py").write_text(AROUND.format(code=text))
    return scenario(folder, [sys.executable, "host.py"], **more)
