"""Whether the lines of programs can be what was recorded, and agree with the events.

Checks    each line is a JSON object of a node of the run, in a life of it; times lie in the run and never go back
          a node delivers exactly when its program says so
Units     integer nanoseconds
Source    ours: docs/guide/programs.md, docs/run-directory.md
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np

from mobilenet.rundir.table import Columns, Table

PROGRAM = "program"  # the protocol of scenarios whose nodes are programs


def lines_problem(lines: Columns, events: Columns, manifest: dict[str, Any]) -> str | None:
    """The first line that cannot be, or that no event follows from."""
    lines, events = Table.of(lines), Table.of(events)
    times, node, text = lines.numbers("time_ns"), lines.coded("node"), lines.coded("line")
    end_ns = round(manifest["simulated_s"] * 1e9)
    odd = (times < 0) | (times > end_ns) | (np.diff(times, prepend=times[:1]) < 0)
    odd |= ~node.among({*_nodes(manifest, events)}) | (lines.numbers("life") < 1)
    objects = [_object(word) for word in text.words]
    odd |= text.mapped([each is None for each in objects], nothing=True).astype(bool)
    if odd.any():
        row = int(odd.argmax())
        return (
            f"lines: row {row} has node {lines['node'][row]} at {times[row]} ns in life {lines['life'][row]}, expected"
            " a JSON object of a node of this run, in order"
        )
    if manifest["protocol"] != PROGRAM:
        return f"lines: {lines.rows} rows, and no node is a program" if lines.rows else None
    delivers = text.mapped([(each or {}).get("do") == "deliver" for each in objects], nothing=False).astype(bool)
    rows = np.flatnonzero(delivers & np.array(lines["said"], bool))
    told = Counter(zip(lines.picked("node", rows), times[rows].tolist(), strict=True))
    rows = events.coded("event").rows("deliver")
    noted = Counter(zip(events.picked("node", rows), events.picked("time_ns", rows), strict=True))
    for name, at_ns in sorted((told - noted) + (noted - told), key=lambda one: one[1]):
        return (
            f"lines: {name} says {told[name, at_ns]} times at {at_ns / 1e9:.6f} s that it delivers, and there are"
            f" {noted[name, at_ns]} deliveries"
        )
    return None


def _nodes(manifest: dict[str, Any], events: Table) -> set[str]:
    if "processes" in manifest:
        return {f"p{number}" for number in range(manifest["processes"])}
    hosts = {word for word in events.coded("node").words if word[:1] == "h"}
    hosts |= {f"h{number}" for number in range(manifest["hosts"] or 0)}
    return hosts | {f"s{number}" for number in range(manifest["stations"])}


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
