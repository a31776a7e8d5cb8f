"""Repeat the comparison of a study on other radios, and derive one verdict over all of them.

Model     OUT/disk, OUT/capture, ... are directories of studies that differ only in the radio, so replication 3 has the
          same random world in each of them. Another call with the same directory makes the missing runs. Adding or
          removing a radio does not affect the other radios.
Errors    ScenarioError before any run, for an invalid file, radio or combination. StudyError for an unusable directory
          or Spark.
Source    ours: docs/guide/robust.md
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.batch import Progress, Standing
from mobilenet.lab.studies.configurations import configurations
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.level_names import LevelNames
from mobilenet.lab.studies.robust.radios import ATTACHMENT, OF_ANY_RADIO, Radio, radios
from mobilenet.lab.studies.robust.verdicts import Claim, claims
from mobilenet.lab.studies.spark import Spark, require_spark, spark_session
from mobilenet.lab.studies.study import STUDIES, Result, compare_study, require_metric, run_study
from mobilenet.lab.studies.study import default_directory as directory_of_study
from mobilenet.network.propagation.obstacles import read_buildings
from mobilenet.network.wireless import HYSTERESES
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import pluralize
from mobilenet.scenario import Scenario
from mobilenet.scenario.base import is_file


@dataclass(frozen=True)
class Plan:
    """The studies to run, one for each radio."""

    study: Study
    mac: str  # MAC of the scenario
    radios: list[Radio]
    studies: list[Study]  # one for each radio
    runs: int  # minimum number of runs on each radio

    @property
    def factor(self) -> str:
        """The factor whose levels are compared."""
        assert self.study.compare is not None
        return self.study.compare.factor

    @property
    def names(self) -> LevelNames:
        return LevelNames(self.study.factors)


def default_directory(study: Study, file: Path) -> Path:
    """Return the default directory, studies/NAME-robust."""
    name = directory_of_study(study, file).name
    return STUDIES / f"{name}-robust"


def plan(file: Path, chosen: list[str] | None, obstacles: Path | None, allow_code: bool = False) -> Plan:
    """Check every configuration with every radio, without running anything, and return the plan."""
    study = Study.load(file)
    if study.compare is None:
        raise ScenarioError(f"{file}: the study has no comparison; add `compare:`")
    scenario = study.base()
    if not isinstance(scenario, Scenario):
        raise study.problem(("scenario",), f"{study.scenario}: processes have no radio")
    if obstacles is not None and not is_file(obstacles):
        raise ScenarioError(f"{obstacles}: no such file; --obstacles takes GeoJSON or SUMO's poly.xml")
    if obstacles is not None:
        read_buildings(obstacles, scenario.anchor)
    elif scenario.wireless.obstacles is not None:
        read_buildings(scenario.folder / scenario.wireless.obstacles.file, scenario.anchor)
    walls = None if obstacles is None else os.path.relpath(obstacles, study.scenario_path.parent)
    all_configurations = configurations(study, allow_code)
    for factor in study.factors:
        keys = [o.partition("=")[0] for c in all_configurations for o in c.overrides[len(study.set) :]]
        _require_same_radio(study, factor, [key for key in dict.fromkeys(keys) if _sets(study, factor, key)])
    for metric in study.compare.metrics:
        require_metric(study, metric)
    own = radios(scenario, chosen, walls)
    studies = [_with(study, radio) for radio in own]
    for radio, other in zip(own[1:], studies[1:], strict=True):
        try:
            configurations(other, allow_code)
        except ScenarioError as error:
            raise ScenarioError(f"radio {radio.name}: {error}") from None
    return Plan(study, scenario.wireless.mac, own, studies, study.replications.min * len(all_configurations))


def perform(
    plan: Plan,
    out: Path,
    spark: Spark,
    progress: Progress,
    allow_code: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> list[Result]:
    """Make the runs that are missing, one radio after the other, in a single Spark session."""
    require_spark(spark)
    if (out / "study.yaml").exists() or (out.exists() and not out.is_dir()):
        raise StudyError(
            f"{out}: already exists and was not written by `mobilenet robust`; choose another directory with --out"
        )
    results: list[Result] = []
    with spark_session(spark) as session:
        for number, (radio, study) in enumerate(zip(plan.radios, plan.studies, strict=True)):
            before = sum(each.done for each in results), sum(len(each.failed) for each in results)
            tell = partial(_tell, progress, before, plan.runs * (len(plan.radios) - number - 1))
            results.append(run_study(study, out / radio.name, session, tell, say, allow_code))
            say(f"{radio.name}: {pluralize(results[-1].done, 'run')} done, {len(results[-1].failed)} failed")
    return results


def judge(plan: Plan, out: Path) -> list[Claim]:
    """Judge the claims from the tables of all radios."""
    findings = {radio.name: compare_study(out / radio.name) or [] for radio in plan.radios}
    return claims(findings, plan.study.confidence)


def _tell(progress: Progress, before: tuple[int, int], later: int, standing: Standing) -> None:
    """Report the progress of all radios together."""
    progress(
        standing._replace(
            done=standing.done + before[0],
            failed=standing.failed + before[1],
            left=standing.left + later,
            most_left=standing.most_left + later,
        )
    )


def _with(study: Study, radio: Radio) -> Study:
    """Return the study with another radio, which already reflects the keys of `set` that concern radios."""
    own = tuple(radio.changes)
    settings = {key: value for key, value in study.set.items() if not f"{key}.".startswith(tuple(f"{o}." for o in own))}
    return study.model_copy(update={"set": settings | radio.changes})


def _sets(study: Study, factor: str, key: str) -> bool:
    return key == factor or any(isinstance(level, dict) and key in level for level in study.levels(factor))


def _require_same_radio(study: Study, factor: str, keys: list[str]) -> None:
    """Raise ScenarioError if the factor changes a setting in which the radios differ."""
    for key in keys:
        top, _, rest = key.partition(".")
        if top == "wireless" and rest not in OF_ANY_RADIO:
            free_keys = " and ".join(f"wireless.{name}" for name in OF_ANY_RADIO)
            raise study.problem(
                ("factors", factor), f"sets {key}, but this command varies the radio itself; only {free_keys} may vary"
            )
        if key in ("hosts", ATTACHMENT, *(f"{ATTACHMENT}.{name}" for name in HYSTERESES)):
            raise study.problem(("factors", factor), f"sets {key}, whose meaning differs between radios")


def rows(all_claims: list[Claim]) -> list[dict[str, Any]]:
    """Return a table with one row for each comparison and radio."""
    return [row for claim in all_claims for row in claim.rows()]
