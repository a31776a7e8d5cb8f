"""Check that the interventions of a scenario name existing things and do not contradict each other.

Units     seconds, metres
Errors    Problems are yielded, not raised
Source    ours: docs/models/world.md, "By hand"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilenet.engine.clock import ns
from mobilenet.network.wired.tree import links
from mobilenet.parameters import number
from mobilenet.quoting import there_are
from mobilenet.scenario.mobile_keys import MobileKeys
from mobilenet.scenario.protocol_groups import OwnProgram, declaration_of
from mobilenet.scenario.real_time import RealTimePrograms
from mobilenet.world.faults import PaperFaults, RandomFaults
from mobilenet.world.interventions import (
    Add,
    AnyIntervention,
    Cut,
    Drag,
    ImpairLink,
    Interval,
    Mend,
    OfStation,
    OnHost,
    added_hosts,
    concerns,
)
from mobilenet.world.mobility import OwnMobility
from mobilenet.world.track_mobility import Tracks

FARTHEST_DRAG_M = 1e6
MOST_NAMED = 12  # maximum number of links that a message lists


def objections(scenario: MobileKeys, sites: NDArray[np.float64]) -> Iterator[tuple[str, str]]:
    """Yield each problem as (dotted path, description)."""
    if scenario.hosts.count is not None and (objection := strangers(scenario, scenario.hosts.count)) is not None:
        yield objection
    there: set[tuple[tuple[str, ...], float]] = set()
    idle = without_effect(scenario, scenario.interventions)
    for place, one in enumerate(scenario.interventions):
        path = f"interventions.{place}"
        who = concerns(one)
        if who:
            if (who, one.at_s) in there:
                yield path, f"another intervention on {'-'.join(who)} at {one.at_s:g} s; expected at most one at a time"
            elif place in idle:
                yield f"{path}.do", idle[place]
            there.add((who, one.at_s))
        if one.at_s >= scenario.duration_s:
            yield f"{path}.at_s", f"got {one.at_s:g} s, expected less than duration_s ({scenario.duration_s:g} s)"
        if isinstance(one, Interval) and scenario.workload.interval_s is None:
            yield (
                f"{path}.do",
                f"arrivals are {scenario.workload.arrivals!r}, so broadcasts have no interval that could be changed",
            )
        if isinstance(one, Add) and isinstance(scenario.protocol, RealTimePrograms):
            why = "every host has its address from the beginning, so no host can be added"
            yield f"{path}.do", f"with {scenario.protocol.name}, {why}"
        if one.do == "broadcast" and isinstance(scenario.protocol, RealTimePrograms):
            yield f"{path}.do", f"with {scenario.protocol.name}, only the programs themselves can broadcast"
        if isinstance(one, Add) and isinstance(scenario.protocol, OwnProgram):
            yield f"{path}.do", "programs receive the number of hosts when they start, so no host can be added later"
        if isinstance(one, Drag | Add) and not max(map(abs, one.to_m)) <= FARTHEST_DRAG_M:
            yield f"{path}.to_m", f"expected coordinates in metres, from -{FARTHEST_DRAG_M:g} to {FARTHEST_DRAG_M:g}"
        if isinstance(one, OfStation) and number(one.station) >= len(sites):
            yield f"{path}.station", f"{one.station} does not exist; {there_are(len(sites), 'station', 's')}"
        if isinstance(one, ImpairLink) and one.loss and not bears_losses(scenario):
            yield (
                f"{path}.loss",
                f"got {one.loss:g}, but {scenario.protocol.name} assumes lossless wires; expected 0, or a cut with"
                " loses: true",
            )
        if (
            isinstance(one, Cut | Mend | ImpairLink)
            and (problem := _link_problem(scenario, sites, one.ends)) is not None
        ):
            yield f"{path}.link", problem


def without_effect(
    scenario: MobileKeys, interventions: Sequence[AnyIntervention | Mapping[str, Any]]
) -> dict[int, str]:
    """Return the interventions of this list that certainly have no effect: crashes of hosts that are down, and
    recoveries of hosts that are up. The result maps the index of each to the reason. It is empty if only the run can
    show which hosts are up.
    """
    if isinstance(scenario.faults, PaperFaults | RandomFaults):
        return {}
    if isinstance(scenario.hosts.mobility, Tracks | OwnMobility) or scenario.own_processes:
        return {}  # tracks let hosts appear and leave, and users' processes may crash or recover hosts
    listed = scenario.faults.outages if scenario.faults is not None else ()
    coming = [(ns(one.at_s), 0, number, one.host, "crash", ns(one.duration_s)) for number, one in enumerate(listed)]
    for place, one in enumerate(interventions):
        what, host, at_s = (_part(one, key) for key in ("do", "host", "at_s"))
        if what in ("crash", "recover") and isinstance(host, str) and isinstance(at_s, int | float):
            # interventions act after everything else in their nanosecond
            coming.append((ns(at_s), 1, place, host, what, 0))
    heapify(coming)
    down: dict[str, int] = {}  # host -> the number of its current outage
    reasons, outages = {}, 0
    while coming:
        time_ns, by_hand, place, host, what, rest = heappop(coming)
        if what == "crash" and host not in down:
            outages += 1
            down[host] = outages
            if not by_hand:
                heappush(coming, (time_ns + rest, 0, len(listed), host, "end", outages))
        elif (what == "recover" and host in down) or (what == "end" and down.get(host) == rest):
            del down[host]
        elif by_hand:
            reasons[place] = no_effect(host, what)
    return reasons


def no_effect(host: str, what: str) -> str:
    """Return why an intervention is refused that would crash a host that is down, or recover a host that is up."""
    state, other = ("down", "recover") if what == "crash" else ("up", "crash")
    return f"{host} is already {state}, so {what} has no effect; expected {other}"


def bears_losses(scenario: MobileKeys) -> bool:
    """Return whether messages that a wire loses are sent again, by connections or programs."""
    protocol = scenario.protocol
    return isinstance(protocol, RealTimePrograms) or "connections" in declaration_of(protocol).needs


def _part(one: AnyIntervention | Mapping[str, Any], key: str) -> Any:
    return one.get(key) if isinstance(one, Mapping) else getattr(one, key, None)


def strangers(scenario: MobileKeys, hosts: int) -> tuple[str, str] | None:
    """Return the first intervention that names a missing host, as (path, problem). `hosts` is the number of hosts at
    the beginning.
    """
    more = [one.at_s for one in added_hosts(scenario.interventions)]
    for place, one in enumerate(scenario.interventions):
        if not isinstance(one, OnHost) or number(one.host) < hosts:
            continue
        path = "interventions" if not more else f"interventions.{place}.host"
        count = hosts + len(more)
        if number(one.host) >= count:
            return path, f"{one.host} does not exist; {there_are(count, 'host', 'h')}"
        since_s = more[number(one.host) - hosts]
        if one.at_s <= since_s:
            return path, f"{one.host} does not exist yet at {one.at_s:g} s; an intervention adds it at {since_s:g} s"
    return None


def _link_problem(scenario: MobileKeys, sites: NDArray[np.float64], ends: tuple[int, int]) -> str | None:
    a, b = ends
    try:
        wires = links(scenario.stations.backbone, sites.tolist())
    except ValueError:
        return None  # objections() has reported this already
    if a != b and (b < len(sites) if wires is None else {(a, b), (b, a)} & set(wires)):
        return None
    if wires is None:
        there = f"all pairs of s0 to s{len(sites) - 1} have a link"
    else:
        named = [f"s{min(wire)}-s{max(wire)}" for wire in sorted(tuple(sorted(wire)) for wire in wires)]
        more = len(named) - MOST_NAMED
        there = f"the links are {', '.join(named[:MOST_NAMED])}" if named else "no two stations are linked"
        there += f" and {more} more" if more > 0 else ""
    return f"no link between s{a} and s{b}; {there}"
