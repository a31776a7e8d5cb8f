"""What capacity searches, screenings and claims have in common when Python asks for them.

Errors    StudyError for a directory or workers that cannot be
Source    ours: docs/api.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mobilenet.lab.studies import OutError, StudyError
from mobilenet.lab.studies.spark import local_master


def spark_master(workers: int | None, master: str | None) -> str:
    """Return the Spark master: the one given, or this machine with that number of cores."""
    if workers is not None and master is not None:
        raise StudyError("workers sets the number of cores on this machine; with master, the master sets it")
    return master or local_master(workers)


def require_out(scenario: str | Path | Mapping[str, Any], out: str | Path | None) -> None:
    if isinstance(scenario, Mapping) and out is None:
        raise StudyError("out: missing; a scenario that is given as a dictionary needs a directory")


@contextmanager
def naming_out() -> Iterator[None]:
    """Name the argument `out` instead of the option, for a directory that holds something else."""
    try:
        yield
    except OutError as problem:
        raise StudyError(f"{problem.what}; choose another directory for out") from None
