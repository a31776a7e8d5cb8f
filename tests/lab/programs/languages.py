"""Check which of the languages of the samples are installed. Tests of missing languages are skipped, unless an
environment variable requires them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from typing import Any

import pytest

COMMANDS = {"python": ["python3", "flood.py"], "js": ["node", "flood.js"], "c": ["./flood"]}
NEEDS = {"js": "node", "c": "cc"}
MUST = bool(os.environ.get("MOBILENET_REQUIRE_LANGUAGES"))


def those_here(languages: Iterable[str]) -> list[Any]:
    """Return the available languages as parameters of a test."""
    return [pytest.param(language, marks=_marks(NEEDS.get(language))) for language in languages]


def _marks(command: str | None) -> list[Any]:
    if command is None:
        return []
    is_missing = shutil.which(command) is None and not MUST
    return [pytest.mark.programs, pytest.mark.skipif(is_missing, reason=f"there is no {command} on the PATH")]
