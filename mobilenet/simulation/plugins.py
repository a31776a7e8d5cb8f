"""Load the plug-ins of a run of hosts and stations: a protocol or a mobility model.

Model     The class of a protocol contains the declarations that protocols/declaration.py lists, and the classes of
          host and station. The class of a mobility model resembles those of world/mobility.py. Settings are checked
          as strictly as keys.
Errors    ScenarioError with one line, for a class of the wrong kind, or for an invalid declaration
Source    ours: docs/guide/plug-ins.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.protocols.declaration import Declaration, fill_in
from mobilenet.scenario.mobile import OwnProtocol, Scenario
from mobilenet.scenario.protocol_groups import OwnBuffers, declaration_of
from mobilenet.scenario.yaml_writer import inline
from mobilenet.simulation.parties import Parties
from mobilenet.simulation.plugin_classes import require_protocol
from mobilenet.simulation.plugin_code import load_named, repr_of
from mobilenet.simulation.plugin_settings import settings_for, validate
from mobilenet.world.mobility import OwnMobility


def declaration_for(
    scenario: Scenario, allow_code: bool = False, parties: Parties | None = None
) -> tuple[type[Declaration], Any]:
    """Return a scenario's protocol declaration and its parameters. The code of a plug-in is run if that is allowed.
    `parties` are the parties of the run, if it has any.
    """
    protocol = scenario.protocol
    if parties is not None and (declared := parties.declaration(protocol)) is not None:
        return declared, protocol
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
    return declaration, settings_for(declaration, protocol)


def mobility_for(scenario: Scenario, allow_code: bool = False) -> Any:
    """Return the mobility model that comes with a scenario, or None if the scenario uses a built-in model."""
    mobility = scenario.hosts.mobility
    if not isinstance(mobility, OwnMobility):
        return None
    model = load_named("hosts.mobility.class", mobility.reference, scenario.folder, allow_code)
    if not (isinstance(model, type) and issubclass(model, Parameters) and callable(getattr(model, "walk", None))):
        raise ScenarioError(
            f"hosts.mobility.class: {mobility.reference} is not a mobility model; expected a class derived from"
            " mobilenet.parameters.Parameters, with walk(ground)"
        )
    return validate(model, mobility.settings, "hosts.mobility.settings")


def with_declared(scenario: Scenario, allow_code: bool = False) -> Scenario:
    """Copy the declarations of the plug-in's class into the scenario, so that a run can be judged later without running
    its code.
    """
    own = scenario.protocol
    if not isinstance(own, OwnProtocol):
        return scenario
    declared, _ = declaration_for(scenario, allow_code)
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


def settings_of_code(scenario: Scenario, allow_code: bool = False) -> dict[str, Parameters]:
    """Return the settings that a scenario passes to its own code, as the code declares them. The result is indexed by
    key.
    """
    own = declaration_for(scenario, allow_code)[1] if isinstance(scenario.protocol, OwnProtocol) else None
    known = {"protocol.settings": own, "hosts.mobility.settings": mobility_for(scenario, allow_code)}
    return {key: settings for key, settings in known.items() if settings is not None}


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
    """Require that the values that a plug-in declares are valid."""
    if not callable(plugin.stable):
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: stable is not a class; expected one such as"
            " mobilenet.protocols.base.BaseStable"
        )
    if plugin.promises not in ("causal", "fifo", "best_effort"):
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: promises is {repr_of(plugin.promises)}, expected causal, fifo or"
            " best_effort"
        )
    if plugin.delivers_to_all not in (None, True, False):
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: delivers_to_all is {repr_of(plugin.delivers_to_all)}, expected"
            " True, False or None (None: True if promises is causal, otherwise False)"
        )
    waits_s = plugin.tries_again_within_s
    if type(waits_s) not in (int, float) or not 0 < waits_s <= 3600:
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: tries_again_within_s is {repr_of(waits_s)}, expected 0 < s <= 3600"
        )
    if not isinstance(plugin.needs, tuple) or any(need != "connections" for need in plugin.needs):
        raise ScenarioError(
            f'protocol.class: {protocol.reference}: needs is {repr_of(plugin.needs)}, expected () or ("connections",)'
        )
