"""A batch of runs of a study, wherever it happens to be computed.

Model     a task leaves complete run directories, or a note why there is none, and what it measured of them as a part
          (parts.py). Doing it twice is harmless: what is complete is not computed again, and the seed fixes the
          content. Before a run begins its name is put into starting/, so a run that takes its process down with it is
          known when Spark gives the batch to another one, and is left out after ATTEMPTS of them
Shapes    from batches of planned runs to batches of the rows of DONE, for DataFrame.mapInArrow
Errors    none: whatever goes wrong becomes the note, and does not disturb the other runs
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from mobilenet.api import run
from mobilenet.engine.no_collections import set_modules_aside
from mobilenet.engine.safe_path import not_for_programs
from mobilenet.judgement import own_metrics
from mobilenet.lab.studies import parts
from mobilenet.lab.studies.configurations import PlannedRun
from mobilenet.lab.studies.configured import configured_scenario
from mobilenet.lab.studies.measure import measure
from mobilenet.lab.studies.store import is_done, record_failure
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import pluralize
from mobilenet.record.reader import RunError, read_json
from mobilenet.record.writer import RecordError

ATTEMPTS = 2  # processes that a run may take down before it counts as failed
DONE = "run string, failure string"  # failure: why the run is missing


def perform(folder: Path, kind: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make the runs of the study in `folder`, which is of this kind."""
    not_for_programs()
    for batch in batches:
        runs = runs_in(batch)
        failures = perform_runs(folder, kind, runs)
        yield pa.RecordBatch.from_pydict(
            {"run": [run.id for run in runs], "failure": pa.array(map(failures.get, (r.id for r in runs)), pa.string())}
        )
    set_modules_aside()  # Spark's workers collect garbage after each task, and would look through all that is imported


def runs_in(batch: pa.RecordBatch) -> list[PlannedRun]:
    """Return the runs of a batch of tasks."""
    columns = (batch.column(name).to_pylist() for name in PlannedRun.__annotations__)
    return [PlannedRun(*row) for row in zip(*columns, strict=True)]


def perform_runs(folder: Path, kind: str, runs: list[PlannedRun]) -> dict[str, str]:
    """Return why runs failed, and leave this note in failed/ at once, for those who watch the study."""
    failures: dict[str, str] = {}

    def fail(run: str, why: str) -> None:
        record_failure(folder / "failed", run, why)
        failures[run] = why

    rows = []
    for one in runs:
        try:
            rows.append(_perform(folder, kind, one))
            (folder / "failed" / f"{one.id}.json").unlink(missing_ok=True)
        except (ScenarioError, RecordError, RunError) as error:
            fail(one.id, " ".join(str(error).split()))
        except Exception as error:  # noted, as Spark would retry an exception again and again
            fail(one.id, f"internal error: {in_one_line(error)}")
        finally:  # this process came through
            (folder / "starting" / one.id).unlink(missing_ok=True)
    try:
        if rows:
            parts.write_part(folder / "measured", [one.id for one in runs], rows, kind)
    except Exception as error:
        for row in rows:
            fail(row["run"], f"cannot be summarised: {in_one_line(error)}")
    return failures


def _perform(folder: Path, kind: str, planned: PlannedRun) -> dict[str, Any]:
    """Make a run unless it is there, and return what it contributes."""
    directory = folder / "runs" / planned.id
    scenario = configured_scenario(folder, planned.configuration)
    if not is_done(directory, planned.seed):
        mark = folder / "starting" / planned.id
        attempts = mark.stat().st_size if mark.exists() else 0  # by processes that did not come to its end
        if attempts >= ATTEMPTS:
            raise ScenarioError(f"the process of this run ended without a message, {pluralize(attempts, 'time')}")
        mark.write_text("x" * (attempts + 1), encoding="ascii")
        run(scenario, planned.seed, directory, allow_code=True, keep_early_end=False)  # the study's caller was asked
    manifest = read_json(directory, "manifest.json")
    facts = {
        "verdict": read_json(directory, "verdict.json")["verdict"],
        "duration_s": manifest["duration_s"],
        "fingerprint": manifest["fingerprint"],
        "manifest_sha256": parts.manifest_digest(directory),
    }
    own = own_metrics(scenario, allow_code=True) if kind == "steady_state" and scenario.metrics else ()
    return parts.row(planned, measure(directory, kind, own), facts)


def in_one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
