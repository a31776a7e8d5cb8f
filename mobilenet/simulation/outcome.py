"""The outcome of a run: its record, and how and when it ended.

Units     integer nanoseconds, metres
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mobilenet.record.recorder import Recording
from mobilenet.scenario import AnyScenario

MOST = 20  # maximum number of reasons that are listed


@dataclass(frozen=True, slots=True)
class Outcome:
    """Describes how a run ended, and what its manifest states about it."""

    recording: Recording
    simulated_ns: int
    quiescent: bool
    scenario: AnyScenario  # includes the values that became known only during the run
    not_at_rest: Sequence[str] = ()  # the first nodes that were not quiescent at the end, each with the reason
    # further entries of manifest.json, which depend on the kind of run
    facts: Mapping[str, Any] = field(default_factory=dict)


def first_few(reasons: Iterable[str]) -> list[str]:
    """Return the first reasons, and the number of the remaining ones."""
    lines = list(reasons)
    return lines if len(lines) <= MOST else [*lines[:MOST], f"{len(lines) - MOST} more"]
