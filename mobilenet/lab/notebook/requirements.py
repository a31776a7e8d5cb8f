"""Check the directory of a capacity search or a screening that Python code requests.

Errors    StudyError if the directory is missing or cannot be used.
Source    ours: docs/api.md
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mobilenet.lab.studies import StudyError


def require_out(scenario: str | Path | Mapping[str, Any], out: str | Path | None) -> None:
    if isinstance(scenario, Mapping) and out is None:
        raise StudyError("out: missing; a scenario that is given as a dictionary needs a directory")
