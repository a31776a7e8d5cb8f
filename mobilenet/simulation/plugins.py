"""The plug-ins of a scenario, protocol and mobility model, as the simulation uses them.

Model     a protocol's class declares what protocols/declaration.py lists, and holds host and station; a mobility
          model's class is like one of world/mobility.py. Their settings are checked as strictly as a scenario's keys
Errors    ScenarioError, one line: a class that is not a protocol or mobility model, or whose declaration makes no sense
Source    ours: docs/guide/plug-ins.md
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.programs.cast import Cast
from mobilenet.protocols.declaration import Declaration, fill_in
from mobilenet.protocols.vcube.catalogue import new_process
from mobilenet.protocols.vcube.port import BroadcastProtocol, ProcessPort
from mobilenet.realtime.applications import Applications
from mobilenet.scenario import AnyScenario, OwnProtocol, ProcessScenario, Scenario
from mobilenet.scenario.error_messages import problems
from mobilenet.scenario.processes import OwnBroadcast
from mobilenet.scenario.protocol_groups import OwnBuffers, declaration_of
from mobilenet.scenario.yaml_reader import Node
from mobilenet.scenario.yaml_writer import inline
from mobilenet.simulation.plugin_classes import require_broadcast, require_protocol
from mobilenet.simulation.plugin_code import load_named
from mobilenet.simulation.programs import declaration_of_programs
from mobilenet.simulation.real_time import declaration_of_programs_in_real_time
from mobilenet.world.mobility import OwnMobility

# What the class of a broadcast may declare, and what holds if it does not: vcube/parameters.py explains them.
OF_A_BROADCAST = {
    "order": "none",
    "delivers": "correct_source",
    "tolerates_crashes": False,
    "tolerates_mistakes": False,
    "may_hold": None,
}


def declaration_for(
    scenario: Scenario, allow_code: bool = False, programs: Cast | Applications | None = None
) -> tuple[type[Declaration], Any]:
    """What a scenario's protocol declares, and its parameters; a plug-in's code is run, if that is allowed.
    `programs`: the cast, if the parties are programs.
    """
    protocol = scenario.protocol
    if isinstance(programs, Applications):
        return declaration_of_programs_in_real_time(programs, protocol), protocol
    if programs is not None:
        return declaration_of_programs(programs), protocol
    if not isinstance(protocol, OwnProtocol):
        return declaration_of(protocol), protocol
    declaration = fill_in(_declared_class(protocol, scenario.folder, allow_code))
    _require_sense(protocol, declaration)
    require_protocol(declaration, protocol.reference)
    if protocol.tcp is not None and "connections" not in declaration.needs:
        raise ScenarioError(
            f'protocol.tcp: {protocol.reference} has no connections; expected needs = ("connections",) in its class'
        )
    if "connections" in declaration.needs and scenario.stations.backbone.kind != "tree":
        raise ScenarioError(
            f"stations.backbone.kind: {protocol.reference} uses connections between neighbours; expected tree"
        )
    return declaration, _settings(declaration, protocol)


def mobility_for(scenario: Scenario, allow_code: bool = False) -> Any:
    """The mobility model of a scenario that brings its own; None: it has one of ours."""
    mobility = scenario.hosts.mobility
    if not isinstance(mobility, OwnMobility):
        return None
    model = load_named("hosts.mobility.class", mobility.reference, scenario.folder, allow_code)
    if not (isinstance(model, type) and issubclass(model, Parameters) and callable(getattr(model, "walk", None))):
        raise ScenarioError(
            f"hosts.mobility.class: {mobility.reference} is not a mobility model; expected a class derived from"
            " mobilenet.parameters.Parameters, with walk(ground)"
        )
    return _validate(model, mobility.settings, "hosts.mobility.settings")


def _settings(plugin: Any, protocol: OwnProtocol | OwnBroadcast) -> Parameters:
    """The scenario's protocol.settings, checked by the class's own Settings."""
    kind = getattr(plugin, "settings", None) or _NoSettings
    if not (isinstance(kind, type) and issubclass(kind, Parameters)):
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: settings is not derived from mobilenet.parameters.Parameters"
        )
    return _validate(kind, protocol.settings, "protocol.settings")


def _validate(kind: type[Parameters], settings: dict[str, Any], key: str) -> Parameters:
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        raise ScenarioError("\n".join(problems(error, _nodes(settings, key), kind))) from None


def settings_of_code(scenario: AnyScenario, allow_code: bool = False) -> dict[str, Parameters]:
    """Return the settings that a scenario gives to code of its own, by their key, as the code declares them."""
    if isinstance(scenario, ProcessScenario):
        if not isinstance(protocol := scenario.protocol, OwnBroadcast):
            return {}
        return {"protocol.settings": _settings(_broadcast_class(protocol, scenario.folder, allow_code), protocol)}
    own = declaration_for(scenario, allow_code)[1] if isinstance(scenario.protocol, OwnProtocol) else None
    known = {"protocol.settings": own, "hosts.mobility.settings": mobility_for(scenario, allow_code)}
    return {key: settings for key, settings in known.items() if settings is not None}


def plays_among_processes(key: str, reference: str, folder: Path, allow_code: bool = False) -> bool:
    """Whether a plug-in's class is a broadcast among processes, and no protocol of hosts; its code is run, if that is
    allowed.

    `key` is what an error calls the place where it was named.
    """
    plugin = load_named(key, reference, folder, allow_code)
    return callable(getattr(plugin, "broadcast", None)) and not hasattr(plugin, "host")


def broadcast_for(
    scenario: ProcessScenario, allow_code: bool = False
) -> Callable[[ProcessPort, int], BroadcastProtocol]:
    """How to make one process of a scenario's broadcast; of a plug-in its code is run, if that is allowed."""
    protocol = scenario.protocol
    if not isinstance(protocol, OwnBroadcast):
        return partial(new_process, protocol)
    plugin = _broadcast_class(protocol, scenario.folder, allow_code)
    settings = _settings(plugin, protocol)
    return lambda port, n: plugin(port, n, settings)


