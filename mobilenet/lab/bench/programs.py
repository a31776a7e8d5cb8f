"""Measure the cost of programs per event and for a scenario, and their lateness in real time.

Model     pipes_N: N programs in Python receive a message in turn, and each answers with one frame to send. The CPU
          times of the emulator and of the programs, with their supervisor, are measured separately. A port that does
          nothing replaces the radio. first: a complete run of first.yaml, with its six hosts and three stations as
          programs. real_time: each of the 70 hosts of static.yaml sends a datagram to every other host as often as it
          broadcasts in that scenario. A single process plays all their programs.
Cases     All cases run in one process, one after the other, so that they can be compared. The median of the repetitions
          counts.
Units     Events per CPU second, simulated seconds per second of wall time, and milliseconds of lateness.
Source    ours: docs/performance.md
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mobilenet.engine import safe_path
from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.bench.row import Column, Head
from mobilenet.lab.package_files import SCENARIOS
from mobilenet.lab.programs.host import Memory, ProgramHost
from mobilenet.lab.programs.message import Says
from mobilenet.lab.programs.run_programs import Cast, Setting

EVENTS = 30_000
LEAST_PER_CPU_S = 20_000  # minimum number of events per CPU second of the emulator
MOST_GROWTH = 1.2  # maximum growth of the cost per event, from 10 programs to 300
MOST_LATE_MS = 10.0  # limit for the 99th percentile in real time
REAL_TIME_S = 20
PORT = 7710  # the first of two ports that programs use
CROWD = """import random, selectors, socket, sys, time
hosts, port, interval_s = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
stream, select = random.Random(1), selectors.DefaultSelector()
owns = []
for me in range(hosts):
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.bind((f"127.77.{me}.{me}", port + 1))
    select.register(own, selectors.EVENT_READ)
    owns.append(own)
due = [(time.monotonic() + stream.expovariate(1 / interval_s), me) for me in range(hosts)]
while True:
    at, me = min(due)
    for key, _ in select.select(max(0, at - time.monotonic())):
        key.fileobj.recv(2000)
    if time.monotonic() >= at:
        due[due.index((at, me))] = (at + stream.expovariate(1 / interval_s), me)
        for peer in range(hosts):
            if peer != me:
                owns[me].sendto(b"x" * 100, (f"127.77.{me}.{peer}", port))
"""
PROGRAM = """import json, sys
for line in sys.stdin:
    event = json.loads(line)
    answer = [{"do": "send", "to": 1, "message": event.get("message"), "bytes": 116}, {"do": "done"}]
    sys.stdout.write("".join(json.dumps(action) + "\\n" for action in answer))
    sys.stdout.flush()
