"""Make or check a batch of runs on a Spark worker.

Model     For each run, a task leaves a complete run directory, or a note that states why the run failed. It writes the
          measurements of its runs as a part (parts.py). Repeating a task is harmless: complete runs are not computed
          again, and the seed determines the content. A file with the name of a run is created in starting/ before the
          run starts. So a run that kills its process is recognized when Spark gives the batch to another process, and
          is skipped after ATTEMPTS such processes. A run counts if it is complete and has the right seed and the
          requested scenario. Code from the directory is never trusted: scenarios are compared, never run.
Shapes    Batches of planned runs are turned into rows of COUNTED, for DataFrame.mapInArrow.
Errors    Any error is recorded in the note, and does not affect the other runs; exceeding a limit of the scenario is
          one. store.py lists these runs as failed, and cli/study.py prints their notes.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from mobilenet.api import run
from mobilenet.engine.gc_pause import set_modules_aside
from mobilenet.engine.safe_path import not_for_programs
from mobilenet.judgement import own_metrics
from mobilenet.lab.studies.configurations import PlannedRun
from mobilenet.lab.studies.declaration import KEPT
from mobilenet.lab.studies.measure import manifest_digest, measure
from mobilenet.lab.studies.parts import write_part
from mobilenet.lab.studies.store import configured_scenario, is_done, record_failure
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import pluralize
from mobilenet.record.reader import RunError
from mobilenet.record.writer import RecordError

ATTEMPTS = 2  # A run that has killed this many processes is regarded as failed.
COUNTED = "run string, digest string"  # columns of a counted run: its name and the digest of its manifest
SEED = re.compile(r"^seed:.*$", re.MULTILINE)


def perform(folder: Path, kind: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make the runs of the study in `folder`. `kind` is the kind of study. The results are written to the folder
    instead of being yielded.
    """
    not_for_programs()
    for batch in batches:
        perform_runs(folder, kind, _runs_in(batch))
    # Spark's workers collect garbage after each task, and would otherwise visit every imported object.
    set_modules_aside()
    yield from ()


def look(folder: Path, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the valid runs of the study in `folder`."""
    for batch in batches:
        there = [(folder / "runs" / run.id, run) for run in _runs_in(batch)]
        counted = [where for where, run in there if is_done(where, run.seed) and _is_of(where, folder, run)]
        columns = [where.name for where in counted], [manifest_digest(where) for where in counted]
        yield pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], ["run", "digest"])


def _runs_in(batch: pa.RecordBatch) -> list[PlannedRun]:
    return [PlannedRun(*(row[name] for name in PlannedRun.__annotations__)) for row in batch.to_pylist()]


def _is_of(directory: Path, study: Path, run: PlannedRun) -> bool:
    """Return whether the run has the scenario of its configuration, except for the seed."""
    text = (study / KEPT.format(run.configuration)).read_text(encoding="utf-8")
    with suppress(OSError, UnicodeDecodeError):
        return (directory / "scenario.yaml").read_text(encoding="utf-8") == SEED.sub(f"seed: {run.seed}", text)
    return False


def perform_runs(folder: Path, kind: str, runs: list[PlannedRun]) -> None:
    """Make runs. If a run fails, immediately write the reason to failed/, where users can see it while the study
    runs.
    """
    failed, rows = folder / "failed", []
    for one in runs:
        try:
            rows.append(_perform(folder, kind, one))
            (failed / f"{one.id}.json").unlink(missing_ok=True)
        except (ScenarioError, RecordError, RunError) as error:
            record_failure(failed, one.id, " ".join(str(error).split()))
        # The error is recorded here, because Spark would retry an exception again and again.
        except Exception as error:
            record_failure(failed, one.id, f"internal error: {in_one_line(error)}")
        finally:  # The process has survived the run.
            (folder / "starting" / one.id).unlink(missing_ok=True)
    try:
        if rows:
            write_part(folder / "measured", [one.id for one in runs], rows, kind)
    except Exception as error:
        for row in rows:
            record_failure(failed, row["run"], f"cannot be summarised: {in_one_line(error)}")


def _perform(folder: Path, kind: str, planned: PlannedRun) -> dict[str, Any]:
    """Make a run unless it exists, and return its measurements."""
    directory = folder / "runs" / planned.id
    scenario = configured_scenario(folder, planned.configuration)
    if not (directory.is_dir() and is_done(directory, planned.seed)):
        mark = folder / "starting" / planned.id
        attempts = mark.stat().st_size if mark.exists() else 0  # number of processes that did not finish this run
        if attempts >= ATTEMPTS:
            raise ScenarioError(f"the process of this run ended without a message, {pluralize(attempts, 'time')}")
        mark.write_text("x" * (attempts + 1), encoding="ascii")
        # The caller of the study has given permission to run code.
        run(scenario, planned.seed, directory, allow_code=True, keep_early_end=False)
    own = own_metrics(scenario, allow_code=True) if kind == "steady_state" and scenario.metrics else ()
    return {"run": planned.id, **asdict(planned), **measure(directory, kind, own)._asdict()}


def in_one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
