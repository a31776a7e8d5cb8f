"""Read a finished screening from its directory, so that it can be repeated on another machine.

Model     The question is read from the command in sensitivity.parquet, and the points and scenarios from the directory.
          The points must be those of the trajectories that the command produces.
Errors    StudyError for a directory that the recorded command does not produce. ScenarioError for invalid files in the
          directory.
Source    ours: docs/guide/artefact.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.declaration import KEPT, Replications, Study, given_values, split_label
from mobilenet.lab.studies.effects import SCREENING
from mobilenet.lab.studies.origin import options_in, provenance_in, require_made_by
from mobilenet.lab.studies.sensitivity.ranges import ranges
from mobilenet.lab.studies.sensitivity.screening import LEAST_TRAJECTORIES, trajectories
from mobilenet.lab.studies.sensitivity.sensitivity import POINT, Plan, Question, levels_of, normal_form
from mobilenet.quoting import pluralize
from mobilenet.scenario.yaml_writer import inline

ANSWER = f"{SCREENING}.parquet"
MOST_NUMBERS = 10_000_000  # maximum number of levels over all keys and points


def read_question(folder: Path) -> tuple[Question, str]:
    """Return the question and the command that a directory records."""
    file = folder / ANSWER
    command = provenance_in(file).command
    numbers = dict.fromkeys(("trajectories", "replications", "seed"), int)
    options = options_in(file, command, "sensitivity", numbers, keys=(), metric=(), set=())
    names = ("keys", "metric", *numbers, "set")
    return Question(folder / KEPT.format(0), *(options[name] for name in names)), command


def read_back(folder: Path) -> Plan:
    """Return the plan of the screening that created a directory."""
    question, command = read_question(folder)
    file, study = folder / ANSWER, Study.load(folder / "study.yaml")
    keys = sum(text.count(",") + 1 for text in question.keys)
    if question.trajectories < LEAST_TRAJECTORIES or question.trajectories * keys * (keys + 1) > MOST_NUMBERS:
        raise StudyError(f"{file}: {pluralize(keys, 'key')} and {question.trajectories} trajectories are not possible")
    all_ranges = ranges(question.keys, study.base(), question.option)
    points = trajectories(len(all_ranges), question.trajectories, question.seed)
    levels: list[dict[str, Any]] = levels_of(all_ranges, points)
    fixed = {key: node.plain() for key, node in given_values(question.set).items()}
    expected = {
        "factors": {POINT: tuple(levels)}, "seed": question.seed, "first_seed": None, "set": fixed,
        "kind": "terminating", "compare": None, "confidence": 0.95,
        "replications": Replications(min=question.replications),
    }  # fmt: skip
    changes = [[f"{key}={inline(value)}" for key, value in split_label(level)[0].items()] for level in levels]
    require_made_by(file, study, expected, changes)
    plan = Plan(question, study, all_ranges, points)
    if command not in (normal_form(plan, False), normal_form(plan, True)):
        raise StudyError(f"{file}: its command is not in normal form; repeat the command that made it")
    return plan
