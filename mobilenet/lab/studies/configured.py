"""The scenario of each configuration, as a study's directory keeps it: written whole, and never taken on trust.

Model     configurations/c000/ holds the effective scenario and copies of the files it names. It is written under
          another name and renamed. When a study goes on, what is asked now is written again and compared with what is
          there: the code of plug-ins and other files byte by byte, the scenario value by value. What differs is
          replaced if no run was made of it, and refused otherwise. A scenario that is empty, cut or not YAML
          contradicts nothing, and is replaced
Errors    StudyError: the file, and what differs
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from mobilenet.api import write_scenario
from mobilenet.by_kind import with_declared
from mobilenet.lab.studies import OutError, StudyError
from mobilenet.lab.studies.declaration import KEPT
from mobilenet.lab.studies.level_names import format_level
from mobilenet.parameters import ScenarioError
from mobilenet.record.whole import partial_path
from mobilenet.scenario import AnyScenario, load_scenario
from mobilenet.scenario.yaml_reader import parse

MOST_DIFFERENCES = 5


def configured_file(study: Path, number: int) -> Path:
    """The scenario of configuration `number` in the directory of a study."""
    return study / KEPT.format(number)


def configured_scenario(study: Path, number: int) -> AnyScenario:
    """The configuration's scenario, read once by each process."""
    file = configured_file(study, number)
    return _read(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _read(file: Path, written_ns: int) -> AnyScenario:
    return load_scenario(file)


def another_study(place: Path, differences: list[str]) -> StudyError:
    summary = "; ".join(differences[:MOST_DIFFERENCES]) + ("; ..." if len(differences) > MOST_DIFFERENCES else "")
    return OutError(f"{place}: belongs to another study: {summary}")


def write_configuration(
    study: Path,
    scenario: AnyScenario,
    number: int,
    allow_code: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Raise StudyError where runs of another scenario bear its number; `allow_code`: as for mobilenet.run. `say` is
    called for a scenario that was damaged.
    """
    target = configured_file(study, number).parent
    fresh = partial_path(target)
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        write_scenario(fresh, with_declared(scenario, allow_code))
        names = sorted(str(path.relative_to(fresh)) for path in fresh.rglob("*") if path.is_file())
        changed = [name for name in names if not _is_same(target / name, fresh / name)]
        if target.is_dir() and not target.is_symlink():
            if not changed:
                return
            problem = _contradiction(target, fresh, changed, say)
            if problem is not None and any((study / "runs").glob(f"{target.name}-r*")):
                raise problem
            shutil.rmtree(target)
        os.rename(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _contradiction(target: Path, fresh: Path, changed: list[str], say: Callable[[str], None]) -> StudyError | None:
    """Return why what is there is another scenario than the one asked. No code of either is run."""
    file = target / "scenario.yaml"
    if others := [name for name in changed if name != file.name]:
        return another_study(target / others[0], ["differs from the file that the study names now"])
    if (how := _damage(file, (fresh / file.name).read_bytes())) is not None:
        say(f"{file}: was {how}; written again from the study")
        return None
    try:
        different = apart(load_scenario(file), load_scenario(fresh / file.name))
    except ScenarioError as error:
        return OutError(f"{' '.join(str(error).split())}; the study is damaged")
    values = [f"{key} of the scenario was {format_level(a)}, and is now {format_level(b)}" for key, a, b in different]
    return another_study(file, values) if values else None


def _damage(file: Path, expected: bytes) -> str | None:
    """How the file is damaged beyond reading; None: it can be read."""
    if not file.is_file():
        return "missing"
    if expected.startswith(content := file.read_bytes()):
        return "truncated" if content else "empty"
    try:
        return None if isinstance(parse(content, file.name).value, dict) else "not a YAML mapping"
    except ScenarioError:
        return "not YAML"


def apart(before: AnyScenario, after: AnyScenario) -> list[tuple[str, Any, Any]]:
    """Key and both values of what makes two scenarios different ones."""
    return list(differences(before.model_dump(), after.model_dump()))


def _is_same(a: Path, b: Path) -> bool:
    try:
        return not a.is_symlink() and a.read_bytes() == b.read_bytes()
    except OSError:
        return False


def differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Key, value before and value now, of what is not the same in two mappings."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
    elif old != new:
        yield path, old, new
