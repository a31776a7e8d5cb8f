"""Scenario files: read strictly, checked completely, written back with all defaults filled in."""

from mobilenet.parameters import ScenarioError
from mobilenet.scenario.checks import check_world
from mobilenet.scenario.file import effective
from mobilenet.scenario.loading import AnyScenario, estimated_events, load_scenario
from mobilenet.scenario.processes import ProcessScenario
from mobilenet.scenario.schema import OwnProtocol, Scenario

__all__ = [
    "AnyScenario", "OwnProtocol", "ProcessScenario", "Scenario", "ScenarioError", "check_world", "effective", "estimated_events", "load_scenario",
]  # fmt: skip
