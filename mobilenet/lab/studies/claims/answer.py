"""The answers to a claims file, for reports, tables and exit codes.

Shapes    There is one row for each claim, in the order of the file.
Units     Values have the unit of their metric. Ratios and shares are dimensionless.
Source    ours: docs/guide/claims.md
"""

from __future__ import annotations

import math
import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mobilenet.lab.studies.claims.declaration import (
    Answer,
    Below,
    Difference,
    Falls,
    Grows,
    NoViolation,
    Published,
    Ratio,
)
from mobilenet.lab.studies.claims.judge import Delivery, Judgement
from mobilenet.lab.studies.claims.questions import Cell, Question
from mobilenet.lab.studies.papers.jobs import NO_ENDS, Ends
from mobilenet.lab.studies.statistics import Bounds
from mobilenet.quoting import quote
from mobilenet.record.stamp import PLACE


@dataclass(frozen=True)
class AnsweredClaim:
    """A claim with its answer. `what` names the quantity to which `bounds` refers, and `unit` is its unit."""

    question: Question
    answer: Answer
    what: str
    unit: str
    required: str
    bounds: Bounds | None  # value and confidence interval
    replications: int  # replications of each configuration, or the number of schedules
    command: str  # command in normal form, in which PLACE stands for the directory
    why: str = ""
    is_clear: bool = True
    is_left: bool = False  # whether --quick has skipped this claim
    assumes: bool = False  # whether the answer neglects rare outcomes
    had: int | None = None  # number of replications with the metric; None if unknown
    delivery: Delivery | None = None
    violated: int = 0  # number of runs that violate a property, over all configurations of the claim
    printed: Ends = NO_ENDS  # range of values that a printed number of a paper may represent

    @property
    def is_expected(self) -> bool:
        """Whether the answer is the one that the file expects, or still undecided."""
        return self.answer is Answer.UNDECIDED or self.answer.value == self.question.claim.expect

    @property
    def ends(self) -> Ends:
        """The lower and the upper bound of the claim, without margins."""
        bounds = {test.at_most: test.bound for test in self.question.tests}
        return (bounds.get(False), bounds.get(True)) if bounds else self.printed

    @property
    def place(self) -> Cell | None:
        """The configuration whose mean is reported, or None if the value depends on several configurations."""
        tests = self.question.tests
        return tests[0].value if tests and all(test.other is None for test in tests) else None


