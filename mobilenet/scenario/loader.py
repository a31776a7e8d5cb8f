"""Load a scenario of any kind from a file, a dictionary or an existing scenario, and change it.

Model     yaml_reader.py turns the text into nodes with line numbers, and applies changes to them. base.py turns the
          nodes into values, and checks them. Messages name changes as the caller wrote them: as arguments in Python,
          or as options of the command line (`as_options`).
Errors    ScenarioError, one line for each problem
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mobilenet.parameters import ScenarioError
from mobilenet.quoting import quote
from mobilenet.scenario.base import ScenarioFile
from mobilenet.scenario.yaml_reader import Change, Node, in_python, override, parse, read
from mobilenet.scenario.yaml_writer import inline, to_yaml

if TYPE_CHECKING:
    from mobilenet.scenario.mobile import Scenario
    from mobilenet.scenario.processes import ProcessScenario

AnyScenario: TypeAlias = "Scenario | ProcessScenario"  # a string, to avoid importing both kinds of scenarios


def load_scenario(path: str | Path, overrides: Sequence[str] = ()) -> AnyScenario:
    """Load a file. It contains a scenario of processes if it has the key `processes`, and otherwise a scenario of
    stations and hosts.
    """
    path = Path(path)
    root = read(path)
    if isinstance(root.value, dict) and "scenario" in root.value and not {"stations", "processes"} & root.value.keys():
        raise ScenarioError(f"{path}: a study, not a scenario; `mobilenet study {quote(path)}` runs it")
    return from_nodes(root, overrides, path.parent)


def from_nodes(root: Node, overrides: Sequence[str], folder: Path) -> AnyScenario:
    """Load a scenario, whose keys determine its kind. `folder` contains the files that it names."""
    return class_for(root.value).from_nodes(override(root, overrides), folder)


def class_for(keys: Any) -> type[Scenario] | type[ProcessScenario]:
    """Return the class of scenario that has these keys at the top level."""
    if isinstance(keys, Mapping) and "processes" in keys:
        from mobilenet.scenario.processes import ProcessScenario

        return ProcessScenario
    from mobilenet.scenario.mobile import Scenario

    return Scenario


def given_scenario(
    scenario: str | Path | AnyScenario | Mapping[str, Any],
    seed: int | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
) -> AnyScenario:
    """Return the scenario that the arguments of `run` describe."""
    changes: list[str] = [*_changes(overrides)]
    if seed is not None:
        changes.append(Change(f"seed={seed}", f"seed={seed}"))
    if isinstance(scenario, ScenarioFile):
        return scenario.with_changes(changes) if changes else scenario
    if isinstance(scenario, Mapping):
        root = parse(to_yaml(plain_values(scenario, "scenario")).encode("utf-8", "surrogatepass"), "scenario")
        return from_nodes(root.at_place("scenario"), changes, Path())
    if not isinstance(scenario, (str, Path)):
        raise ScenarioError(
            f"scenario: got {_describe(scenario)}, expected the name of a file, a dictionary or a Scenario"
        )
    return load_scenario(Path(scenario), changes)


def as_options(overrides: Sequence[str] | None, seed: int | None = None) -> list[str]:
    """Convert command-line options to changes that error messages identify as options."""
    options: list[str] = [Change(one, f"--set {one}") for one in overrides or ()]
    return options if seed is None else [*options, Change(f"seed={seed}", f"--seed {seed}")]


def _changes(overrides: Any) -> list[Change]:
    if isinstance(overrides, Mapping):
        named = {str(key): f"overrides[{str(key)!r}]" for key in overrides}
        return [
            Change(f"{key}={inline(plain_values(value, named[str(key)]))}", named[str(key)])
            for key, value in overrides.items()
        ]
    expected = "a dictionary, such as {'hosts.count': 20}, or a list, such as ['hosts.count=20']"
    if isinstance(overrides, str) or not isinstance(overrides, Sequence):
        raise ScenarioError(f"overrides: got {_describe(overrides)}, expected {expected}")
    for place, one in enumerate(overrides):
        if not isinstance(one, str):
            raise ScenarioError(f"overrides[{place}]: got {_describe(one)}, expected text, such as 'hosts.count=20'")
    return in_python(overrides)


def _describe(value: Any) -> str:
    return f"{repr(value)[:60]} ({type(value).__name__})"


def plain_values(value: Any, where: str) -> Any:
    """Return the values as a file could contain them: numpy numbers become plain numbers, and paths become strings.
    `where` identifies the value in messages.
    """
    if isinstance(value, Mapping):
        return {str(key): plain_values(inside, f"{where}[{str(key)!r}]") for key, inside in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_values(inside, f"{where}[{place}]") for place, inside in enumerate(value)]
    if isinstance(value, Path):
        return str(value)
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return plain_values(value.tolist(), where)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ScenarioError(f"{where}: got {_describe(value)}, expected numbers, text, lists or dictionaries")
