"""Derive what a scenario of hosts and stations implies, before it runs.

Units     seconds, metres
Errors    ScenarioError for unusable files
Source    ours: docs/run-directory.md, docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mobilenet.engine.clock import SECOND, ns
from mobilenet.network.radio_models import model_of
from mobilenet.network.wired.tree import links
from mobilenet.scenario.ip import Ip
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.plans.expectations import Expectations
from mobilenet.scenario.plans.host_plans import plan_record
from mobilenet.scenario.plans.quiescence import Rest, rest, surely_heard_every_s
from mobilenet.scenario.plans.switches import lossy_cuts as lossy_cuts
from mobilenet.scenario.plans.switches import switches
from mobilenet.scenario.plans.wired_time import joins_after_s, longest_way, most_delay_s
from mobilenet.scenario.protocol_groups import buffers, declaration_of, delivers_to_all, promise_of
from mobilenet.scenario.real_time import RealTimePrograms
from mobilenet.world.churn import changes
from mobilenet.world.faults import outages
from mobilenet.world.interventions import Drag, Impair, ImpairLink, OfHost, OfStation, added_hosts, offers, segments
from mobilenet.world.layout import names as layout_names
from mobilenet.world.mobility import OwnMobility
from mobilenet.world.track_mobility import Tracks, import_tracks

TAKES_AWAY = ("crash", "leave", "drag", "impair")
# If fewer broadcasts than this are expected in total, it is possible that no member broadcasts.
FEW_BROADCASTS = 10.0


def declared_manifest(scenario: Scenario) -> dict[str, Any]:
    """Return the part of the manifest that is known before the run."""
    return {
        "warmup_s": scenario.warmup_s,
        "stations": scenario.station_count,
        "hosts": scenario.all_hosts,  # None if the number of tracks determines it
        **of_protocol(scenario, rest(scenario), surely_heard_every_s(scenario), False),
        "drain_s": scenario.longest_drain_s,
    }


def of_protocol(scenario: Any, at_rest: Rest, heard_s: float, duplicating_air: bool) -> dict[str, Any]:
    """Return the part of the manifest that runs of the adversary contain as well."""
    protocol = scenario.protocol
    declaration = declaration_of(protocol)
    return {
        "seed": scenario.seed,
        "protocol": protocol.name,
        "duration_s": scenario.duration_s,
        "drain_s": scenario.drain_s,
        "buffers": buffers(protocol),
        "promises": {
            "broadcast": promise_of(protocol),
            **_where_unusual(protocol),
            "gap_after_s": 0.0 if declaration.loses_at_any_time else declaration.expiry_s(protocol),
            "heard_every_s": heard_s,
            "rest_within_s": at_rest.within_s,
            "longest_wait_s": at_rest.longest_wait_s,
            "no_rest_because": at_rest.because,
            "duplicating_air": duplicating_air,
        },
    }


def _where_unusual(protocol: Any) -> dict[str, Any]:
    """Return `delivers_to_all` if its value is unusual for the order of delivery, and `raw_packets` if programs may
    create raw packets.
    """
    to_all = delivers_to_all(protocol)
    unusual = {} if to_all == (promise_of(protocol) == "causal") else {"delivers_to_all": to_all}
    return unusual | ({"raw_packets": True} if isinstance(protocol, Ip) and protocol.root else {})


def measures(scenario: Any) -> list[str]:
    """Return the traits that the protocol declares."""
    if isinstance(scenario.protocol, RealTimePrograms):
        return ["datagrams"]
    declaration = declaration_of(scenario.protocol)
    details = (declaration.details or {}).get("handoff_end")
    reported = [] if details is None else ["handoffs", *(key for key in details if not key.endswith("?"))]
    return [*reported, "lists"] if declaration.samples_lists else reported


def expectations(scenario: Scenario) -> Expectations:
    """Return the facts that the record must show."""
    mobility, tracks = scenario.hosts.mobility, None
    if isinstance(mobility, Tracks):
        end_s = ns(scenario.duration_s) / 1e9
        tracks = import_tracks(mobility, scenario.folder, end_s, scenario.anchor, scenario.seed)
    return plan_record(scenario, tracks)


def planned_deliveries(scenario: Scenario) -> NDArray[np.float64]:
    """Return the number of deliveries in each second if all hosts follow their plans and members receive everything."""
    seconds, end_ns = ceil(scenario.duration_s), ns(scenario.duration_s)
    members, sent = np.zeros(seconds), np.zeros(seconds)
    for host, plan in enumerate(expectations(scenario).hosts or ()):
        is_member = np.zeros(seconds, bool)
        for at_ns, request in plan.requests:
            is_member[at_ns // SECOND :] = request == "join"
        members += is_member
        offered = offers(scenario.workload, scenario.interventions, scenario.seed, host, 0, end_ns)
        at_s = np.array(offered, np.int64) // SECOND
        at_s = at_s[at_s < seconds]  # a time just before the end may be rounded up to it
        np.add.at(sent, at_s[is_member[at_s]], 1)
    return members * sent


def facts(
    scenario: Scenario, positions_m: list[list[float]], host_names: dict[str, str], skipped_tracks: int
) -> dict[str, Any]:
    """Return the description of the run's world for manifest.json."""
    edges = links(scenario.stations.backbone, positions_m)
    named = scenario.stations.names or layout_names(scenario.stations.layout, scenario.folder) or ()
    return {
        "range_m": model_of(scenario.wireless).cell_m,
        "payload_bytes": scenario.workload.payload_bytes,
        "station_positions_m": positions_m,
        "station_links": None if edges is None else [list(edge) for edge in edges],
        "station_names": {f"s{number}": name for number, name in enumerate(named) if name},
        "host_names": host_names,
        "skipped_tracks": skipped_tracks,
    }


