"""Translate each claim into the configurations that it needs and the tests that answer it.

Model     Every test has the same form: the mean of A - c B (a ratio), of A - B - c (a difference), or of A - c is at
          most 0, where c is the bound. A claim holds if all its tests hold. `below` is a ratio of at most 1, and
          `grows` is one such ratio for each pair of neighbouring levels.
Units     Bounds and margins have the unit of the metric; ratios are dimensionless.
Errors    ScenarioError with file, line and key, for an unknown experiment, level or metric.
Source    ours: docs/guide/claims.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from mobilenet.lab.studies.claims.declaration import (
    MARGIN,
    AnyClaim,
    Below,
    Bounded,
    Claims,
    Difference,
    Falls,
    Grows,
    Near,
    NoViolation,
    OfMetric,
    Place,
    Published,
    Ratio,
)
from mobilenet.lab.studies.claims.paper_rules import published_ids
from mobilenet.lab.studies.configurations import combinations, configurations
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.study import require_metric
from mobilenet.metrics.registry import OF_HOSTS, Vocabulary
from mobilenet.parameters import ScenarioError
from mobilenet.scenario.yaml_writer import inline

EXACTLY = 1e-9  # Equal numbers may differ by this share of a bound because of rounding.


class Cell(NamedTuple):
    """Identifies a configuration of an experiment."""

    experiment: str
    configuration: int


class Inequality(NamedTuple):
    """A test of a claim. `other` is the place whose mean is subtracted, or is the denominator of a ratio."""

    value: Cell
    other: Cell | None
    is_ratio: bool
    at_most: bool
    bound: float
    margin: float
    is_strict: bool = False  # whether the test fails if both places are equal


@dataclass(frozen=True)
class Question:
    """A claim with everything that is needed to answer it. Questions about schedules and papers have no tests."""

    name: str
    claim: AnyClaim
    metric: str = ""
    tests: tuple[Inequality, ...] = ()
    is_exact: bool = False  # whether its runs are deterministic
    words: Vocabulary = OF_HOSTS

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The configurations that the question refers to."""
        cells = [cell for test in self.tests for cell in (test.value, test.other) if cell is not None]
        return tuple(dict.fromkeys(cells))

    @property
    def can_err(self) -> bool:
        """Whether the answer can be wrong by chance."""
        return bool(self.tests) and not self.is_exact


@dataclass(frozen=True)
class Plan:
    """A checked claims file, with the questions and studies that answer its claims."""

    claims: Claims
    studies: dict[str, Study]  # studies of the experiments that claims refer to
    questions: tuple[Question, ...]
    # approximate number of events of a run, for each configuration
    costs: dict[Cell, int] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """The error probability of each claim, chosen so that all claims together do not exceed the error of the
        file.
        """
        return self.claims.error / max(1, sum(question.can_err for question in self.questions))


def plan(claims: Claims, allow_code: bool = False) -> Plan:
    """Check everything before the first run, and return the plan. `allow_code` has the same meaning as in
    mobilenet.run. Raise ScenarioError if the file is invalid.
    """
    named = {place.experiment for claim in claims.claims.values() for _, place in _places(claim)}
    _require_experiments(claims)
    studies = {name: claims.study(name) for name in claims.experiments if name in named}
    costs = {
        Cell(name, one.number): study.scenario_of(one.number, one.overrides).estimated_events()
        for name, study in studies.items()
        for one in configurations(study, allow_code)
    }
    return Plan(claims, studies, tuple(questions(claims, studies)), costs)


def questions(claims: Claims, studies: dict[str, Study]) -> list[Question]:
    """Return one question for each claim, in the order of the file. Raise ScenarioError if a claim is invalid."""
    all_questions = []
    for name, claim in claims.claims.items():
        if isinstance(claim, (NoViolation, Published)):
            _require_known(claims, name, claim)
            all_questions.append(Question(name, claim))
            continue
        study = studies[claim.value.experiment]
        try:
            require_metric(study, claim.metric)
        except ScenarioError as error:
            raise claims.problem(("claims", name, "metric"), str(error)) from None
        tests = _tests(claims, studies, name, claim)
        exact = all(
            claims.experiments[cell.experiment].deterministic for cell in Question(name, claim, "", tests).cells
        )
        all_questions.append(Question(name, claim, claim.metric, tests, exact, study.words))
    return all_questions


def _places(claim: AnyClaim) -> list[tuple[str, Place]]:
    keys = ("value", "to", "than")
    return [(key, getattr(claim, key)) for key in keys if isinstance(getattr(claim, key, None), Place)]


def _require_experiments(claims: Claims) -> None:
    for name, claim in claims.claims.items():
        for key, place in _places(claim):
            if place.experiment not in claims.experiments:
                what = _unknown("experiment", place.experiment, list(claims.experiments))
                raise claims.problem(("claims", name, key, "experiment"), what)


