"""Measure how long a command takes to start: help, version, import, and the first scenario.

Model     Each case is a process that is measured from outside. The result is the median of all repetitions except the
          first. Bytecode is cached, unless PYTHONDONTWRITEBYTECODE is set. `first` is `mobilenet run
          scenarios/first.yaml`, which simulates about 0.1 s. "In proportion" is the CPU time multiplied by (queue /
          1.2 M events/s), where 1.2 M is the speed of the machine for which the targets were set.
Units     CPU seconds of the process and its children
Errors    RuntimeError if a command fails.
Source    ours: docs/performance.md
"""

from __future__ import annotations

import os
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mobilenet.engine import safe_path
from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.bench.baseline import Baseline
from mobilenet.lab.bench.row import Column, Head
from mobilenet.lab.package_files import SCENARIOS

QUEUE_EVENTS_PER_S = 1_200_000


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    words: tuple[str, ...]
    most_cpu_s: float


CASES = (
    Case("import", ("-c", "import mobilenet"), 0.3),
    Case("version", ("-m", "mobilenet", "--version"), 0.25),
    Case("help", ("-m", "mobilenet", "--help"), 0.25),
    Case("first", ("-m", "mobilenet", "run", str(SCENARIOS / "first.yaml"), "--quiet", "--out"), 0.9),
)
COLUMNS = (
    Column("case", "start"),
    Column("cpu_s", "CPU s", ".3f"),
    Column("in_proportion_s", "in proportion, s", ".3f"),
    Column("target_s", "at most", "g"),
    Column("passed", ""),
)


@dataclass(frozen=True, slots=True)
class Row(Head):
    """The cost of starting one command."""

    cpu_s: float
    in_proportion_s: float
    queue_events_per_s: float
    target_s: float
    passed: bool


def measure(repeat: int) -> Iterator[Row]:
    """Measure all cases one after the other, and yield a row for each."""
    for case in CASES:
        queue, times_s = Baseline(), []
        queue.begin()
        with scratch_folder("bench") as folder:
            for number in range(1 + max(3, repeat)):
                out = [str(Path(folder, str(number)))] if case.words[-1] == "--out" else []
                times_s.append(_cpu_s([*case.words, *out]))
        queue.end()
        cpu_s = statistics.median(times_s[1:])
        proportional_s = cpu_s * queue.events_per_s / QUEUE_EVENTS_PER_S
        yield Row.now(
            case.name, round(cpu_s, 3), round(proportional_s, 3), round(queue.events_per_s), case.most_cpu_s,
            proportional_s <= case.most_cpu_s,
        )  # fmt: skip


def _cpu_s(words: list[str]) -> float:
    before = os.times()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.run(safe_path.python(*words), capture_output=True, text=True, check=False, env=environment)
    after = os.times()
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)}: {process.stderr.strip()[-200:]}")
    return after.children_user + after.children_system - before.children_user - before.children_system
