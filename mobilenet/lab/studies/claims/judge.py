"""Answer questions from the results of runs, as early as the permitted error allows.

Model     Looks (interim analyses) take place after 10, 14, 20, 28, ... runs. At each look, every test of a question has
          bounds for the mean of its combination (questions.py). The error is divided among questions, tests and looks,
          so that all bounds of a file are valid together. A claim holds as soon as all its means are within their
          bounds and their intervals end below bound + margin. It does not hold as soon as one mean is beyond its bound
          and its interval begins above bound - margin. A replication contradicts a bound if its combination is on the
          other side of 0. A bound counts only if enough replications contradict it, or if such replications are rare
          (statistics.py). If a backlog grows without bound, no mean exists: an upper bound does not hold then, and
          other claims remain undecided.
Shapes    `rows` contains the metrics of each run of a configuration, ordered by replication.
Errors    With too few values, a question remains undecided and the judgement states the reason.
Source    Jennison, Turnbull (1989), Hall (1992) for the bounds, Fieller (1954) for ratios; docs/guide/claims.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mobilenet.lab.studies.capacity.feasibility import ENOUGH_VALUES, OF_BACKLOG, Row, may_run_away
from mobilenet.lab.studies.claims.declaration import Answer
from mobilenet.lab.studies.claims.questions import EXACTLY, Cell, Inequality, Question
from mobilenet.lab.studies.precedence import DELIVERED, OWED, UNPAIRED, NotPaired, mean_shares
from mobilenet.lab.studies.statistics import (
    OF_RARE,
    RARE,
    Bounds,
    Error,
    Values,
    clip,
    grows,
    is_rare,
    lower,
    share_of_look,
    unseen,
    upper,
)
from mobilenet.metrics.declaration import OfDelays
from mobilenet.metrics.registry import NEVER, limits
from mobilenet.quoting import format_number

BACKLOG = "backlog_slope"
Runs = Mapping[Cell, Sequence[Row]]
# A function that computes a delay at two places in one replication, from the deliveries that occurred at both places.
# It returns None if there are no such deliveries.
Common = Callable[[Cell, Cell, int, OfDelays], tuple[float, float] | None]
ANY = OfDelays(len)  # stands for metrics that depend only on which deliveries were made, and not on their delays
STEPS = 200  # maximum number of steps of the search for an end of a ratio's interval


class Delivery(NamedTuple):
    """The mean delivery ratios at the places of a test. `is_common` is true if the values of the test cover only the
    deliveries that occurred at both places.
    """

    value: float | None
    other: float | None
    is_common: bool
    broadcast: tuple[float, ...] = ()  # for each place, the share of the planned broadcasts that were made
    infinite: tuple[int, ...] = ()  # for each place, the number of runs in which the metric is infinite


class Judgement(NamedTuple):
    """The judgement of a question after a look."""

    answer: Answer
    n: int = 0  # replications of each configuration
    sides: tuple[Side | None, ...] = ()  # one entry for each test, or None for a test with too few values
    why: str = ""  # the reason for the answer, if the numbers do not show it
    is_final: bool = True  # False if more runs may change the answer
    is_clear: bool = False  # whether the decision is independent of the margin
    assumes: bool = False  # whether the answer neglects rare outcomes
    # for each test, the number of replications in which all its configurations have the metric
    had: tuple[int, ...] = ()
    deliveries: tuple[Delivery, ...] = ()  # one entry for each test

    @property
    def bounds(self) -> tuple[Bounds | None, ...]:
        """The bounds of the value, ratio or difference of each test. Computing them takes longer than the answer
        itself.
        """
        return tuple(None if side is None else _interval(side) for side in self.sides)


def judge(
    question: Question, runs: Runs, number: int, error: float, rare: float = RARE, common: Common | None = None
) -> Judgement:
    """Judge a question from its runs at look `number`. `error` is the error of this question over all looks. Outcomes
    that occur in less than `rare` of the runs may be missed. `common` computes the delays at two places that delivered
    different shares.
    """
    n = min(len(runs.get(cell, ())) for cell in question.cells)
    rows = {cell: runs[cell][:n] for cell in question.cells}
    try:
        of_tests = [_comparable(question, rows, test, common) for test in question.tests]
    except NotPaired as apart:
        why = f"the places delivered different shares, and {UNPAIRED[str(apart)]}"
        deliveries = tuple(_delivery(question.metric, rows, rows, test) for test in question.tests)
        return Judgement(Answer.UNDECIDED, n, why=why, deliveries=deliveries)
    pairs = list(zip(question.tests, of_tests, strict=True))
    had = tuple(len(_with_metric(question.metric, own, test)) for test, own in pairs)
    deliveries = tuple(_delivery(question.metric, rows, own, test) for test, own in pairs)
    return _judgement(question, rows, pairs, number, error, rare, had)._replace(had=had, deliveries=deliveries)


def _comparable(question: Question, rows: Runs, test: Inequality, common: Common | None) -> Runs:
    """Return the rows for a test. Delays at two places are computed from the deliveries that occurred at both places.
    The rows are unchanged if both places delivered everything that they owed, and either owed the same or are not
    paired. Raise NotPaired if delays, or percentiles that include waiting messages, cannot be compared.
    """
    metric, never = question.words.of_delays(question.metric), question.metric.startswith(NEVER)
    if common is None or test.other is None or (metric is None and not never):
        return rows
    own, other = rows[test.value], rows[test.other]
    is_complete = all(row.get(DELIVERED, 1.0) == 1.0 for row in (*own, *other))
    if is_complete and all(a.get(OWED) == b.get(OWED) for a, b in zip(own, other, strict=True)):
        return rows
    compared: tuple[list[Row], list[Row]] = [], []
    for replication, places in enumerate(zip(own, other, strict=True), 1):
        try:
            both = common(test.value, test.other, replication, metric or ANY)
        except NotPaired:
            if is_complete:
                return rows
            raise
        for place, row in enumerate(places if metric is not None else ()):
            rest = {name: value for name, value in row.items() if name != question.metric}
            compared[place].append(rest if both is None else rest | {question.metric: both[place]})
    return {**rows, test.value: compared[0], test.other: compared[1]} if metric is not None else rows


def _delivery(metric: str, rows: Runs, compared: Runs, test: Inequality) -> Delivery:
    places = [rows[cell] for cell in (test.value, test.other) if cell]
    shares = [mean_shares(own) for own in places]
    infinite = tuple(sum(metric not in row for row in own) for own in places) if metric.startswith(NEVER) else ()
    broadcast = tuple(accepted for _, accepted in shares if accepted is not None)
    return Delivery(shares[0][0], shares[1][0] if len(shares) > 1 else None, compared is not rows, broadcast, infinite)


def _judgement(
    question: Question, rows: Runs, pairs: Sequence[tuple[Inequality, Runs]], number: int, error: float, rare: float,
    had: Sequence[int],
) -> Judgement:  # fmt: skip
    n = min(map(len, rows.values()))
    if question.is_exact:
        return _exact(question, rows, pairs, n)
    share, tests = share_of_look(number) * error, len(question.tests)
    slopes = [np.array([row.get(BACKLOG, 0.0) for row in own]) for own in rows.values()]
    each = Error((1 - OF_BACKLOG - OF_RARE) * share / tests, OF_RARE * error / tests, rare)
    sides = [_side(question.metric, own, test, each) for test, own in pairs]
    outcome = _decide(question, sides, Judgement(Answer.UNDECIDED, n, is_final=False), slopes, OF_BACKLOG * share)
    if outcome.answer is Answer.UNDECIDED and not outcome.is_final and any(is_rare(n, count, each) for count in had):
        why = f"fewer than {rare * 100:g} % of the runs have a finite {question.metric}"
        outcome = outcome._replace(is_final=True, why=why)
    return outcome


def _decide(
    question: Question, sides: Sequence[Side | None], open_: Judgement, slopes: Sequence[Values], of_backlog: float
) -> Judgement:
    """Combine the decisions of all tests. `open_` is the judgement that is returned while the question is undecided.
    `of_backlog` is the error of the backlog test.
    """
    open_ = open_._replace(sides=tuple(sides))
    if question.metric != BACKLOG:
        if any(grows(own, of_backlog / len(slopes)) for own in slopes):
            return _unbounded_judgement(question, open_.n, open_.sides)
        if any(map(may_run_away, slopes)):
            return open_._replace(why="the backlog may grow without bound")
    if (why := _without_ratio(sides)) is not None:
        return open_._replace(why=why)
    known = [side for side in sides if side is not None]
    failing = [side for side in known if not _is_met(side) and _fails(side, side.test.margin)]
    if failing:
        is_clear = any(_fails(side, 0.0) for side in failing)
        assumes = all(not side.against(Answer.FAILS) for side in failing)
        return Judgement(Answer.FAILS, open_.n, open_.sides, _of_zero(failing), is_clear=is_clear, assumes=assumes)
    if len(known) < len(sides):
        # The metric is infinite at both places of a replication, and more runs cannot change this.
        is_final = question.metric.startswith(NEVER)
        return open_._replace(why=f"too few runs have a finite {question.metric}", is_final=is_final)
    if all(_is_met(side) and _holds(side, side.test.margin) for side in known):
        is_clear = all(_holds(side, 0.0) for side in known)
        assumes = any(not side.against(Answer.HOLDS) for side in known)
        return Judgement(Answer.HOLDS, open_.n, open_.sides, is_clear=is_clear, assumes=assumes)
    return open_


def _exact(question: Question, rows: Runs, pairs: Sequence[tuple[Inequality, Runs]], n: int) -> Judgement:
    """Answer a question about a deterministic experiment. Its replications are identical, so a single value is the
    mean. Further replications only confirm that they are identical.
    """
    values = [[row.get(question.metric) for row in own] for own in rows.values()]
    if any(len(set(own)) > 1 for own in values):
        return Judgement(Answer.UNDECIDED, n, (), "its runs differ, so its experiment is not deterministic")
    if any(None in own for own in values):
        return Judgement(Answer.UNDECIDED, n, (), f"its runs have no {question.metric}")
    sides = tuple(_side(question.metric, own, test, None) for test, own in pairs)
    if (why := _without_ratio(sides)) is not None:
        return Judgement(Answer.UNDECIDED, n, sides, why)
    failing = [side for side in sides if side is not None and not _is_met(side)]
    return Judgement(Answer.FAILS if failing else Answer.HOLDS, n, sides, _of_zero(failing), is_clear=True)


def _without_ratio(sides: Sequence[Side | None]) -> str | None:
    """Return why a ratio has no value, or None if it has one. The relations `below` and `grows` only compare means, and
    do not need the ratio.
    """
    for side in sides:
        if side is not None and side.test.is_ratio and not side.test.is_strict and (mean := side.mean_of_other) <= 0:
            return f"the denominator is {format_number(mean)} on average; a ratio needs a denominator above 0"
    return None


def _of_zero(failing: Sequence[Side]) -> str:
    """Return an explanation if the mean that should be larger is 0, and otherwise an empty string."""
    is_zero = any(side.test.is_strict and side.mean_of_other == 0 for side in failing)
    return "the mean that should be the larger one is 0" if is_zero else ""


def _unbounded_judgement(question: Question, n: int, sides: tuple[Side | None, ...]) -> Judgement:
    why = "the backlog grows without bound, so no mean exists"
    has_upper_bound = all(test.other is None for test in question.tests) and any(t.at_most for t in question.tests)
    return Judgement(Answer.FAILS if has_upper_bound else Answer.UNDECIDED, n, sides, why)


class Side(NamedTuple):
    """A test with the values at its places, by replication. `other` is None if the test has only one place. `below` and
    `above` are the shares of unseen outcomes that its bounds allow for. If `error` is None, all replications have the
    same value.
    """

    test: Inequality
    metric: str
    value: Values
    other: Values | None
    error: Error | None
    below: float = 0.0
    above: float = 0.0

    def less(self, factor: float, shift: float) -> Values:
        """Return value - factor * other - shift for each replication."""
        return (self.value if self.other is None else self.value - factor * self.other) - shift

    def limits(self, factor: float, shift: float) -> tuple[float, float]:
        """Return the smallest and the largest possible value of value - factor * other - shift."""
        least, most = limits(self.metric)
        if self.other is None:
            return least - shift, most - shift
        low, high = sorted(factor * end if factor else 0.0 for end in (least, most))
        return least - high - shift, most - low - shift

    @property
    def mean_of_other(self) -> float:
        """The mean at the other place, or 0 if the test has only one place."""
        return 0.0 if self.other is None else _mean(self.other)

    def against(self, answer: Answer) -> float:
        """Return the share of unseen outcomes that could contradict an answer."""
        return self.above if self.test.at_most is (answer is Answer.HOLDS) else self.below


def _side(metric: str, rows: Runs, test: Inequality, error: Error | None) -> Side | None:
    """Return the values of the replications in which every configuration of the test has the metric. Return None if
    there are too few such replications, or if a difference would be infinity minus infinity.
    """
    own, other = rows[test.value], rows[test.other] if test.other is not None else None
    if metric.startswith(NEVER):  # A run without a value never delivered the percentile's share of messages.
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
    side = Side(test, metric, value, others, error)
    if error is None:
        return side
    beyond = int(np.sum(side.less(*_parts(test, test.bound + test.margin)) > 0))
    within = int(np.sum(side.less(*_parts(test, test.bound - test.margin)) < 0))
    return side._replace(below=unseen(len(value), within, error), above=unseen(len(value), beyond, error))


def _with_metric(metric: str, rows: Runs, test: Inequality) -> list[int]:
    places = [rows[cell] for cell in (test.value, test.other) if cell is not None]
    is_filled = metric.startswith(NEVER)
    return [r for r in range(len(places[0])) if is_filled or all(metric in own[r] for own in places)]


def _is_met(side: Side) -> bool:
    """Return whether the means are within the bound, allowing for rounding. A strict test requires the means to
    differ.
    """
    test = side.test
    others = side.other if test.is_ratio and side.other is not None else np.zeros(1)
    largest = float(np.max(np.abs(others), initial=0.0))
    rounding = EXACTLY * max(abs(test.bound), largest if math.isfinite(largest) else 0.0)
    mean = _mean(side.less(*_parts(test, test.bound))) * (1 if test.at_most else -1)
    return mean < -rounding if test.is_strict else mean <= rounding


def _holds(side: Side, margin: float) -> bool:
    if side.test.at_most:
        return _high(side, *_parts(side.test, side.test.bound + margin)) <= 0
    return _low(side, *_parts(side.test, side.test.bound - margin)) >= 0


def _fails(side: Side, margin: float) -> bool:
    if side.test.at_most:
        return _low(side, *_parts(side.test, side.test.bound - margin)) > 0
    return _high(side, *_parts(side.test, side.test.bound + margin)) < 0


def _parts(test: Inequality, bound: float) -> tuple[float, float]:
    """Return `factor` and `shift` of the combination value - factor * other - shift."""
    return (bound, 0.0) if test.is_ratio else (1.0, bound)


def _mean(values: Values) -> float:
    if np.all(np.isfinite(values)):
        return float(np.mean(values))
    return math.inf if np.max(values) == math.inf else -math.inf


def _low(side: Side, factor: float, shift: float) -> float:
    values = side.less(factor, shift)
    if side.error is None or not np.all(np.isfinite(values)):
        return _mean(values)
    return lower(values, side.limits(factor, shift)[0], side.below, side.error)


def _high(side: Side, factor: float, shift: float) -> float:
    values = side.less(factor, shift)
    if side.error is None or not np.all(np.isfinite(values)):
        return _mean(values)
    return upper(values, side.limits(factor, shift)[1], side.above, side.error)


def _interval(side: Side) -> Bounds | None:
    """Return the value, ratio or difference of a test. Its interval contains all numbers that the bounds of the test do
    not exclude.
    """
    least, most = limits(side.metric)
    if not side.test.is_ratio:
        bounds = Bounds(_mean(side.less(1.0, 0.0)), _low(side, 1.0, 0.0), _high(side, 1.0, 0.0))
        return bounds if side.test.other is not None else clip(bounds, least, most)
    below, mean = side.mean_of_other, float(np.mean(side.value))
    if below <= 0:
        return None
    if not (math.isfinite(mean) and math.isfinite(below)):
        return None
    ratio = mean / below
    ends = (_end(side, ratio, is_low=is_low) for is_low in (True, False))
    return clip(Bounds(ratio, *ends), 0.0 if least >= 0 else -math.inf, math.inf)


def _end(side: Side, ratio: float, is_low: bool) -> float:
    """Return one end of the interval of a ratio, beyond which the bounds exclude all numbers. Return infinity if they
    exclude none.
    """

    def is_excluded(at: float) -> bool:
        return _low(side, at, 0.0) > 0 if is_low else _high(side, at, 0.0) < 0

    sign, width = (-1 if is_low else 1), max(abs(ratio), 1e-9) * 0.01
    while not is_excluded(ratio + sign * width):
        width *= 2
        if width > 1e6 * max(abs(ratio), 1e-9):
            return sign * math.inf
    inside, outside = (0.0 if width <= max(abs(ratio), 1e-9) * 0.01 else width / 2), width
    for _ in range(STEPS):
        if outside - inside <= 1e-6 * width:
            break
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if is_excluded(ratio + sign * middle) else (middle, outside)
    return ratio + sign * (inside + outside) / 2
