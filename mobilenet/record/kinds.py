"""The two kinds of run, as far as readers of a record see a difference: hosts and stations, or plain processes.

Units     seconds; in runs of processes time units
Errors    RunError where a run has no places
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from mobilenet.engine.clock import SECOND
from mobilenet.quoting import pluralize
from mobilenet.record.reader import RunError


class RunKind:
    """A run of hosts and stations."""

    name = "hosts"  # as of its scenario
    look = "map"  # the command that draws it
    unit = "s"
    same_times = "to the nanosecond"  # as the events of a repeated run
    numbers: tuple[str, ...] = ("simulated_s", "warmup_s", "duration_s", "range_m", "stations")  # for pictures

    def window(self, manifest: Mapping[str, Any]) -> tuple[float, float]:
        """The measurement period, from when to when."""
        return float(manifest["warmup_s"]), float(manifest["duration_s"])

    def window_ns(self, manifest: Mapping[str, Any]) -> tuple[int, int]:
        """The measurement period in nanoseconds, or in billionths of a time unit."""
        begin_s, end_s = self.window(manifest)
        return round(begin_s * SECOND), round(end_s * SECOND)

    def participants(self, manifest: Mapping[str, Any]) -> str:
        """How many there are of whom, in words."""
        hosts = len(manifest["host_names"]) if manifest["hosts"] is None else manifest["hosts"]
        return f"{pluralize(hosts, 'host')}, {pluralize(manifest['stations'], 'station')}"

    def still_owed(self, metrics: Mapping[str, Any]) -> str:
        """How many deliveries are owed at the end of a run that is not at rest; empty: none."""
        owed = metrics.get("broadcasts_undelivered")
        return f"still owed to members: {pluralize(owed, 'delivery')}" if owed else ""

    def require_hosts(self, directory: Path, why: str) -> None:
        """Raise RunError unless hosts and stations took part; `why` names what needs them."""


class _Processes(RunKind):
    name = "processes"
    look = "figures"
    unit = "t.u."
    same_times = "at the same times"
    numbers = ("simulated_s", "processes")

    def window(self, manifest: Mapping[str, Any]) -> tuple[float, float]:
        return 0.0, float(manifest["simulated_s"])

    def participants(self, manifest: Mapping[str, Any]) -> str:
        return pluralize(manifest["processes"], "process")

    def still_owed(self, metrics: Mapping[str, Any]) -> str:
        pairs, share = metrics.get("deliveries_owed"), metrics.get("delivery_ratio")
        owed = None if not pairs or share is None else round(pairs * (1 - share))
        return f"still owed to processes that never crash: {pluralize(owed, 'delivery')}" if owed else ""

    def require_hosts(self, directory: Path, why: str) -> None:
        raise RunError(f"{directory}: a run of processes; {why}")


MOBILE: Final = RunKind()
PROCESSES: Final = _Processes()


def run_kind(manifest: Mapping[str, Any]) -> RunKind:
    """Which kind of run a manifest describes."""
    return PROCESSES if "processes" in manifest else MOBILE
