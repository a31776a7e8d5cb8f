"""Which of the runs that a study left on the disk count: whole, of the right seed, and of the scenario that was asked.

Model     asked by the workers, once for each run when a study goes on: it reads all that the runs wrote. What lies in
          the directory decides nothing about code: scenarios are compared, never run
Shapes    from batches of planned runs to batches of those that count, for DataFrame.mapInArrow
Errors    none; a run that does not count is missing from the answer
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from mobilenet.lab.studies.configurations import PlannedRun
from mobilenet.lab.studies.configured import configured_file
from mobilenet.lab.studies.parts import manifest_digest
from mobilenet.lab.studies.store import is_done
from mobilenet.lab.studies.task import runs_in

SEED = re.compile(r"^seed:.*$", re.MULTILINE)
COUNTED = "run string, digest string"  # digest: of its manifest


def look(folder: Path, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the runs that count, of the study in `folder`."""
    for batch in batches:
        there = [(folder / "runs" / run.id, run) for run in runs_in(batch)]
        counted = [where for where, run in there if is_done(where, run.seed) and _is_of(where, folder, run)]
        yield pa.RecordBatch.from_pydict(
            {
                "run": pa.array([where.name for where in counted], pa.string()),
                "digest": pa.array(map(manifest_digest, counted), pa.string()),
            }
        )


def _is_of(directory: Path, study: Path, run: PlannedRun) -> bool:
    """Whether the run has the scenario of its configuration, but for the seed."""
    text = configured_file(study, run.configuration).read_text(encoding="utf-8")
    with suppress(OSError, UnicodeDecodeError):
        return (directory / "scenario.yaml").read_text(encoding="utf-8") == SEED.sub(f"seed: {run.seed}", text)
    return False
