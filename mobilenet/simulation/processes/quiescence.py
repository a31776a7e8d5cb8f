"""Explain which processes were not quiescent when a run ended, and whether a delivery is missing.

Model     The reasons correspond to the conditions that decide whether a run is quiescent. A message is due at each
          process that is up, if its source is up or another process that is up has delivered it. Broadcasts guarantee
          no more than this (docs/verdicts-and-metrics.md, `validity` and `agreement`). `is_owed` only decides whether
          programs get time to report that they use a clock. The verifier decides from the record which deliveries
          were due.
Units     messages
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from mobilenet.protocols.vcube.detector import Detector
from mobilenet.quoting import pluralize
from mobilenet.record.table import Table
from mobilenet.simulation.processes.process import Process


def of_processes(
    processes: Sequence[Process],
    detectors: Sequence[Detector],
    crashed: set[int],
    counters: dict[str, Any],
    may_hold: str | None,
    plans_more: bool,
) -> Iterator[str]:
    """Yield the reasons why processes are not quiescent. `counters` are the counters of the recording, and `may_hold`
    is the buffer that may stay filled. `plans_more` states whether the scenario still has planned events to come.
    """
    in_flight = counters["messages"].get("in_flight")
    if in_flight:
        yield f"{pluralize(in_flight, 'message')} in flight"
    for process in processes:
        if process.up:
            sizes = zip(process.protocol.BUFFERS, process.protocol.buffer_sizes(), strict=True)
            for name, size in sizes:
                if size and name != may_hold:
                    yield f"{process.name} holds {size} in its {name}"
    if plans_more:
        yield "broadcasts, crashes or mistakes of the scenario were still to come"
    for process in processes if detectors else ():
        if process.up:
            for other in sorted(crashed):
                if not detectors[process.me].is_suspected(other):
                    yield f"{process.name} has not noticed yet that p{other} crashed"


def is_owed(events: Table, up: Iterable[str]) -> bool:
    """Return whether a message that is due at one of the processes in `up` has not been delivered there."""
    delivered: dict[str, set[str]] = {name: set() for name in up}
    due = set(_broadcast_by(events, delivered))
    for node, event, message in zip(events["node"], events["event"], events["message"], strict=True):
        if event == "deliver" and message is not None and node in delivered:
            delivered[node].add(message)
            due.add(message)
    return any(not due <= there for there in delivered.values())


def _broadcast_by(events: Table, names: Container[str]) -> Iterable[str]:
    for node, event, message in zip(events["node"], events["event"], events["message"], strict=True):
        if event == "broadcast" and message is not None and node in names:
            yield message
