"""Derive what the record of a scenario of processes must show, such as crashes, broadcasts and minimum network delays.

Model     Crashes are listed, or drawn from the stream "faults". Broadcasts are drawn from a separate stream for each
          process. The simulation schedules the same times. For plug-ins and programs, only the plan, the detector and
          the network are known.
Units     integer nanoseconds; 1 time unit is 1 s; bytes
Source    ours: docs/protocols/vcube.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from mobilenet.engine.clock import SECOND, ns
from mobilenet.engine.random_streams import generator
from mobilenet.network.wired.network import adjacency
from mobilenet.parameters import number
from mobilenet.scenario.detector_timing import MOST_ROUTED
from mobilenet.scenario.plans.expectations import ProcessPlan
from mobilenet.scenario.process_parameters import (
    AbstractNetwork,
    At,
    Exponential,
    PacketNetwork,
    Poisson,
    Uniform,
    WiredNetwork,
)
from mobilenet.scenario.processes import ProcessScenario


def crashes(scenario: ProcessScenario) -> list[tuple[int, int]]:
    """Return the crashes as pairs (process, time in ns), in chronological order."""
    crash_times = [(number(fault.process), ns(fault.at)) for fault in scenario.faults]
    drawn = scenario.random_faults
    if drawn is not None:
        excluded = {*(i for i, _ in crash_times), *(number(name) for name in drawn.spared)}
        free = [i for i in range(scenario.processes) if i not in excluded]
        stream = generator(scenario.seed, "faults")
        for i in stream.choice(free, drawn.count, replace=False).tolist():
            if drawn.whole_times:
                time_ns = int(stream.integers(*drawn.whole, endpoint=True)) * SECOND
            else:
                time_ns = ns(float(stream.uniform(drawn.earliest, drawn.latest)))
            crash_times.append((i, time_ns))
    return sorted(crash_times, key=lambda one: (one[1], one[0]))


def broadcasts(scenario: ProcessScenario) -> Iterator[tuple[int, int]]:
    """Yield the broadcasts as pairs (time in ns, process), ordered by time."""
    workload = scenario.workload
    sources = range(scenario.processes if workload.sources is None else workload.sources)
    moments = [(time_ns, place, i) for i in sources for place, time_ns in enumerate(_instants(scenario, i))]
    for time_ns, _, i in sorted(moments):
        yield time_ns, i


def _instants(scenario: ProcessScenario, i: int) -> list[int]:
    workload = scenario.workload
    instants, count, stream = workload.instants, workload.messages, generator(scenario.seed, "workload", f"p{i}")
    match instants:
        case At(time=time):
            return [ns(time)] * count
        case Uniform(earliest=earliest, latest=latest):
            return [ns(time) for time in stream.uniform(earliest, latest, count).tolist()]
        case Exponential(mean=mean):
            return [ns(time) for time in accumulate(stream.exponential(mean, count).tolist())]
        case Poisson(mean=mean):
            return [time * SECOND for time in stream.poisson(mean, count).tolist()]


def process_plan(scenario: ProcessScenario) -> ProcessPlan:
    """Collect everything that the record must show."""
    return ProcessPlan(
        getattr(scenario.protocol, "completes", False), _hop_ns(scenario), _distances(scenario), scenario.loses
    )


def _hop_ns(scenario: ProcessScenario) -> int:
    """Return the shortest time from sending a message over one link until it is received."""
    network = scenario.network
    if isinstance(network, AbstractNetwork):
        return ns(network.send) + ns(network.link) + ns(network.reception) + ns(network.hand_over)
    if isinstance(network, PacketNetwork):
        return ns(network.queue) + ns(network.processing)
    return ns(network.delay_ms / 1000)


def _distances(scenario: ProcessScenario) -> list[list[int]] | None:
    """Return the number of links on a shortest path between any two processes. Return None if it is always one, or if
    there are too many processes to compute it.
    """
    network, n = scenario.network, scenario.processes
    if not isinstance(network, WiredNetwork) or network.edges is None or n > MOST_ROUTED:
        return None
    near = adjacency(network.edges, n)
    return [_links_from(near, i) for i in range(n)]


def _links_from(near: list[list[int]], source: int) -> list[int]:
    distances = [-1] * len(near)
    distances[source] = 0
    frontier = [source]
    while frontier:
        ahead = []
        for node in frontier:
            for j in near[node]:
                if distances[j] < 0:
                    distances[j] = distances[node] + 1
                    ahead.append(j)
        frontier = ahead
    return distances
