"""Choose the code that prepares a run of either kind. Each kind imports only the modules that it needs.

Errors    ScenarioError, in one line, if a plug-in lacks something that the scenario requires.
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilenet.parameters import Parameters
from mobilenet.scenario import AnyScenario

if TYPE_CHECKING:
    from mobilenet.simulation.invariants.checks import Checks
    from mobilenet.simulation.mobile import Simulation
    from mobilenet.simulation.parties import RealTime
    from mobilenet.simulation.processes.experiment import Experiment


def _plugins(scenario: AnyScenario) -> Any:
    if scenario.kind == "processes":
        from mobilenet.simulation.processes import plugins as of_processes

        return of_processes
    from mobilenet.simulation import plugins

    return plugins


def with_declared(scenario: AnyScenario, allow_code: bool = False) -> AnyScenario:
    """Copy the declarations of the plug-in's class into the scenario, so that a run can be judged later without running
    the plug-in.
    """
    filled_in: AnyScenario = _plugins(scenario).with_declared(scenario, allow_code)
    return filled_in


def settings_of_code(scenario: AnyScenario, allow_code: bool = False) -> dict[str, Parameters]:
    """Return the settings of a scenario's custom code by key, validated as that code declares them."""
    settings: dict[str, Parameters] = _plugins(scenario).settings_of_code(scenario, allow_code)
    return settings


def builder(
    scenario: Any, allow_code: bool, run_folder: Path | None, real_time: RealTime | None, checks: Checks | None
) -> Callable[[], Simulation | Experiment]:
    """Return a function that builds a run, ready to begin. The arguments have the same meaning as in api.simulate."""
    if scenario.kind == "processes":
        from mobilenet.simulation.processes.experiment import Experiment

        hooks = (None, None) if checks is None else checks.hooks
        return partial(Experiment, scenario, *hooks, allow_code=allow_code, run_folder=run_folder)
    from mobilenet.simulation.mobile import Simulation

    return partial(Simulation, scenario, allow_code, run_folder, real_time)


def new_checks(scenario: Any) -> Checks:
    """Return mobilenet's checks of itself for this kind of run. They are imported only if they are used."""
    from mobilenet.simulation.invariants.checks import ChecksOfHosts, ChecksOfProcesses

    return ChecksOfProcesses(scenario) if scenario.kind == "processes" else ChecksOfHosts()
