"""How much the hosts of a scenario broadcast, how much of it a host may have missed, and how many hosts share a cell.

Units     messages, seconds
Errors    none
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

from math import ceil, sqrt

from mobilenet.clock import SECOND, ns
from mobilenet.network.radio.links import cell_m
from mobilenet.scenario.mobile import Scenario
from mobilenet.world.faults import outages

UNUSUAL = 6  # standard deviations of a Poisson number that are never exceeded


def at_most(mean: float) -> int:
    """A Poisson number of that mean."""
    return ceil(mean + UNUSUAL * sqrt(mean))


def messages_per_s(scenario: Scenario, hosts: int) -> float:
    """Return the rate at which all hosts together broadcast."""
    workload = scenario.workload
    return max(hosts * workload.broadcasts_per_host_per_s, len(workload.messages) / scenario.duration_s)


def all_messages(scenario: Scenario, hosts: int) -> int:
    """The number of messages in the whole run."""
    return len(scenario.workload.messages) or at_most(scenario.duration_s * messages_per_s(scenario, hosts))


def messages_missed(scenario: Scenario, hosts: int) -> int:
    """How many messages hosts may have missed that were away. A list of messages may be one burst at the end."""
    if scenario.workload.messages:
        return len(scenario.workload.messages)
    return at_most(_longest_absence_s(scenario, hosts) * messages_per_s(scenario, hosts))


def crowd(scenario: Scenario, hosts: int) -> int:
    """Hosts of the fullest cell: all of them, where an area may lie in one."""
    if getattr(scenario.hosts.mobility, "area", None) is not None:
        return hosts
    return min(hosts, 3 * ceil(hosts / scenario.station_count))


def comes_per_s(scenario: Scenario, hosts: int) -> float:
    """How often hosts come to a station, or leave for good: a walking host changes cells about as often as
    it walks the radius of one; one that left joins again, and one that crashed recovers.
    """
    speed_mps: float = getattr(scenario.hosts.mobility, "speed_limit_mps", 0.0)
    churn, crashes = scenario.churn, len(outages(scenario.faults, scenario.seed, hosts, ns(scenario.duration_s)))
    listed = 0 if churn is None else len(churn.changes)
    leaves_per_s = 0.0 if churn is None else churn.leave_rate_per_host_per_min / 60
    each_per_s = speed_mps / cell_m(scenario.wireless) + 2 * leaves_per_s
    return hosts * each_per_s + (listed + crashes) / scenario.duration_s


def are_away_while_up(scenario: Scenario) -> bool:
    """Whether hosts may broadcast out of reach of all stations: by hand, or where an area has holes."""
    return bool(scenario.interventions) or getattr(scenario.hosts.mobility, "area", None) is not None


def _longest_absence_s(scenario: Scenario, hosts: int) -> float:
    """For how long a host may have been away while others broadcast."""
    duration_s = scenario.duration_s
    if are_away_while_up(scenario):
        return duration_s
    down = outages(scenario.faults, scenario.seed, hosts, ns(duration_s))
    return min(duration_s, max((outage.lasts_ns for outage in down), default=0) / SECOND)
