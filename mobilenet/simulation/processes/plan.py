"""What is planned of a run before it begins: who crashes when, who broadcasts when.

Model     crashes as listed, and as drawn from the stream "faults"; broadcasts from one stream for each process
Units     integer nanoseconds; 1 time unit is 1 s
Errors    none
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from mobilenet.engine.kernel import SECOND, ns
from mobilenet.engine.random_streams import generator
from mobilenet.parameters import number
from mobilenet.scenario.process_parameters import At, Exponential, Poisson, Uniform
from mobilenet.scenario.processes import ProcessScenario


def crashes(scenario: ProcessScenario) -> list[tuple[int, int]]:
    """(process, time in ns), by time."""
    found = [(number(fault.process), ns(fault.at)) for fault in scenario.faults]
    drawn = scenario.random_faults
    if drawn is not None:
        excluded = {*(i for i, _ in found), *(number(name) for name in drawn.spared)}
        free = [i for i in range(scenario.processes) if i not in excluded]
        stream = generator(scenario.seed, "faults")
        for i in stream.choice(free, drawn.count, replace=False).tolist():
            if drawn.whole_times:
                time_ns = int(stream.integers(*drawn.whole, endpoint=True)) * SECOND
            else:
                time_ns = ns(float(stream.uniform(drawn.earliest, drawn.latest)))
            found.append((i, time_ns))
    return sorted(found, key=lambda one: (one[1], one[0]))


def broadcasts(scenario: ProcessScenario) -> Iterator[tuple[int, int]]:
    """(time in ns, process), by time; at one instant by process."""
    workload = scenario.workload
    sources = range(scenario.processes if workload.sources is None else workload.sources)
    found = [(time_ns, place, i) for i in sources for place, time_ns in enumerate(_instants(scenario, i))]
    for time_ns, _, i in sorted(found):
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
