"""Read the scenario.yaml of a run directory: a scenario, or a schedule of the swarm's adversary.

Model     A schedule is recognised by `network: adversary`
Errors    ScenarioError, one line for each problem
Source    ours: docs/run-directory.md, docs/validation/trust.md
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobilenet.protocols.names import REAL_TIME
from mobilenet.quoting import quote
from mobilenet.scenario.base import ScenarioFile, files_matching
from mobilenet.scenario.loader import AnyScenario, from_nodes
from mobilenet.scenario.programs import files_of, names_file
from mobilenet.scenario.yaml_reader import read

if TYPE_CHECKING:
    from mobilenet.scenario.adversary import AdversarySchedule


def read_source(path: Path) -> AnyScenario | AdversarySchedule:
    """Read the scenario or schedule of a run, with the same strictness as any scenario."""
    root = read(path)
    if isinstance(root.value, dict) and "network" in root.value and "processes" not in root.value:
        from mobilenet.scenario.adversary import AdversarySchedule

        return AdversarySchedule.from_nodes(root)
    return from_nodes(root, (), path.parent)


def copies_in(directory: Path, source: Any) -> set[str]:
    """Return the names under which a run directory stores the files that its scenario names. This includes a missing
    file that a command names, if its ending shows that it is a program.
    """
    protocol = source.protocol
    files = [file for _, file in source.files()] if isinstance(source, ScenarioFile) else []
    if (own := getattr(protocol, "file", None)) is not None:  # schedules have this key as well
        files.append(directory / own)
    commands = [*getattr(protocol, "commands_by_role", dict)().values()]
    commands += [command for _, command in getattr(protocol, "commands_by_key", tuple)()]
    for command in commands:
        files += [file for _, file in files_of(command, "", directory)]
        files += [directory / word for word in command if names_file(word)]
    for pattern in getattr(protocol, "files", ()):
        files += files_matching(directory, pattern)
    return {os.path.relpath(file, directory) for file in files}


def command_of(name: str, scenario: Any) -> str:
    """Return the command that repeats a run. The command must be run in the parent folder of the run directory."""
    verb = "serve" if scenario.protocol.name in REAL_TIME else "run"
    file, again = quote(Path(name) / "scenario.yaml"), quote(Path(name + "-again"))
    return f"mobilenet {verb} {file} --out {again}{permission(scenario)}"


def permission(*scenarios: Any) -> str:
    """Return ` --allow-code` if a command that runs these scenarios needs it, and otherwise an empty string."""
    return " --allow-code" if any(any(scenario.code()) for scenario in scenarios) else ""
