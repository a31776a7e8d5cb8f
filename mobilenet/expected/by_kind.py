"""What follows from a scenario before it runs, whatever kind it is.

Model     each kind of scenario has a module that answers the same four questions: hosts.py, processes.py and, for the
          schedules of the swarm, adversary.py
Errors    ScenarioError for files that cannot be used
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.expected import adversary, hosts, processes, switches
from mobilenet.expected.expectations import Expectations, LossyCut, ProcessPlan
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.processes import ProcessScenario
from mobilenet.scenario.run_source import AdversarySchedule

AnyRecorded = Scenario | ProcessScenario | AdversarySchedule
KINDS: dict[type, Any] = {Scenario: hosts, ProcessScenario: processes, AdversarySchedule: adversary}


def declared_manifest(scenario: AnyRecorded) -> dict[str, Any]:
    """The part of a manifest that does not depend on how the run went.

    `heard_every_s`: a reachable host is heard, and what was heard is answered, within that time almost surely.
    `gap_after_s`: a host may have a gap after this silence; 0: at any time, because its connection can be lost at
    any time; null: never. `broadcast` is null where broadcasts have no promises; of processes it is their order,
    and "none" is one.
    """
    manifest: dict[str, Any] = KINDS[type(scenario)].declared_manifest(scenario)
    return manifest


def measures(scenario: AnyRecorded) -> list[str]:
    """The traits that the protocol declares: runs with them have more metrics (metrics/declaration.py)."""
    traits: list[str] = KINDS[type(scenario)].measures(scenario)
    return traits


def derive(scenario: AnyRecorded) -> tuple[dict[str, Any], Expectations | ProcessPlan]:
    """The facts that the manifest repeats for readers, and what the record is held to."""
    facts_and_plan: tuple[dict[str, Any], Expectations | ProcessPlan] = KINDS[type(scenario)].derive(scenario)
    return facts_and_plan


def lossy_cuts(scenario: AnyRecorded) -> list[LossyCut]:
    """The cut links that break an assumption of the protocol."""
    return switches.lossy_cuts(scenario) if isinstance(scenario, Scenario) else []


def expectations_of(scenario: AnyRecorded) -> Expectations | ProcessPlan:
    """What the record is held to."""
    return derive(scenario)[1]


def doubts(scenario: AnyRecorded) -> list[str]:
    """Why the verdict on a run may be unknown, as far as its scenario shows it: a sentence for each reason.

    A property is unknown where nothing was delivered, where the run ends before it is at rest, and where more processes
    crash than the broadcast promises to survive.
    """
    return list(KINDS[type(scenario)].doubts(scenario))
