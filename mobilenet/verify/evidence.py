"""The evidence for the verdict on one run: its tables, its counters, and what its scenario implies.

Units     integer nanoseconds
Shapes    tables: columns of equal length (record/table.py)
Errors    RunError for a directory that is not a complete run
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mobilenet.record.kinds import RunKind, run_kind
from mobilenet.record.pcap import CapturedPacket, read_captures
from mobilenet.record.reader import read_coded, read_json, read_manifest, require_files, require_tables
from mobilenet.record.schema import BUFFERS, buffers_of
from mobilenet.record.table import Columns, Table
from mobilenet.scenario.plans.expectations import NEVER_S, Expectations, ProcessPlan
from mobilenet.verify.declarations import require_scenario

if TYPE_CHECKING:
    from mobilenet.verify.among_processes.properties import ProcessJudge
    from mobilenet.verify.broadcasts.judge import BroadcastJudge

# Up to this share of non-random losses among receptions, no host loses half of its heartbeats for a long time.
MOST_LOST = 0.1


@dataclass
class Evidence:
    """The record of a run, and what its scenario implies. If `expected` is None, the scenario implies nothing."""

    tables: Mapping[str, Table]
    counters: dict[str, Any]
    manifest: dict[str, Any]
    expected: Expectations | ProcessPlan | None = None
    # the captured packets of each node that runs real software
    captures: Mapping[str, Sequence[CapturedPacket]] | None = None
    checks: frozenset[str] = field(default=frozenset())  # the properties to judge

    @classmethod
    def of_columns(cls, tables: Mapping[str, Columns], *others: Any) -> Evidence:
        """Make evidence from tables, which may be plain columns."""
        return cls({name: Table.of(columns) for name, columns in tables.items()}, *others)

    @classmethod
    def of_directory(cls, directory: Path) -> Evidence:
        """Read everything but the tables from a run's directory, after checking that its files are unchanged."""
        manifest = read_manifest(directory)
        require_files(directory, manifest)
        counters = read_json(directory, "counters.json")
        require_tables(directory, counters)
        expected = require_scenario(directory, manifest)
        return cls({}, counters, manifest, expected, read_captures(directory))

    def read_tables(self, directory: Path, names: Iterable[str]) -> Evidence:
        """Read the tables in `names` that the run has."""
        self.tables = {name: read_coded(directory, name) for name in self.counters["rows"].keys() & {*names}}
        return self

    def forget(self) -> None:
        """Free the memory of intermediate results of the checks."""
        for name in ("broadcasts", "among_processes", "last_sizes"):
            self.__dict__.pop(name, None)
        for table in self.tables.values():
            table.forget()

    @property
    def events(self) -> Table:
        return self.tables["events"]

    @property
    def samples(self) -> Table:
        return self.tables["samples"]

    @property
    def kind(self) -> RunKind:
        return run_kind(self.manifest)

    @property
    def of_hosts(self) -> Expectations | None:
        return self.expected if isinstance(self.expected, Expectations) else None

    @property
    def plan(self) -> ProcessPlan | None:
        return self.expected if isinstance(self.expected, ProcessPlan) else None

    @property
    def promises(self) -> dict[str, Any]:
        promises: dict[str, Any] = self.manifest["promises"]
        return promises

    @property
    def quiescent(self) -> bool:
        return bool(self.manifest["quiescent"])

    @property
    def end_ns(self) -> int:
        return round(float(self.manifest["simulated_s"]) * 1e9)

    @property
    def ended_by_error(self) -> str | None:
        """The error that ended the run, or None."""
        error = self.manifest.get("ended_by_error")
        return None if error is None else str(error)

    @cached_property
    def broadcasts(self) -> BroadcastJudge:
        """The judge of the broadcasts among hosts, after it has read all events."""
        from mobilenet.verify.broadcasts.column_screen import judge_events
        from mobilenet.verify.broadcasts.reach import Reach

        expected, reach = self.of_hosts, None
        if expected is not None and expected.hosts is not None and self.ended_by_error is None:
            reach = Reach(self.tables["positions"], expected)
        checks = self.checks if self.ended_by_error is None else self.checks - {"delivery"}
        return judge_events(self.events, self.promises["gap_after_s"], self._heard_every_s, checks, reach)

    @property
    def _heard_every_s(self) -> float:
        """The time within which a reachable host is heard, if the run did not lose too many frames."""
        addressed = self.counters.get("radio", {}).get("addressed", {})
        lost = sum(count for why, count in addressed.get("lost", {}).items() if why != "random")
        dropped = self.counters.get("radio", {}).get("queue_drops", 0)
        if dropped or lost > MOST_LOST * addressed.get("pairs_in_range", 0):
            return NEVER_S
        return float(self.promises["heard_every_s"])

    @cached_property
    def among_processes(self) -> ProcessJudge:
        """The judge of the broadcasts among processes, after it has read all events."""
        from mobilenet.verify.among_processes.column_screen import judge_events

        return judge_events(self.events, self.manifest)

    @cached_property
    def last_sizes(self) -> dict[tuple[str, str], float]:
        """The last size of each buffer, by node and name of the buffer, in the order of the table."""
        table = self.samples
        node, quantity = table.column("node"), table.column("quantity")
        buffers = {who: {*BUFFERS, *names} for who, names in buffers_of(self.manifest).items()}
        buffers["p"] = {*quantity.words}
        last = np.full((len(node.words), len(quantity.words)), -1)
        last[node.codes, quantity.codes] = np.arange(table.rows)  # the last one of several rows is used
        columns = (table.pick(name, last[last >= 0]) for name in ("node", "quantity", "value"))
        sizes = {
            (node, name): value
            for node, name, value in zip(*columns, strict=True)
            if name in buffers.get(node[:1], BUFFERS)
        }
        return dict(sorted(sizes.items()))
