"""Read a finished capacity search from its directory, so that it can be repeated on another machine.

Model     The question is read from the command in capacity.json, and the values and scenarios from the directory. The
          stored scenarios are complete, so neither `--set` nor the original scenario file is needed.
Errors    StudyError for a directory that the recorded command does not produce. ScenarioError for invalid files in the
          directory.
Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

from pathlib import Path

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.capacity.question import (
    Plan,
    Question,
    changes_of,
    normal_form,
    require_sense,
    values_of,
)
from mobilenet.lab.studies.capacity.requirements import requirements
from mobilenet.lab.studies.declaration import KEPT, Replications, Study
from mobilenet.lab.studies.origin import number, options_in, provenance_in, require_made_by
from mobilenet.lab.studies.statistics import look
from mobilenet.scenario.yaml_writer import inline

ANSWER = "capacity.json"


def read_back(folder: Path) -> Plan:
    """Return the plan of the search that created a directory."""
    file = folder / ANSWER
    command = provenance_in(file).command
    numbers = dict.fromkeys(("tolerance", "resolution", "error", "budget", "seed", "rare"), number)
    required = {"vary": str, "from": number, "to": number}
    options = options_in(file, command, "capacity", required, require=(), set=(), **numbers)
    ends = {"low": options.pop("from"), "high": options.pop("to")}
    question = Question(folder / KEPT.format(0), **ends, **options, is_command=True)
    require_sense(question)
    if command not in (normal_form(question, False), normal_form(question, True)):
        raise StudyError(f"{file}: its command is not in normal form; repeat the command that made it")
    study = Study.load(folder / "study.yaml")
    values = study.levels(question.vary) if question.vary in study.factors else ()
    possible = [values_of(question, is_whole) for is_whole in (False, True)]
    expected = {
        "factors": {question.vary: next((one for one in possible if one == values), possible[0])},
        "seed": question.seed, "first_seed": None, "set": changes_of(question), "kind": "terminating", "compare": None,
        "confidence": 0.95, "replications": Replications(min=look(0)),
    }  # fmt: skip
    changes = [[f"{question.vary}={inline(value)}"] for value in values]
    require_made_by(file, study, expected, changes)
    all_requirements = requirements(question.require, question.tolerance, question.word("require"))
    return Plan(question, study, tuple(values), tuple(all_requirements), study.words)
