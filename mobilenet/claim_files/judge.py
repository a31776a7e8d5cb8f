"""Answer questions from the numbers of runs, as early as the error allows.

Model     looks after 10, 14, 20, 28, ... runs. At each look every test of a question has bounds for the mean of its
          combination (questions.py), which are exceeded with the share of the error that belongs to this question,
          test and look, so all bounds of a file hold together. A claim holds as soon as all its means are within their
          bounds, and their intervals end below bound + margin. It does not hold as soon as one mean is beyond its
          bound, and its interval begins above bound - margin. If a backlog runs away, no mean exists: an upper bound
          then does not hold, and other claims stay undecided
Shapes    rows: the metrics of each run of a configuration, by replication
Errors    none; too few values is a reason
Source    Jennison, Turnbull (1989), Hall (1992) for the bounds, Fieller (1954) for ratios; docs/guide/claims.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mobilenet.claim_files.declaration import Answer
from mobilenet.claim_files.questions import EXACTLY, Cell, Inequality, Question
from mobilenet.metrics.registry import limits
from mobilenet.quoting import shown
from mobilenet.studies import atoms
from mobilenet.studies.atoms import OF_RARE, Error, clipped
from mobilenet.studies.capacity.feasibility import ENOUGH_VALUES, NEVER, OF_BACKLOG, Row, may_run_away
from mobilenet.studies.statistics import Bounds, Values, grows, share_of_look, skewed_bounds

BACKLOG = "backlog_slope"
Runs = Mapping[Cell, Sequence[Row]]
STEPS = 200  # of the search for an end of a ratio's interval, at most


class Judged(NamedTuple):
    """What is known after a look. `bounds`: of the value, ratio or difference of each test; None: too few values."""

    answer: Answer
    n: int = 0  # replications of each configuration
    bounds: tuple[Bounds | None, ...] = ()
    why: str = ""  # the reason, if the numbers do not give it
    is_final: bool = True  # whether more runs would not change it
    is_clear: bool = False  # decided without the help of the margin
    assumes: bool = False  # nearly all values are the same; what is rarer than atoms.RARE may be missing
    had: tuple[int, ...] = ()  # for each test, in how many replications its configurations have the metric


def judge(question: Question, runs: Runs, number: int, error: float) -> Judged:
    """Look at the runs of a question, which are those of look `number`; `error`: of this question at all looks."""
    n = min(len(runs.get(cell, ())) for cell in question.cells)
    rows = {cell: runs[cell][:n] for cell in question.cells}
    had = tuple(len(_with_metric(question.metric, rows, test)) for test in question.tests)
    return _judged(question, rows, n, number, error)._replace(had=had)


def _judged(question: Question, rows: Runs, n: int, number: int, error: float) -> Judged:
    if question.is_exact:
        return _exact(question, rows, n)
    share = share_of_look(number) * error
    tests = len(question.tests)
    of_each = Error((1 - OF_BACKLOG - OF_RARE) * share / tests, OF_RARE * error / tests)
    sides = [_sides(question.metric, rows, test) for test in question.tests]
    bounds = tuple(_interval(side, test, of_each) for side, test in zip(sides, question.tests, strict=True))
    if question.metric != BACKLOG:
        slopes = [np.array([row.get(BACKLOG, 0.0) for row in own]) for own in rows.values()]
        if any(grows(own, OF_BACKLOG * share / len(slopes)) for own in slopes):
            return _running_away(question, n, bounds)
        if any(map(may_run_away, slopes)):
            return Judged(Answer.UNDECIDED, n, bounds, "the backlog may grow without bound", is_final=False)
    if (why := _without_ratio(question, sides)) is not None:
        return Judged(Answer.UNDECIDED, n, bounds, why, is_final=False)
    known = [(side, test) for side, test in zip(sides, question.tests, strict=True) if side is not None]
    assumed = any(_assumes(side, test, of_each) for side, test in known)
    failing = [one for one in known if not _is_met(*one) and _fails(*one, of_each, one[1].margin)]
    if failing:
        is_clear = any(_fails(*one, of_each, 0.0) for one in failing)
        return Judged(Answer.FAILS, n, bounds, _of_zero(failing), is_clear=is_clear, assumes=assumed)
    if len(known) < len(sides):
        is_final = question.metric.startswith(NEVER)  # infinite in both places of some replication, for good
        why = f"too few runs have a finite {question.metric}"
        return Judged(Answer.UNDECIDED, n, bounds, why, is_final=is_final)
    if all(_is_met(*one) and _holds(*one, of_each, one[1].margin) for one in known):
        is_clear = all(_holds(*one, of_each, 0.0) for one in known)
        return Judged(Answer.HOLDS, n, bounds, is_clear=is_clear, assumes=assumed)
    return Judged(Answer.UNDECIDED, n, bounds, is_final=False)


def _exact(question: Question, rows: Runs, n: int) -> Judged:
    """All replications are the same, so one number is the mean; more than one shows that they are."""
    values = [[row.get(question.metric) for row in own] for own in rows.values()]
    if any(len(set(own)) > 1 for own in values):
        return Judged(Answer.UNDECIDED, n, (), "its runs differ, so its experiment is not deterministic")
    if any(None in own for own in values):
        return Judged(Answer.UNDECIDED, n, (), f"its runs have no {question.metric}")
    sides = [_sides(question.metric, rows, test) for test in question.tests]
    bounds = tuple(_interval(side, test, None) for side, test in zip(sides, question.tests, strict=True))
    if (why := _without_ratio(question, sides)) is not None:
        return Judged(Answer.UNDECIDED, n, bounds, why)
    pairs = [(side, test) for side, test in zip(sides, question.tests, strict=True) if side is not None]
    failing = [pair for pair in pairs if not _is_met(*pair)]
    return Judged(Answer.FAILS if failing else Answer.HOLDS, n, bounds, _of_zero(failing), is_clear=True)


def _without_ratio(question: Question, sides: Sequence[Side | None]) -> str | None:
    """Return why a ratio has no value; None: it has one. `below` and `grows` only compare two means, and need none."""
    for side, test in zip(sides, question.tests, strict=True):
        if side is not None and test.is_ratio and not test.is_strict and (mean := side.mean_of_other) <= 0:
            return f"the denominator is {shown(mean)} on average; a ratio needs a denominator above 0"
    return None


def _of_zero(failing: Sequence[tuple[Side, Inequality]]) -> str:
    """Return the reason where no ratio shows it; empty: one does."""
    is_zero = any(test.is_strict and side.mean_of_other == 0 for side, test in failing)
    return "the mean that should be the larger one is 0" if is_zero else ""


def _running_away(question: Question, n: int, bounds: tuple[Bounds | None, ...]) -> Judged:
    why = "the backlog grows without bound, so no mean exists"
    has_upper_bound = all(test.other is None for test in question.tests) and any(t.at_most for t in question.tests)
    return Judged(Answer.FAILS if has_upper_bound else Answer.UNDECIDED, n, bounds, why)


class Side(NamedTuple):
    """The values of both places, by replication; `other` is None if the test has only one place."""

    value: Values
    other: Values | None
    metric: str

    def less(self, factor: float) -> Values:
        """Return the values, less those of the other place times a factor."""
        return self.value if self.other is None else self.value - factor * self.other

    @property
    def mean_of_other(self) -> float:
        """The mean of the other place; 0 without one."""
        return 0.0 if self.other is None else _mean(self.other)


def _sides(metric: str, rows: Runs, test: Inequality) -> Side | None:
    """The values of the replications that have the metric in both places; None: too few do, or it has no difference."""
    own, other = rows[test.value], rows[test.other] if test.other is not None else None
    if metric.startswith(NEVER):  # a run without a value never delivered that share
        fill = {metric: math.inf}
        own = [{**fill, **row} for row in own]
        other = [{**fill, **row} for row in other] if other is not None else None
    there = _with_metric(metric, rows, test)
    if len(there) < min(ENOUGH_VALUES, len(own)):
        return None
    if other is not None and any(math.isinf(own[r][metric]) and math.isinf(other[r][metric]) for r in there):
        return None
    value = np.array([own[r][metric] for r in there], dtype=np.float64)
    others = None if other is None else np.array([other[r][metric] for r in there], dtype=np.float64)
    return Side(value, others, metric)


def _with_metric(metric: str, rows: Runs, test: Inequality) -> list[int]:
    """Return the replications that have the metric in all places of a test."""
    places = [rows[cell] for cell in (test.value, test.other) if cell is not None]
    is_filled = metric.startswith(NEVER)
    return [r for r in range(len(places[0])) if is_filled or all(metric in own[r] for own in places)]


def _combined(side: Side, test: Inequality, bound: float) -> Values:
    """What is at most 0 on average if the test holds with this bound."""
    combined = side.less(bound) if test.is_ratio else side.less(1.0) - bound
    return combined if test.at_most else -combined


def _is_met(side: Side, test: Inequality) -> bool:
    """Whether the means are within the bound, up to rounding; equal means are not below each other."""
    others = side.other if test.is_ratio and side.other is not None else np.zeros(1)
    largest = float(np.max(np.abs(others), initial=0.0))
    rounding = EXACTLY * max(abs(test.bound), largest if math.isfinite(largest) else 0.0)
    mean = _mean(_combined(side, test, test.bound))
    return mean < -rounding if test.is_strict else mean <= rounding


def _moved(test: Inequality, margin: float) -> float:
    """The bound, moved outwards by a margin; inwards by a negative one."""
    return test.bound + margin if test.at_most else test.bound - margin


def _holds(side: Side, test: Inequality, error: Error, margin: float) -> bool:
    found = _bounds(side, *_parts(test, _moved(test, margin)), error)
    return found.high <= 0 if test.at_most else found.low >= 0


def _fails(side: Side, test: Inequality, error: Error, margin: float) -> bool:
    found = _bounds(side, *_parts(test, _moved(test, -margin)), error)
    return found.low > 0 if test.at_most else found.high < 0


def _parts(test: Inequality, bound: float) -> tuple[float, float]:
    """The combination as value - factor * other - shift."""
    return (bound, 0.0) if test.is_ratio else (1.0, bound)


def _mean(values: Values) -> float:
    if np.all(np.isfinite(values)):
        return float(np.mean(values))
    return math.inf if np.max(values) == math.inf else -math.inf


def _bounds(side: Side, factor: float, shift: float, error: Error | None) -> Bounds:
    """Bounds of the mean of value - factor * other - shift; without an error, its values are all the same."""
    values = side.less(factor) - shift
    mean = _mean(values)
    if error is None or len(values) < 3 or math.isinf(mean):
        return Bounds(mean, mean, mean)
    if _is_settled(side, factor, error):
        return skewed_bounds(values, error.at_look)
    half = Error(error.at_look / 2, error.rare)
    own = atoms.bounds(side.value, half, side.metric)
    if side.other is None:
        return Bounds(mean, own.low - shift, own.high - shift)
    other = atoms.bounds(side.other, half, side.metric)
    ends = sorted(factor * end if factor else 0.0 for end in (other.low, other.high))
    return Bounds(mean, own.low - ends[1] - shift, own.high - ends[0] - shift)


def _is_settled(side: Side, factor: float, error: Error) -> bool:
    """Of both places, and of their combination."""
    return all(atoms.is_settled(values, error.rare, scale) for values, scale in _looked_at(side, factor))


def _looked_at(side: Side, factor: float) -> list[tuple[Values, float]]:
    if side.other is None:
        return [(side.value, 0.0)]
    scale = float(max(np.max(np.abs(side.value)), np.max(np.abs(factor * side.other))))
    return [(side.value, 0.0), (side.other, 0.0), (side.less(factor), scale)]


def _assumes(side: Side, test: Inequality, error: Error) -> bool:
    """Whether the bounds rest on what is assumed about rare outcomes."""
    factor = _parts(test, test.bound)[0]
    if math.isinf(_mean(side.less(factor))) or not _is_settled(side, factor, error):
        return False
    return any(atoms.assumes(values, scale) for values, scale in _looked_at(side, factor))


def _interval(side: Side | None, test: Inequality, error: Error | None) -> Bounds | None:
    """The value, ratio or difference, with the numbers that the bounds of its combination do not exclude."""
    if side is None:
        return None
    least, most = limits(side.metric)
    if not test.is_ratio:
        found = _bounds(side, 1.0, 0.0, error)
        return found if test.other is not None else clipped(found, least, most)
    below, mean = side.mean_of_other, float(np.mean(side.value))
    if below <= 0:
        return None
    if not (math.isfinite(mean) and math.isfinite(below)):
        return Bounds(math.inf, -math.inf, math.inf)
    ratio = mean / below
    ends = (_end(side, error, ratio, is_low=is_low) for is_low in (True, False))
    return clipped(Bounds(ratio, *ends), 0.0 if least >= 0 else -math.inf, math.inf)


def _end(side: Side, error: Error | None, ratio: float, is_low: bool) -> float:
    """Where the bounds begin to exclude a ratio; infinite where they do not exclude any."""

    def excluded(at: float) -> bool:
        bounds = _bounds(side, at, 0.0, error)
        return bounds.low > 0 if is_low else bounds.high < 0

    sign, width = (-1 if is_low else 1), max(abs(ratio), 1e-9) * 0.01
    while not excluded(ratio + sign * width):
        width *= 2
        if width > 1e6 * max(abs(ratio), 1e-9):
            return sign * math.inf
    inside, outside = (0.0 if width <= max(abs(ratio), 1e-9) * 0.01 else width / 2), width
    for _ in range(STEPS):
        if outside - inside <= 1e-6 * width:
            break
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if excluded(ratio + sign * middle) else (middle, outside)
    return ratio + sign * (inside + outside) / 2
