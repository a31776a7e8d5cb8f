"""Compute the distance between stations on the wires, in links and in seconds.

Units     seconds
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from mobilenet.network.wired.network import adjacency
from mobilenet.network.wired.tree import links
from mobilenet.scenario.mobile import HEADERS_BYTES, Scenario
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.world.interventions import Impair, ImpairLink
from mobilenet.world.layout import station_positions


def round_trip_s(scenario: Scenario) -> float:
    """Return the round-trip time to the farthest station on idle wires without impairments."""
    wire, payload_bytes = scenario.stations.backbone, scenario.workload.payload_bytes
    bits_s = 8 * (payload_bytes + HEADERS_BYTES + wire.header_bytes) / (wire.bandwidth_mbps * 1e6)
    return 2 * longest_way(scenario) * ((wire.delay_ms + wire.waits_ms) / 1e3 + bits_s)


def joins_after_s(scenario: Scenario) -> float:
    """Return the shortest time in which a host can join if all stations have to answer first. It is the round trip from
    the most central station to the station farthest from it.
    """
    if not declaration_of(scenario.protocol).all_stations_admit:
        return 0.0
    wire = scenario.stations.backbone
    one_s = wire.delay_ms / 1e3 + 8 * wire.header_bytes / (wire.bandwidth_mbps * 1e6)
    return 2 * one_s * _ways(scenario)[0]


def most_delay_s(scenario: Scenario, kind: type[Impair | ImpairLink]) -> float:
    """Return the longest additional delay that interventions cause for a host or for a link."""
    return max((one.delay_s for one in scenario.interventions if isinstance(one, kind)), default=0.0)


def longest_way(scenario: Scenario) -> int:
    """Return the largest number of links that a message between two stations crosses. Over VCube it passes through one
    station of each dimension, and its acknowledgement takes the same path.
    """
    apart, count = _ways(scenario)[1], scenario.station_count
    return apart if scenario.stations.backbone.kind == "tree" else apart * 2 * (count - 1).bit_length()


def _ways(scenario: Scenario) -> tuple[int, int]:
    """Return the number of links to the farthest station: first from the most central station, then from the least
    central.
    """
    backbone, count = scenario.stations.backbone, scenario.station_count
    positions_m = station_positions(scenario.stations.layout, scenario.folder, scenario.anchor).tolist()
    edges = links(backbone, positions_m)
    if edges is None:
        return min(1, count - 1), min(1, count - 1)  # a full mesh
    near = adjacency(edges, count)
    far, some_way = _farthest(near, 0)
    if backbone.kind == "tree":
        across = _farthest(near, far)[1]
        return (across + 1) // 2, across
    return (some_way + 1) // 2, 2 * some_way  # estimated from paths through station 0


def _farthest(near: list[list[int]], start: int) -> tuple[int, int]:
    """Return the station that is farthest from this one, and how many links away it is."""
    away, frontier = {start: 0}, [start]
    for at in frontier:
        for other in near[at]:
            if other not in away:
                away[other] = away[at] + 1
                frontier.append(other)
    return frontier[-1], away[frontier[-1]]
