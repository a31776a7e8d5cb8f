"""All that a verdict on one run rests on.

Model     what was recorded, and what follows from its scenario. `tables` are frames, links, messages and lines, where
          they are recorded; None: they are not looked at
Units     integer nanoseconds
Shapes    events, samples, positions and tables: columns of equal length (rundir/table.py)
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mobilenet.expected.expectations import Conduct, Expectations, ProcessPlan
from mobilenet.rundir.pcap import CapturedPacket
from mobilenet.rundir.table import Table


@dataclass(frozen=True, slots=True)
class Evidence:
    events: Table
    samples: Table
    positions: Table
    counters: dict[str, Any]
    manifest: dict[str, Any]
    expected: Expectations | None = None  # of a run of hosts
    plan: ProcessPlan | None = None  # of a run of processes
    tables: Mapping[str, Table] | None = None
    captures: Mapping[str, Sequence[CapturedPacket]] | None = None  # packets of each node, of real software

    @property
    def conduct(self) -> Conduct | None:
        return None if self.expected is None else self.expected.conduct

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
