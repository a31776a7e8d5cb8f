"""Scenario files: read strictly, checked completely, written back with all defaults filled in."""

from mobilenet.parameters import ScenarioError
from mobilenet.scenario.base import effective
from mobilenet.scenario.mobile import OwnProtocol, Scenario
from mobilenet.scenario.opening import (
    AnyScenario,
    effort_beyond_this_machine,
    effort_of_drain,
    expected_effort,
    load_scenario,
)
from mobilenet.scenario.preflight import check_world
from mobilenet.scenario.processes import ProcessScenario

__all__ = [
    "AnyScenario", "OwnProtocol", "ProcessScenario", "Scenario", "ScenarioError", "check_world", "effective",
    "effort_beyond_this_machine", "effort_of_drain", "expected_effort", "load_scenario",
]  # fmt: skip
