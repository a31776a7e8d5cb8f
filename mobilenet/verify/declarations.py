"""What follows for the verdict from a run's scenario: what it promises, and what its protocol declares.

Model     whatever can be derived is not taken from the manifest. To be judged by other promises, a run needs another
          scenario
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
    """Return what is expected of the record. The manifest is given what follows from the scenario."""
    scenario = scenario_of(directory)
    require_copies(directory, manifest, scenario)
    manifest |= plans_of(scenario).declared_manifest(scenario)
    return expected_by(scenario)


def require_copies(directory: Path, manifest: dict[str, Any], scenario: Any) -> None:
    """Refuse a run whose manifest has no digest of a copy of a file that its scenario names."""
    for name in sorted(copies_in(directory, scenario) - manifest["files"].keys()):
        if "ended_by_error" in manifest and not (directory / name).exists():
            continue  # a program that was never there ended the run
        raise RunError(f"{directory / 'manifest.json'}: damaged: files has no digest of {name}")


def scenario_of(directory: Path) -> Any:
    """Return what a run was, of a directory whose files are not in doubt."""
    try:
        return read_source(directory / "scenario.yaml")
    except ScenarioError as error:
        raise RunError(f"{str(error).splitlines()[0]}; the run is damaged") from None


def warnings_by(scenario: Any) -> list[str]:
    """Return what the verdict on it warns of."""
    return warnings_on(plans_of(scenario).lossy_cuts(scenario))


def expected_by(scenario: Any) -> Expectations | ProcessPlan:
    """Return what is expected of its record."""
    try:
        return plans_of(scenario).expectations(scenario)
    except ScenarioError as error:
        raise RunError(f"{str(error).splitlines()[0]}; the run is damaged") from None


def warnings_on(cuts: Iterable[LossyCut]) -> list[str]:
    """Return a sentence for each assumption of the protocol that was broken by hand. Only what lost messages explain is
    unknown (hosts.py). Another violation after that is not evidence against the protocol.
    """
    return [_warning(cut) for cut in cuts]


def _warning(cut: LossyCut) -> str:
    return (
        f"from {cut.since_ns / 1e9:g} to {cut.until_ns / 1e9:g} s the link {cut.station}-{cut.other} was cut by hand"
        f" and lost what was sent over it, but {cut.protocol} assumes lossless wires; a violation after that time is"
        " therefore not evidence against the protocol"
    )
