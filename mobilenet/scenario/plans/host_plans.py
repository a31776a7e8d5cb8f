"""Derive from a scenario the requests to each host, and where hosts and stations can be.

Model     Some events depend only on scenario and seed: when a host appears or crashes, and when it is asked to join,
          leave or broadcast. A request is repeated until it is met, and a new request replaces an open one. Of the
          requests before a host appears, only the last counts. Requests of users' processes are known only from the
          record. Requests of an adversary's schedule are unknown, because scenario.yaml does not repeat its actions.
Units     integer nanoseconds; metres per second
Errors    ScenarioError for unusable files
Source    ours: docs/protocols/mobile-causal.md, docs/models/world.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from math import ceil, hypot
from typing import Any

from mobilenet.engine.clock import SECOND, ns
from mobilenet.network.propagation.path_loss import SPEED_OF_LIGHT_MPS
from mobilenet.network.radio.framing import Framing
from mobilenet.network.radio_models import model_of
from mobilenet.parameters import number
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.plans.expectations import Expectations, HostPlan, KnownProtocol, Places, Radio
from mobilenet.scenario.plans.stays import stay_of
from mobilenet.scenario.plans.switches import lossy_cuts
from mobilenet.scenario.protocol_groups import OwnDeclaration, declaration_of
from mobilenet.scenario.real_time import RealTimePrograms
from mobilenet.world.churn import ASKED_AGAIN_NS, changes
from mobilenet.world.interventions import (
    Drag,
    Loss,
    OfHost,
    OfStation,
    added_hosts,
    both_lose,
    in_order,
    losses_at_hosts,
    offers,
)
from mobilenet.world.layout import station_positions
from mobilenet.world.own_process import fastest_mps as processes_mps
from mobilenet.world.track_mobility import ImportedTracks, Tracks
from mobilenet.world.trajectory import Trajectory

JOIN, VANISH, CHANGE, BY_HAND = range(4)  # the order of requests in the same nanosecond


def known_protocol(protocol: Any) -> KnownProtocol | None:
    """Return the protocol, with the module that verifies its further promises, or None if it promises only an order of
    delivery.
    """
    checks = declaration_of(protocol).checks
    return KnownProtocol(checks, protocol) if isinstance(checks, str) else None


def plan_record(scenario: Scenario, tracks: ImportedTracks | None) -> Expectations:
    """Return everything that the record must show. `tracks` are the tracks of imported hosts, if there are any."""
    end_ns = ns(scenario.duration_s)
    hosts, model = _hosts(scenario, tracks, end_ns), model_of(scenario.wireless)
    return Expectations(
        end_ns,
        known_protocol(scenario.protocol),
        hosts,
        Places([(x, y) for x, y in stations_m(scenario)], model.serving_reach_m, not model.is_certain),
        _radio(scenario, tracks),
        ASKED_AGAIN_NS,
        bool(scenario.own_processes),
        _in_the_air_ns(scenario, tracks, len(hosts)),
        lossy_cuts(scenario),
    )


def _radio(scenario: Scenario, tracks: ImportedTracks | None) -> Radio:
    wireless, framing = scenario.wireless, Framing(scenario.wireless)
    losses = [wireless.loss, *(one.loss for one in scenario.interventions if isinstance(one, Loss))]
    return Radio(
        min(losses), reduce(both_lose, losses_at_hosts(scenario.interventions)[-2:], max(losses)),
        may_acknowledge(scenario),
        wireless.retry_limit - 1 if wireless.mac == "dcf" else 0,
        scenario.stations.backbone.detects,
        _are_always_up(scenario, tracks),
        wireless.queue_frames,
        framing.datagram(0)[0],
        min(framing.datagram(0)[1], framing.segment(0)[1], framing.acknowledged_datagram(0)[1]),
        wireless.group_copies - 1,
    )  # fmt: skip


def may_acknowledge(scenario: Scenario) -> bool:
    """Return whether the MAC may acknowledge frames of the scenario's protocol."""
    declaration = declaration_of(scenario.protocol)
    is_own = issubclass(declaration, OwnDeclaration)
    return "connections" in declaration.needs or is_own or declaration.unicasts(scenario.protocol)


def _are_always_up(scenario: Scenario, tracks: ImportedTracks | None) -> bool:
    touched = any(isinstance(one, OfStation) or getattr(one, "do", "") == "crash" for one in scenario.interventions)
    stay = tracks is None or all((one.appears_ns, one.leaves_ns) == (0, None) for one in tracks.trajectories)
    touched = touched or bool(scenario.own_processes)
    return stay and not touched and not added_hosts(scenario.interventions) and scenario.faults is None


