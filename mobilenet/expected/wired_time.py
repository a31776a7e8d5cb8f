"""How long the wires between stations take at most until all hosts are served, after the active part of a run, and at
least until one joins.

Model     how many messages a host needs one after the other, its protocol declares; how far each goes follows from the
          links
Units     seconds
Errors    none
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from math import ceil
from typing import Any

from mobilenet.network.wired.network import adjacency
from mobilenet.network.wired.tree import links
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.world.interventions import Cut, Impair, ImpairLink
from mobilenet.world.layout import station_positions

HEADERS_BYTES = 60  # of a message in the stream of a cell, and more than enough


def on_wires_s(scenario: Scenario, left: int) -> float:
    """The time for the handoffs of all hosts at once, each with this number of messages. The messages of one go the
    longest way one after the other, and at each station wait for those of all hosts. As wires are not overloaded, what
    one was cut for is sent within as long as it was cut. An impaired one is as fast as ever by then.
    """
    needs, hosts = declaration_of(scenario.protocol).settling, scenario.all_hosts or 0
    held_s = scenario.duration_s if any(isinstance(one, Cut) for one in scenario.interventions) else 0.0
    held_s += longest_way(scenario) * most_delay_s(scenario, ImpairLink)  # what was sent while it was impaired
    all_s = hosts * (needs.messages + needs.backlogs * left) * bits_s(scenario)
    return longest_way(scenario) * (needs.messages * message_s(scenario) + all_s) + held_s


def message_s(scenario: Scenario) -> float:
    """A message over one link, with how long a station keeps it for others to come."""
    wire = scenario.stations.backbone
    return (wire.delay_ms + wire.waits_ms) / 1e3 + bits_s(scenario)


def answer_s(scenario: Scenario) -> float:
    """A test of the failure detector from one station to any other, and the answer."""
    wire = scenario.stations.backbone
    return 2 * _ways(scenario)[1] * (wire.delay_ms / 1e3 + bits_s(scenario))


def bits_s(scenario: Scenario) -> float:
    """The time that a message takes of a wire's; over TCP, all of its segments."""
    wire, protocol, payload_bytes = scenario.stations.backbone, scenario.protocol, scenario.workload.payload_bytes
    around = 1
    if "connections" in declaration_of(protocol).needs:
        around = segments(getattr(protocol, "wired_tcp", None) or protocol.tcp, payload_bytes)
    return 8 * (payload_bytes + HEADERS_BYTES + around * wire.header_bytes) / (wire.bandwidth_mbps * 1e6)


def segment_bytes(tcp: Any) -> int:
    """The longest segment: it fits into the window."""
    return int(min(tcp.mss_bytes, tcp.window_bytes or tcp.mss_bytes))


def segments(tcp: Any, payload_bytes: int) -> int:
    """The number of segments of a message."""
    return ceil((payload_bytes + HEADERS_BYTES) / segment_bytes(tcp))


def joins_after_s(scenario: Scenario) -> float:
    """How long it takes at least until a host has joined, if all stations have to answer first: to the farthest one
    and back, from the station from which that is the shortest way.
    """
    if not declaration_of(scenario.protocol).all_stations_admit:
        return 0.0
    wire = scenario.stations.backbone
    one_s = wire.delay_ms / 1e3 + 8 * wire.header_bytes / (wire.bandwidth_mbps * 1e6)
    return 2 * one_s * _ways(scenario)[0]


def most_delay_s(scenario: Scenario, kind: type[Impair | ImpairLink]) -> float:
    """The longest additional delay of a host, or of a link."""
    return max((one.delay_s for one in scenario.interventions if isinstance(one, kind)), default=0.0)


def longest_way(scenario: Scenario) -> int:
    """Links that a message between two stations takes at most. Over VCube it goes through a station of each dimension,
    and is acknowledged the same way.
    """
    apart, count = _ways(scenario)[1], scenario.station_count
    return apart if scenario.stations.backbone.kind == "tree" else apart * 2 * (count - 1).bit_length()


def _ways(scenario: Scenario) -> tuple[int, int]:
    """How many links the farthest station is away: at least, from the one in the middle, and at most."""
    backbone, count = scenario.stations.backbone, scenario.station_count
    positions_m = station_positions(scenario.stations.layout, scenario.folder, scenario.origin).tolist()
    edges = links(backbone, positions_m)
    if edges is None:
        return min(1, count - 1), min(1, count - 1)  # all with all
    near = adjacency(edges, count)
    far, some_way = _farthest(near, 0)
    if backbone.kind == "tree":
        across = _farthest(near, far)[1]
        return (across + 1) // 2, across
    return (some_way + 1) // 2, 2 * some_way  # by way of station 0


def _farthest(near: list[list[int]], start: int) -> tuple[int, int]:
    """The station that is farthest from this one, and how many links it is away."""
    away, frontier = {start: 0}, [start]
    for at in frontier:
        for other in near[at]:
            if other not in away:
                away[other] = away[at] + 1
                frontier.append(other)
    return frontier[-1], away[frontier[-1]]
