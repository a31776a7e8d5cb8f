"""Measure the cost of a listener by comparing live runs with and without one.

Model     Each case is a session in a separate process. The listener receives every state, like a page, in another
          process, so that its own work is not counted. Both runs include the judge. At full speed, runs with and
          without a listener take turns, and the median ratio of their CPU times is used. At speed 1, the CPU time of
          the server is divided by the elapsed time.
Cases     full_speed: dynamic.yaml, 120 s. speed_1: dynamic.yaml for ten seconds, after BEGIN_S. hosts_1000: 1 000 hosts
          at speed 1, with ten states a second and without a target.
Units     CPU seconds and shares.
Errors    RuntimeError if a case fails.
Source    ours: docs/performance.md
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from mobilenet.engine import safe_path
from mobilenet.lab.bench.row import Column, Head
from mobilenet.lab.bench.simulator import in_a_process, lattice
from mobilenet.lab.live.desk import Desk
from mobilenet.lab.live.page import page_of
from mobilenet.lab.live.server import Server
from mobilenet.lab.live.start import live
from mobilenet.lab.package_files import SCENARIOS

FULL_SPEED_S, WATCHED_S = 120.0, 10.0
BEGIN_S = 8.0  # After this time, a thousand hosts have joined.
MOST_MORE = 1.15  # A run with a listener may take at most 1.15 times the CPU time of a run without one.
MOST_SHARE = 0.15  # Page and server together may use at most this fraction of a core. Only the server is measured here.

LISTENER = """
import json, sys
from websockets.sync.client import connect
with connect(sys.argv[1], max_size=None) as socket:
    socket.send(json.dumps({"command": "since", "generation": 0, "row": 0}))
    for text in socket:
        if json.loads(text).get("is_over"):
            break
"""


COLUMNS = (
    Column("case", "live"),
    Column("hosts", "hosts"),
    Column("cost", "cost", ".3f"),
    Column("states_per_s", "states per s", "g"),
    Column("simulated_per_s", "simulated s per s", "g"),
    Column("target", "at most", "g"),
    Column("passed", ""),
)


@dataclass(frozen=True, slots=True)
class Row(Head):
    """The measurements of one case. `cost` is the ratio to the CPU time without a listener, or a fraction of one core.
    `simulated_per_s` is the achieved speed.
    """

    hosts: int
    cost: float
    states_per_s: float
    simulated_per_s: float
    target: float | None
    passed: bool | None


def measure(repeat: int) -> Iterator[Row]:
    """Measure all cases one after the other, and yield a row for each."""
    module = "mobilenet.lab.bench.live"
    pairs = [[in_a_process(module, case) for case in ("alone", "full_speed")] for _ in range(repeat)]
    ratio = median(watched["cpu_s"] / alone["cpu_s"] for alone, watched in pairs)
    rates = {name: median(watched[name] for _, watched in pairs) for name in ("states_per_s", "simulated_per_s")}
    yield _row("full_speed", 70, ratio, rates, MOST_MORE)
    for case, hosts, target in (("speed_1", 70, MOST_SHARE), ("hosts_1000", 1000, None)):
        run = in_a_process(module, case)
        yield _row(case, hosts, run["cpu_s"] / run["wall_s"], run, target)


def _row(case: str, hosts: int, cost: float, rates: dict[str, float], target: float | None) -> Row:
    return Row.now(
        case, hosts, round(cost, 3), round(rates["states_per_s"], 1), round(rates["simulated_per_s"], 2), target,
        None if target is None else cost <= target,
    )  # fmt: skip


def once(case: str) -> dict[str, float]:
    """Play a case in this process, and return its measurements."""
    changes: dict[str, Any] = {"duration_s": FULL_SPEED_S if case in ("alone", "full_speed") else 60.0}
    if case == "hosts_1000":
        points = ", ".join(f"[{x!r}, {y!r}]" for x, y in lattice(100))
        changes |= {
            "hosts.count": 1000, "workload.interval_s": 60.0,
            "stations.layout": {"shape": "points", "points_m": json.loads(f"[{points}]")},
        }  # fmt: skip
    session = live(SCENARIOS / "dynamic.yaml", 1, changes)
    is_full = case in ("alone", "full_speed")
    if not is_full:
        session.play(BEGIN_S)
    begin_s = session.now_s
    desk = Desk(session)
    server = Server(desk, lambda: page_of(desk, server.token))
    server.start()
    states = 0

    def tell_all(at_once: bool) -> bool:
        nonlocal states
        states += 1
        return server.tell_all(at_once)

    desk.tell_all = tell_all
    listener = None
    if case != "alone":
        address = server.address.replace("http", "ws").replace("/?", "/socket?")
        listener = subprocess.Popen(safe_path.python("-c", LISTENER, address), stdin=subprocess.DEVNULL)
        while not server.listeners:
            time.sleep(0.01)
    desk.player.ask(lambda: desk.player.play("max" if is_full else 1.0))
    watcher = threading.Thread(target=_end_when_over, args=(desk, None if is_full else WATCHED_S), daemon=True)
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    watcher.start()
    desk.player.run()
    cpu_s, wall_s = time.process_time() - began_cpu_s, time.perf_counter() - began_s
    server.close()
    if listener is not None:
        listener.kill()
        listener.wait()
    simulated_s = session.now_s - begin_s
    return {
        "cpu_s": cpu_s, "wall_s": wall_s, "states_per_s": states / wall_s, "simulated_per_s": simulated_s / wall_s,
    }  # fmt: skip


def _end_when_over(desk: Desk, after_s: float | None) -> None:
    if after_s is not None:
        time.sleep(after_s)
    else:
        while not desk.session.is_over:
            time.sleep(0.05)
    desk.player.end()


if __name__ == "__main__":
    print(json.dumps(once(sys.argv[1])))
