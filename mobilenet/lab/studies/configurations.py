"""Expand a study into its table of runs: every combination of levels, every replication, and the seed of each run.

Model     Configurations are numbered in the order of the file; the last factor varies fastest. The seed of a run
          depends only on the seed of the study and the replication. So replication 3 of every configuration has the
          same walks, broadcasts and failures (common random numbers).
Errors    ScenarioError with file, line and factor, for a level that makes the scenario invalid.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.level_names import UNCHANGED, LevelNames, table_level
from mobilenet.lab.studies.table_files import COLUMNS
from mobilenet.parameters import ScenarioError
from mobilenet.protocols.names import REAL_TIME
from mobilenet.quoting import quote
from mobilenet.scenario import ProcessScenario, Scenario
from mobilenet.scenario.yaml_reader import Change
from mobilenet.scenario.yaml_writer import inline
from mobilenet.simulation.plugin_code import require_allowed

MOST_RUNS = 1_000_000
RUN = re.compile(r"c(\d+)-r(\d+)")


@dataclass(frozen=True, slots=True)
class Configuration:
    """A combination of one level of each factor."""

    number: int
    levels: dict[str, Any]  # maps each factor to its level
    overrides: tuple[str, ...]  # changes to the scenario, written like arguments of the option --set
    label: str = ""  # readable name, such as `TCP, loss 0.05`

    def row(self) -> dict[str, Any]:
        """Return the levels in the form used in tables."""
        return {factor: table_level(level) for factor, level in self.levels.items()}


@dataclass(frozen=True, slots=True)
class PlannedRun:
    configuration: int
    replication: int  # counted from 1
    seed: int

    @property
    def id(self) -> str:
        return f"c{self.configuration:03d}-r{self.replication:04d}"


def combinations(study: Study) -> list[dict[str, Any]]:
    """Return a mapping from factor to level for each combination, in the order of the file. The last factor varies
    fastest.
    """
    levels = [study.levels(factor) for factor in study.factors]
    return [dict(zip(study.factors, combination, strict=True)) for combination in itertools.product(*levels)]


def configurations(study: Study, allow_code: bool = False) -> list[Configuration]:
    """Return all configurations. The scenario is first checked with each configuration, so that no run fails because of
    a wrong key, or runs code without permission.
    """
    factors = {factor: study.levels(factor) for factor in study.factors}
    count = math.prod(len(levels) for levels in factors.values())
    if count * study.replications.most > MOST_RUNS:
        raise study.problem(
            ("factors",),
            f"{count} configurations with up to {study.replications.most} runs each, expected at most {MOST_RUNS} runs",
        )
    if study.is_kept:
        return _from_directory(study, allow_code)
    _require_plain(study, factors)
    _require_allowed(study, allow_code)
    base = [_override(key, value) for key, value in study.set.items()]
    try:
        study.scenario_with(base)
    except ScenarioError:  # Two keys may be valid only in combination. Otherwise, report the first invalid key.
        for place, key in enumerate(study.set):
            _try(study, allow_code, ("set", key), *base[: place + 1])
    all_configurations = []
    for one in planned_configurations(study):
        overrides = (*base, *(o for factor, level in one.levels.items() for o in _overrides(study, factor, level)))
        _try(study, allow_code, ("factors",), *overrides, what=one)
        all_configurations.append(replace(one, overrides=overrides))
    return all_configurations


def _from_directory(study: Study, allow_code: bool) -> list[Configuration]:
    """Return the configurations of a study's directory. Each one is a complete scenario, which is stored next to the
    files that it needs.
    """
    if study.has_changed_factors():
        what = "the study file in a study's directory repeats its configurations; `factors` and `set` cannot be changed"
        raise study.problem(("factors",), what)
    planned = planned_configurations(study)
    for one in planned:
        try:
            require_allowed(study.scenario_of(one.number, ()), allow_code)
        except ScenarioError as error:
            raise study.problem(("scenario",), f"{error} (with {one.label})") from None
    return planned


def planned_configurations(study: Study) -> list[Configuration]:
    """Return all configurations without their changes to the scenario."""
    names = LevelNames(study.factors)
    return [
        Configuration(number, levels, (), ", ".join(map(names.in_words, levels, levels.values())) or UNCHANGED)
        for number, levels in enumerate(combinations(study))
    ]


def _require_allowed(study: Study, allow_code: bool) -> None:
    """Report errors of the scenario itself before any key is tried."""
    try:
        scenario = study.base()
    except ScenarioError:
        return  # The error is reported below, together with its key.
    if scenario.protocol.name in REAL_TIME:
        raise study.problem(
            ("scenario",), "its programs run in real time, where no two runs are the same, so it cannot be studied"
        )
    try:
        require_allowed(scenario, allow_code)
    except ScenarioError as error:
        raise study.problem(("scenario",), str(error)) from None


def _overrides(study: Study, factor: str, level: Any) -> list[Change]:
    """Return the changes that a level makes. The levels of a factor are mappings of keys to values, unless the factor
    is itself a key of the scenario. The level {} makes no changes.
    """
    where = f"level {LevelNames(study.factors).name(factor, level)}"
    if factor.partition(".")[0] in Scenario.model_fields.keys() | ProcessScenario.model_fields.keys():
        return [Change(_override(factor, level), where)]
    if not isinstance(level, dict):
        what = f"not a key of a scenario; a factor with another name needs mappings as levels, got {inline(level)[:60]}"
        raise study.problem(("factors", factor), what)
    return [Change(_override(key, value), where) for key, value in level.items()]


def _require_plain(study: Study, factors: dict[str, tuple[Any, ...]]) -> None:
    """Raise ScenarioError if two factors change the same key, or if two levels of a factor are equal."""
    if not study.has_scenario():
        raise study.problem(("scenario",), f"file {str(study.scenario_path)!r} not found")
    by: dict[str, tuple[str, str]] = {key: ("set", key) for key in study.set}
    for factor, levels in factors.items():
        if factor in COLUMNS:
            raise study.problem(("factors", factor), "the tables already have a column with this name; choose another")
        texts = [inline(level) for level in levels]
        twice = next((level for place, level in enumerate(texts) if level in texts[:place]), None)
        if twice is not None:
            raise study.problem(("factors", factor), f"level {twice[:60]} is listed twice")
        for key in dict.fromkeys(o.partition("=")[0] for level in levels for o in _overrides(study, factor, level)):
            if key in by:
                raise study.problem(("factors", factor), f"{key} is also set by {'.'.join(by[key])}")
            by[key] = ("factors", factor)
    if "seed" in by:
        raise study.problem(
            by["seed"], "runs take their seeds from the seed of the study; change the seed of the study"
        )


def _override(key: str, value: Any) -> str:
    return f"{key}={inline(value)}"


def _try(
    study: Study, allow_code: bool, path: tuple[str, ...], *overrides: str, what: Configuration | None = None
) -> None:
    try:
        require_allowed(study.scenario_with(overrides), allow_code)
    except ScenarioError as error:
        message = str(error).splitlines()[0]
        for factor, level in (what.levels if what else {}).items():
            if any(message.startswith(f"{change.where}: ") for change in _overrides(study, factor, level)):
                place = study.levels(factor).index(level)
                raise study.problem(("factors", factor), message + _advice(study, message), place) from None
        with_levels = f" (with {what.label})" if what and what.levels else ""
        raise study.problem(path, f"{message}{with_levels}") from None


def _advice(study: Study, message: str) -> str:
    """Return a hint if the missing file is in the folder of the study instead of the folder of the scenario."""
    missing = re.search("file '([^']+)' not found next to the scenario", message)
    own = study.folder / missing[1] if missing is not None else None
    if own is None or not own.is_file():
        return ""
    return f"; the folder of the study contains this file: copy {quote(own)} to {quote(study.scenario_path.parent)}"


def seed_of(study: Study, replication: int) -> int:
    """Return the seed of a replication. If first_seed is set, seeds are consecutive numbers that start there.
    Otherwise, the seed is derived from the seed of the study. It has only 48 bits, because users read it.
    """
    if study.first_seed is not None:
        return study.first_seed + replication - 1
    return int.from_bytes(hashlib.sha256(f"study {study.seed}, replication {replication}".encode()).digest()[:6], "big")


def plan_runs(study: Study, targets: list[int]) -> list[PlannedRun]:
    """Return the runs of a study, ordered by replication. `targets` contains the number of replications of each
    configuration.
    """
    return [
        PlannedRun(number, replication, seed_of(study, replication))
        for replication in range(1, max(targets, default=0) + 1)
        for number, target in enumerate(targets)
        if replication <= target
    ]


def runs_called(names: Iterable[str], study: Study, configurations: int) -> list[PlannedRun]:
    """Return the runs of a study that have these names. Ignore all other names."""
    runs = []
    for match in filter(None, map(RUN.fullmatch, names)):
        number, replication = map(int, match.groups())
        run = PlannedRun(number, replication, seed_of(study, replication))
        if number < configurations and run.id == match[0]:
            runs.append(run)
    return runs
