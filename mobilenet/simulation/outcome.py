"""The outcome of a run.

Units     integer nanoseconds, metres
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mobilenet.record.recorder import Recording
from mobilenet.scenario import AnyScenario

MOST = 20  # reasons that are listed


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run, and what its manifest states about it."""

    recording: Recording
    simulated_ns: int
    quiescent: bool
    scenario: AnyScenario  # with the values that became known only during the run
    not_at_rest: Sequence[str] = ()  # the first nodes that were not at rest when it ended, each with the reason
    facts: Mapping[str, Any] = field(default_factory=dict)  # of its kind of run, as manifest.json has them


def first_few(reasons: Iterable[str]) -> list[str]:
    """Return the first reasons, and how many more there are."""
    lines = list(reasons)
    return lines if len(lines) <= MOST else [*lines[:MOST], f"{len(lines) - MOST} more"]
