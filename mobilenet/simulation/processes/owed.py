"""Whether a delivery is missing when a run of processes is over.

Model     a message is due at each process that is up, if its source is up or another process that is up has delivered
          it. That is the most that a broadcast may owe (docs/verdicts-and-metrics.md, `validity` and `agreement`). The
          verifier decides by the record what was really owed; the answer here only decides whether programs are given
          time to report a clock
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from mobilenet.rundir.recorder import EventLog


def is_owed(events: EventLog, up: Iterable[str]) -> bool:
    """Whether one of the processes that are `up` lacks a message that is due there."""
    delivered: dict[str, set[str]] = {name: set() for name in up}
    due = set(_broadcast_by(events, delivered))
    for node, event, message in zip(events.node, events.event, events.message, strict=True):
        if event == "deliver" and message is not None and node in delivered:
            delivered[node].add(message)
            due.add(message)
    return any(not due <= there for there in delivered.values())


def _broadcast_by(events: EventLog, names: Container[str]) -> Iterable[str]:
    for node, event, message in zip(events.node, events.event, events.message, strict=True):
        if event == "broadcast" and message is not None and node in names:
            yield message
