"""What somebody did to a run, in order; and the other ways that it went.

Model     a branch is a scenario with a list of interventions. Whoever goes back behind some of them and goes on begins
          another branch, with those before that time. The branch left behind stays as it was
Units     integer nanoseconds
Errors    ScenarioError, one line, for what cannot be done
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mobilenet.engine.kernel import SECOND, ns
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario
from mobilenet.scenario.yaml_writer import inline
from mobilenet.world.interventions import AnyIntervention

_WHERE = re.compile(r"^.*?\]: interventions(\.\d+)?[.:]\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Branch:
    """One way of the run. `parent`: the number of the branch that it began from, at `from_ns`."""

    number: int
    scenario: Scenario  # with its interventions
    parent: int | None = None
    from_ns: int = 0
    reached_ns: int = 0

    @property
    def interventions(self) -> tuple[AnyIntervention, ...]:
        return self.scenario.interventions

    def until(self, time_ns: int) -> list[AnyIntervention]:
        """Those that have taken effect by then."""
        return [one for one in self.interventions if ns(one.at_s) <= time_ns]

    def is_touched_at(self, time_ns: int) -> bool:
        """Whether something is done by hand at this very time."""
        return any(ns(one.at_s) == time_ns for one in self.interventions)


def seconds(time_ns: int) -> float:
    """The number of seconds that becomes this number of nanoseconds again."""
    return time_ns / SECOND


def with_list(scenario: Scenario, interventions: Sequence[AnyIntervention | Mapping[str, Any]]) -> Scenario:
    """The scenario with these interventions instead of its own, checked as if a file had said so."""
    values = [one if isinstance(one, Mapping) else one.model_dump() for one in interventions]
    plain = [{key: list(v) if isinstance(v, tuple) else v for key, v in one.items()} for one in values]
    try:
        return scenario.changed([f"interventions={inline(plain)}"])
    except ScenarioError as error:
        first = str(error).splitlines()[0]
        raise ScenarioError(_WHERE.sub("", first)) from None
