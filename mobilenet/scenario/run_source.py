"""Read scenario.yaml of a run directory: a scenario, or a schedule of the swarm's adversary.

Model     `network: adversary` distinguishes a schedule from a scenario
Errors    ScenarioError, one line for each problem
Source    ours: docs/run-directory.md, docs/validation/trust.md
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilenet.protocols.names import REAL_TIME
from mobilenet.quoting import quote
from mobilenet.scenario.base import read
from mobilenet.scenario.opening import AnyScenario, class_for

if TYPE_CHECKING:
    from mobilenet.scenario.adversary import AdversarySchedule


def read_source(path: Path) -> AnyScenario | AdversarySchedule:
    """Read what a run was made from, as strictly as a scenario."""
    root = read(path)
    if isinstance(root.value, dict) and "network" in root.value and "processes" not in root.value:
        from mobilenet.scenario.adversary import AdversarySchedule

        return AdversarySchedule.from_nodes(root)
    return class_for(root.value).from_nodes(root, (), path.parent)


def command_of(name: str, scenario: Any) -> str:
    """What repeats a run, from the folder that holds its directory of that name."""
    verb = "serve" if scenario.protocol.name in REAL_TIME else "run"
    file, again = quote(Path(name) / "scenario.yaml"), quote(Path(name + "-again"))
    return f"mobilenet {verb} {file} --out {again}{permission(scenario)}"


def permission(*scenarios: Any) -> str:
    """Return ` --allow-code` if a command that runs these scenarios needs it, or nothing."""
    return " --allow-code" if any(any(scenario.code()) for scenario in scenarios) else ""
