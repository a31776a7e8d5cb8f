"""Measure the cost of recording causes, and of explaining all deliveries of a run, or one.

Model     Each repetition simulates 100 s of dynamic.yaml in a separate process. The result is the median of each
          cost. `recording` is the additional cost of simulating with `record.causes`. `all` is the cost of a replay
          with causes and of explaining all deliveries. `one` is the cost of reading a recorded run and explaining its
          slowest delivery.
Units     CPU seconds, and ratios to the time for simulating; `one` is in seconds.
Errors    RuntimeError if a case fails.
Source    ours: docs/performance.md
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, TypeVar

from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.bench.row import Column, Head, tell
from mobilenet.lab.bench.simulator import in_a_process
from mobilenet.lab.package_files import SCENARIOS

if TYPE_CHECKING:
    from mobilenet.why.stories import Stories

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Case:
    name: str = "dynamic, 100 s"


CASES = (Case(),)
MOST = {"recording causes": 0.5, "all explanations, with the replay": 10.0, "one explanation from a recorded run": 2.0}

COLUMNS = (
    Column("case", "explaining delays"),
    Column("cpu_s", "CPU s", ".2f"),
    Column("share", "times simulating", ".2f"),
    Column("target", "at most", "g"),
    Column("passed", ""),
)


@dataclass(frozen=True, slots=True)
class Row(Head):
    """One of the costs. `share` is relative to the time for simulating or, for a single delivery, a time in seconds."""

    cpu_s: float
    share: float
    target: float
    passed: bool


def measure(repeat: int) -> Iterator[Row]:
    """Yield a row for each of the three costs, with the median of several runs."""
    runs = [in_a_process("mobilenet.lab.bench.delays", CASES[0].name) for _ in range(repeat)]
    for name, most in MOST.items():
        share = median(run[name] / (1.0 if name.startswith("one") else run["simulating"]) for run in runs)
        yield Row.now(name, round(median(run[name] for run in runs), 3), round(share, 3), most, share <= most)


def once(case: Case) -> dict[str, float]:
    """Measure all three costs in this process."""
    from mobilenet.api import keep, simulate
    from mobilenet.lab.replay.rerun import stories_of
    from mobilenet.record.writer import run_directory
    from mobilenet.scenario import load_scenario
    from mobilenet.why.shares import delay_ns

    plain = load_scenario(SCENARIOS / "dynamic.yaml", ["duration_s=100"])
    recorded = plain.with_changes(["record.causes=true"])
    # Warm up, so that the time for imports and compilation does not count for any case.
    simulate(plain.with_changes(["duration_s=12"]))
    simulating_s, _ = _time(lambda: simulate(plain))
    recording_s, outcome = _time(lambda: simulate(recorded))
    with scratch_folder("bench") as folder:
        run, with_causes = Path(folder, "plain"), Path(folder, "recorded")
        for place, scenario, result in ((run, plain, simulate(plain)), (with_causes, recorded, outcome)):
            with run_directory(place) as partial:
                keep(partial, scenario, result, 0.0, "mobilenet bench")
        all_s, stories = _time(lambda: _all_stories(stories_of(run)))
        slowest = max(stories.record.deliveries, key=lambda one: delay_ns(stories, one))
        one_s, _ = _time(lambda: stories_of(with_causes).of(slowest.message, slowest.node))
    names = list(MOST)
    return {
        "simulating": simulating_s,
        names[0]: recording_s - simulating_s,
        names[1]: all_s,
        names[2]: one_s,
    }


def _all_stories(stories: Stories) -> Stories:
    from mobilenet.why.shares import shares

    shares(stories, (one for one in stories.record.deliveries if one.message in stories.record.broadcasts))
    return stories


def _time(work: Callable[[], T]) -> tuple[float, T]:
    began_s = time.process_time()
    result = work()
    return time.process_time() - began_s, result


if __name__ == "__main__":
    tell(once, CASES)
