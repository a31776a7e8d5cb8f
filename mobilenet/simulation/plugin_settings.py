"""Check the settings that a scenario passes to custom code. The code declares a class for them.

Errors    ScenarioError, one line for each problem
Source    ours: docs/guide/plug-ins.md
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.scenario.error_messages import problems
from mobilenet.scenario.yaml_reader import Node


def settings_for(plugin: Any, protocol: Any) -> Parameters:
    """Return protocol.settings of the scenario, checked by the `Settings` class of the plug-in."""
    kind = getattr(plugin, "settings", None) or _NoSettings
    if not (isinstance(kind, type) and issubclass(kind, Parameters)):
        raise ScenarioError(
            f"protocol.class: {protocol.reference}: settings is not derived from mobilenet.parameters.Parameters"
        )
    return validate(kind, protocol.settings, "protocol.settings")


def validate(kind: type[Parameters], settings: dict[str, Any], key: str) -> Parameters:
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        raise ScenarioError("\n".join(problems(error, _nodes(settings, key), kind))) from None


class _NoSettings(Parameters):
    pass


def _nodes(value: Any, key: str) -> Node:
    """Convert the value to the form of a value that was read from a file."""
    inside = {name: _nodes(item, key) for name, item in value.items()} if isinstance(value, dict) else value
    inside = [_nodes(item, key) for item in value] if isinstance(value, (list, tuple)) else inside
    return Node(inside, key)