def _require_known(claims: Claims, name: str, claim: NoViolation | Published) -> None:
    if isinstance(claim, NoViolation):
        from mobilenet.protocols.names import AMONG_PROCESSES, ON_THE_RADIO, SELECTIVE

        known = [*ON_THE_RADIO, SELECTIVE, *AMONG_PROCESSES]
        if claim.protocol not in known:
            raise claims.problem(("claims", name, "protocol"), _unknown("protocol", claim.protocol, known))
        return
    known = published_ids(claim.paper)
    if claim.id not in known:
        raise claims.problem(("claims", name, "id"), _unknown("id", claim.id, known))


def _unknown(kind: str, name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, 1, cutoff=0.7)
    hint = f"did you mean {close[0]!r}?" if close else f"expected one of: {', '.join(known) or 'none is defined'}"
    return f"unknown {kind} {name[:60]!r}, {hint}"


def _tests(claims: Claims, studies: dict[str, Study], name: str, claim: OfMetric) -> tuple[Inequality, ...]:
    def cell(key: str, place: Place, without: str | None = None) -> dict[Any, Cell]:
        return _cells(claims, studies[place.experiment], ("claims", name, key), place, without)

    if isinstance(claim, Grows):
        cells = list(cell("value", claim.value, claim.along).values())
        pairs = pairwise(cells)
        if len(cells) < 2:
            raise claims.problem(("claims", name, "along"), f"{claim.along} has one level, expected at least 2")
        margin = MARGIN if claim.margin is None else claim.margin
        if isinstance(claim, Falls):
            return tuple(Inequality(b, a, True, True, 1.0, margin, True) for a, b in pairs)
        return tuple(Inequality(a, b, True, True, 1.0, margin, True) for a, b in pairs)
    (value,) = cell("value", claim.value).values()
    if isinstance(claim, Below):
        (than,) = cell("than", claim.than).values()
        return (Inequality(value, than, True, True, 1.0, MARGIN if claim.margin is None else claim.margin, True),)
    if isinstance(claim, Near):
        reach = abs(claim.number) * claim.percent / 100
        ends: list[tuple[bool, float | None]] = [(False, claim.number - reach), (True, claim.number + reach)]
        other, is_ratio = None, False
    else:
        assert isinstance(claim, Bounded)
        ends = [(False, claim.at_least), (True, claim.at_most)]
        is_ratio = isinstance(claim, Ratio)
        other = None
        if isinstance(claim, (Ratio, Difference)):
            (other,) = cell("to", claim.to).values()
    return tuple(
        Inequality(value, other, is_ratio, at_most, bound, _margin(claim.margin, bound))
        for at_most, bound in ends
        if bound is not None
    )


def _margin(margin: float | None, bound: float) -> float:
    return max(MARGIN * abs(bound) if margin is None else margin, EXACTLY * abs(bound))


def _cells(claims: Claims, study: Study, path: tuple[str, ...], place: Place, without: str | None) -> dict[Any, Cell]:
    """Return the configuration of a place. If `without` names a factor, return a mapping from its levels to
    configurations.
    """
    if without is not None and without not in study.factors:
        what = _unknown("factor", without, list(study.factors))
        raise claims.problem((*path[:-1], "along"), what)
    level_of = {}
    for factor, level in place.at.items():
        if factor not in study.factors or factor == without:
            known = [one for one in study.factors if one != without]
            raise claims.problem((*path, "at", factor), _unknown("factor", factor, known))
        level_of[factor] = _level(study, factor, level, partial(claims.problem, (*path, "at", factor)))
    for factor in study.factors:
        levels = study.levels(factor)
        if factor != without and factor not in level_of:
            if len(levels) > 1:
                what = f"the level of {factor} is missing; expected one of: {_levels_text(study, factor)}"
                raise claims.problem((*path, "at") if place.at else path, what)
            level_of[factor] = levels[0]
    return {
        levels[without] if without is not None else None: Cell(place.experiment, number)
        for number, levels in enumerate(combinations(study))
        if all(levels[factor] == level for factor, level in level_of.items())
    }


def _level(study: Study, factor: str, raw_level: Any, problem: Callable[[str], ScenarioError]) -> Any:
    levels = study.levels(factor)
    by_label = {label: level for label, level in zip(study.labels(factor), levels, strict=True) if label is not None}
    if isinstance(raw_level, str) and raw_level in by_label:
        return by_label[raw_level]
    if raw_level in levels and not isinstance(raw_level, bool) or any(raw_level is level for level in levels):
        return raw_level
    raise problem(
        f"{inline(raw_level)[:60]} is not a level of {factor}, expected one of: {_levels_text(study, factor)}"
    )


def _levels_text(study: Study, factor: str) -> str:
    pairs = zip(study.labels(factor), study.levels(factor), strict=True)
    return ", ".join(label or inline(level)[:40] for label, level in pairs)[:300]
