"""What plug-ins a scenario has: its protocol, its mobility model, as the simulation uses them.

Model     a protocol's class declares what protocols/declaration.py lists, and holds host and station; a mobility
          model's class is like one of world/mobility.py. Their settings are checked as strictly as a scenario's keys
Errors    ScenarioError, one line: what is no protocol, or no mobility model, or declares what makes no sense
Source    ours: docs/guide/plug-ins.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.protocols.declaration import Declaration, filled_in
from mobilenet.scenario import AnyScenario, OwnProtocol, Scenario
from mobilenet.scenario.error_messages import problems
from mobilenet.scenario.protocol_groups import declaration_of
from mobilenet.scenario.yaml_reader import Node
from mobilenet.simulation.plugin_code import named
from mobilenet.world.mobility import OwnMobility


def declaration_for(scenario: Scenario) -> tuple[type[Declaration], Any]:
    """What a scenario's protocol declares, and its parameters; of a plug-in its code is run."""
    protocol = scenario.protocol
    if not isinstance(protocol, OwnProtocol):
        return declaration_of(protocol), protocol
    found = filled_in(_declared_class(protocol, scenario.folder))
    settings = getattr(found, "settings", None)
    if settings is None:
        settings = _NoSettings
    if not (isinstance(settings, type) and issubclass(settings, Parameters)):
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: settings is no class derived from mobilenet.parameters.Parameters"
        )
    _require_sense(protocol, found)
    if protocol.tcp is not None and "connections" not in found.needs:
        raise ScenarioError(
            f'protocol.tcp: {protocol.reference} has no connections; expected needs = ("connections",) in its class'
        )
    if "connections" in found.needs and scenario.stations.backbone.kind != "tree":
        raise ScenarioError(
            f"stations.backbone.kind: {protocol.reference} has connections between neighbours: expected tree"
        )
    return found, _validated(settings, protocol.settings, "protocol.settings")


def mobility_for(scenario: Scenario) -> Any:
    """The mobility model of a scenario that brings its own; None: it has one of ours."""
    mobility = scenario.hosts.mobility
    if not isinstance(mobility, OwnMobility):
        return None
    found = named("hosts.mobility.class", mobility.reference, scenario.folder)
    if not (isinstance(found, type) and issubclass(found, Parameters) and callable(getattr(found, "walk", None))):
        raise ScenarioError(
            f"hosts.mobility.class: {mobility.reference} is no mobility model: expected a class derived from"
            " mobilenet.parameters.Parameters, with walk(ground)"
        )
    return _validated(found, mobility.settings, "hosts.mobility.settings")


def _validated(kind: type[Parameters], settings: dict[str, Any], key: str) -> Parameters:
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        raise ScenarioError("\n".join(problems(error, _nodes(settings, key), kind))) from None


def with_declared(scenario: AnyScenario) -> AnyScenario:
    """The same, with what its plug-in's class declares filled in, so that a run is judged without running its code."""
    if not isinstance(scenario, Scenario) or not isinstance(scenario.protocol, OwnProtocol):
        return scenario
    declared, _ = declaration_for(scenario)
    own = scenario.protocol
    tcp = (own.tcp or TcpParameters()) if "connections" in declared.needs else None
    protocol = own.model_copy(update={"promises": own.promises or declared.promises, "tcp": tcp})
    return scenario.model_copy(update={"protocol": protocol})


def _declared_class(protocol: OwnProtocol, folder: Path) -> type:
    found = named("protocol.class", protocol.reference, folder)
    if not isinstance(found, type) or not all(callable(getattr(found, role, None)) for role in ("host", "station")):
        raise ScenarioError(
            f"protocol.class: {protocol.reference} is no protocol: expected a class with the attributes host and"
            " station"
        )
    return found


def _require_sense(protocol: OwnProtocol, found: type[Declaration]) -> None:
    """What a plug-in declares must be something that we know."""
    if not callable(found.stable):
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: stable is no class; expected one such as"
            " mobilenet.protocols.base.BaseStable"
        )
    if found.promises not in ("causal", "best_effort"):
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: promises is {found.promises!r}, expected causal or best_effort"
        )
    if not isinstance(found.needs, tuple) or any(need != "connections" for need in found.needs):
        raise ScenarioError(
            f'protocol.class: {protocol.reference}: needs is {found.needs!r}, expected () or ("connections",)'
        )


class _NoSettings(Parameters):
    pass


def _nodes(value: Any, key: str) -> Node:
    """As if they came from a file."""
    inside = {name: _nodes(item, key) for name, item in value.items()} if isinstance(value, dict) else value
    inside = [_nodes(item, key) for item in value] if isinstance(value, (list, tuple)) else inside
    return Node(inside, key)
