"""Whether datagrams that hosts received had been sent to them, each once, for long enough, and in frames.

Model     a datagram is named by its sender and a number of its own, which grows by one with each
Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import json
from typing import Any

from mobilenet.expected.expectations import Expected
from mobilenet.rundir.table import Columns
from mobilenet.verify.record.delays import least_airtime_ns

MOST_BYTES = 65_507  # of a datagram


def datagram_problem(
    events: Columns, counters: dict[str, Any] | None = None, expected: Expected | None = None
) -> str | None:
    """The first one that was not, or None."""
    to: dict[str, str] = {}
    sent: dict[str, tuple[int, int]] = {}  # when, how many bytes
    least_ns = 0 if expected is None or expected.air is None else least_airtime_ns(expected.air)
    carried = 0
    numbers: dict[str, int] = {}
    rows = [row for row, event in enumerate(events["event"]) if event in ("datagram", "datagram_received")]
    for row in rows:
        event, node, name = events["event"][row], events["node"][row], events["message"][row]
        if event == "datagram":
            number = numbers.get(node, 0)
            if name != f"{node}:{number}":
                return f"event {row}: {node} sends datagram {name}, but its next one is {node}:{number}"
            numbers[node] = number + 1
            detail = json.loads(events["detail"][row] or "{}")
            to[name], size = detail.get("to"), detail.get("bytes")
            if type(size) is not int or not 0 <= size <= MOST_BYTES:
                return f"event {row}: {node} sends datagram {name} of {size!r} bytes, expected 0 to {MOST_BYTES}"
            sent[name] = events["time_ns"][row], size
        elif name not in to:
            return f"event {row}: {node} receives datagram {name}, which was not sent, or which it has received before"
        elif (addressee := to.pop(name)) != node:
            return f"event {row}: {node} receives datagram {name}, which was for {addressee}"
        elif (took_ns := events["time_ns"][row] - sent[name][0]) < least_ns:
            what = f"{node} receives datagram {name} {took_ns} ns after it was sent"
            return f"event {row}: {what}, expected at least {least_ns}"
        else:
            carried += sent[name][1]
    if counters is not None and carried > counters["radio"]["bytes"]:
        return f"datagrams: {carried} bytes were received, but only {counters['radio']['bytes']} bytes were in the air"
    return None
