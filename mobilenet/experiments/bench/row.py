"""What every row of a benchmark's table begins with.

Source    ours: docs/performance.md
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Head:
    """When, with what, and which case was measured."""

    at: str
    version: str
    python: str
    compiled: bool
    case: str
