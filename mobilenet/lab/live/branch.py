"""Manage the branches of a run, each with its interventions in order.

Model     A branch is a scenario with a list of interventions. If the user rewinds to a time before some of them and
          continues, a new branch starts with the interventions up to that time. The previous branch does not change
Units     integer nanoseconds
Errors    ScenarioError with one line if a request cannot be carried out
Source    ours: docs/guide/live.md
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from mobilenet.engine.clock import SECOND, ns
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import cut
from mobilenet.scenario import Scenario
from mobilenet.scenario.interventions_check import without_effect
from mobilenet.scenario.loader import plain_values
from mobilenet.scenario.yaml_reader import Node, parse_value
from mobilenet.scenario.yaml_writer import inline
from mobilenet.world.interventions import AnyIntervention, in_order

HERE = "by hand"  # the origin of a manual intervention, in error messages
LONGEST_S = 1e7  # maximum length of a run, in seconds
MOST = 5_000  # maximum number of interventions in a scenario file
_WHERE = re.compile(rf"^{HERE}: (interventions(\.\d+)?[.:] *)?")
_KEY = re.compile(r"[a-z_]{1,20}")


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of the run. It started at the time `from_ns` of the branch with the number `parent`."""

    number: int
    scenario: Scenario  # contains the interventions of the branch
    parent: int | None = None
    from_ns: int = 0
    reached_ns: int = 0

    @property
    def interventions(self) -> tuple[AnyIntervention, ...]:
        return self.scenario.interventions

    def interventions_until(
        self, scenario_interventions: Sequence[AnyIntervention], to_ns: int | None
    ) -> list[AnyIntervention]:
        """Return `scenario_interventions` and the manual interventions up to `to_ns`, in order. If `to_ns` is None,
        include all manual interventions.
        """
        earlier = [one for one in self.interventions if to_ns is None or ns(one.at_s) <= to_ns]
        return in_order([*scenario_interventions, *(one for one in earlier if one not in scenario_interventions)])


def seconds(time_ns: int) -> float:
    """Return a number of seconds that converts back to exactly this number of nanoseconds."""
    return time_ns / SECOND


def instant_ns(what: str, time_s: float) -> int:
    """Check a time from a command, and return it in nanoseconds. Raise ScenarioError if it is not a valid time."""
    if not isinstance(time_s, Real) or not 0 <= time_s <= LONGEST_S:
        raise ScenarioError(f"{what}: got {cut(repr(time_s), 40)}, expected a time from 0 to {LONGEST_S:g} s")
    return ns(float(time_s))


def untouched_ns(interventions: Sequence[AnyIntervention], time_ns: int) -> int:
    """Return the first time from `time_ns` on at which there is no intervention."""
    taken = {ns(one.at_s) for one in interventions}
    while time_ns in taken:
        time_ns += 1
    return time_ns


def with_list(scenario: Scenario, interventions: Sequence[AnyIntervention | Mapping[str, Any]]) -> Scenario:
    """Return the scenario with this list of interventions, checked like a scenario file. Remove earlier interventions
    that no longer have an effect. Raise ScenarioError for a new one without an effect.
    """
    idle = without_effect(scenario, interventions)
    interventions = [one for place, one in enumerate(interventions) if isinstance(one, Mapping) or place not in idle]
    if len(interventions) > MOST:
        raise ScenarioError(f"there are already {MOST} interventions, and a scenario cannot contain more")
    try:
        return scenario.with_nodes({"interventions": Node([_node(one) for one in interventions], HERE)})
    except ScenarioError as error:
        first = str(error).splitlines()[0]
        raise ScenarioError(_WHERE.sub("", first)) from None


def check_request(what: Mapping[str, Any]) -> dict[str, Any]:
    """Return the requested intervention, which does not have a time yet. Raise ScenarioError for invalid keys."""
    for key in what:
        if key == "at_s":
            raise ScenarioError(
                "at_s: an intervention takes effect now, so leave at_s out; for an earlier time, go back first"
            )
        if not _KEY.fullmatch(key):
            raise ScenarioError(f"{cut(repr(key), 60)}: unknown key; expected a key of an intervention")
    return dict(what)


def _node(one: AnyIntervention | Mapping[str, Any]) -> Node:
    """Return the intervention in the form that the reader of scenarios produces."""
    if isinstance(one, Mapping):
        return parse_value(inline(plain_values(one, HERE)), HERE)
    return Node.of(one.model_dump(), HERE)


def plain(one: AnyIntervention | Mapping[str, Any]) -> dict[str, Any]:
    """Return the intervention as plain values, as in a scenario file."""
    values = one if isinstance(one, Mapping) else one.model_dump()
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def require_same(own: Mapping[str, list[Any]], directory: Path) -> None:
    """Raise ScenarioError unless a run from the beginning starts with the same events as its session."""
    from mobilenet.record.reader import read_coded

    events = read_coded(directory, "events")
    count = len(own["time_ns"])
    differing = [name for name, column in own.items() if list(events[name][:count]) != column]
    if differing:
        raise ScenarioError(
            f"{directory}: the events of the run differ from those of the session (column {differing[0]});"
            " this is a bug: please report it with the scenario in that directory"
        )
