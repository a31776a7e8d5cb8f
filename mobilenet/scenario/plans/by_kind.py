"""What a scenario of any kind implies, before it runs.

Model     each kind of scenario has a module that answers the same questions: hosts.py, processes.py and, for the
          schedules of the swarm, adversary.py. Each is imported on first use, since it imports what only such a run
          needs
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
    """The functions that each kind has, all called with the scenario."""

    def declared_manifest(self, scenario: Any) -> dict[str, Any]:
        """Return the part of a manifest that does not depend on how the run went.

        `heard_every_s`: a reachable host is heard, and what was heard is answered, within that time almost surely.
        `gap_after_s`: a host may have a gap after this silence; 0: at any time, because its connection can be lost at
        any time; null: never. `broadcast` is null where broadcasts have no promises; of processes it is their order,
        and "none" is one.
        """

    def measures(self, scenario: Any) -> list[str]:
        """Return the traits that the protocol declares: runs with them have more metrics (metrics/declaration.py)."""

    def expectations(self, scenario: Any) -> Expectations | ProcessPlan:
        """Return what the record must show."""

    def lossy_cuts(self, scenario: Any) -> list[LossyCut]:
        """Return the cut links that break an assumption of the protocol."""

    def doubts(self, scenario: Any) -> Iterable[str]:
        """Return the reasons why the verdict on a run may be unknown, as far as its scenario shows them: a sentence for
        each.

        A property is unknown if nothing was delivered, if the run ends before it is at rest, and if more processes
        crash than the broadcast promises to survive.
        """


def plans_of(scenario: AnyRecorded) -> Plans:
    """Return the module with the plans of this kind of scenario."""
    return cast("Plans", import_module(f"mobilenet.scenario.plans.{scenario.kind}"))
