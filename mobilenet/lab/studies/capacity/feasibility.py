"""Decide whether all requirements hold at one value of the key, with as few runs as possible.

Model     The decision is a sequential test at fixed looks (after 10, 14, 20, 28, ... runs). Each look computes a
          confidence interval for the mean of every requirement. The error is divided among looks, sides and
          requirements, so that all intervals of a point are valid together. A point holds as soon as every interval
          ends before limit + tolerance. It fails as soon as one interval begins beyond limit - tolerance. If an
          interval meets both conditions, its mean decides. A point is therefore decided at the latest when the
          intervals are as narrow as the tolerance. A point also fails if the backlog grows without bound
          (statistics.grows, with part of the error), and it does not hold as long as the backlog is unstable, or
          probably unstable, as defined for studies. A bound of an interval counts only if enough runs contradict it, or
          if such runs are rare. A metric that only some runs have is judged by those runs. If they are too few, the
          test continues until it is certain that such runs are rare.
Shapes    `rows` contains the metrics of each run, ordered by replication.
Errors    A requirement with too few values has the state NO_DATA.
Source    Jennison, Turnbull, Interim analyses: the repeated confidence interval approach, J. R. Stat. Soc. B (1989);
          Batur, Kim (2010) for the tolerance; docs/guide/capacity.md
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from mobilenet.lab.studies.capacity.requirements import Requirement
from mobilenet.lab.studies.precedence import mean_shares
from mobilenet.lab.studies.statistics import (
    OF_RARE,
    RARE,
    Bounds,
    Error,
    Values,
    clip,
    grows,
    is_rare,
    look,
    lower,
    may_grow,
    share_of_look,
    unseen,
    upper,
)
from mobilenet.metrics.registry import NEVER, limits

Row = Mapping[str, float]
# The share of the error that the backlog test uses. It is small because a growing backlog is soon apparent.
OF_BACKLOG = 0.05
ENOUGH_VALUES = 5  # minimum number of runs with the metric for an interval of the mean


class State(Enum):
    HOLDS = "holds"
    FAILS = "fails"
    OPEN = "open"
    NO_DATA = "no data"


class Estimate(NamedTuple):
    """The mean of a metric at one value of the key, computed from the `n` runs that have the metric. `bounds` is None
    if there are too few such runs.
    """

    requirement: Requirement
    n: int
    bounds: Bounds | None
    assumes: bool = False  # whether the decision neglects rare outcomes
    runs: int = 0  # number of all runs, with or without the metric
    infinite: int = 0  # number of runs in which the metric is infinite

    @property
    def is_of_some(self) -> bool:
        """Whether some runs do not have the metric."""
        return self.n < self.runs


class ValueJudgement(NamedTuple):
    """The decision about one value of the key, from its first `n` runs."""

    state: State
    n: int
    next_n: int  # number of runs at the next look, if the state is OPEN
    estimates: tuple[Estimate, ...] = ()
    runs_away: bool = False
    is_clear: bool = False  # whether the decision is independent of the tolerance
    is_far: bool = False  # whether the interval lies completely outside the tolerance
    may_run_away: bool = False  # whether all requirements hold, but the backlog may still grow without bound
    delivery_ratio: float | None = None  # mean delivery ratio of the runs
    broadcast_ratio: float | None = None  # share of the planned broadcasts that these runs made

    @property
    def assumes(self) -> bool:
        """Whether the decision neglects rare outcomes."""
        return not self.runs_away and any(one.assumes and self.of(one)[0] is self.state for one in self.estimates)

    def runs_needed(self, is_at_limit: bool = False) -> int:
        """Estimate how many more runs are needed to decide the value. The width of an interval is inversely
        proportional to the square root of the number of runs. With `is_at_limit`, assume that the true mean equals the
        limit.
        """
        factor = 1.0
        for one in self.estimates:
            if one.bounds is not None and math.isfinite(one.bounds.high - one.bounds.low):
                half, lacks = (one.bounds.high - one.bounds.low) / 2, one.requirement.lacks(one.bounds.mean)
                room = one.requirement.tolerance + (0.0 if is_at_limit else abs(lacks))
                factor = max(factor, (half / room) ** 2)
        return max(self.next_n - self.n, math.ceil(self.n * (factor - 1)))

    def of(self, one: Estimate) -> tuple[State, bool]:
        """Return the state of one requirement, and whether this state is independent of the tolerance."""
        if self.runs_away:
            return State.FAILS, True
        if one.bounds is None:
            return State.NO_DATA, False
        state = _decide(one.requirement, one.bounds)
        if state is State.OPEN or (state is State.HOLDS and self.may_run_away):
            return State.OPEN, False
        test = _holds if state is State.HOLDS else _fails
        return state, test(one.requirement, one.bounds, 0.0)


class Judge:
    """Judges values of the key. `error` is the probability of a wrong decision outside the tolerance, for each value
    and each direction. Outcomes that occur in less than `rare` of the runs may be missed.
    """

    def __init__(self, requirements: Sequence[Requirement], error: float, rare: float = RARE) -> None:
        self.requirements = tuple(requirements)
        self._rare = rare
        self._error = (1 - OF_BACKLOG - OF_RARE) * error / len(self.requirements)
        self._error_of_rare = OF_RARE * error / len(self.requirements)
        self._error_of_backlog = OF_BACKLOG * error

    def judge(self, rows: Sequence[Row], before: ValueJudgement | None = None) -> ValueJudgement:
        """Judge the runs at the fixed looks until the value is decided. `before` is an earlier judgement of the first
        of these runs.
        """
        judgement = before or ValueJudgement(State.OPEN, 0, look(0))
        if judgement.state is not State.OPEN:
            return judgement
        for number in itertools.count():
            n = look(number)
            if n > len(rows):
                return judgement
            if n <= judgement.n:
                continue
            judgement = self._look(rows[:n], share_of_look(number), look(number + 1))
            delivered, accepted = mean_shares(rows[:n])
            judgement = judgement._replace(delivery_ratio=delivered, broadcast_ratio=accepted)
            if judgement.state is not State.OPEN:
                return judgement
        raise AssertionError("unreachable")

    def _look(self, rows: Sequence[Row], share: float, next_n: int) -> ValueJudgement:
        error = Error(share * self._error, self._error_of_rare, self._rare)
        estimates = tuple(_estimate(rows, one, error) for one in self.requirements)
        slopes = np.array([row.get("backlog_slope", 0.0) for row in rows])
        if grows(slopes, share * self._error_of_backlog):
            return ValueJudgement(State.FAILS, len(rows), 0, estimates, runs_away=True, is_clear=True, is_far=True)
        known = [(e.requirement, e.bounds) for e in estimates if e.bounds is not None]
        states = [_decide(one, bounds) for one, bounds in known]
        if State.FAILS in states:
            clear = any(_fails(one, bounds, 0.0) for one, bounds in known)
            far = any(_fails(one, bounds, -one.tolerance) for one, bounds in known)
            return ValueJudgement(State.FAILS, len(rows), 0, estimates, is_clear=clear, is_far=far)
        if any(e.bounds is None and is_rare(len(rows), e.n, error) for e in estimates):
            return ValueJudgement(State.NO_DATA, len(rows), 0, estimates)
        if len(known) < len(estimates):
            return ValueJudgement(State.OPEN, len(rows), next_n, estimates)
        if all(state is State.HOLDS for state in states):
            if may_run_away(slopes):
                return ValueJudgement(State.OPEN, len(rows), next_n, estimates, may_run_away=True)
            clear = all(_holds(one, bounds, 0.0) for one, bounds in known)
            far = all(_holds(one, bounds, -one.tolerance) for one, bounds in known)
            return ValueJudgement(State.HOLDS, len(rows), 0, estimates, is_clear=clear, is_far=far)
        return ValueJudgement(State.OPEN, len(rows), next_n, estimates)


def may_run_away(slopes: Values) -> bool:
    """Return whether a backlog may never settle, because it grows, or seems to grow in too few runs to be sure."""
    return grows(slopes) or may_grow(slopes)


def _estimate(rows: Sequence[Row], one: Requirement, error: Error) -> Estimate:
    values = [row[one.metric] for row in rows if one.metric in row]
    if one.metric.startswith(NEVER) and len(values) < len(rows):
        infinite, bounds = len(rows) - len(values), Bounds(math.inf, math.inf, math.inf)
        return Estimate(one, len(rows), bounds, runs=len(rows), infinite=infinite)
    if len(values) < ENOUGH_VALUES:
        return Estimate(one, len(values), None, runs=len(rows))
    sample = np.array(values, dtype=np.float64)
    above = unseen(len(sample), int(np.sum(sample > one.limit + one.tolerance)), error)
    below = unseen(len(sample), int(np.sum(sample < one.limit - one.tolerance)), error)
    least, most = limits(one.metric)
    ends = lower(sample, least, below, error), upper(sample, most, above, error)
    interval = clip(Bounds(float(np.mean(sample)), *ends), least, most)
    state = _decide(one, interval)
    rests_on = above if one.at_most is (state is State.HOLDS) else below
    return Estimate(one, len(values), interval, state is not State.OPEN and not rests_on, len(rows))


def _decide(one: Requirement, bounds: Bounds) -> State:
    """Return the state that follows from an interval. If the whole interval lies within the tolerance of the limit,
    either decision is acceptable, and the mean decides.
    """
    holds, fails = _holds(one, bounds, one.tolerance), _fails(one, bounds, one.tolerance)
    if holds and fails:
        return State.HOLDS if one.lacks(bounds.mean) <= 0 else State.FAILS
    return State.HOLDS if holds else State.FAILS if fails else State.OPEN


def _holds(one: Requirement, bounds: Bounds, tolerance: float) -> bool:
    return one.lacks(bounds.high if one.at_most else bounds.low) < tolerance


def _fails(one: Requirement, bounds: Bounds, tolerance: float) -> bool:
    return one.lacks(bounds.low if one.at_most else bounds.high) > -tolerance
