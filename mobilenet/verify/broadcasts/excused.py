"""Check that each gap follows what leads to one, where the protocol declares that.

Checks    where a host has a gap only when a new connection serves it: just before the gap, in the same nanosecond, a
          handoff of that host ends that relayed nothing, and that did not begin in this nanosecond as well (then the
          host is back at its station, over the connection that is still open)
Model     a host that asks for a new connection while the old one is open misses nothing, and states how much it relayed
Units     integer nanoseconds
Source    ours: docs/protocols/tcp-flooding.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json

import numpy as np

from mobilenet.expected.expectations import Conduct
from mobilenet.rundir.table import Columns, Table, by_code

OWN = ("join", "leave", "deliver", "broadcast", "handoff_start", "handoff_end", "crash", "recover", "gap")


def excuse_problem(events: Columns, conduct: Conduct | None) -> str | None:
    """The first gap that nothing leads to."""
    if conduct is None or not conduct.gaps_follow_handoffs:
        return None
    table = Table.of(events)
    event, node, times = table.column("event"), table.column("node"), table.numbers("time_ns")
    rows = event.rows(*OWN)
    rows = rows[by_code(node.codes[rows])]
    is_gap, begins = event.among(("gap",))[rows], -1  # row of the last begin of a handoff
    is_begin = event.among(("handoff_start",))[rows]
    for i in np.flatnonzero(is_gap | is_begin).tolist():
        row, before = int(rows[i]), int(rows[i - 1])
        if is_begin[i]:
            begins = row
            continue
        if i and begins >= 0 and node.codes[before] == node.codes[begins] == node.codes[row]:
            is_end = events["event"][before] == "handoff_end" and times[before] == times[row] > times[begins]
            if is_end and "relayed" not in json.loads(events["detail"][before] or "{}"):
                continue
        return (
            f"at {times[row] / 1e9:.6f} s (event {row}): {events['node'][row]} has a gap, although no new connection"
            " begins to serve it in this nanosecond"
        )
    return None
