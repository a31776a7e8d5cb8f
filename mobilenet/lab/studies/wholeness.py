"""Which of the runs that a study left on the disk count: whole, of the right seed, and of the scenario that was asked.

Model     asked by the workers, once for each run when a study goes on: it reads all that the runs wrote. What lies in
          the directory decides nothing about code: scenarios are compared, never run
Errors    none; a run that does not count is missing from the answer
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mobilenet.lab.studies.configured import apart, configured_file, configured_scenario
from mobilenet.lab.studies.parts import manifest_digest
from mobilenet.lab.studies.store import is_done
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import load_scenario


class RemainingRun(NamedTuple):
    folder: str  # the study's
    run: str
    configuration: int
    seed: int


def look(lefts: list[RemainingRun]) -> dict[str, str]:
    """run -> digest of its manifest, of those that count."""
    digests = {}
    for left in lefts:
        directory = Path(left.folder) / "runs" / left.run
        if is_done(directory, left.seed) and _is_of(directory / "scenario.yaml", left):
            digests[left.run] = manifest_digest(directory)
    return digests


def _is_of(scenario: Path, left: RemainingRun) -> bool:
    """The text of its configuration but for the seed; or the same values, as a version before may have written it."""
    study = Path(left.folder)
    lines = configured_file(study, left.configuration).read_text(encoding="utf-8").splitlines(keepends=True)
    expected = (f"seed: {left.seed}\n" if line.startswith("seed:") else line for line in lines)
    try:
        if scenario.read_text(encoding="utf-8") == "".join(expected):
            return True
        different = apart(configured_scenario(study, left.configuration), load_scenario(scenario))
    except (OSError, UnicodeDecodeError, ScenarioError):
        return False
    return all(key == "seed" for key, _, _ in different)
