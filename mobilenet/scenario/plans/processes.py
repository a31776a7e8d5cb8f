"""Derive what a scenario of processes implies, before it runs.

Units     time units
Source    ours: docs/run-directory.md, docs/protocols/vcube.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mobilenet.quoting import pluralize
from mobilenet.scenario.plans.expectations import LossyCut, ProcessPlan
from mobilenet.scenario.plans.process_plans import process_plan
from mobilenet.scenario.process_parameters import AbstractNetwork
from mobilenet.scenario.processes import OwnBroadcast, ProcessProgram, ProcessScenario


def declared_manifest(scenario: ProcessScenario) -> dict[str, Any]:
    """Return the manifest's entries about processes, and constants for its entries about hosts. `below_crashes` is the
    number of crashes at which the promises no longer hold. `may_hold` is the buffer that may stay filled, because
    crashed processes can leave its messages waiting for lost ones.
    """
    protocol = scenario.protocol
    delivers = protocol.delivers or "correct_source"
    below = (scenario.processes - 1).bit_length() if delivers.endswith("below_dimension") else None
    named = getattr(protocol, "buffers", None)  # only plug-ins and programs have this key
    return {
        "seed": scenario.seed,
        "protocol": protocol.name,
        "warmup_s": 0.0,
        "duration_s": scenario.duration,
        "drain_s": 0.0,
        "stations": 0,
        "hosts": 0,
        "processes": scenario.processes,
        "crashes": scenario.crashes,
        **({} if named is None else {"buffers": list(named)}),
        "promises": {
            "broadcast": protocol.order or "none",
            "agreement": protocol.delivers == "agreement",
            "below_crashes": below,
            "completes_when_delivered": scenario.detector is None or scenario.detector.mode == "perfect",
            "gap_after_s": None,
            "heard_every_s": 0.0,
            "rest_within_s": rest_within(scenario),
            "duplicating_air": False,
            "may_hold": scenario.may_hold,
        },
    }


def measures(scenario: ProcessScenario) -> list[str]:
    """Return the traits that the protocol declares."""
    return ["completions"] if getattr(scenario.protocol, "completes", False) else []


def expectations(scenario: ProcessScenario) -> ProcessPlan:
    """Return the facts that the record must show."""
    return process_plan(scenario)


def lossy_cuts(scenario: ProcessScenario) -> list[LossyCut]:
    """Return an empty list, because scenarios of processes have no interventions that cut links."""
    return []


def rest_within(scenario: ProcessScenario) -> float | None:
    """Return a generous upper limit, in t.u., for the time by which processes are quiescent. Return None if the
    workload or the network prevents such a limit, or if the detector may never become correct.

    For each crash and each mistake, the limit allows log2(n)^2 rounds with all timeouts, and the time to send all
    messages one after the other.
    """
    instants, network, detector = scenario.workload.instants, scenario.network, scenario.detector
    if instants.kind not in ("at", "uniform") or scenario.loses:
        return None
    begin = getattr(instants, "latest", getattr(instants, "time", 0.0))
    d = (scenario.processes - 1).bit_length()
    if network.kind == "packet":  # ten standard deviations, which a delay practically never exceeds
        hop = network.processing + network.delay_mean + 10 * network.delay_sd
        chains = scenario.processes * scenario.workload.messages + 1
        return float(begin + chains * (d + 2) * hop + (scenario.estimated_messages() + chains) * network.queue)
    if network.kind != "abstract":
        return None
    troubles, rounds = scenario.crashes, 0.0
    begin = max(begin, *(fault.at for fault in scenario.faults), getattr(scenario.random_faults, "latest", 0.0))
    if detector is not None:
        if detector.mode != "perfect" and detector.timeout < surely_answered_within(scenario.processes, network):
            return None
        begin = max(begin, *(mistake.at for mistake in detector.mistakes), 0.0)
        troubles += len(detector.mistakes)
        rounds = (d * d + 1) * (detector.interval + (scenario.crashes + 1) * detector.timeout + 2 * d)
    longest = network.send + network.link + network.jitter + network.reception + network.hand_over
    takes_any_way = isinstance(scenario.protocol, (OwnBroadcast, ProcessProgram))  # messages need not follow a tree
    hops = scenario.processes if takes_any_way else d + 1
    delays = 2 * hops * (longest + getattr(scenario.protocol, "max_delay", 0.0))
    waits = scenario.workload.messages * delays  # each message waits for the acknowledgements of the previous one
    return float(begin + (troubles + 1) * (rounds + delays + waits + network.send * scenario.estimated_messages()))


def surely_answered_within(n: int, network: AbstractNetwork) -> float:
    """Return the time of a test and its answer if as many other messages as possible are queued ahead of each."""
    return 2 * (2 * n * network.send + network.link + network.reception + network.hand_over)


def doubts(scenario: ProcessScenario) -> Iterator[str]:
    """Yield the reasons why the verdict may be unknown."""
    promises, within, duration = declared_manifest(scenario)["promises"], rest_within(scenario), scenario.duration
    if scenario.loses:
        yield (
            "the network loses messages, so the run need not come to rest, and a missing delivery is not a violation"
        )
    elif within is None:
        yield "the run might never come to rest (the detector may keep making mistakes, or the workload never ends)"
    elif within > duration:
        yield f"the run may need {within:.4g} t.u. to come to rest, but the duration is {duration:g} t.u."
    if promises["below_crashes"] is not None and scenario.crashes >= promises["below_crashes"]:
        yield (
            f"{pluralize(scenario.crashes, 'process')} crash{'es' if scenario.crashes == 1 else ''}, but deliveries are"
            " promised only for fewer than"
            f" {pluralize(promises['below_crashes'], 'crash')}"
        )
    sources = scenario.processes if scenario.workload.sources is None else scenario.workload.sources
    if scenario.crashes >= sources or not scenario.estimated_messages():
        yield "it is possible that no process broadcasts, so that nothing is delivered"
