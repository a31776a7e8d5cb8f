"""What follows from a scenario about single hosts and stations: what hosts are asked to do, and where hosts can be.

Model     what the simulation puts on the calendar before the run is a pure function of scenario and seed: when a host
          appears, when it is asked to join and to leave, when its application wants to broadcast, when it is to
          crash. A wish is repeated until it is fulfilled, and the last one counts. What is asked before a host has
          appeared waits for that, and only the last of it counts. Of an adversary's schedule nothing of the kind is
          known: scenario.yaml does not repeat its actions
Units     integer nanoseconds; metres per second
Errors    ScenarioError for files that cannot be used
Source    ours: docs/protocols/mobile-causal.md, docs/models/world.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from math import ceil, hypot
from typing import Any

import numpy as np

from mobilenet.clock import MILLISECOND, SECOND, ns
from mobilenet.engine.random_streams import Stream
from mobilenet.expected.air import air, may_acknowledge
from mobilenet.expected.expectations import Conduct, Crashes, Expectations, HostPlan, Kind, Places, Radio
from mobilenet.expected.switches import impairments, switches, wires
from mobilenet.network.radio.framing import Framing
from mobilenet.network.radio.links import reach_m, serving_reach_m
from mobilenet.network.tcp.segment import HEADER_BYTES as TCP_HEADER_BYTES
from mobilenet.parameters import number
from mobilenet.propagation.path_loss import SPEED_OF_LIGHT_MPS
from mobilenet.protocols.fields import recorded_bytes
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.scenario.radio_world import RadioWorld
from mobilenet.scenario.real_time import RealTimePrograms
from mobilenet.world.churn import ASKED_AGAIN_NS, changes
from mobilenet.world.coverage import Coverage
from mobilenet.world.faults import outages
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
from mobilenet.world.mobility import OwnMobility
from mobilenet.world.mobility import trajectories as population
from mobilenet.world.tracks import ImportedTracks, Tracks
from mobilenet.world.trajectory import Trajectory

JOIN, VANISH, CHANGE, BY_HAND = range(4)  # in this order, where they fall into one nanosecond


def conduct_of(protocol: Any) -> Conduct | None:
    """What is known of the trace of a protocol."""
    declaration = declaration_of(protocol)
    if declaration.details is None:
        return None
    return Conduct(
        declaration.delivers_only_connected, declaration.details, declaration.forgets_after_s(protocol),
        declaration.keeps_until_acknowledged, declaration.looks_every_ns(protocol), declaration.gaps_follow_handoffs,
        declaration.numbers_once, declaration.stream_acknowledges(protocol), declaration.unicasts(protocol),
    )  # fmt: skip


def plan_record(scenario: Scenario, tracks: ImportedTracks | None) -> Expectations:
    """All that the record is held to; `tracks`: of imported hosts."""
    declaration = declaration_of(scenario.protocol)
    end_ns = ns(scenario.duration_s)
    positions_m = stations_m(scenario)
    radio = RadioWorld(scenario, np.array(positions_m))
    hosts = _hosts(scenario, tracks, radio.coverage, end_ns)
    attachment, interval_s = scenario.hosts.attachment, scenario.record.positions_interval_s
    header_bytes, framing = scenario.stations.backbone.header_bytes, Framing(scenario.wireless)
    return Expectations(
        hosts,
        _crashes(scenario, sum(not host.is_added for host in hosts), end_ns),
        end_ns,
        Places(
            [(x, y) for x, y in positions_m], serving_reach_m(scenario.wireless), attachment.nearer_m,
            attachment.error_m,
            attachment.tick_ms * MILLISECOND, None if interval_s is None else ns(interval_s),
            scenario.wireless.model == "sinr", radio.coverage.contains if scenario.wireless.model == "sinr" else None,
            reach_m(scenario.wireless),
        ),
        conduct_of(scenario.protocol),
        scenario.workload.payload_bytes if declaration.messages_stay_whole else None,
        max(0, header_bytes - TCP_HEADER_BYTES) if "connections" in declaration.needs else header_bytes,
        switches(scenario),
        impairments(scenario),
        wires(scenario, positions_m),
        isinstance(scenario.protocol, RealTimePrograms),
        _radio(scenario, hosts, framing),
        min(framing.datagram(0)[0], framing.segment(0)[0]),
        scenario.wireless.queue_frames,
        ASKED_AGAIN_NS,
        _in_the_air_ns(scenario, hosts),
        air(scenario),
    )  # fmt: skip


def _radio(scenario: Scenario, hosts: list[HostPlan], framing: Framing) -> Radio:
    wireless = scenario.wireless
    losses = [wireless.loss, *(one.loss for one in scenario.interventions if isinstance(one, Loss))]
    declaration = declaration_of(scenario.protocol)
    return Radio(
        min(losses), reduce(both_lose, losses_at_hosts(scenario.interventions)[-2:], max(losses)),
        may_acknowledge(scenario),
        wireless.retry_limit - 1 if wireless.mac == "dcf" else 0,
        scenario.stations.backbone.detects,
        _are_always_up(scenario, hosts),
        None if declaration.kinds is None else _kinds(scenario, declaration.kinds, framing),
        declaration.takes_with(scenario.protocol),
        wireless.group_copies - 1,
    )  # fmt: skip


def _are_always_up(scenario: Scenario, hosts: list[HostPlan]) -> bool:
    touched = any(isinstance(one, OfStation) or getattr(one, "do", "") == "crash" for one in scenario.interventions)
    stay = all(not host.appears_ns and host.vanishes_ns is None and not host.is_added for host in hosts)
    return stay and not touched and scenario.faults is None


def _kinds(scenario: Scenario, classes: Mapping[str, Sequence[Any]], framing: Framing) -> dict[str, dict[str, Kind]]:
    """Over VCube stations' messages travel within others, so nothing is known of wires there."""
    kinds_by_side: dict[str, dict[str, Kind]] = {}
    for side, some in classes.items():
        if side == "wired" and scenario.stations.backbone.kind != "tree":
            continue
        around = 0 if side == "wired" else framing.datagram(0)[0]
        for kind in some:
            fixed_bytes, carries, entries, is_exact, acknowledges = kind.shape
            size_of = partial(recorded_bytes, kind, scenario.workload.payload_bytes)
            known = Kind(around + fixed_bytes, carries, entries, is_exact, acknowledges, size_of)
            kinds_by_side.setdefault(side, {})[kind.__name__] = known
    return kinds_by_side


