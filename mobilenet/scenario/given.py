"""A scenario as Python has it: a file, a dictionary, or one already loaded, with what is to be changed.

Errors    ScenarioError, one line for each problem
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mobilenet.parameters import ScenarioError
from mobilenet.scenario.base import ScenarioFile
from mobilenet.scenario.opening import AnyScenario, class_for, load_scenario
from mobilenet.scenario.yaml_writer import inline, to_yaml


def given_scenario(
    scenario: str | Path | AnyScenario | Mapping[str, Any],
    seed: int | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
) -> AnyScenario:
    """What `run` is given, as a scenario."""
    said = (
        [f"{key}={inline(plain_values(value))}" for key, value in overrides.items()]
        if isinstance(overrides, Mapping)
        else overrides
    )
    changes = [*said, *([f"seed={seed}"] if seed is not None else [])]
    if isinstance(scenario, ScenarioFile):
        return scenario.changed(changes) if changes else scenario
    if isinstance(scenario, Mapping):
        return class_for(scenario).from_text(to_yaml(plain_values(scenario)), changes)
    if not isinstance(scenario, (str, Path)):
        raise ScenarioError(f"a {type(scenario).__name__}, expected a file, a dictionary or a scenario")
    return load_scenario(Path(scenario), changes)


def plain_values(value: Any) -> Any:
    """The values as a file could hold them: numbers that are not numpy's, names of files as text."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(inside) for key, inside in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_values(inside) for inside in value]
    if isinstance(value, Path):
        return str(value)
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return plain_values(value.tolist())
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ScenarioError(
        f"{str(value)[:60]!r} is a {type(value).__name__}, expected numbers, text, lists or dictionaries"
    )
