"""Choose the broadcast protocol of a run of processes: a built-in one, or a plug-in.

Model     The class of a plug-in is called once for each process, with port, number of processes and settings
Errors    ScenarioError with one line, for a class that is not a broadcast, or whose declaration is invalid
Source    ours: docs/guide/plug-ins.md
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.protocols.vcube.parameters import BroadcastParameters
from mobilenet.protocols.vcube.port import BroadcastProtocol, ProcessPort
from mobilenet.scenario.processes import OwnBroadcast, ProcessScenario
from mobilenet.scenario.yaml_writer import inline
from mobilenet.simulation.plugin_classes import require_broadcast
from mobilenet.simulation.plugin_code import load_named, repr_of
from mobilenet.simulation.plugin_settings import settings_for

# The attributes that the class of a broadcast may declare, and their defaults. vcube/parameters.py explains them.
OF_A_BROADCAST = {
    "order": "none",
    "delivers": "correct_source",
    "tolerates_crashes": False,
    "tolerates_mistakes": False,
    "may_hold": None,
}


def plays_among_processes(key: str, reference: str, folder: Path, allow_code: bool = False) -> bool:
    """Return whether a plug-in's class is a broadcast among processes, rather than a protocol of hosts. Run its code if
    that is allowed.

    `key` is the scenario key that error messages name.
    """
    plugin = load_named(key, reference, folder, allow_code)
    return callable(getattr(plugin, "broadcast", None)) and not hasattr(plugin, "host")


def broadcast_for(
    scenario: ProcessScenario, allow_code: bool = False
) -> Callable[[ProcessPort, int], BroadcastProtocol]:
    """Return a function that creates one process of the scenario's broadcast. Run the code of a plug-in if that is
    allowed.
    """
    protocol = scenario.protocol
    if isinstance(protocol, BroadcastParameters):
        return protocol.create
    assert isinstance(protocol, OwnBroadcast)  # parties.py is responsible for programs
    plugin = _broadcast_class(protocol, scenario.folder, allow_code)
    settings = settings_for(plugin, protocol)
    return lambda port, n: plugin(port, n, settings)


def _broadcast_class(protocol: OwnBroadcast, folder: Path, allow_code: bool) -> Any:
    plugin = load_named("protocol.class", protocol.reference, folder, allow_code)
    require_broadcast(plugin, protocol.reference)
    return type(plugin.__name__, (plugin, WithoutBuffers), {"__module__": plugin.__module__, "__doc__": plugin.__doc__})


class WithoutBuffers:
    """The base class for a broadcast that does not declare any buffers."""

    BUFFERS: tuple[str, ...] = ()

    def buffer_sizes(self) -> tuple[int, ...]:
        return ()


def with_declared(scenario: ProcessScenario, allow_code: bool = False) -> ProcessScenario:
    """Copy the declarations of the plug-in's class into the scenario, so that a run can be judged later without running
    its code.
    """
    own = scenario.protocol
    if not isinstance(own, OwnBroadcast):
        return scenario
    plugin = _broadcast_class(own, scenario.folder, allow_code)
    declared = {name: getattr(plugin, name, default) for name, default in OF_A_BROADCAST.items()}
    declared["buffers"] = plugin.BUFFERS
    if own.buffers not in (None, plugin.BUFFERS):
        raise ScenarioError(
            f"protocol.buffers: {own.reference} has the buffers {inline(list(plugin.BUFFERS))}; expected these buffers"
            " or null"
        )
    values = {name: value if getattr(own, name) is None else getattr(own, name) for name, value in declared.items()}
    try:
        protocol = OwnBroadcast.model_validate({**own.model_dump(), **values})
    except ValidationError as error:
        problem = error.errors()[0]
        raise ScenarioError(
            f"protocol.class: {own.reference}: {problem['loc'][-1]} is {repr_of(problem['input'])}: {problem['msg']}"
        ) from None
    if scenario.crashes and not protocol.tolerates_crashes:
        raise ScenarioError(f"faults: {own.reference} does not survive crashes, according to its class")
    record = {} if "causes" in scenario.record.model_fields_set else {"causes": True}
    changed = {"protocol": protocol, "record": scenario.record.model_copy(update=record)}
    return scenario.model_copy(update=changed)


def settings_of_code(scenario: ProcessScenario, allow_code: bool = False) -> dict[str, Parameters]:
    """Return the settings that a scenario passes to its own code, as the code declares them. The result is indexed by
    key.
    """
    if not isinstance(protocol := scenario.protocol, OwnBroadcast):
        return {}
    return {"protocol.settings": settings_for(_broadcast_class(protocol, scenario.folder, allow_code), protocol)}
