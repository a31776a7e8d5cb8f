"""One run of a study, wherever it happens to be computed.

Model     a task leaves a complete run directory, or a note why there is none. Doing it twice is harmless: what is
          complete is not computed again, and the seed fixes the content
Errors    none: whatever goes wrong becomes the note, and does not disturb the other runs
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mobilenet.experiments.study.store import is_done, record_failure


class Job(NamedTuple):
    """Plain values, so that it travels."""

    folder: str  # the study's
    run: str
    scenario: str
    seed: int


def perform(job: Job) -> None:
    from mobilenet.api import run
    from mobilenet.parameters import ScenarioError
    from mobilenet.rundir.writer import RecordError

    folder = Path(job.folder)
    directory = folder / "runs" / job.run
    if is_done(directory, job.seed):
        return
    try:
        run(job.scenario, job.seed, directory, allow_code=True)  # whoever began the study was asked
    except (ScenarioError, RecordError) as error:
        if not is_done(directory, job.seed):  # else a second copy of this task was faster
            record_failure(folder / "failed", job.run, " ".join(str(error).split()))
    except Exception as error:
        record_failure(
            folder / "failed", job.run, f"internal error: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        )
    else:
        with suppress(FileNotFoundError):
            (folder / "failed" / f"{job.run}.json").unlink()
