"""Find out what a scenario implies for the verdict on its run: the promises and the declarations of its protocol.

Model     a value that can be derived from the scenario is never taken from the manifest. A run can be judged by other
          promises only with another scenario
Errors    RunError, one line
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mobilenet.parameters import ScenarioError
from mobilenet.record.reader import RunError
from mobilenet.scenario.plans.by_kind import plans_of
from mobilenet.scenario.plans.expectations import Expectations, LossyCut, ProcessPlan
from mobilenet.scenario.run_source import copies_in, read_source


def require_scenario(directory: Path, manifest: dict[str, Any]) -> Expectations | ProcessPlan:
    """Return what is expected of the record, and add to the manifest what follows from the scenario."""
    scenario = scenario_of(directory)
    require_copies(directory, manifest, scenario)
    manifest |= plans_of(scenario).declared_manifest(scenario)
    return expected_by(scenario)


def require_copies(directory: Path, manifest: dict[str, Any], scenario: Any) -> None:
    """Refuse a run whose manifest lacks the digest of a copied file that its scenario names."""
    for name in sorted(copies_in(directory, scenario) - manifest["files"].keys()):
        if "ended_by_error" in manifest and not (directory / name).exists():
            continue  # the run ended because this program did not exist
        raise RunError(f"{directory / 'manifest.json'}: damaged: files has no digest of {name}")


def scenario_of(directory: Path) -> Any:
    """Return the scenario of a run whose files have been checked."""
    try:
        return read_source(directory / "scenario.yaml")
    except ScenarioError as error:
        raise RunError(f"{str(error).splitlines()[0]}; the run is damaged") from None


def warnings_by(scenario: Any) -> list[str]:
    """Return the warnings of the verdict on a run of this scenario."""
    return warnings_on(plans_of(scenario).lossy_cuts(scenario))


def expected_by(scenario: Any) -> Expectations | ProcessPlan:
    """Return what is expected of a run's record."""
    try:
        return plans_of(scenario).expectations(scenario)
    except ScenarioError as error:
        raise RunError(f"{str(error).splitlines()[0]}; the run is damaged") from None


def warnings_on(cuts: Iterable[LossyCut]) -> list[str]:
    """Return a sentence for each assumption of the protocol that a user broke by hand. If losses can explain a
    violation, the verdict is unknown (hosts.py), and no later violation is evidence against the protocol.
    """
    return [_warning(cut) for cut in cuts]


def _warning(cut: LossyCut) -> str:
    return (
        f"from {cut.since_ns / 1e9:g} to {cut.until_ns / 1e9:g} s the link {cut.station}-{cut.other} was cut by hand"
        f" and lost what was sent over it, but {cut.protocol} assumes lossless wires; a violation after that time is"
        " therefore not evidence against the protocol"
    )
