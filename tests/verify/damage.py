"""A run directory, and ways to damage it.

Model     `Copy.events` and so on are the tables as columns; what is changed is written back by `save`, which also
          renews the fingerprint, the digests of files and, unless told otherwise, the number of rows, so that a
          property has to catch the damage and not the checksum
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mobilenet.rundir.reader import read_columns, read_events
from mobilenet.rundir.recorder import EventLog, fingerprint
from mobilenet.rundir.schema import OPTIONAL_TABLES
from mobilenet.rundir.writer import file_digests, write_table
from mobilenet.verify import Verdict, verify_run

SCENARIO = """
seed: 3
duration_s: 20
drain_s: 60
stations: {layout: {shape: points, points_m: [[0, 0], [130, 0]]}}
wireless: {range_m: 80, loss: 0.05}
hosts: {count: 5, mobility: {model: random_waypoint, speed_mps: [8, 12]}}
faults: {schedule: explicit, outages: [{host: h1, at_s: 6, duration_s: 2}]}
churn:
  changes:
  - {host: h2, at_s: 8, kind: leave}
  - {host: h2, at_s: 11, kind: join}
  - {host: h3, at_s: 12, kind: leave}
protocol: {name: mobile_causal}
workload: {interval_s: 1}
"""


class Copy:
    def __init__(self, whole: Path, path: Path) -> None:
        shutil.copytree(whole, path)
        self.path = path
        self.events: dict[str, list[Any]] = read_events(path)
        self.samples: dict[str, list[Any]] = read_columns(path, "samples")
        self.positions: dict[str, list[Any]] = read_columns(path, "positions")
        found = [name for name in OPTIONAL_TABLES if (path / f"{name}.parquet").exists()]
        self.optional: dict[str, dict[str, list[Any]]] = {name: read_columns(path, name) for name in found}
        self.counters: dict[str, Any] = json.loads((path / "counters.json").read_text())
        self.manifest: dict[str, Any] = json.loads((path / "manifest.json").read_text())

    def save(self, renew: bool = True, recount: bool = True) -> None:
        if renew:
            self.manifest["fingerprint"] = fingerprint(self.events)
            if recount:
                sizes = {"samples": len(self.samples["node"]), "positions": len(self.positions["node"])}
                sizes |= {name: len(table["sender"]) for name, table in self.optional.items() if "sender" in table}
                self.counters["rows"] |= {"events": dict(Counter(self.events["event"])), **sizes}
        write_table(self.path / "events.parquet", self.events)
        write_table(self.path / "samples.parquet", self.samples)
        write_table(self.path / "positions.parquet", self.positions)
        for name, table in self.optional.items():
            write_table(self.path / f"{name}.parquet", table)
        (self.path / "counters.json").write_text(json.dumps(self.counters))
        (self.path / "manifest.json").write_text(json.dumps(self.manifest | {"files": file_digests(self.path)}))

    def without_samples(self, wanted: Callable[[str, str], bool]) -> None:
        """Only those whose node and quantity are not wanted."""
        pairs = zip(self.samples["node"], self.samples["quantity"], strict=True)
        keep = [row for row, (node, quantity) in enumerate(pairs) if not wanted(node, quantity)]
        self.samples = {name: [column[row] for row in keep] for name, column in self.samples.items()}

    # --- frames, links and messages, where they are recorded

    @property
    def frames(self) -> dict[str, list[Any]]:
        return self.optional["frames"]

    @property
    def messages(self) -> dict[str, list[Any]]:
        return self.optional["messages"]

    # --- events

    def rows(self, event: str, node: str | None = None) -> list[int]:
        pairs = zip(self.events["event"], self.events["node"], strict=True)
        return [row for row, (what, who) in enumerate(pairs) if what == event and node in (None, who)]

    def remove(self, row: int) -> None:
        for name in EventLog.COLUMNS:
            del self.events[name][row]

    def insert(self, row: int, **values: Any) -> None:
        """A new event before `row`, at its time."""
        values.setdefault("time_ns", self.events["time_ns"][row])
        for name in EventLog.COLUMNS:
            self.events[name].insert(row, values.get(name))

    def repeat(self, row: int, before: int) -> None:
        self.insert(before, **{name: self.events[name][row] for name in EventLog.COLUMNS if name != "time_ns"})

    def swap(self, a: int, b: int) -> None:
        """What happens at two moments, exchanged."""
        for name in EventLog.COLUMNS:
            if name != "time_ns":
                column = self.events[name]
                column[a], column[b] = column[b], column[a]


Damage = Callable[[Copy], None]


def verdicts_after(
    whole: Path, path: Path, damage: Damage, renew: bool = True, recount: bool = True
) -> dict[str, Verdict]:
    copy = Copy(whole, path)
    damage(copy)
    copy.save(renew, recount)
    return verify_run(path)
