"""Many runs of processes, on all cores, each judged; what a reproduction is made of.

Model     a job is a scenario and its changes; its result the metrics and the verdict. Full simulations, no shortcuts
Errors    ScenarioError
Source    ours: DESIGN.md §16
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "scenarios" / "vcube"


class Job(NamedTuple):
    key: tuple[Any, ...]  # what it belongs to
    scenario: str
    changes: tuple[str, ...]


class Result(NamedTuple):
    key: tuple[Any, ...]
    metrics: dict[str, Any]
    counters: dict[str, Any]
    answer: str


def perform(job: Job) -> Result:
    """One run, in memory."""
    from mobilenet.manifest import manifest
    from mobilenet.metrics import metrics
    from mobilenet.processes.experiment import Experiment
    from mobilenet.scenario import ProcessScenario
    from mobilenet.verify import verify
    from mobilenet.verify.judge import overall

    scenario = ProcessScenario.load(SCENARIOS / job.scenario, (*job.changes, "record.buffers=false"))
    outcome = Experiment(scenario).run()
    recording = outcome.recording
    facts = manifest(recording, scenario, outcome.simulated_ns, outcome.quiescent, 0.0, "")
    events, samples, counters = recording.events.columns(), recording.samples.lists, recording.document()
    answer = overall(verify(events, samples, recording.positions.lists, counters, facts))
    return Result(job.key, metrics(events, samples, counters, facts), counters, answer)


def perform_all(jobs: Sequence[Job], workers: int | None, say: Callable[[str], None]) -> dict[tuple[Any, ...], list[Result]]:
    """Results by key, in the order of the jobs, whoever was faster."""
    found: dict[tuple[Any, ...], list[Result]] = {}
    with ProcessPoolExecutor(workers or os.cpu_count(), get_context("spawn")) as pool:
        for done, result in enumerate(pool.map(perform, jobs), 1):
            found.setdefault(result.key, []).append(result)
            if done % 50 == 0 or done == len(jobs):
                say(f"{done} of {len(jobs)} runs")
    return found


def sizes(max_n: int, processes: int | None) -> list[int]:
    """8, 16, ... up to max_n, or only one."""
    return [processes] if processes is not None else [n for n in (1 << d for d in range(3, 11)) if n <= max_n]


def markdown(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join('' if cell is None else str(cell) for cell in line)} |\n" for line in lines)
