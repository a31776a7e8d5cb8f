"""The two kinds of runs, of hosts and stations or of plain processes, and the differences between their records.

Units     seconds, or time units in runs of processes
Errors    RunError if a kind of run has no positions
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from mobilenet.engine.clock import SECOND
from mobilenet.quoting import pluralize
from mobilenet.record.reader import RunError
from mobilenet.record.schema import BUFFERS


def count_hosts(manifest: Mapping[str, Any]) -> int:
    """Return the number of hosts. If the manifest names the hosts of imported tracks, count these names."""
    hosts: int | None = manifest["hosts"]
    return len(manifest["host_names"]) if hosts is None else hosts


class RunKind:
    """A run of hosts and stations."""

    name = "hosts"  # the kind of scenario that describes such a run
    look = "map"  # the command that draws the run
    unit = "s"
    same_times = "to the nanosecond"  # the precision to which the times of a repeated run agree
    # The keys of the numbers in the manifest that are needed to draw a picture of the run.
    numbers: tuple[str, ...] = ("simulated_s", "warmup_s", "duration_s", "range_m", "stations")
    buffers: tuple[str, ...] = BUFFERS  # the names of the buffers, if the manifest does not name any
    places: tuple[str, ...] = ("station_positions_m",)  # the keys of the positions that are needed to draw a picture
    hops_key = "record.messages"  # the key of the scenario that enables the record of each message between nodes
    # The section of the counters that counts received frames or messages, and the word for them in sentences.
    carried_in = "radio", "frames"
    # Whether a message to another node is received twice: by a station, and then by the addressed node.
    is_heard_twice = True
    # Whether a node delivers its own messages immediately. The delays of these deliveries are then excluded.
    delivers_at_once = False

    # The question that a picture of a run answers, for each guarantee that a protocol may give.
    questions: Mapping[str | None, str] = {
        "causal": "Did every member get every message it was owed, exactly once and in causal order?",
        "fifo": "Was nothing invented or delivered twice, and was everything delivered in the order of each sender?",
        "best_effort": "Was nothing invented, delivered twice, or delivered to a host that is not a member?",
        None: "Is every frame accounted for?",
    }

    def period(self, manifest: Mapping[str, Any]) -> str:
        """Describe the measurement period in words. Return an empty string if it is the whole run."""
        begin_s, end_s = self.window(manifest)
        return (
            f"The measurement period is from {begin_s:g} to {end_s:g} s: counts cover what happened in that time, and"
            " delays are those of messages broadcast in it, whenever they arrived. The verdict, the map and the figure"
            f" of handoffs cover the whole run, from its beginning to {manifest['simulated_s']:g} s."
        )

    def window(self, manifest: Mapping[str, Any]) -> tuple[float, float]:
        """Return the start and the end of the measurement period."""
        return float(manifest["warmup_s"]), float(manifest["duration_s"])

    def window_ns(self, manifest: Mapping[str, Any]) -> tuple[int, int]:
        """Return the measurement period in nanoseconds, or in billionths of a time unit."""
        begin_s, end_s = self.window(manifest)
        return round(begin_s * SECOND), round(end_s * SECOND)

    def participants(self, manifest: Mapping[str, Any]) -> str:
        """Describe the numbers of hosts and stations, or of processes, in words."""
        return f"{pluralize(count_hosts(manifest), 'host')}, {pluralize(manifest['stations'], 'station')}"

    def still_owed(self, metrics: Mapping[str, Any]) -> str:
        """Describe how many deliveries are missing. Return an empty string if the run came to rest."""
        owed = metrics.get("broadcasts_undelivered")
        return f"still owed to members: {pluralize(owed, 'delivery')}" if owed else ""

    def require_hosts(self, directory: Path, why: str) -> None:
        """Raise RunError if the run has no hosts and stations. `why` names the feature that needs them."""


class _Processes(RunKind):
    name = "processes"
    look = "figures"
    unit = "t.u."
    hops_key = "record.causes"
    same_times = "at the same times"
    numbers = ("simulated_s", "processes")
    buffers = ()
    places = ()
    carried_in = "messages", "messages"
    is_heard_twice = False
    delivers_at_once = True
    questions: Mapping[str | None, str] = {
        "none": "Did every correct process deliver what correct processes broadcast, once each, and nothing else?",
        "fifo": "Did correct processes deliver the same messages, once each and in the order of each source?",
        "causal": "Did correct processes deliver the same messages, once each and in causal order?",
    }

    def period(self, manifest: Mapping[str, Any]) -> str:
        return ""

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
    """Return which kind of run a manifest describes."""
    return PROCESSES if "processes" in manifest else MOBILE
