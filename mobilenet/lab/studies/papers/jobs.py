"""Many runs of processes, on all cores, each judged; what a reproduction is made of.

Model     a job is a scenario and its changes; its result the metrics and the verdict. Full simulations, no shortcuts
Kept      each result is a line of OUT/PAPER.results.jsonl, as soon as it is there; a job whose line is there is not
          run again. A line belongs to the job's scenario with all its values, and to mobilenet's code as it was. One
          that is torn counts for nothing
Errors    ScenarioError: a scenario is invalid, or OUT cannot be written; both before the first run
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from mobilenet.lab import shipped
from mobilenet.lab.studies.papers.watch import Watch, Watched, delivery_times, latencies
from mobilenet.lab.workers import as_done, nothing
from mobilenet.parameters import ScenarioError
from mobilenet.record.provenance import combine
from mobilenet.record.stamp import PAPER, Inputs, in_text, new_provenance, normal_command, stamping, write_sidecar

if TYPE_CHECKING:
    from mobilenet.scenario import ProcessScenario
    from mobilenet.simulation.outcome import Outcome

SCENARIOS = shipped.SCENARIOS / "vcube"
LARGEST = 1024  # processes


Done = TypeVar("Done")


class Job(NamedTuple):
    key: tuple[Any, ...]  # what it belongs to
    scenario: str
    changes: tuple[str, ...]
    is_watched: bool = False  # for the figures on single processes and messages
    beside: tuple[str, ...] | None = None  # further changes: another run, for what messages have in both


class Result(NamedTuple):
    key: tuple[Any, ...]
    metrics: dict[str, Any]
    counters: dict[str, Any]
    answer: str
    watched: Watched | None = None


def perform(job: Job) -> Result:
    """One run, in memory."""
    from mobilenet.metrics import metrics
    from mobilenet.record.manifest import manifest
    from mobilenet.simulation.processes.experiment import Experiment
    from mobilenet.verify import Evidence, verify
    from mobilenet.verify.judge import overall

    scenario = scenario_of(job)
    outcome, watch = _run_watched(scenario) if job.is_watched else (Experiment(scenario).run(), None)
    recording = outcome.recording
    facts = manifest(recording, scenario, outcome.simulated_ns, outcome.quiescent, 0.0, "")
    tables, counters = recording.tables(), recording.document()
    events, samples = tables["events"], tables["samples"]
    answer = overall(verify(Evidence(tables, counters, facts)))
    watched = watch.observations(events, samples) if watch is not None else None
    if watch is not None and watched is not None and job.beside is not None and (of := watch.of_two()):
        other, its_watch = _run_watched(scenario.with_changes(job.beside))
        its_events = other.recording.events.columns()
        watched["pairs"] = latencies(of, watch.received, delivery_times(events)) + latencies(
            of, its_watch.received, delivery_times(its_events)
        )
    return Result(job.key, metrics(events, samples, counters, facts), counters, answer, watched)


def _run_watched(scenario: ProcessScenario) -> tuple[Outcome, Watch]:
    from mobilenet.simulation.processes.experiment import Experiment

    watch = Watch(scenario.processes)
    on_receive = watch.on_receive if scenario.network.kind == "packet" else None
    return Experiment(scenario, watch.on_send, on_receive).run(), watch


def scenario_of(job: Job) -> ProcessScenario:
    from mobilenet.scenario import ProcessScenario

    return ProcessScenario.load(SCENARIOS / job.scenario, ("record.buffers=false", *job.changes))


def perform_all(
    jobs: Sequence[Job],
    workers: int | None,
    say: Callable[[str], None],
    results: Path | None = None,
    look: Callable[[], None] = nothing,
) -> dict[tuple[Any, ...], list[Result]]:
    """Results by key, in the order of the jobs, not of completion; `results` is the file that keeps them; `look` is
    called every second, and may raise to stop.
    """
    names = [identity(job) for job in jobs]
    completed = {} if results is None else completed_results(results)
    missing = [k for k, name in enumerate(names) if name not in completed]
    if len(missing) < len(jobs):
        say(f"{len(jobs) - len(missing)} of {len(jobs)} runs are complete: {results}")
    for count, (k, result) in enumerate(results_of(perform, jobs, missing, workers, look), 1):
        completed[names[k]] = result
        if results is not None:
            keep(results, names[k], result)
        if count % 50 == 0 or count == len(missing):
            say(f"{count} of {len(missing)} runs")
    results_by_key: dict[tuple[Any, ...], list[Result]] = {}
    for job, name in zip(jobs, names, strict=True):
        results_by_key.setdefault(job.key, []).append(completed[name]._replace(key=job.key))
    return results_by_key


def say_what_is_not_valid(results: dict[tuple[Any, ...], list[Result]], say: Callable[[str], None]) -> None:
    for key, group in results.items():
        for result in group:
            if result.answer != "valid":
                say(f"{key}: {result.answer}")


def results_of(
    work: Callable[[Job], Done],
    jobs: Sequence[Job],
    chosen: list[int],
    workers: int | None,
    look: Callable[[], None] = nothing,
) -> Iterator[tuple[int, Done]]:
    """What `work` makes of the chosen jobs, in the order in which it is done."""
    for place, result in as_done(work, [jobs[k] for k in chosen], workers, look):
        yield chosen[place], result


def identity(job: Job) -> str:
    """The digest of what its result depends on. Raises ScenarioError."""
    text = json.dumps([_digest_of_scenario(job), digest_of_code(), job.is_watched, job.beside])
    return sha256(text.encode()).hexdigest()


@cache
def _digest_of_scenario(job: Job) -> str:
    return sha256(json.dumps(scenario_of(job).model_dump(mode="json"), sort_keys=True).encode()).hexdigest()


@cache
def digest_of_code() -> str:
    """Cover all modules of mobilenet: which of them affect a result is not known beforehand."""
    digest = sha256()
    for path in sorted(shipped.PACKAGE.rglob("*.py")):
        digest.update(f"{path.relative_to(shipped.PACKAGE)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def completed_results(results: Path) -> dict[str, Result]:
    """Read the results that are there."""
    results_by_job = {}
    try:
        lines = results.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{results}: cannot be read: {error}") from None
    for line in lines:
        try:
            row = json.loads(line)
            results_by_job[row["job"]] = Result((), row["metrics"], row["counters"], row["answer"], row["watched"])
        except (ValueError, KeyError, TypeError):
            continue
    return results_by_job


def keep(results: Path, name: str, result: Result) -> None:
    """On a line of its own, even after a torn one."""
    row = {
        "job": name,
        "metrics": result.metrics,
        "counters": result.counters,
        "answer": result.answer,
        "watched": result.watched,
    }
    with results.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(("\n" if _is_torn(results) else "") + json.dumps(row) + "\n")


def _is_torn(results: Path) -> bool:
    with results.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def prepare(out: Path, jobs: Sequence[Job], results: str | None = None) -> None:
    """Create the directory, and find all errors before the first run. `results`: the name of the file that keeps them.
    Raises ScenarioError.
    """
    for job in jobs:
        identity(job)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
        if results is not None:
            write_sidecar(out / results)
    except OSError as error:
        raise ScenarioError(f"{out}: cannot be written: {error.strerror}; name another directory with --out") from None


def stamping_of_jobs(
    paper: str, jobs: Sequence[Job], max_n: int, processes: int | None
) -> AbstractContextManager[None]:
    """Give all files that are written inside the provenance of the jobs of a paper."""
    scenarios = combine(map(_digest_of_scenario, jobs))
    most = None if processes is not None or max_n == LARGEST else max_n
    command = normal_command("reproduce", paper, max_n=most, processes=processes)
    return stamping(new_provenance(command, Inputs(PAPER, scenarios, None, len(jobs))))


def in_markdown(text: str) -> str:
    """Return a document with its provenance in a comment."""
    return in_text(text, "\n<!-- ", " -->")


def sizes(max_n: int, processes: int | None) -> list[int]:
    """8, 16, ... up to max_n, or only one."""
    return [processes] if processes is not None else [n for n in (1 << d for d in range(3, 11)) if n <= max_n]


def markdown(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join('' if cell is None else str(cell) for cell in line)} |\n" for line in lines)