"""


COLUMNS = (
    Column("case", "programs"),
    Column("events_per_own_cpu_s", "events per CPU s", ",g"),
    Column("events_per_programs_cpu_s", "of programs", ",g"),
    Column("growth", "growth", "g"),
    Column("simulated_per_wall_s", "simulated s per s", ",g"),
    Column("lateness_p50_ms", "late ms, p50", "g"),
    Column("lateness_p99_ms", "p99", "g"),
    Column("target", "target"),
    Column("passed", ""),
)


@dataclass(frozen=True, slots=True)
class Row(Head):
    """The measurements of one case. A value that does not apply to the case is None."""

    events_per_own_cpu_s: float | None
    events_per_programs_cpu_s: float | None
    growth: float | None  # cost per event in the emulator, relative to the case with 10 programs
    simulated_per_wall_s: float | None
    lateness_p50_ms: float | None
    lateness_p99_ms: float | None
    target: str
    passed: bool


def measure(repeat: int) -> Iterator[Row]:
    """Measure all cases one after the other, and yield a row for each."""
    base: float | None = None
    for count in (10, 70, 300):
        rates = [_pipes(count) for _ in range(repeat)]
        own, theirs = (statistics.median(column) for column in zip(*rates, strict=True))
        base = own if base is None else base
        growth = base / own
        passed = own >= LEAST_PER_CPU_S and (count < 300 or growth <= MOST_GROWTH)
        target = f">= {LEAST_PER_CPU_S:,}" + (f", growth <= {MOST_GROWTH}" if count == 300 else "")
        yield Row.now(f"pipes_{count}", round(own), round(theirs), round(growth, 3), None, None, None, target, passed)
    speed = statistics.median(_first() for _ in range(repeat))
    yield Row.now("first", None, None, None, round(speed, 2), None, None, "> 1", speed > 1)
    if sys.platform == "linux":
        late = _real_time()
        passed = late["p99"] <= MOST_LATE_MS
        yield Row.now(
            "real_time", None, None, None, None, late["p50"], late["p99"], f"p99 <= {MOST_LATE_MS:g} ms", passed
        )


def _pipes(count: int) -> tuple[float, float]:
    """Return the number of events per CPU second of the emulator, and of the programs."""
    with scratch_folder("bench") as folder:
        (Path(folder) / "echo.py").write_text(PROGRAM, encoding="ascii")
        command = (sys.executable, "-S", "echo.py")
        counts = {"stations": 2, "hosts": count}
        cast = Cast(Setting({"host": command}, {}, 60.0, Path(folder), 1, counts))
        hosts = [ProgramHost(cast, _Port(number), Memory()) for number in range(count)]
        message = Says(["told", 3, 17, 100], 116, 100)
        begun, rounds = _cpu_s(resource.RUSAGE_SELF), EVENTS // count
        for _ in range(rounds):
            for host in hosts:
                host.on_receive(1, message)
        own_s = _cpu_s(resource.RUSAGE_SELF) - begun
        before = _cpu_s(resource.RUSAGE_CHILDREN)
        cast.end(0)
        return rounds * count / own_s, rounds * count / (_cpu_s(resource.RUSAGE_CHILDREN) - before)


def _cpu_s(whose: int) -> float:
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime


def _first() -> float:
    from mobilenet.api import simulate
    from mobilenet.scenario import load_scenario

    command = f"[{sys.executable}, flood.py]"
    values = [f"protocol={{command: {command}, promises: fifo}}", "wireless.loss=0", "faults=null"]
    scenario = load_scenario(SCENARIOS / "programs" / "flood.yaml", values)  # the same scenario as first.yaml
    begun = time.perf_counter()
    outcome = simulate(scenario, allow_code=True)
    return outcome.simulated_ns / 1e9 / (time.perf_counter() - begun)


def _real_time() -> dict[str, float]:
    """Return the median and the 99th percentile of the lateness in milliseconds."""
    from mobilenet.scenario import Scenario
    from mobilenet.simulation.mobile import Simulation
    from mobilenet.simulation.parties import RealTime

    interval_s = Scenario.load(SCENARIOS / "static.yaml").workload.interval_s
    values = [
        f"protocol={{name: datagrams, port: {PORT}, own_port: {PORT + 1}}}", "workload={arrivals: none}",
        f"duration_s={REAL_TIME_S}", "warmup_s=0", "drain_s=0",
    ]  # fmt: skip
    scenario = Scenario.load(SCENARIOS / "static.yaml", values)
    command = safe_path.python("-c", CROWD, str(scenario.hosts.count), str(PORT), str(interval_s))
    with subprocess.Popen(command) as crowd:
        try:
            outcome = Simulation(scenario, real_time=RealTime()).run()
        finally:
            crowd.kill()
    late: dict[str, float] = outcome.facts["real_time"]["lateness_ms"]
    return late


class _Port:
    now = 0

    def __init__(self, me: int) -> None:
        self.me = me

    def send(self, to: int, message: Any) -> None: ...
    def timer(self, action: Callable[[], None]) -> None:
        raise NotImplementedError
