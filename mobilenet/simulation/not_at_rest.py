"""Who was not at rest when a run ended, and for what: what the record of events alone may not show.

Model     the same questions that decide whether a run is at rest, in words
Units     messages
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mobilenet.simulation.mobile import Simulation
    from mobilenet.simulation.processes.experiment import Experiment

MOST = 20  # that are told


def of_hosts(simulation: Simulation) -> list[str]:
    """Of a run with hosts and stations."""
    return _shortened(_of_hosts(simulation))


def of_processes(experiment: Experiment) -> list[str]:
    """Of a run of processes."""
    return _shortened(_of_processes(experiment))


def _shortened(found: Iterator[str]) -> list[str]:
    told = list(found)
    return told if len(told) <= MOST else [*told[:MOST], f"{len(told) - MOST} more"]


def _of_hosts(simulation: Simulation) -> Iterator[str]:
    for host, kind in simulation.lifecycle.pending.items():
        yield f"h{host} is still to {kind}"
    for node in simulation.nodes:
        if node.protocol is None:
            continue
        if not node.protocol.settled():
            yield f"{node.name} says that it has not settled: a timer of it, or an answer that it waits for"
        for name, size in zip(node._buffer_names, node.buffers, strict=True):
            if size:
                yield f"{node.name} holds {size} in its {name}"
    for host_node in simulation.hosts:
        protocol = host_node.protocol
        if protocol is None or protocol.is_out():
            continue
        if host_node.cell is None or not simulation.stations[host_node.cell].protocol.serves(host_node.me):
            where = "no cell" if host_node.cell is None else f"the cell of s{host_node.cell}, which does not serve it"
            yield f"{host_node.name} is in {where}"
    if simulation.wires.in_flight:
        yield f"{simulation.wires.in_flight} messages are on the wires"
    elif not simulation.backbone.is_at_rest:
        yield "the backbone has messages that it still waits with"


def _of_processes(experiment: Experiment) -> Iterator[str]:
    counted = experiment.recording.counters["messages"].get("in_flight")
    if counted:
        yield f"{counted} messages are in flight"
    for process in experiment.processes:
        if process.up:
            sizes = zip(process.protocol.BUFFERS, process.protocol.buffer_sizes(), strict=True)
            for name, size in sizes:
                if size and name != experiment.scenario.may_hold:
                    yield f"{process.name} holds {size} in its {name}"
    if experiment.plans_more:
        yield "broadcasts, crashes or mistakes of the scenario were still to come"
    for process in experiment.processes if experiment.detectors else ():
        if process.up:
            for crashed in sorted(experiment.crashed):
                if not experiment.detectors[process.me].is_suspected(crashed):
                    yield f"{process.name} has not noticed yet that p{crashed} crashed"
