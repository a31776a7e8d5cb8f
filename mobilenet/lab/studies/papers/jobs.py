"""Run and judge many runs of processes on all cores, for answers about papers.

Model     A job is a scenario with changes, and a function that computes its result from a full simulation. The result
          consists of numbers and lists that JSON can represent.
Kept      Each result is written to a line of a file as soon as it is available, and its job is not run again. A line is
          valid only for the same scenario values, the same function and the same code of mobilenet. An incomplete line
          is ignored.
Errors    ScenarioError before the first run, for an invalid scenario or an unreadable file.
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mobilenet.lab import package_files
from mobilenet.lab.studies.statistics import Bounds
from mobilenet.lab.workers import as_done, nothing
from mobilenet.parameters import ScenarioError

if TYPE_CHECKING:
    from mobilenet.record.table import Columns
    from mobilenet.scenario import ProcessScenario

SCENARIOS = package_files.SCENARIOS / "vcube"
SIZES = tuple(1 << d for d in range(3, 11))  # numbers of processes that all papers use
Result = dict[str, Any]
Ends = tuple[float | None, float | None]  # lower and upper end of a range
NO_ENDS: Ends = (None, None)
Results = dict[tuple[Any, ...], list[Result]]  # results by key, in the order of the jobs


class Finding(NamedTuple):
    """A verdict on a number or a sentence of a paper, derived from runs."""

    verdict: str  # one of hold, hold in part, fail, not checked
    why: str
    bounds: Bounds | None = None  # result of the runs and its interval, if the finding concerns a number at one size
    printed: Ends = NO_ENDS  # range of values that the printed number may represent


class Job(NamedTuple):
    key: tuple[Any, ...]  # key under which its results are stored
    scenario: str
    changes: tuple[str, ...]
    # Changes that define a second run for comparison, or None. Only messages that occur in both runs are compared.
    beside: tuple[str, ...] | None = None


def perform(job: Job) -> Result:
    """Simulate one run in memory, and return its metrics, counters and answer."""
    return run(scenario_of(job))[0]


def run(scenario: ProcessScenario, on_send: Any = None, on_receive: Any = None) -> tuple[Result, Columns, Columns]:
    """Return the result, the events and the samples of a run."""
    from mobilenet.metrics import metrics
    from mobilenet.record.manifest import manifest
    from mobilenet.simulation.processes.experiment import Experiment
    from mobilenet.verify import Evidence, verify
    from mobilenet.verify.judge import overall

    outcome = Experiment(scenario, on_send, on_receive).run()
    facts = manifest(outcome.recording, scenario, outcome.simulated_ns, outcome.quiescent, 0.0, "")
    tables, counters = outcome.recording.tables(), outcome.recording.document()
    events, samples = tables["events"], tables["samples"]
    answer = overall(verify(Evidence(tables, counters, facts)))
    row = metrics(events, samples, counters, facts)
    return {"metrics": row, "counters": counters, "answer": answer}, events, samples


def scenario_of(job: Job) -> ProcessScenario:
    from mobilenet.scenario import ProcessScenario

    return ProcessScenario.load(SCENARIOS / job.scenario, ("record.buffers=false", *job.changes))


def results_of(
    work: Callable[[Job], Result],
    jobs: Sequence[Job],
    workers: int | None,
    say: Callable[[str], None],
    file: Path,
    look: Callable[[], None] = nothing,
) -> Results:
    """Return the results of `work` on the jobs. The results are stored in `file`. `look` is called every second, and
    may raise an exception to stop the work.
    """
    names = [f"{work.__name__} {identity(job)}" for job in jobs]
    completed = completed_results(file)
    missing = [k for k, name in enumerate(names) if name not in completed]
    if len(missing) < len(jobs):
        say(f"{len(jobs) - len(missing)} of {len(jobs)} runs are complete: {file}")
    for count, (place, result) in enumerate(as_done(work, [jobs[k] for k in missing], workers, look), 1):
        name = names[missing[place]]
        completed[name] = result
        keep(file, name, result)
        if count % 50 == 0 or count == len(missing):
            say(f"{count} of {len(missing)} runs")
    results: Results = {}
    for job, name in zip(jobs, names, strict=True):
        results.setdefault(job.key, []).append(completed[name])
        if (answer := completed[name].get("answer", "valid")) != "valid":
            say(f"{job.key}: {answer}")
    return results


@cache
def identity(job: Job) -> str:
    """Return a digest of everything that determines the result of a job. Raise ScenarioError if its scenario is
    invalid.
    """
    scenario = json.dumps(scenario_of(job).model_dump(mode="json"), sort_keys=True)
    return sha256(json.dumps([scenario, digest_of_code(), job.beside]).encode()).hexdigest()


@cache
def digest_of_code() -> str:
    """Return a digest of all modules of mobilenet, because any module may affect a result."""
    digest = sha256()
    for path in sorted(package_files.PACKAGE.rglob("*.py")):
        digest.update(f"{path.relative_to(package_files.PACKAGE)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def completed_results(file: Path) -> dict[str, Result]:
    """Read the completed results from the file."""
    results = {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{file}: cannot be read: {error}") from None
    for line in lines:
        try:
            row = json.loads(line)
            results[row["job"]] = row["result"]
        except (ValueError, KeyError, TypeError):
            continue
    return results


def keep(results: Path, name: str, result: Result) -> None:
    """Append a result as a new line, even if the last line of the file is incomplete."""
    with results.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(("\n" if _is_torn(results) else "") + json.dumps({"job": name, "result": result}) + "\n")


def _is_torn(results: Path) -> bool:
    with results.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"
