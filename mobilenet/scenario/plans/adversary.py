"""Derive what a schedule of the swarm's adversary implies, before it is played.

Model     Hosts, crashes and positions are not known, because scenario.yaml does not repeat the actions of a schedule
Units     seconds
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.engine.clock import ns
from mobilenet.scenario.adversary import AdversarySchedule
from mobilenet.scenario.plans.expectations import Expectations, LossyCut
from mobilenet.scenario.plans.host_plans import known_protocol
from mobilenet.scenario.plans.hosts import measures as measures
from mobilenet.scenario.plans.hosts import of_protocol
from mobilenet.scenario.plans.quiescence import Rest, heard_every_s
from mobilenet.scenario.protocol_groups import declaration_of


def declared_manifest(scenario: AdversarySchedule) -> dict[str, Any]:
    """Return the part of the manifest that is known before the run."""
    air, protocol = scenario.air, scenario.protocol
    loss, late_s = 1 - (1 - air.loss) * (1 - air.drop), (air.late_ns if air.late else air.delay_ns) / 1e9
    heard_s = heard_every_s(declaration_of(protocol).longest_heartbeat_s(protocol), loss) + late_s
    at_rest = Rest(because="a plug-in may still act") if protocol.name == "own" else Rest(scenario.drain_s)
    return {
        "warmup_s": 0.0,
        "stations": scenario.stations,
        "hosts": scenario.hosts,
        **of_protocol(scenario, at_rest, heard_s, True),
    }


def expectations(scenario: AdversarySchedule) -> Expectations:
    """Return the facts that the record must show."""
    return Expectations(ns(scenario.duration_s), known_protocol(scenario.protocol))


def lossy_cuts(scenario: AdversarySchedule) -> list[LossyCut]:
    """Return an empty list, because schedules do not contain interventions that cut links."""
    return []


def doubts(scenario: AdversarySchedule) -> list[str]:
    """Return an empty list, because every node has settled before the run ends."""
    return []
