"""Whether the manifest says what follows from the scenario.

Model     nothing is believed that can be derived: what a run promises, how long it was to last and who takes part follow from
          scenario.yaml, and the manifest must repeat them. To judge by other promises, one would have to have run
          another scenario
Errors    RunError, one line
Source    ours: DESIGN.md §8, §11
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mobilenet.parameters import ScenarioError
from mobilenet.rundir import RunError
from mobilenet.scenario.promises import declared
from mobilenet.scenario.recorded import recorded


def require_scenario(directory: Path, manifest: dict[str, Any]) -> None:
    """Raise RunError unless the two agree."""
    try:
        expected = declared(recorded(directory / "scenario.yaml"))
    except ScenarioError as error:
        raise RunError(f"{directory / 'scenario.yaml'}: damaged: {str(error).splitlines()[0]}") from None
    for name, value in _leaves("", expected):
        found = _at(manifest, name)
        if found != value:
            raise RunError(f"{directory / 'manifest.json'}: damaged: {name} is {found!r}, scenario.yaml makes it {value!r}")


def _leaves(path: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, inside in value.items() for leaf in _leaves(f"{path}.{key}" if path else key, inside)]
    return [(path, value)]


def _at(manifest: dict[str, Any], path: str) -> Any:
    value: Any = manifest
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value