@dataclass(frozen=True)
class Outcome:
    """All answers, and the runs that failed or violated a property."""

    path: Path
    name: str
    error: float
    rare: float  # Outcomes that occur in a smaller share of runs may be missed.
    seed: int
    answers: tuple[AnsweredClaim, ...]
    runs: int
    failed: tuple[str, ...] = ()  # each entry has the form EXPERIMENT/RUN: reason
    violated: tuple[Path, ...] = ()  # directories of the runs that violate a property

    @property
    def counts(self) -> Counter[Answer]:
        return Counter(one.answer for one in self.answers)

    @property
    def unexpected(self) -> list[AnsweredClaim]:
        return [one for one in self.answers if not one.is_expected]

    @property
    def left(self) -> list[AnsweredClaim]:
        return [one for one in self.answers if one.is_left]

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the table claims.csv."""
        return [
            {
                "claim": one.question.name,
                "answer": one.answer.value,
                "expected": one.question.claim.expect,
                "says": one.question.claim.says or "",
                "quantity": one.what,
                "value": getattr(one.bounds, "mean", None),
                "low": getattr(one.bounds, "low", None),
                "high": getattr(one.bounds, "high", None),
                "unit": one.unit,
                "required": one.required,
                "at_least": one.ends[0],
                "at_most": one.ends[1],
                "experiment": getattr(one.place, "experiment", None),
                "configuration": getattr(one.place, "configuration", None),
                "replications": one.replications,
                "delivery_ratio": getattr(one.delivery, "value", None),
                "other_delivery_ratio": getattr(one.delivery, "other", None),
                "broadcast_ratio": min(getattr(one.delivery, "broadcast", ()), default=None),
                "infinite_runs": next(iter(getattr(one.delivery, "infinite", ())), None),
                "other_infinite_runs": next(iter(getattr(one.delivery, "infinite", ())[1:]), None),
                "violated_runs": one.violated,
                "over_common_deliveries": getattr(one.delivery, "is_common", False),
                "within_margin": not one.is_clear,
                "left": one.is_left,
                "why": one.why,
                "command": one.command,
            }
            for one in self.answers
        ]

    def json(self) -> dict[str, Any]:
        """Return the content of claims.json. Infinite numbers are written as strings, because JSON cannot represent
        them.
        """
        return {
            "name": self.name,
            "error": self.error,
            "rare": self.rare,
            "seed": self.seed,
            "runs": self.runs,
            "claims": [{key: _plain(value) for key, value in row.items()} for row in self.rows()],
        }


def command_in(command: str, out: Path) -> str:
    """Return the command of an answer for a shell, with PLACE replaced by the directory."""
    steps = [
        [quote(out / word[len(PLACE) + 1 :]) if word.startswith(f"{PLACE}/") else shlex.quote(word) for word in words]
        for words in map(shlex.split, command.split(" && "))
    ]
    return " && ".join(map(" ".join, steps))


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def answer_to(question: Question, judged: Judgement, command: str, is_left: bool, violated: int = 0) -> AnsweredClaim:
    """Combine a question with the judgement of its runs. If the claim consists of several tests, report the test that
    is nearest to failing.
    """
    of_tests = judged.bounds
    place = _nearest(question, of_tests)
    bounds = of_tests[place] if of_tests else None
    unit = "" if question.tests[place].is_ratio else question.words.unit_of(question.metric)
    return AnsweredClaim(
        question, judged.answer, quantity(question), unit, requirement(question), bounds, judged.n, command,
        judged.why, judged.is_clear, is_left, judged.assumes, judged.had[place] if judged.had else None,
        judged.deliveries[place] if judged.deliveries else None, violated,
    )  # fmt: skip


def _nearest(question: Question, bounds: tuple[Bounds | None, ...]) -> int:
    lacks = [
        -math.inf if b is None else (b.mean - t.bound if t.at_most else t.bound - b.mean)
        for t, b in zip(question.tests, bounds, strict=False)
    ]
    return lacks.index(max(lacks)) if lacks else 0


def quantity(question: Question) -> str:
    """Return the name of the quantity, such as `delivery_delay_mean_s` or `delivery_delay_mean_s, ratio`."""
    claim = question.claim
    if isinstance(claim, NoViolation):
        return "schedules with a violation"
    if isinstance(claim, Published):
        return "our value"
    if isinstance(claim, (Ratio, Below)):
        return f"{question.metric}, ratio"
    if isinstance(claim, (Grows, Falls)):
        return (
            f"{question.metric}, largest ratio of two neighbouring levels (the one expected to be smaller, divided"
            " by the other)"
        )
    return f"{question.metric}, difference" if isinstance(claim, Difference) else question.metric


def requirement(question: Question) -> str:
    """Return the requirement of the claim, such as `at most 0.4 ± 0.02`."""
    parts = []
    for test in question.tests[:1] if isinstance(question.claim, Grows) else question.tests:
        side = "below" if test.is_strict else "at most" if test.at_most else "at least"
        margin = "" if question.is_exact else f" ± {test.margin:.3g}"
        parts.append(f"{side} {test.bound:.6g}{margin}")
    if isinstance(question.claim, NoViolation):
        return "0"
    return " and ".join(parts) or "as in the paper"


def requirement_of_print(ends: Ends) -> str:
    """Return the requirement that follows from a number printed in a paper. It allows for half a unit of the last
    printed digit.
    """
    sides = zip(("at least", "at most"), ends, strict=True)
    return " and ".join(f"{side} {end:.6g}" for side, end in sides if end is not None) or "as in the paper"