def _broadcast_class(protocol: OwnBroadcast, folder: Path, allow_code: bool) -> Any:
    plugin = load_named("protocol.class", protocol.reference, folder, allow_code)
    require_broadcast(plugin, protocol.reference)
    return type(plugin.__name__, (plugin, WithoutBuffers), {"__module__": plugin.__module__, "__doc__": plugin.__doc__})


class WithoutBuffers:
    """The default for a broadcast that does not declare buffers."""

    BUFFERS: tuple[str, ...] = ()

    def buffer_sizes(self) -> tuple[int, ...]:
        return ()


def _with_declared_broadcast(scenario: ProcessScenario, own: OwnBroadcast, allow_code: bool) -> ProcessScenario:
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
            f"protocol.class: {own.reference}: {problem['loc'][-1]} is {problem['input']!r}: {problem['msg']}"
        ) from None
    if scenario.crashes and not protocol.tolerates_crashes:
        raise ScenarioError(f"faults: {own.reference} does not survive crashes, according to its class")
    return scenario.model_copy(update={"protocol": protocol})


def with_declared(scenario: AnyScenario, allow_code: bool = False) -> AnyScenario:
    """Fill in what the plug-in's class declares, so that a run is judged without running its code."""
    if isinstance(scenario, ProcessScenario) and isinstance(scenario.protocol, OwnBroadcast):
        return _with_declared_broadcast(scenario, scenario.protocol, allow_code)
    if not isinstance(scenario, Scenario) or not isinstance(scenario.protocol, OwnProtocol):
        return scenario
    declared, _ = declaration_for(scenario, allow_code)
    own = scenario.protocol
    tcp = (own.tcp or TcpParameters()) if "connections" in declared.needs else None
    to_all = declared.delivers_to_all if own.delivers_to_all is None else own.delivers_to_all
    buffers = OwnBuffers(hosts=_buffers_of(declared.host), stations=_buffers_of(declared.station))
    if own.buffers not in (None, buffers):
        raise ScenarioError(
            f"protocol.buffers: the parties of {own.reference} have the buffers {inline(buffers.model_dump())};"
            " expected these buffers or null"
        )
    waits_s = own.tries_again_within_s or declared.tries_again_within_s
    updates = {"promises": own.promises or declared.promises, "delivers_to_all": to_all, "tcp": tcp, "buffers": buffers}
    record = {} if "messages" in scenario.record.model_fields_set else {"messages": True}
    changed = {
        "protocol": own.model_copy(update=updates | {"tries_again_within_s": waits_s}),
        "record": scenario.record.model_copy(update=record),
    }
    return scenario.model_copy(update=changed)


def _buffers_of(party: Any) -> tuple[str, ...]:
    return tuple(getattr(party, "BUFFERS", ()))


def _declared_class(protocol: OwnProtocol, folder: Path, allow_code: bool) -> type:
    plugin = load_named("protocol.class", protocol.reference, folder, allow_code)
    if not isinstance(plugin, type) or not all(callable(getattr(plugin, role, None)) for role in ("host", "station")):
        raise ScenarioError(
            f"protocol.class: {protocol.reference} is not a protocol; expected a class with the attributes host and"
            " station"
        )
    return plugin


def _require_sense(protocol: OwnProtocol, plugin: type[Declaration]) -> None:
    """What a plug-in declares must be something that we know."""
    if not callable(plugin.stable):
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: stable is not a class; expected one such as"
            " mobilenet.protocols.base.BaseStable"
        )
    if plugin.promises not in ("causal", "fifo", "best_effort"):
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: promises is {plugin.promises!r}, expected causal, fifo or"
            " best_effort"
        )
    if plugin.delivers_to_all not in (None, True, False):
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: delivers_to_all is {plugin.delivers_to_all!r}, expected True, False"
            " or None (None: True if promises is causal, otherwise False)"
        )
    waits_s = plugin.tries_again_within_s
    if type(waits_s) not in (int, float) or not 0 < waits_s <= 3600:
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: tries_again_within_s is {waits_s!r}, expected 0 < s <= 3600"
        )
    if not isinstance(plugin.needs, tuple) or any(need != "connections" for need in plugin.needs):
        raise ScenarioError(
            f'protocol.class: {protocol.reference}: needs is {plugin.needs!r}, expected () or ("connections",)'
        )


class _NoSettings(Parameters):
    pass


def _nodes(value: Any, key: str) -> Node:
    """As if they came from a file."""
    inside = {name: _nodes(item, key) for name, item in value.items()} if isinstance(value, dict) else value
    inside = [_nodes(item, key) for item in value] if isinstance(value, (list, tuple)) else inside
    return Node(inside, key)
