"""What follows from a scenario before it runs, whatever kind it is.

Model     each kind of scenario has a module that answers the same four questions: hosts.py, processes.py and, for the
          schedules of the swarm, adversary.py
Errors    ScenarioError for files that cannot be used
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from mobilenet.scenario.opening import AnyScenario
from mobilenet.scenario.plans.expectations import Expectations, LossyCut, ProcessPlan

if TYPE_CHECKING:
    from mobilenet.scenario.adversary import AdversarySchedule

AnyRecorded: TypeAlias = "AnyScenario | AdversarySchedule"


def _kind(scenario: AnyRecorded) -> Any:
    """The module of its kind: imported here, since each imports what only such a run needs."""
    if scenario.kind == "processes":
        from mobilenet.scenario.plans import processes

        return processes
    if scenario.kind == "hosts":
        from mobilenet.scenario.plans import hosts

        return hosts
    from mobilenet.scenario.plans import adversary

    return adversary


def declared_manifest(scenario: AnyRecorded) -> dict[str, Any]:
    """The part of a manifest that does not depend on how the run went.

    `heard_every_s`: a reachable host is heard, and what was heard is answered, within that time almost surely.
    `gap_after_s`: a host may have a gap after this silence; 0: at any time, because its connection can be lost at
    any time; null: never. `broadcast` is null where broadcasts have no promises; of processes it is their order,
    and "none" is one.
    """
    manifest: dict[str, Any] = _kind(scenario).declared_manifest(scenario)
    return manifest


def measures(scenario: AnyRecorded) -> list[str]:
    """The traits that the protocol declares: runs with them have more metrics (metrics/declaration.py)."""
    traits: list[str] = _kind(scenario).measures(scenario)
    return traits


def derive(scenario: AnyRecorded) -> tuple[dict[str, Any], Expectations | ProcessPlan]:
    """The facts that the manifest repeats for readers, and what the record is held to."""
    facts_and_plan: tuple[dict[str, Any], Expectations | ProcessPlan] = _kind(scenario).derive(scenario)
    return facts_and_plan


def lossy_cuts(scenario: AnyRecorded) -> list[LossyCut]:
    """The cut links that break an assumption of the protocol."""
    cuts: list[LossyCut] = _kind(scenario).lossy_cuts(scenario)
    return cuts


def expectations_of(scenario: AnyRecorded) -> Expectations | ProcessPlan:
    """What the record is held to."""
    return derive(scenario)[1]


def doubts(scenario: AnyRecorded) -> list[str]:
    """Why the verdict on a run may be unknown, as far as its scenario shows it: a sentence for each reason.

    A property is unknown where nothing was delivered, where the run ends before it is at rest, and where more processes
    crash than the broadcast promises to survive.
    """
    return list(_kind(scenario).doubts(scenario))
