"""What a run of hosts and stations leaves behind.

Units     integer nanoseconds, metres
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mobilenet.rundir.recorder import Recording
from mobilenet.scenario import AnyScenario


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    recording: Recording
    simulated_ns: int
    quiescent: bool
    skipped_tracks: int
    host_names: dict[str, str]  # h0 -> what an imported file calls it
    station_positions_m: list[list[float]]
    station_links: list[tuple[int, int]] | None  # None: all with all
    not_at_rest: Sequence[str]  # who was not when it ended, and why
    scenario: AnyScenario  # with what showed only while it was played
    real_time: dict[str, Any] | None  # how a run in real time kept its time
