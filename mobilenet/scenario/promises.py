"""What follows from a scenario before it has run: how long it is to last, who takes part, and what it promises.

Model     the manifest repeats all this, and the verifier derives it again and holds the run to it. `heard_every_s`: a
          reachable host is heard, and what was heard is answered, within that time almost surely. `gap_after_s`: a
          host may have a gap after so long a silence; 0: at any time, because its connection can be lost at any time;
          null: never. `broadcast` is null where nothing of broadcasts is promised; of processes it is their order,
          and "none" is one
Units     seconds, as the names say
Source    ours: docs/run-directory.md, docs/validation/trust.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.scenario.datagrams import Datagrams
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.process_parameters import AbstractNetwork
from mobilenet.scenario.processes import OwnBroadcast, ProcessProgram, ProcessScenario
from mobilenet.scenario.protocol_groups import buffers, declaration_of, delivers_to_all, promised
from mobilenet.scenario.rest import Rest, heard_every_s, rest, says_nothing_of_rest, surely_heard_every_s
from mobilenet.scenario.run_source import AdversarySchedule


def declared(scenario: Scenario | ProcessScenario | AdversarySchedule) -> dict[str, Any]:
    """The part of a manifest that does not depend on how the run went."""
    if isinstance(scenario, ProcessScenario):
        return _declared_of_processes(scenario)
    hosts: int | None
    if isinstance(scenario, AdversarySchedule):
        air = scenario.air
        hosts, stations, warmup_s = scenario.hosts, scenario.stations, 0.0
        loss, late_s = 1 - (1 - air.loss) * (1 - air.drop), (air.late_ns if air.late else air.delay_ns) / 1e9
        duplicating_air, name = True, scenario.protocol.name
        heartbeat_s = declaration_of(scenario.protocol).longest_heartbeat_s(scenario.protocol)
        heard_s = heard_every_s(heartbeat_s, loss) + late_s
        at_rest = Rest(None, says_nothing_of_rest(name)) if name == "own" else Rest(scenario.drain_s, None)
    else:
        hosts, stations = scenario.all_hosts, scenario.station_count
        warmup_s, heard_s = scenario.warmup_s, surely_heard_every_s(scenario)
        at_rest, duplicating_air = rest(scenario), False
    protocol = scenario.protocol
    declaration = declaration_of(protocol)
    return {
        "seed": scenario.seed,
        "protocol": protocol.name,
        "warmup_s": warmup_s,
        "duration_s": scenario.duration_s,
        "drain_s": scenario.drain_s,
        "stations": stations,
        "hosts": hosts,  # None: as many as there are tracks
        "buffers": buffers(protocol),
        "promises": {
            "broadcast": promised(protocol),
            **_where_unusual(protocol),
            "gap_after_s": 0.0 if declaration.loses_at_any_time else declaration.expiry_s(protocol),
            "heard_every_s": heard_s,
            "rest_within_s": at_rest.within_s,
            "no_rest_because": at_rest.because,
            "duplicating_air": duplicating_air,
        },
    }


def measures(scenario: Scenario | ProcessScenario | AdversarySchedule) -> list[str]:
    """The traits that the protocol declares: runs with them have more metrics (metrics/declaration.py)."""
    protocol = scenario.protocol
    if isinstance(scenario, ProcessScenario):
        return ["completions"] if getattr(protocol, "completes", False) else []
    if isinstance(protocol, Datagrams):
        return ["datagrams"]
    declaration = declaration_of(protocol)
    details = (declaration.details or {}).get("handoff_end")
    reported = [] if details is None else ["handoffs", *(key for key in details if not key.endswith("?"))]
    return [*reported, "lists"] if declaration.samples_lists else reported


def _where_unusual(protocol: Any) -> dict[str, Any]:
    """`delivers_to_all`, where it is not as in all other runs: with causal order, and only with it."""
    told = delivers_to_all(protocol)
    return {} if told == (promised(protocol) == "causal") else {"delivers_to_all": told}


def _declared_of_processes(scenario: ProcessScenario) -> dict[str, Any]:
    """The same keys, and what there is instead of hosts; `below_crashes`: nothing is promised if so many processes
    crash; `may_hold`: the buffer that need not drain, as its messages may wait for ones that were lost with crashed
    processes.
    """
    protocol = scenario.protocol
    delivers = protocol.delivers or "correct_source"
    below = (scenario.processes - 1).bit_length() if delivers.endswith("below_dimension") else None
    named = getattr(protocol, "buffers", None)  # of a plug-in
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


def rest_within(scenario: ProcessScenario) -> float | None:
    """When processes are at rest at the latest, in t.u.: generous, and only where detection is sure and the workload
    ends.

    All of log2(n)^2 rounds for each crash and each mistake, each with all timeouts, and all messages of all one after
    the other.
    """
    instants, network, detector = scenario.workload.instants, scenario.network, scenario.detector
    if instants.kind not in ("at", "uniform"):
        return None
    begin = getattr(instants, "latest", getattr(instants, "time", 0.0))
    d = (scenario.processes - 1).bit_length()
    if network.kind == "packet":  # ten standard deviations: never longer
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
    takes_any_way = isinstance(scenario.protocol, (OwnBroadcast, ProcessProgram))  # and not that along a tree
    hops = scenario.processes if takes_any_way else d + 1
    delays = 2 * hops * (longest + getattr(scenario.protocol, "max_delay", 0.0))
    waits = scenario.workload.messages * delays  # each for the acknowledgements of the one before
    return float(begin + (troubles + 1) * (rounds + delays + waits + network.send * scenario.estimated_messages()))


def surely_answered_within(n: int, network: AbstractNetwork) -> float:
    """A test, with as many others as there can be before it and before its answer."""
    return 2 * (2 * n * network.send + network.link + network.reception + network.hand_over)
