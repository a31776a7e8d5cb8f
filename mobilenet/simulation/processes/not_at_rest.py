"""Which processes were not at rest when a run ended, and for what.

Model     the same questions that decide whether a run is at rest, in words
Units     messages
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mobilenet.protocols.vcube.detector import Detector
from mobilenet.quoting import counted
from mobilenet.simulation.processes.process import Process


def of_processes(
    processes: Sequence[Process],
    detectors: Sequence[Detector],
    crashed: set[int],
    counters: dict[str, Any],
    may_hold: str | None,
    plans_more: bool,
) -> Iterator[str]:
    """`counters`: of the recording; `may_hold`: the buffer that need not drain; `plans_more`: whether something of the
    scenario was still to come.
    """
    in_flight = counters["messages"].get("in_flight")
    if in_flight:
        yield f"{counted(in_flight, 'message')} in flight"
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
