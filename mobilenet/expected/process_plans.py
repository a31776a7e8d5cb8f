"""Derive from a scenario of processes what its record can be held to: crashes and broadcasts, what the
detector and the protocol do, and the least time that the network takes.

Model     crashes as listed, and as drawn from the stream "faults"; broadcasts from one stream for each process. The
          simulation puts the same times on its calendar. Of plug-ins and programs only the plan, the detector and the
          network are known
Units     integer nanoseconds; 1 time unit is 1 s; bytes
Errors    none
Source    ours: docs/protocols/vcube.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from mobilenet.clock import SECOND, ns
from mobilenet.engine.random_streams import generator
from mobilenet.expected.expectations import Broadcasting, Detecting, ProcessPlan
from mobilenet.network.wired.network import adjacency
from mobilenet.parameters import number
from mobilenet.protocols.vcube.detector import ENTRY_BYTES, HEADER_BYTES
from mobilenet.protocols.vcube.parameters import (
    AllToAllParameters,
    BestEffortParameters,
    CausalParameters,
    CausalReliableParameters,
    DisjointPathsParameters,
)
from mobilenet.protocols.vcube.topology import c, dimension
from mobilenet.scenario.detector_timing import MOST_ROUTED
from mobilenet.scenario.process_parameters import (
    AbstractNetwork,
    At,
    Exponential,
    PacketNetwork,
    Poisson,
    Uniform,
    WiredNetwork,
)
from mobilenet.scenario.processes import OwnBroadcast, ProcessProgram, ProcessScenario


def crashes(scenario: ProcessScenario) -> list[tuple[int, int]]:
    """(process, time in ns), by time."""
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
    """(time in ns, process), by time; at one instant by process."""
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
    """Collect everything that the record is held to."""
    network, protocol = scenario.network, scenario.protocol
    broadcast_plan = None if isinstance(protocol, (OwnBroadcast, ProcessProgram)) else _broadcast_plan(scenario)
    broadcasts_ns: dict[str, list[int]] = {f"p{i}": [] for i in range(scenario.processes)}
    for time_ns, i in broadcasts(scenario):
        broadcasts_ns[f"p{i}"].append(time_ns)
    detecting, crashes_ns = _detection_plan(scenario), {f"p{i}": time_ns for i, time_ns in crashes(scenario)}
    planned_ns = [times_ns[-1] for times_ns in broadcasts_ns.values() if times_ns] + list(crashes_ns.values())
    planned_ns += [at_ns for at_ns, *_ in detecting.mistakes] if detecting is not None else []
    return ProcessPlan(
        crashes_ns,
        broadcasts_ns,
        detecting,
        network.kind,
        _hop_ns(scenario, None if broadcast_plan is None else min(least for least, _ in broadcast_plan.kinds.values())),
        _distances(scenario),
        ns(network.hand_over) if isinstance(network, AbstractNetwork) else 0,
        broadcast_plan,
        max((0, *planned_ns)),
        scenario.record.buffers,
        scenario.loses,
    )


def _detection_plan(scenario: ProcessScenario) -> Detecting | None:
    detector, n = scenario.detector, scenario.processes
    if detector is None:
        return None
    partners = [sum(i ^ (1 << s) < n for s in range(dimension(n))) for i in range(n)]
    mistakes = [(ns(one.at), one.by, one.about) for one in detector.mistakes]
    return Detecting(
        detector.mode == "perfect",
        ns(detector.timeout),
        mistakes,
        partners,
        HEADER_BYTES,
        HEADER_BYTES + ENTRY_BYTES * n,
        _hop_ns(scenario, HEADER_BYTES),
    )


def _broadcast_plan(scenario: ProcessScenario) -> Broadcasting:
    """Describe the broadcasts over VCube."""
    protocol: Any = scenario.protocol
    n, name = scenario.processes, protocol.name
    if isinstance(protocol, CausalParameters):
        clock = (protocol.message_bytes + protocol.entry_bytes, protocol.message_bytes + protocol.entry_bytes * n)
        most = max(protocol.mtu_bytes, protocol.header_bytes + clock[1])
        least = protocol.header_bytes + clock[0]
        most_together = max(1, (protocol.mtu_bytes - protocol.header_bytes) // max(1, clock[0]))
        kinds = {"packet": (least, most), "toroot": (least, protocol.header_bytes + clock[1])}
        carries, held = {"packet": most_together, "toroot": 1}, ("pending",)
        comes_back = protocol.trees == "single"  # an own message, from the root
        return Broadcasting(name, False, kinds, carries, False, clock[0], None, held, held, not comes_back)
    tree, stamp = protocol.tree_bytes, (4, 4 * n) if isinstance(protocol, CausalReliableParameters) else (0, 0)
    carrying = (tree + stamp[0], tree + stamp[1])
    if isinstance(protocol, DisjointPathsParameters):
        return Broadcasting(name, False, {"copy": carrying}, {"copy": 1}, False, tree, None, ("pending",), ("pending",))
    ack = (protocol.ack_bytes, protocol.ack_bytes)
    if isinstance(protocol, BestEffortParameters):
        most = protocol.max_payload_bytes
        alone = most <= min(tree, protocol.ack_bytes)
        kinds = {"tree": carrying, "ack": ack} | ({} if alone else {"bundle": (min(tree, protocol.ack_bytes), most)})
        together = {"tree": 1} | ({} if alone else {"bundle": most // tree})
        buffers: tuple[str, ...] = ("unacknowledged", "delayed")
        quiet_bytes = tree + protocol.ack_bytes
        parents_of = partial(parents_in_trees, n=n)
        return Broadcasting(
            name, True, kinds, together, alone, tree, quiet_bytes, buffers, buffers[:1], parents_of=parents_of
        )
    if isinstance(protocol, AllToAllParameters):
        kinds, together = {"tree": carrying, "ack": ack}, {"tree": 1}
    else:
        kinds, together = {"tree": carrying, "delv": carrying, "ack": ack}, {"tree": 1, "delv": 1}
    if isinstance(protocol, CausalReliableParameters):
        buffers = ("unacknowledged", "pending", "held")
    else:
        buffers = ("unacknowledged", "pending")
    parents_of = partial(parents_by_sources if isinstance(protocol, AllToAllParameters) else parents_in_trees, n=n)
    return Broadcasting(
        name, protocol.completes, kinds, together, True, carrying[0], None, buffers, buffers, parents_of=parents_of
    )


def parents_by_sources(sources: np.ndarray, n: int) -> np.ndarray:
    """Return the sources themselves, since they send to each other process."""
    return np.where(np.arange(n) == sources[:, None], -1, sources[:, None])


def parents_in_trees(sources: np.ndarray, n: int) -> np.ndarray:
    """Return from whom each process has a message of each source, while all are believed correct."""
    d = dimension(n)
    first = np.arange(n)[:, None] ^ (1 << np.arange(d))  # of each cluster, if there is one of that number
    for i, place in np.argwhere(first >= n).tolist():
        first[i, place] = next((j for j in c(i, place + 1) if j < n), -1)
    parents = np.full((len(sources), n), -1)
    tree, node, clusters = np.arange(len(sources)), sources, np.full(len(sources), d)
    while len(node):
        child = np.where(np.arange(d) < clusters[:, None], first[node], -1)
        at, s = np.nonzero(child >= 0)
        parents[tree[at], child[at, s]] = node[at]
        at, s = at[s > 0], s[s > 0]  # of its clusters, those before its parent's
        tree, node, clusters = tree[at], child[at, s], s
    return parents


def _hop_ns(scenario: ProcessScenario, least_bytes: int | None) -> int:
    """Return the least time from a send until the receiver has the message, over one link; None: of any length."""
    network = scenario.network
    if isinstance(network, AbstractNetwork):
        return ns(network.send) + ns(network.link) + ns(network.reception) + ns(network.hand_over)
    if isinstance(network, PacketNetwork):
        return ns(network.queue) + ns(network.processing)
    delay_ns = ns(network.delay_ms / 1000)
    if least_bytes is None:
        return delay_ns
    size = network.header_bytes + least_bytes
    return delay_ns + -(-8 * size * SECOND // round(network.bandwidth_mbps * 1_000_000))


def _distances(scenario: ProcessScenario) -> list[list[int]] | None:
    """Return the links on a shortest way between any two processes; None: one, or not computed for this number."""
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
