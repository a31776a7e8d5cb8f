"""Store a scenario with its run: the effective values, and copies of the files that it names.

Model     A run can be repeated from its directory, even if the directory is moved. In the stored scenario, a file name
          is the name of its copy. A pattern is replaced by the list of files that it matched, because in the directory
          it would match files of the run itself.
Errors    ScenarioError for files that cannot be copied
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from mobilenet.parameters import ScenarioError
from mobilenet.record.reader import OWN_FILES, copy_name
from mobilenet.scenario import AnyScenario
from mobilenet.scenario.base import ITS_OWN, files_matching, is_pattern
from mobilenet.scenario.yaml_writer import to_yaml
from mobilenet.simulation.plugin_code import source_that_ran

OWN_NAMES = {*OWN_FILES, "map.html", "report.html"}  # names that mobilenet uses in a run directory
OF_ERRORS = re.compile(r"[hps]\d+\.stderr\.txt")
MOST_MATCHING = 1000  # maximum number of files that the stored scenario lists


def write_scenario(directory: Path, scenario: AnyScenario, values: dict[str, Any] | None = None) -> dict[Path, str]:
    """Write the effective scenario, or other `values`, and copies of the files that it names. Code is copied in the
    version that ran. Return the names of the copies.
    """
    values = _with_lists(scenario.model_dump() if values is None else values)
    loaded = loaded_files(scenario)
    copies = {file.resolve(): name for name, file in loaded.items()}
    for path, file in scenario.files():
        *groups, key = path.split(".")
        group: Any = values
        for step in groups:
            group = group[int(step) if isinstance(group, list) else step]
        place: Any = int(key) if isinstance(group, list) else key
        named, colon, what = group[place].rpartition(":") if ":" in group[place] else (group[place], "", "")
        name = copies.setdefault(file.resolve(), copy_name(named, copies.values()))
        # The copy has another name. If the command of a program contained a slash, it still needs one.
        if os.path.normpath(named) != name:
            is_program = path.startswith("protocol.command") and "/" in named
            group[place] = f"{'./' if is_program else ''}{name}{colon}{what}"
    if any(True for _ in scenario.patterns()):
        values["protocol"]["files"] = _without_patterns(scenario, loaded)
    for name, file in {**loaded, **{name: file for file, name in copies.items()}}.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        if (ran := source_that_ran(file)) is not None:
            (directory / name).write_bytes(ran)
        else:
            shutil.copy(file, directory / name)  # this keeps the permission to execute a program
    (directory / ITS_OWN).write_text(to_yaml(values), encoding="utf-8")
    return {file: copies[file.resolve()] for _, file in scenario.files()}


def words_anywhere(text: str, copies: Mapping[Path, str], folder: Path) -> str:
    """Replace the paths of files with the names of their copies in the run directory, and omit addresses of objects. A
    repeated run then gives the same text. `copies` is the result of `write_scenario`, and `folder` is the folder of the
    scenario.
    """
    names = {str(place): name for file, name in copies.items() for place in (file, file.resolve())}
    for place in sorted(names, key=len, reverse=True):
        text = text.replace(place, names[place])
    return re.sub(r" at 0x[0-9a-f]{6,}", "", text.replace(f"{folder.resolve()}{os.sep}", ""))


def loaded_files(scenario: AnyScenario) -> dict[str, Path]:
    """Return the files that programs load, by the names of their copies. Raise ScenarioError if a file has a name that
    a run directory uses itself.
    """
    files = {}
    for key, pattern in scenario.patterns():
        matching = files_matching(scenario.folder, pattern)
        if is_pattern(scenario.folder, pattern) and len(matching) > MOST_MATCHING:
            what = f"{pattern!r} matches {len(matching)} files, expected at most {MOST_MATCHING}; name their folder"
            raise ScenarioError(f"{key}: {what} instead")
        for file in matching:
            name = str(file.relative_to(scenario.folder))
            if is_pattern(scenario.folder, pattern) and OF_ERRORS.fullmatch(name):
                continue  # a run stores the standard error of its programs under such names
            if name.split(os.sep)[0] in OWN_NAMES or OF_ERRORS.fullmatch(name):
                raise ScenarioError(f"{key}: {name!r} is the name of a file in a run directory; expected another name")
            files[name] = file
    return files


def _without_patterns(scenario: AnyScenario, loaded: Container[str]) -> list[str]:
    """Return the entries of `files`, with each pattern replaced by the files that it matched. In the run's directory, a
    pattern would also match files of the run itself. `loaded` contains the names of copies.
    """
    names: dict[str, None] = {}
    for _, pattern in scenario.patterns():
        if is_pattern(scenario.folder, pattern):
            matches = (str(file.relative_to(scenario.folder)) for file in files_matching(scenario.folder, pattern))
            names |= dict.fromkeys(name for name in matches if name in loaded)
        else:
            names[pattern] = None
    return list(names)


def _with_lists(value: Any) -> Any:
    """Return the value with mutable lists and dictionaries."""
    if isinstance(value, dict):
        return {key: _with_lists(inside) for key, inside in value.items()}
    return [_with_lists(inside) for inside in value] if isinstance(value, (list, tuple)) else value