def _in_the_air_ns(scenario: Scenario, tracks: ImportedTracks | None, hosts: int) -> int | None:
    """Return the airtime of a station's longest message, plus twice the longest propagation delay. The delay counts
    twice because, at a receiver that moves closer, a frame waits for the end of the previous frame.
    """
    if scenario.own_processes:
        return None  # the number of broadcasts of users' processes is not known
    workload, end_ns = scenario.workload, ns(scenario.duration_s)
    more = added_hosts(scenario.interventions)
    appear_ns = [trajectory.appears_ns for trajectory in tracks.trajectories] if tracks is not None else []
    appear_ns += [0] * (hosts - len(appear_ns) - len(more)) + [ns(one.at_s) for one in more]
    offered = partial(offers, workload, scenario.interventions, scenario.seed)
    broadcasts = (
        0
        if isinstance(scenario.protocol, RealTimePrograms)
        else sum(len(offered(host, since_ns, end_ns)) for host, since_ns in enumerate(appear_ns))
    )
    declaration = declaration_of(scenario.protocol)
    longest = declaration.longest_message_bytes(scenario.protocol, workload.payload_bytes, hosts, broadcasts)
    if longest is None:
        return None
    propagation_ns = ceil(model_of(scenario.wireless).reach_m / (SPEED_OF_LIGHT_MPS / SECOND))
    return Framing(scenario.wireless).datagram(longest)[1] + 2 * propagation_ns


def _hosts(scenario: Scenario, tracks: ImportedTracks | None, end_ns: int) -> list[HostPlan]:
    trajectories: Sequence[Trajectory | None] = (
        [None] * (scenario.hosts.count or 0) if tracks is None else tracks.trajectories
    )
    requests, mobility = _requests(scenario, trajectories, end_ns), scenario.hosts.mobility
    speed_mps = 0.0 if isinstance(mobility, Tracks) else mobility.speed_limit_mps
    drags: dict[int, list[int]] = {}
    for one in in_order(scenario.interventions):
        if isinstance(one, Drag):
            drags.setdefault(number(one.host), []).append(ns(one.at_s))
    hosts = []
    for host, asked in enumerate(requests):
        trajectory = trajectories[host] if host < len(trajectories) else None
        fastest_mps = (
            speed_mps
            if trajectory is None
            else max((hypot(leg.vx_mps, leg.vy_mps) for leg in trajectory.legs()), default=0.0)
        )
        most_mps = max(fastest_mps, processes_mps(scenario.own_processes, f"h{host}"))
        hosts.append(HostPlan(asked, most_mps, drags.get(host, ()), host >= len(trajectories)))
    return hosts


def stations_m(scenario: Scenario) -> list[list[float]]:
    """Return the positions of the stations."""
    return list(station_positions(scenario.stations.layout, scenario.folder, scenario.anchor).tolist())


def _requests(
    scenario: Scenario, trajectories: Sequence[Trajectory | None], end_ns: int
) -> list[list[tuple[int, str]]]:
    """Return the requests to each host, in chronological order."""
    churn = changes(scenario.churn, scenario.seed, len(trajectories), end_ns)
    more = added_hosts(scenario.interventions)
    wishes: list[list[tuple[int, int, str]]] = [[] for _ in (*trajectories, *more)]
    for change in churn.changes:
        if change.host < len(trajectories):
            wishes[change.host].append((change.at_ns, CHANGE, change.kind))
    for one in in_order(scenario.interventions):
        if isinstance(one, OfHost) and one.do in ("join", "leave") and number(one.host) < len(wishes):
            wishes[number(one.host)].append((ns(one.at_s), BY_HAND, one.do))
    requests = []
    for host, (own, trajectory) in enumerate(zip(wishes, trajectories, strict=False)):
        stay = stay_of(scenario, host, trajectory, host in churn.absent_at_start)
        if stay.joins_ns is not None:
            own.append((stay.joins_ns, JOIN, "join"))
        if stay.leaves_ns is not None:
            own.append((stay.leaves_ns, VANISH, "leave"))
        own.sort()
        # After a host is asked to leave for good, it receives no further requests.
        last = next((i for i, wish in enumerate(own) if wish[1] == VANISH), len(own))
        early = [wish for wish in own[: last + 1] if wish[0] < stay.appears_ns]
        rest = [(at_ns, kind) for at_ns, _, kind in own[: last + 1] if at_ns >= stay.appears_ns]
        requests.append(([(stay.appears_ns, early[-1][2])] if early else []) + rest)
    for one, own in zip(more, wishes[len(trajectories) :], strict=True):
        requests.append([(ns(one.at_s), "join"), *((at_ns, kind) for at_ns, _, kind in own)])
    return requests
