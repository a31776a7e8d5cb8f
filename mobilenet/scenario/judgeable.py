"""Why the verdict on a run may be unknown, as far as its scenario shows it before the run.

Model     a property is unknown where nothing was delivered, where the run need not come to rest before drain_s is over,
          and where more processes crash than the broadcast promises to survive
Units     seconds
Errors    none
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterator

from mobilenet.clock import ns
from mobilenet.scenario.base import ScenarioFile
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.processes import ProcessScenario
from mobilenet.scenario.promises import declared, rest_within
from mobilenet.scenario.rest import rest
from mobilenet.world.faults import outages
from mobilenet.world.mobility import OwnMobility

FEW_BROADCASTS = 10.0  # expected in all, of which none may come at a moment when a host is a member


def doubts(scenario: ScenarioFile) -> list[str]:
    """A sentence for each reason."""
    if isinstance(scenario, ProcessScenario):
        return list(_doubts_on_processes(scenario))
    return list(_doubts_on_hosts(scenario)) if isinstance(scenario, Scenario) else []


def _doubts_on_hosts(scenario: Scenario) -> Iterator[str]:
    within_s, because = rest(scenario)
    if within_s is None:
        yield f"rest is not promised: {because}"
    elif within_s > scenario.drain_s:
        yield f"rest is promised within {within_s:.4g} s, and drain_s is {scenario.drain_s:g} s"
    yield from _silence(scenario)


def _silence(scenario: Scenario) -> Iterator[str]:
    """Why it may be that nothing is delivered."""
    workload, hosts = scenario.workload, scenario.all_hosts
    if hosts is None:
        yield "how many broadcasts are expected is known only when the tracks of hosts are read"
    if getattr(scenario.hosts.mobility, "area", None) is not None:
        yield "hosts may walk where no station reaches them (hosts.mobility.area), and deliver nothing there"
    if isinstance(scenario.hosts.mobility, OwnMobility):
        yield "hosts may walk where no station reaches them (hosts.mobility.class), and deliver nothing there"
    spread_s = getattr(scenario.protocol, "first_join_spread_s", 0.0)
    expected = float(len(workload.messages))
    if hosts is not None and not expected:
        expected = hosts * max(0.0, scenario.duration_s - spread_s) * workload.broadcasts_per_host_per_s
        expected *= _share_up(scenario, hosts)
    if hosts is not None and expected < FEW_BROADCASTS:
        yield f"about {expected:.2g} broadcasts are expected from members in all, so it may be that none is delivered"
    if scenario.most_loss == 1:
        yield "all receptions are lost (loss: 1), so it may be that nothing is delivered"


def _share_up(scenario: Scenario, hosts: int) -> float:
    """Of the time in which a host is not down, on average."""
    end_ns = ns(scenario.duration_s)
    down = outages(scenario.faults, scenario.seed, hosts, end_ns)
    lost_ns = sum(min(outage.lasts_ns, end_ns - outage.at_ns) for outage in down)
    return max(0.0, 1 - lost_ns / max(1, hosts * end_ns))


def _doubts_on_processes(scenario: ProcessScenario) -> Iterator[str]:
    promises, within, duration = declared(scenario)["promises"], rest_within(scenario), scenario.duration
    if within is None:
        yield "rest is not promised: detection may be wrong for ever, or the workload does not end"
    elif within > duration:
        yield f"rest is promised within {within:.4g} t.u., and duration is {duration:g} t.u."
    if promises["below_crashes"] is not None and scenario.crashes >= promises["below_crashes"]:
        yield f"{scenario.crashes} processes crash, and deliveries are promised below {promises['below_crashes']}"
    sources = scenario.processes if scenario.workload.sources is None else scenario.workload.sources
    if scenario.crashes >= sources or not scenario.estimated_messages():
        yield "it may be that no process broadcasts, so that nothing is delivered"
