"""Scenario files, which are read strictly, checked completely, and written back with all defaults.

Model     The keys of a kind of scenario are imported when the first such scenario is read, because declaring the keys
          takes longer than many runs
"""

from typing import TYPE_CHECKING, Any

from mobilenet.parameters import ScenarioError
from mobilenet.scenario.base import effective
from mobilenet.scenario.loader import AnyScenario, load_scenario

if TYPE_CHECKING:
    from mobilenet.scenario.mobile import OwnProtocol, Scenario
    from mobilenet.scenario.preflight import check_world
    from mobilenet.scenario.processes import ProcessScenario

__all__ = [
    "AnyScenario", "OwnProtocol", "ProcessScenario", "Scenario", "ScenarioError", "check_world", "effective",
    "load_scenario",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "ProcessScenario":
        from mobilenet.scenario.processes import ProcessScenario

        return ProcessScenario
    if name not in __all__:
        raise AttributeError(f"module 'mobilenet.scenario' has no attribute {name!r}")
    from mobilenet.scenario import mobile, preflight

    return getattr(preflight if name == "check_world" else mobile, name)
