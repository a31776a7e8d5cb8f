"""Check the question of a capacity search, and create the study that answers it.

Model     The key is the only factor of the study. Its levels are all values of the range, one `resolution` apart; the
          search runs only those that it needs. Replication r has the same random world at each value. A key that
          accepts only whole numbers gets whole levels.
Units     Values have the unit of the key.
Errors    ScenarioError with one line. It names the caller's option, or argument of mobilenet.capacity.
Source    ours: docs/guide/capacity.md
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mobilenet.lab.studies.capacity.answer import SearchQuestion
from mobilenet.lab.studies.capacity.requirements import Requirement, requirements
from mobilenet.lab.studies.capacity.search import first_values
from mobilenet.lab.studies.declaration import KEPT, MOST_LEVELS, Study, given_values
from mobilenet.lab.studies.statistics import LEAST_RARE, MOST_RARE, RARE, look
from mobilenet.lab.studies.study import STUDIES, require_metric
from mobilenet.metrics.registry import Vocabulary
from mobilenet.parameters import ScenarioError
from mobilenet.quoting import as_file_name, quote
from mobilenet.scenario.yaml_reader import Change
from mobilenet.scenario.yaml_writer import inline
from mobilenet.simulation.plugin_code import require_allowed

STEPS = 64  # Without a given resolution, the range is divided into at most this many steps.
BUDGET, MINUTES = 12_000, 10.0
# Some arguments of the Python function have names that differ from the options.
IN_PYTHON = {"from": "low", "to": "high", "set": "overrides"}


@dataclass(frozen=True)
class Question:
    """The question as the caller wrote it, before any check."""

    scenario: str | Path | Mapping[str, Any]
    vary: str
    low: float
    high: float
    require: tuple[str, ...]
    tolerance: float = 0.05  # relative to each limit
    # The step between values of the key, in its unit. None selects a round number that gives 32 to 64 steps.
    resolution: float | None = None
    error: float = 0.05  # probability of a wrong answer
    budget: int = BUDGET  # maximum number of runs
    seed: int = 1
    set: tuple[str, ...] | Mapping[str, Any] = ()
    rare: float = RARE  # Outcomes that occur in a smaller share of runs may be missed.
    minutes: float = math.inf  # limit of wall time, after which a search ends as if its budget were used up
    is_command: bool = False  # whether error messages name command-line options

    @property
    def name(self) -> str:
        """The name of the scenario in error messages."""
        return "scenario" if isinstance(self.scenario, Mapping) else str(self.scenario)

    def word(self, name: str) -> str:
        """Return the name that the caller uses for an argument: `--from` on the command line, `low` in Python."""
        return f"--{name}" if self.is_command else IN_PYTHON.get(name, name)


@dataclass(frozen=True)
class Plan:
    """A checked question, together with the study that answers it."""

    question: Question
    study: Study
    values: tuple[float | int, ...]  # values in ascending order
    requirements: tuple[Requirement, ...]
    words: Vocabulary

    @property
    def search_question(self) -> SearchQuestion:
        """The parts of the question that are needed to present the result."""
        q = self.question
        return SearchQuestion(q.vary, self.values, self.requirements, q.error, q.budget, q.seed, self.words, q.rare)

    @property
    def last(self) -> int:
        """The index of the largest value."""
        return len(self.values) - 1


def plan(question: Question, allow_code: bool = False) -> Plan:
    """Check the question against the scenario, and plan its study. `allow_code` has the same meaning as in
    mobilenet.run. Raise ScenarioError if the question is invalid.
    """
    require_sense(question)
    all_requirements = requirements(question.require, question.tolerance, question.word("require"))
    bare = _study(question, None)
    scenario = bare.scenario_with(_fixed_changes(question, bare))
    _require_numeric(question, scenario)
    try:
        require_allowed(scenario, allow_code)
    except ScenarioError as error:
        raise ScenarioError(f"{question.name}: {error}") from None
    is_whole = _takes_only_whole(question, bare)
    values = values_of(question, is_whole)
    study = _study(question, values)
    for one, text in zip(all_requirements, question.require, strict=True):
        try:
            require_metric(study, one.metric)
        except ScenarioError as error:
            raise ScenarioError(f"{question.word('require')} {text!r}: {error}") from None
    least = len(first_values(len(values) - 1)) * look(0)
    if question.budget < least:
        raise ScenarioError(
            f"{question.word('budget')} {question.budget}: too few runs; expected at least {least}, which is"
            f" {look(0)} at each of the first {least // look(0)} values"
        )
    return Plan(question, study, values, tuple(all_requirements), study.words)


def default_directory(question: Question) -> Path:
    """Return the default directory, studies/SCENARIO-capacity-KEY, where KEY is the last part of the key."""
    return STUDIES / as_file_name(f"{Path(question.name).stem}-capacity-{question.vary.rpartition('.')[2]}")


def require_sense(question: Question) -> None:
    for name, value in (("from", question.low), ("to", question.high)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ScenarioError(f"{question.word(name)} {value}: expected a number")
    if question.low == question.high:
        raise ScenarioError(
            f"{question.word('from')} and {question.word('to')}: both are {question.low:g}, so there is nothing to"
            " search; expected two different values"
        )
    if not 0 < question.tolerance < 1:
        raise ScenarioError(
            f"{question.word('tolerance')} {question.tolerance:g}: expected a share of the limit between 0 and 1, such"
            " as 0.05"
        )
    if not 0.0001 <= question.error <= 0.5:
        raise ScenarioError(f"{question.word('error')} {question.error:g}: expected a probability from 0.0001 to 0.5")
    if not LEAST_RARE <= question.rare <= MOST_RARE:
        raise ScenarioError(
            f"{question.word('rare')} {question.rare:g}: expected a share of the runs from {LEAST_RARE} to {MOST_RARE}"
        )
    if question.budget < 1:
        raise ScenarioError(f"{question.word('budget')} {question.budget}: expected at least 1")
    if not question.minutes > 0:
        raise ScenarioError(f"{question.word('minutes')} {question.minutes:g}: expected more than 0")
    if not question.vary.strip():
        raise ScenarioError(f"{question.word('vary')}: missing; expected a key such as workload.interval_s")
    if question.vary == "seed":
        raise ScenarioError(
            f"{question.word('vary')} seed: runs take their seeds from the seed of the study; expected another key"
        )


def _require_numeric(question: Question, scenario: Any) -> None:
    """Raise ScenarioError if the current value of the key is not a number. If the key has no value yet, its type is
    checked when the ends of the range are set.
    """
    value: Any = scenario.model_dump()
    for part in question.vary.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return
    raise ScenarioError(
        f"{question.word('vary')} {question.vary}: its value is {inline(value)[:60]}, which is not a number; expected a"
        " key with a number, such as workload.interval_s or hosts.count"
    )


def _takes_only_whole(question: Question, study: Study) -> bool:
    """Return whether the key accepts only whole numbers. The function tries a fraction, because plug-ins declare their
    own settings.
    """
    low, high = sorted((question.low, question.high))
    ends = [("from", question.low), ("to", question.high)]
    refused = [error for name, value in ends if (error := _refusal(question, study, value, name)) is not None]
    is_whole = _refusal(question, study, (math.floor(low) + math.ceil(high)) / 2 + 0.25, "vary") is not None and (
        all(float(value).is_integer() for _, value in ends)
    )
    if refused:
        raise refused[0]
    if is_whole and question.resolution is not None and not (question.resolution >= 1 and _is_whole(question)):
        raise ScenarioError(
            f"{question.word('resolution')} {question.resolution:g}: {question.vary} takes whole numbers, expected a"
            " whole number of at least 1"
        )
    return is_whole


def _is_whole(question: Question) -> bool:
    return question.resolution is not None and float(question.resolution).is_integer()


def _refusal(question: Question, study: Study, value: float, name: str) -> ScenarioError | None:
    plain = int(value) if float(value).is_integer() else value
    where = f"{question.word(name)} {plain}"
    try:
        study.scenario_with([*_fixed_changes(question, study), Change(f"{question.vary}={inline(plain)}", where)])
    except ScenarioError as error:
        message = str(error).splitlines()[0]
        if "unknown key" in message:
            message = f"{question.word('vary')} {question.vary}: {message.removeprefix(f'{where}: ')}"
        return ScenarioError(message)
    return None


def _fixed_changes(question: Question, study: Study) -> list[Change]:
    """Return the changes that apply to all values, each labelled with the option or argument that made it."""
    values = {key: f"{key}={inline(value)}" for key, value in study.set.items()}
    return [Change(text, f"{question.word('set')} {text}") for text in values.values()]


def values_of(question: Question, is_whole: bool) -> tuple[float | int, ...]:
    low, high = sorted((question.low, question.high))
    span = high - low
    step = question.resolution if question.resolution is not None else _round_step(span, is_whole)
    if not (math.isfinite(step) and step > 0):
        raise ScenarioError(f"{question.word('resolution')} {step:g}: expected more than 0")
    count = max(1, math.ceil(min(span / step, 1e9) * (1 - 1e-9)))
    _require_steps(question, count)
    numbers = [float(f"{low + step * place:.12g}") for place in range(count)] + [float(high)]
    return tuple(int(value) if value.is_integer() else value for value in numbers)


def _round_step(span: float, is_whole: bool) -> float:
    """Return the smallest step of the form 1, 2, 2.5 or 5 times a power of ten that divides the span into at most STEPS
    steps.
    """
    power = 10.0 ** math.floor(math.log10(span / STEPS))
    steps = (float(f"{factor * power:.12g}") for factor in (1, 2, 2.5, 5, 10, 20, 50, 100))
    return next(step for step in steps if step * STEPS >= span and not (is_whole and not (step >= 1 and step % 1 == 0)))


def _require_steps(question: Question, count: int) -> None:
    most = MOST_LEVELS - 1
    if count > most:
        # The factor keeps the suggestion above the bound after rounding.
        least = abs(question.high - question.low) / most * 1.005
        raise ScenarioError(
            f"{question.word('resolution')}: {count} steps between {question.low:g} and {question.high:g}, expected at"
            f" most {most}; choose a resolution of at least {least:.3g}"
        )


def _study(question: Question, values: tuple[float | int, ...] | None) -> Study:
    """Return the study of these values. If `values` is None, the study contains only the scenario and the fixed
    changes.
    """
    scenario = question.scenario if isinstance(question.scenario, Mapping) else str(question.scenario)
    declaration: dict[str, Any] = {"scenario": scenario, "seed": question.seed, "set": changes_of(question)}
    if values is not None:
        if question.vary in declaration["set"]:
            raise ScenarioError(f"{question.word('set')} {question.vary}: is the key that varies")
        declaration |= {"factors": {question.vary: list(values)}, "replications": {"min": look(0)}}
    return Study.of(declaration, Path(), question.name)


def changes_of(question: Question) -> dict[str, Any]:
    if isinstance(question.set, Mapping):
        return dict(question.set)
    return {key: node.plain() for key, node in given_values(question.set, question.word("set")).items()}


def command_of(question: Question, scenario: str, out: Path | None = None, allow_code: bool = False) -> str:
    """Return the command of this search without its budget. The command resumes the search."""
    words = ["mobilenet capacity", quote(Path(scenario)), "--vary", shlex.quote(question.vary)]
    words += ["--from", f"{question.low:.12g}", "--to", f"{question.high:.12g}"]
    for text in question.require:
        words += ["--require", shlex.quote(text)]
    options = [
        ("tolerance", question.tolerance, 0.05), ("resolution", question.resolution, None),
        ("error", question.error, 0.05), ("rare", question.rare, RARE), ("seed", question.seed, 1),
    ]  # fmt: skip
    for name, value, default in options:
        text = f"{value:.12g}" if isinstance(value, float) else str(value)
        words += [] if value == default else [f"--{name}", text]
    for text in _texts_of_set(question):
        words += ["--set", shlex.quote(text)]
    words += [] if out is None else ["--out", quote(out)]
    return " ".join([*words, *(["--allow-code"] if allow_code else [])])


def normal_form(question: Question, allow_code: bool) -> str:
    """Return the command for the provenance. It refers to the copy of the scenario in the directory of the study.
    `allow_code` is true if the command may run code.
    """
    command = command_of(question, f"STUDY/{KEPT.format(0)}", None, allow_code)
    return command if question.budget == BUDGET else f"{command} --budget {question.budget}"


def _texts_of_set(question: Question) -> list[str]:
    if isinstance(question.set, Mapping):
        return [f"{key}={inline(value)}" for key, value in question.set.items()]
    return list(question.set)