def doubts(scenario: Scenario) -> Iterator[str]:
    """Yield the reasons why the verdict may be unknown."""
    if scenario.longest_drain_s < scenario.usual_drain_s:
        yield (
            f"drain_s is {scenario.longest_drain_s:g} s, so the run may end before it is at rest; without this key it"
            f" is {scenario.usual_drain_s:g} s"
        )
    yield from _silence(scenario)


def _silence(scenario: Scenario) -> Iterator[str]:
    """Yield the reasons why there may be no deliveries."""
    workload, hosts = scenario.workload, scenario.all_hosts
    if hosts is None:
        yield "the number of broadcasts is unknown until the tracks are read"
    if getattr(scenario.hosts.mobility, "area", None) is not None:
        yield "hosts may walk to places without coverage (hosts.mobility.area), where they deliver nothing"
    if isinstance(scenario.hosts.mobility, OwnMobility):
        yield "hosts may walk to places without coverage (hosts.mobility.class), where they deliver nothing"
    if scenario.own_processes:
        yield "custom processes may act on hosts (own_processes), so it is possible that nothing is delivered"
    members_s = _members_after_s(scenario)
    if members_s >= scenario.duration_s:
        yield (
            f"hosts may need {members_s:.4g} s to join, but the active part ends after {scenario.duration_s:g} s, so"
            " it is possible that nothing is delivered"
        )
    attachment, joins_s = scenario.hosts.attachment, joins_after_s(scenario)
    if attachment.error_m > attachment.nearer_m and joins_s > attachment.tick_ms / 1000:
        yield (
            f"hosts misjudge their position (hosts.attachment.error_m: {attachment.error_m:g}), so they may change"
            f" cells at each tick, and need {joins_s:.4g} s to join, so it is possible that nothing is delivered"
        )
    speed_mps: float = getattr(scenario.hosts.mobility, "speed_limit_mps", 0.0)
    if joins_s * speed_mps > model_of(scenario.wireless).cell_m:
        yield (
            f"hosts need {joins_s:.4g} s to join, but may cross half a cell in"
            f" {model_of(scenario.wireless).cell_m / speed_mps:.4g} s, so it is possible that nothing is delivered"
        )
    expected = float(sum(message.at_s >= members_s for message in workload.messages))
    if hosts is not None:
        if not workload.messages:
            expected = hosts * max(0.0, scenario.duration_s - members_s) * _least_rate_per_s(scenario)
        expected *= (
            _share_of_members(scenario, members_s)
            * _share_up(scenario, hosts)
            * _share_untouched(scenario, hosts)
            * _share_placed(scenario)
        )
        expected *= _share_joining(scenario, hosts)
    if hosts is not None and expected < FEW_BROADCASTS:
        yield (
            f"the expected number of broadcasts from members is about {expected:.2g} in total, so it is possible that"
            " none is delivered"
        )
    if scenario.most_loss == 1:
        yield "all receptions are lost (loss: 1), so it is possible that nothing is delivered"


