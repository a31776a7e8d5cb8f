"""Checks of what flooding over TCP promises beyond causal order: sessions, and the reasons for gaps.

Checks    sessions are as in verify/broadcasts/conduct.py
          a host has a gap only when a new connection begins to serve it. Just before the gap, in the same nanosecond, a
          handoff of the host ends without relayed messages. This handoff began earlier: if it begins and ends in the
          same nanosecond, the host is back at its old station, over the connection that is still open
Model     a host that requests a new connection while the old one is open misses nothing, and the record states how many
          messages were relayed to it
Units     integer nanoseconds
Source    ours: docs/protocols/tcp-flooding.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json

import numpy as np

from mobilenet.record.table import by_code
from mobilenet.verify.broadcasts.conduct import conduct_problem
from mobilenet.verify.check import Check
from mobilenet.verify.evidence import Evidence

OWN = ("join", "leave", "deliver", "broadcast", "handoff_start", "handoff_end", "crash", "recover", "gap")


def _unexplained_gap(run: Evidence) -> str | None:
    """Return the first gap that no handoff explains."""
    events = run.events
    event, node, times = events.column("event"), events.column("node"), events.numbers("time_ns")
    rows = event.rows(*OWN)
    rows = rows[by_code(node.codes[rows])]
    is_gap, begins = event.among(("gap",))[rows], -1  # row of the last event that began a handoff
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


CHECKS = (
    Check(
        "membership",
        "Sessions have consecutive numbers, and a handoff ends with the station that it began with.",
        lambda run: conduct_problem(run.events, only_connected=False),
    ),
    Check("gaps", "A host has a gap only when a new connection begins to serve it.", _unexplained_gap, waits=True),
)
