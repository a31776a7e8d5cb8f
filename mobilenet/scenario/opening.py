"""Any kind of scenario, by what is in the file.

Errors    ScenarioError, one line for each problem
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mobilenet.scenario import preflight
from mobilenet.scenario.base import read
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.processes import ProcessScenario

AnyScenario = Scenario | ProcessScenario


def load_scenario(path: str | Path, overrides: Sequence[str] = ()) -> AnyScenario:
    """A file with the key `processes` is a scenario of processes, any other one of stations and hosts."""
    path = Path(path)
    root = read(path)
    kind = ProcessScenario if isinstance(root.value, dict) and "processes" in root.value else Scenario
    return kind.from_nodes(root, overrides, path.parent)


def estimated_events(scenario: AnyScenario) -> int:
    """How big the run is likely to be."""
    if isinstance(scenario, ProcessScenario):
        return scenario.estimated_events()
    return preflight.estimated_events(scenario)