def _in_the_air_ns(scenario: Scenario, hosts: list[HostPlan]) -> int | None:
    """The airtime of the longest message of a station, and twice the longest propagation delay, since a frame waits
    for the end of the one before it at a receiver that comes closer.
    """
    protocol, declaration = scenario.protocol, declaration_of(scenario.protocol)
    broadcasts = sum(len(host.offers_ns or ()) for host in hosts)
    longest = declaration.longest_message_bytes(protocol, scenario.workload.payload_bytes, len(hosts), broadcasts)
    if longest is None:
        return None
    propagation_ns = ceil(reach_m(scenario.wireless) / (SPEED_OF_LIGHT_MPS / SECOND))
    return Framing(scenario.wireless).datagram(longest)[1] + 2 * propagation_ns


def _hosts(scenario: Scenario, tracks: ImportedTracks | None, coverage: Coverage, end_ns: int) -> list[HostPlan]:
    trajectories: Sequence[Trajectory | None] = (
        [None] * (scenario.hosts.count or 0) if tracks is None else tracks.trajectories
    )
    requests = _requests(scenario, trajectories, end_ns)
    first, more = len(trajectories), added_hosts(scenario.interventions)
    mobility = scenario.hosts.mobility
    speed_mps = 0.0 if isinstance(mobility, Tracks) else mobility.speed_limit_mps
    ways: Sequence[Trajectory | None] = trajectories
    if not isinstance(mobility, (Tracks, OwnMobility)):
        ways = population(
            scenario.hosts, scenario.seed, coverage, end_ns, scenario.folder, scenario.origin
        ).trajectories
    hosts = []
    for host, trajectory in enumerate([*trajectories, *([None] * len(more))]):
        appears_ns, vanishes_ns = _there(trajectory) if host < first else (ns(more[host - first].at_s), None)
        wanted_ns = (
            None
            if isinstance(scenario.protocol, RealTimePrograms)
            else offers(scenario.workload, scenario.interventions, scenario.seed, host, appears_ns, end_ns)
        )
        drags = [
            (ns(one.at_s), *one.to_m)
            for one in in_order(scenario.interventions)
            if isinstance(one, Drag) and number(one.host) == host
        ]
        if host >= first:
            drags.insert(0, (appears_ns, *more[host - first].to_m))
        fastest_mps = (
            speed_mps
            if trajectory is None
            else max((hypot(leg.vx_mps, leg.vy_mps) for leg in trajectory.legs()), default=0.0)
        )
        way = ways[host] if host < first else None
        legs = None if way is None else way.legs
        hosts.append(
            HostPlan(appears_ns, requests[host], vanishes_ns, wanted_ns, fastest_mps, drags, host >= first, legs)
        )
    return hosts


