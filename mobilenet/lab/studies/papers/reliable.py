"""Check the reliable broadcast paper's statements on its experiments.

Model     p0 broadcasts once, with VCube-RB, All-RB and DPath-RB. The experiments are: no faults; p_(n/2) crashes at 0
          or at log2 n; p1 or p_(n-1) does so instead, for All-RB and DPath-RB only; p0 crashes when its last copy has
          left; log2(n)-1 random processes except p0 crash at whole times in [0, log2 n], with 32 replications. Further
          experiments check statements without figures: p_(n/2) crashes at 0 and p0 broadcasts at 20, when all processes
          suspect p_(n/2); only p0, or all other processes, suspect it wrongly; p0 suspects all processes. The available
          text contains neither the values of the figures nor Table 1. So every sentence about them is checked instead
          (reliable_statements.py).
Units     Time units and messages.
Errors    ScenarioError if a scenario is invalid.
Source    Jeanneau et al. (JBCS 2017), "Discussion on the performance" and "Experimental evaluation";
          data/papers/jeanneau2017_reliable.csv; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mobilenet.lab.studies.papers.jobs import SIZES, Finding, Job, Result, perform, results_of
from mobilenet.lab.studies.papers.reliable_counts import Counts, count
from mobilenet.lab.studies.papers.reliable_statements import (
    ALL_MISTAKEN,
    ALONE,
    BEFORE,
    EVERYBODY,
    FREE,
    NOTICED,
    OTHERS,
    RANDOM,
    SEND,
    SOURCE,
    T0,
    T1,
    Runs,
    statements,
)
from mobilenet.lab.workers import nothing

PROTOCOLS = {"VCube-RB": "reliable", "All-RB": "all_to_all", "DPath-RB": "disjoint_paths"}
REPLICATIONS = 32
LATER = 20  # By this time, all processes suspect the process that crashed at 0.
# With this timeout, only the intended processes are suspected. A process that suspects all others also tests all of
# them, and answers late.
PATIENT = 1000
COUNTED = {
    *((experiment, "VCube-RB") for experiment in (FREE, T0, T1, SOURCE, BEFORE, ALONE, EVERYBODY)),
    *((experiment, "All-RB") for experiment in (FREE, T0, T1)),
    (FREE, "DPath-RB"),
}


def judge(
    file: Path, largest: int, workers: int | None, say: Callable[[str], None], look: Callable[[], None] = nothing
) -> dict[str, Finding]:
    """Make the runs that are not stored in `file`, up to `largest` processes, and judge each statement."""
    sizes = [n for n in SIZES if n <= largest]
    jobs = list(_jobs(sizes))
    results = results_of(perform, jobs, workers, say, file, look)
    counted = [job for job in jobs if (job.key[0], job.key[2]) in COUNTED] + [_detection_job(n) for n in sizes]
    counts = results_of(count, counted, workers, say, file, look)
    table = {(experiment, protocol, n): _row(experiment, of) for (experiment, n, protocol), of in results.items()}
    single = {(experiment, protocol, n): Counts(**one) for (experiment, n, protocol), (one,) in counts.items()}
    return {name: Finding(*finding) for name, finding in statements(sizes, Runs(table, single)).items()}


def _jobs(run_sizes: list[int]) -> Iterator[Job]:
    for n in run_sizes:
        d = (n - 1).bit_length()
        yield from _suspicions(n)
        for name, protocol in PROTOCOLS.items():
            base = (f"processes={n}", f"protocol={{name: {protocol}}}")
            for experiment, at in ((T0, 0), (T1, d)):
                yield Job((experiment, n, name), "reliable.yaml", (*base, _crash(n // 2, at)))
                for other, who in zip(OTHERS[experiment], (1, n - 1), strict=True) if name != "VCube-RB" else ():
                    yield Job((other, n, name), "reliable.yaml", (*base, _crash(who, at)))
            yield Job((FREE, n, name), "reliable.yaml", (*base, "faults=[]"))
            yield Job((SOURCE, n, name), "reliable.yaml", (*base, _crash(0, _crash_time_s(n, name))))
            for seed in range(1, REPLICATIONS + 1):
                drawn = f"random_faults={{count: {d - 1}, latest: {d}, spared: [p0]}}"
                yield Job((RANDOM, n, name), "reliable.yaml", (*base, "faults=[]", drawn, f"seed={seed}"))


def _suspicions(n: int) -> Iterator[Job]:
    """Yield the jobs in which a process is suspected before the broadcast."""
    for name in ("VCube-RB", "All-RB"):
        later = f"workload.instants={{kind: at, time: {LATER}}}"
        yield Job(
            (BEFORE, n, name),
            "reliable.yaml",
            (f"processes={n}", f"protocol={{name: {PROTOCOLS[name]}}}", _crash(n // 2, 0), later),
        )
    half = n // 2
    mistakes = {
        ALONE: [(0, half)],
        ALL_MISTAKEN: [(i, half) for i in range(n) if i != half],
        EVERYBODY: [(0, i) for i in range(1, n)],
    }
    for experiment, wrong in mistakes.items():
        listed = ", ".join(f"{{at: 0, by: p{by}, about: p{about}}}" for by, about in wrong)
        detector = ("detector.mode=unreliable", f"detector.timeout={PATIENT}", f"detector.mistakes=[{listed}]")
        yield Job(
            (experiment, n, "VCube-RB"),
            "reliable.yaml",
            (f"processes={n}", "protocol={name: reliable}", "faults=[]", *detector),
        )


def _detection_job(n: int) -> Job:
    """Return the job that shows when the crash of p0 is noticed. It runs without the broadcast, because the detector
    has a separate lane, and because All-RB sends a million messages after the crash.
    """
    idle = (
        f"processes={n}",
        "protocol={name: all_to_all}",
        "workload.sources=0",
        _crash(0, _crash_time_s(n, "All-RB")),
    )
    return Job((NOTICED, n, "All-RB"), "reliable.yaml", idle)


def _crash(process: int, at: float) -> str:
    return f"faults=[{{process: p{process}, at: {at:g}}}]"


def _crash_time_s(n: int, name: str) -> float:
    """Return a time after p0 has sent its last copy, and before a process forwards the first answer."""
    copies = n - 1 if name == "All-RB" else (n - 1).bit_length()
    return round(copies * SEND + SEND / 2, 2)


def _row(experiment: str, results: list[Result]) -> dict[str, Any]:
    def mean(quantity: str) -> float:
        return float(np.mean([result["metrics"].get(quantity, 0) for result in results]))

    return {
        "latency": round(mean("latency") - (LATER if experiment == BEFORE else 0), 6),
        "messages": mean("messages"),
        "trees": mean("messages_tree"),
        "delvs": mean("messages_delv"),
        "acks": mean("messages_ack"),
        "deliveries": mean("deliveries"),
        "complete": mean("broadcasts_complete"),
        "never_left": sum(result["counters"]["messages"]["never_left"] for result in results),
        "not valid": sum(result["answer"] != "valid" for result in results),
    }
