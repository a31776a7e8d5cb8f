"""Derive what a scenario of any kind implies before it runs.

Model     Each kind of scenario has a module with the same functions: hosts.py, processes.py and, for the schedules of
          the swarm, adversary.py. Modules are imported on first use, because each imports what only such runs need.
Errors    ScenarioError for files that cannot be used
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from mobilenet.scenario.loader import AnyScenario
from mobilenet.scenario.plans.expectations import Expectations, LossyCut, ProcessPlan

if TYPE_CHECKING:
    from mobilenet.scenario.adversary import AdversarySchedule

AnyRecorded: TypeAlias = "AnyScenario | AdversarySchedule"


class Plans(Protocol):
    """The functions that the module of each kind of scenario provides."""

    def declared_manifest(self, scenario: Any) -> dict[str, Any]:
        """Return the part of a manifest that does not depend on how the run went.

        A reachable host is almost certainly heard and answered within `heard_every_s`. A host may miss messages after a
        silence of `gap_after_s`, which is 0 if connections can be lost at any time, and null if there are never gaps.
        `broadcast` is null if nothing is promised about broadcasts. For processes it is the order of delivery, which
        may be "none".
        """

    def measures(self, scenario: Any) -> list[str]:
        """Return the traits that the protocol declares. Each trait adds metrics to the runs
        (metrics/declaration.py).
        """

    def expectations(self, scenario: Any) -> Expectations | ProcessPlan:
        """Return the facts that the record must show."""

    def lossy_cuts(self, scenario: Any) -> list[LossyCut]:
        """Return the cut links that break an assumption of the protocol."""

    def doubts(self, scenario: Any) -> Iterable[str]:
        """Return the reasons, visible in the scenario, why the verdict on a run may be unknown. Each is one sentence.

        A property is unknown if there was no delivery, if the run ends before it is quiescent, or if more processes
        crash than the broadcast promises to survive.
        """


def plans_of(scenario: AnyRecorded) -> Plans:
    """Return the module for this kind of scenario."""
    return cast("Plans", import_module(f"mobilenet.scenario.plans.{scenario.kind}"))