def _members_after_s(scenario: Scenario) -> float:
    """Return the time by which all hosts that are present from the beginning may have joined. If a join needs answers
    from stations, cut links delay it.
    """
    spread_s, joins_s = getattr(scenario.protocol, "first_join_spread_s", 0.0), joins_after_s(scenario)
    held_s = 0.0
    if joins_s:
        planned = switches(scenario)
        for place, one in enumerate(planned):
            if one.event == "cut" and one.at_ns / SECOND < held_s + spread_s + joins_s:
                ends = (one.station, one.other)
                mended = (m.at_ns for m in planned[place:] if m.event == "mend" and (m.station, m.other) == ends)
                held_s = max(held_s, next(mended) / SECOND)
        held_s += 2 * longest_way(scenario) * most_delay_s(scenario, ImpairLink)
    return held_s + spread_s + joins_s


def _share_up(scenario: Scenario, hosts: int) -> float:
    """Return the average fraction of the time for which a host is up."""
    end_ns = ns(scenario.duration_s)
    down = outages(scenario.faults, scenario.seed, hosts, end_ns)
    lost_ns = sum(min(outage.lasts_ns, end_ns - outage.at_ns) for outage in down)
    return max(0.0, 1 - lost_ns / max(1, hosts * end_ns))


def _least_rate_per_s(scenario: Scenario) -> float:
    """Return the lowest rate at which a host broadcasts, including all interventions."""
    rates = [1 / one.interval_s for one in segments(scenario.interventions)]
    return min([scenario.workload.broadcasts_per_host_per_s, *rates])


def _share_of_members(scenario: Scenario, members_s: float) -> float:
    """Return the fraction of the hosts' time after `members_s` in which churn allows them to be members."""
    joins_s, end_s, present = joins_after_s(scenario), scenario.duration_s, scenario.hosts.count or 0
    plan = changes(scenario.churn, scenario.seed, present, ns(end_s))
    since = {host: members_s for host in range(present) if host not in plan.absent_at_start}
    total_s = 0.0
    for change in plan.changes:
        at_s = change.at_ns / SECOND
        if change.kind == "join":
            since[change.host] = max(members_s, at_s + joins_s)
        else:
            total_s += max(0.0, at_s - since.pop(change.host, at_s))
    begins = [*since.values(), *(max(members_s, one.at_s + joins_s) for one in added_hosts(scenario.interventions))]
    total_s += sum(max(0.0, end_s - begin_s) for begin_s in begins)
    return min(1.0, total_s / max(1e-9, (scenario.all_hosts or 0) * (end_s - members_s)))


def _share_joining(scenario: Scenario, hosts: int) -> float:
    """Return the fraction of hosts that stay up long enough to join before they crash or the run ends."""
    joins_ns = ns(joins_after_s(scenario))
    up_since_ns, joining = dict.fromkeys(range(hosts), 0), set()
    for outage in outages(scenario.faults, scenario.seed, hosts, ns(scenario.duration_s)):
        if outage.host is None:
            continue  # any host of a cell may crash
        if outage.at_ns - up_since_ns[outage.host] >= joins_ns:
            joining.add(outage.host)
        up_since_ns[outage.host] = outage.at_ns + outage.lasts_ns
    last_ns = ns(scenario.duration_s) - joins_ns
    return sum(host in joining or since <= last_ns for host, since in up_since_ns.items()) / max(1, hosts)


def _share_untouched(scenario: Scenario, hosts: int) -> float:
    """Return the fraction of hosts that interventions do not crash, send away, move or impair, and whose station keeps
    its radio on.
    """
    by_hand = scenario.interventions
    touched = {one.host for one in by_hand if isinstance(one, Drag | Impair | OfHost) and one.do in TAKES_AWAY}
    off = {one.station for one in by_hand if isinstance(one, OfStation) and one.do == "radio_off"}
    return (1 - len(touched) / max(1, hosts)) * (1 - len(off) / scenario.station_count)


def _share_placed(scenario: Scenario) -> float:
    """Return an upper bound on the fraction of assumed host positions that lie in a cell. Position errors are normally
    distributed on both axes.
    """
    error_m = scenario.hosts.attachment.error_m
    if not error_m:
        return 1.0
    return min(1.0, scenario.station_count * model_of(scenario.wireless).cell_m ** 2 / (2 * error_m**2))
