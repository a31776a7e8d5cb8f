"""A batch of runs of a study, wherever it happens to be computed.

Model     a task leaves complete run directories, or a note why there is none, and what it measured of them as parts
          (parts.py). Doing it twice is harmless: what is complete is not computed again, and the seed fixes the
          content. Before a run begins its name is put into starting/, so a run that takes its process down with it is
          known when Spark gives the batch to another one, and is left out after ATTEMPTS of them
Errors    none: whatever goes wrong becomes the note, and does not disturb the other runs
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.engine.no_collections import set_modules_aside
from mobilenet.engine.safe_path import not_for_programs
from mobilenet.lab.studies import parts
from mobilenet.lab.studies.measure import measure
from mobilenet.lab.studies.store import is_done, record_failure
from mobilenet.quoting import pluralize
from mobilenet.record.reader import read_json

ATTEMPTS = 2  # processes that a run may take down before it counts as failed
RUNS_PER_PART = 50


class Job(NamedTuple):
    """Plain values, so that it travels."""

    run: str
    configuration: int
    replication: int
    seed: int


class Batch(NamedTuple):
    folder: str  # the study's
    kind: str  # the study's
    jobs: tuple[Job, ...]


def perform_in_worker(batch: Batch) -> None:
    """`perform`, in one of Spark's workers. These collect garbage after each task, and would look through all that has
    been imported.
    """
    perform(batch)
    set_modules_aside()


def perform(batch: Batch) -> None:
    not_for_programs()
    folder = Path(batch.folder)
    for first in range(0, len(batch.jobs), RUNS_PER_PART):
        jobs = batch.jobs[first : first + RUNS_PER_PART]
        rows = [measurement for job in jobs if (measurement := _perform(folder, batch.kind, job)) is not None]
        if not rows:
            continue
        try:
            parts.write_part(folder / "measured", [job.run for job in jobs], rows, batch.kind)
        except Exception as error:  # returned, as Spark would retry an exception again and again
            for row in rows:
                what = f"cannot be summarised: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
                record_failure(folder / "failed", row["run"], what)


def _perform(folder: Path, kind: str, job: Job) -> dict[str, Any] | None:
    from mobilenet.api import run
    from mobilenet.judgement import own_metrics
    from mobilenet.lab.studies.configured import configured_scenario
    from mobilenet.parameters import ScenarioError
    from mobilenet.record.reader import RunError
    from mobilenet.record.writer import RecordError

    directory = folder / "runs" / job.run
    attempts = _attempts(folder, job.run)
    try:
        scenario = configured_scenario(folder, job.configuration)
        if not is_done(directory, job.seed):
            if attempts >= ATTEMPTS:
                raise ScenarioError(f"the process of this run ended without a message, {pluralize(attempts, 'time')}")
            mark = folder / "starting" / job.run
            mark.write_text("x" * (attempts + 1), encoding="ascii")
            run(scenario, job.seed, directory, allow_code=True, keep_early_end=False)  # the study's caller was asked
        manifest = read_json(directory, "manifest.json")
        facts = {
            "verdict": read_json(directory, "verdict.json")["verdict"],
            "duration_s": manifest["duration_s"],
            "fingerprint": manifest["fingerprint"],
            "manifest_sha256": parts.manifest_digest(directory),
        }
        own = own_metrics(scenario, allow_code=True) if kind == "steady_state" and scenario.metrics else ()
        row = parts.row(*job, measure(directory, kind, own), facts)
    except (ScenarioError, RecordError, RunError) as error:
        record_failure(folder / "failed", job.run, " ".join(str(error).split()))
        return None
    except Exception as error:
        what = f"internal error: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        record_failure(folder / "failed", job.run, what)
        return None
    finally:  # this process came through
        (folder / "starting" / job.run).unlink(missing_ok=True)
    (folder / "failed" / f"{job.run}.json").unlink(missing_ok=True)
    return row  # type: ignore[no-any-return]


def _attempts(folder: Path, run: str) -> int:
    """By how many processes it was begun that did not come to its end."""
    try:
        return os.stat(folder / "starting" / run).st_size
    except FileNotFoundError:
        return 0
