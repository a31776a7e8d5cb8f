"""Scenario files: read strictly, checked completely, written back with all defaults filled in."""

from mobilenet.parameters import ScenarioError
from mobilenet.scenario.checks import check_world, estimated_events
from mobilenet.scenario.schema import Scenario, effective

__all__ = ["Scenario", "ScenarioError", "check_world", "effective", "estimated_events"]
