"""What capacity searches, screenings and claims have in common when Python asks for them.

Errors    StudyError for a directory that cannot be
Source    ours: docs/api.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mobilenet.lab.studies import OutError, StudyError


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