def _there(trajectory: Trajectory | None) -> tuple[int, int | None]:
    """Return when a host appears, and when it asks to leave for good."""
    return (0, None) if trajectory is None else (trajectory.appears_ns, trajectory.leaves_ns)


def _crashes(scenario: Scenario, hosts: int, end_ns: int) -> Crashes:
    of_hosts: dict[str, dict[int, int]] = {}
    of_anybody: dict[int, int] = {}
    for outage in outages(scenario.faults, scenario.seed, hosts, end_ns):
        whose = of_anybody if outage.host is None else of_hosts.setdefault(f"h{outage.host}", {})
        whose[outage.at_ns] = outage.lasts_ns
    recoveries: dict[str, list[int]] = {}
    for one in in_order(scenario.interventions):
        if isinstance(one, OfHost) and one.do == "crash":
            of_hosts.setdefault(one.host, {}).setdefault(ns(one.at_s), end_ns)  # a planned outage comes first
        elif isinstance(one, OfHost) and one.do == "recover":
            recoveries.setdefault(one.host, []).append(ns(one.at_s))
    return Crashes(of_hosts, of_anybody, recoveries)


def stations_m(scenario: Scenario) -> list[list[float]]:
    """The places of the stations."""
    return list(station_positions(scenario.stations.layout, scenario.folder, scenario.origin).tolist())


def _requests(
    scenario: Scenario, trajectories: Sequence[Trajectory | None], end_ns: int
) -> list[list[tuple[int, str]]]:
    """As Simulation._plan puts it on the calendar."""
    spread_s = declaration_of(scenario.protocol).first_join_spread_s(scenario.protocol)
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
        appears_ns, vanishes_ns = _there(trajectory)
        if host not in churn.absent_at_start:
            wait_ns = ns(Stream(scenario.seed, "join", f"h{host}").uniform(0, spread_s)) if appears_ns == 0 else 0
            own.append((appears_ns + wait_ns, JOIN, "join"))
        if vanishes_ns is not None and vanishes_ns < end_ns:
            own.append((vanishes_ns, VANISH, "leave"))
        own.sort()
        # nothing is asked of it after that
        last = next((i for i, wish in enumerate(own) if wish[1] == VANISH), len(own))
        early = [wish for wish in own[: last + 1] if wish[0] < appears_ns]
        rest = [(at_ns, kind) for at_ns, _, kind in own[: last + 1] if at_ns >= appears_ns]
        requests.append(([(appears_ns, early[-1][2])] if early else []) + rest)
    for one, own in zip(more, wishes[len(trajectories) :], strict=True):
        requests.append([(ns(one.at_s), "join"), *((at_ns, kind) for at_ns, _, kind in own)])
    return requests
