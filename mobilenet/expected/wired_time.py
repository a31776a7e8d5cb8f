"""How long the wires between stations take at most until all hosts are served, after the active part of a run.

Model     how many messages a host needs one after the other, its protocol declares; how far each goes, the links say
Units     seconds
Errors    none
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from mobilenet.network.wired.network import adjacency
from mobilenet.network.wired.tree import links
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.world.interventions import Cut
from mobilenet.world.layout import station_positions

HEADERS_BYTES = 60  # of a message in the stream of a cell, and more than enough


def on_wires_s(scenario: Scenario, left: int) -> float:
    """For the handoffs of all hosts at once, each of which hands over so many messages. The messages of one go the
    longest way one after the other, and at each station wait for those of all hosts. As wires are not overloaded, what
    one was cut for is sent within as long as it was cut.
    """
    wire, needs, hosts = scenario.stations.backbone, declaration_of(scenario.protocol).settling, scenario.all_hosts or 0
    hops = _longest_way(scenario)
    bits = 8 * (scenario.workload.payload_bytes + HEADERS_BYTES + wire.header_bytes)
    held_s = scenario.duration_s if any(isinstance(one, Cut) for one in scenario.interventions) else 0.0
    one_s = (wire.delay_ms + wire.waits_ms) / 1e3 + bits / (wire.bandwidth_mbps * 1e6)
    all_s = hosts * (needs.messages + needs.backlogs * left) * bits / (wire.bandwidth_mbps * 1e6)
    return hops * (needs.messages * one_s + all_s) + held_s


def _longest_way(scenario: Scenario) -> int:
    """Links that a message between two stations takes at most. Over VCube it goes through a station of each dimension,
    and is acknowledged the same way.
    """
    backbone, count = scenario.stations.backbone, scenario.station_count
    positions_m = station_positions(scenario.stations.layout, scenario.folder, scenario.origin).tolist()
    edges = links(backbone, positions_m)
    apart = min(1, count - 1)  # all with all
    if edges is not None:
        near = adjacency(edges, count)
        far, _ = _farthest(near, 0)
        ways = [_farthest(near, one)[1] for one in (0, far)]
        apart = ways[1] if backbone.kind == "tree" else 2 * ways[0]  # by way of station 0
    return apart if backbone.kind == "tree" else apart * 2 * (count - 1).bit_length()


def _farthest(near: list[list[int]], start: int) -> tuple[int, int]:
    """The station that is farthest from this one, and how many links it is away."""
    away, frontier = {start: 0}, [start]
    for at in frontier:
        for other in near[at]:
            if other not in away:
                away[other] = away[at] + 1
                frontier.append(other)
    return frontier[-1], away[frontier[-1]]
