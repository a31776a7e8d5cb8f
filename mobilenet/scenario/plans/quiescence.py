"""Determine what a run of hosts promises at its deadline, and how often a host within reach is certainly heard.

Model     A run continues until it is quiescent, or until drain_s is over. verify/deadline.py then judges the
          unfinished work. The protocol declares how long a node may wait before it tries again. Nothing is promised
          if nodes may give up or wait forever.
Units     seconds
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from math import ceil, log, log1p
from typing import NamedTuple

from mobilenet.network.radio_models import model_of
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.plans.expectations import NEVER_S
from mobilenet.scenario.plans.wired_time import most_delay_s, round_trip_s
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.world.interventions import Impair, Interval

UNHEARD_IS_RARER_THAN = 1e-6
OWN_KINDS = {"own": "a plug-in", "program": "a program", "datagrams": "a program", "ip": "a program"}
# fraction of one host's heartbeats that may be lost under load; verify/evidence.py uses the result only if the run lost
# few frames
LOST_UNDER_LOAD = 0.5
MOST_LOSS = 0.2  # highest random loss for which a time is promised; above it, heartbeats arrive too rarely


class Rest(NamedTuple):
    within_s: float | None = (
        None  # time limit after the active part; None: the record shows whether the run should be quiescent
    )
    longest_wait_s: float | None = None  # a waiting node tries again within this time; None: the time is not known
    because: str | None = None  # why the run does not promise to become quiescent


def rest(scenario: Scenario) -> Rest:
    """Return what a scenario of hosts promises about becoming quiescent."""
    protocol = scenario.protocol
    wait_s = scenario.longest_wait_s
    if wait_s is None:
        who = OWN_KINDS.get(protocol.name, "this protocol")
        return Rest(because=f"{who} may still act later; a longer drain_s may settle this")
    if not model_of(scenario.wireless).is_certain:
        model = scenario.wireless.model
        return Rest(because=f"wireless.model is {model}: the loss rate between two positions has no bound")
    if scenario.hosts.attachment.error_m:
        return Rest(because="hosts misjudge their position (hosts.attachment.error_m), and may be out of reach")
    objection = _objection(scenario)
    if objection is not None:
        return Rest(because=objection)
    return Rest(longest_wait_s=wait_s + most_delay_s(scenario, Impair) + round_trip_s(scenario))


def _objection(scenario: Scenario) -> str | None:
    """Return why the protocol may never become quiescent in this scenario, or None."""
    protocol, wireless = scenario.protocol, scenario.wireless
    attempts = wireless.retry_limit if wireless.mac == "dcf" else 1
    declaration = declaration_of(protocol)
    return declaration.may_not_settle(protocol, scenario.all_hosts or 0, round_trip_s(scenario), attempts)


def heard_every_s(heartbeat_s: float, loss: float, lost_anyhow: float = 0.1) -> float:
    """Return the time within which a reachable host is heard and answered, except with a probability of one in a
    million. Each heartbeat may be lost at random or, independently, in a collision (with probability `lost_anyhow`).
    """
    arrives_both_ways = ((1 - loss) * (1 - lost_anyhow)) ** 2
    if arrives_both_ways == 0:
        return NEVER_S
    return heartbeat_s * ceil(log(UNHEARD_IS_RARER_THAN) / log1p(-arrives_both_ways))


def surely_heard_every_s(scenario: Scenario) -> float:
    """Return the time within which a scenario of hosts promises that a reachable host is heard, or NEVER_S if it does
    not promise this.
    """
    protocol, wireless = scenario.protocol, scenario.wireless
    declaration = declaration_of(protocol)
    heartbeat_s = declaration.longest_heartbeat_s(protocol)
    if not heartbeat_s:
        return 0.0
    sure = model_of(wireless).surely_heard
    changes = scenario.own_processes or any(isinstance(one, Interval) for one in scenario.interventions)
    objection = _objection(scenario)
    if not sure or changes or objection is not None or scenario.most_loss > MOST_LOSS:
        return NEVER_S
    return heard_every_s(heartbeat_s, scenario.most_loss, LOST_UNDER_LOAD) + most_delay_s(scenario, Impair)
