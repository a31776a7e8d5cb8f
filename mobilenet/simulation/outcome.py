"""What a run leaves behind.

Units     integer nanoseconds, metres
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mobilenet.rundir.recorder import Recording
from mobilenet.scenario import AnyScenario


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended, and what its manifest states about it."""

    recording: Recording
    simulated_ns: int
    quiescent: bool
    scenario: AnyScenario  # with the values that were known only while it was played
    not_at_rest: Sequence[str] = ()  # the nodes that were not at rest when it ended, each with the reason
    facts: Mapping[str, Any] = field(default_factory=dict)  # of its kind of run, as manifest.json has them
