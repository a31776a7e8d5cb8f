"""Tests of the decision at one value of the key. They cover means, tolerances, backlogs, and metrics that are missing
in some runs.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from mobilenet.engine.random_streams import generator
from mobilenet.lab.studies.capacity.feasibility import Judge, Row, State, ValueJudgement
from mobilenet.lab.studies.capacity.requirements import Requirement
from mobilenet.lab.studies.statistics import grows

DELAY = Requirement("delay", True, 1.0, 0.05)
RATIO = Requirement("ratio", False, 0.9, 0.045)


def rows(mean: float, runs: int = 200, spread: float = 0.1, name: str = "delay", **others: float) -> list[Row]:
    """Return rows whose metric has this mean. The metrics in `others` vary by a thousandth."""
    drawn = generator(1, "rows", f"{mean} {name}").normal(mean, spread, runs)
    return [
        {name: float(value), **{other: level * (1 + place % 97 * 1e-5) for other, level in others.items()}}
        for place, value in enumerate(drawn)
    ]


def sloping(run_rows: list[Row], slopes: Iterable[float]) -> list[Row]:
    return [row | {"backlog_slope": float(slope)} for row, slope in zip(run_rows, slopes, strict=True)]


def judge(run_rows: list[Row], *wanted: Requirement) -> ValueJudgement:
    """Judge the rows. `rare` is so large that ten runs without a contradiction are enough."""
    return Judge(wanted or (DELAY,), 0.005, rare=0.6).judge(run_rows)


USUAL, TEN = Judge((DELAY,), 0.005), Judge((DELAY,), 0.005, rare=0.6)  # TEN needs only ten runs for a decision.
BOTH = Judge((DELAY, RATIO), 0.005, rare=0.6)
SELDOM = Judge((DELAY,), 0.005, rare=0.3)
IN_SEARCH = Judge((DELAY,), 0.05 / 13)
OF_RUNS = Judge((Requirement("delivery_delay_mean_s", True, 1.0, 0.05),), 0.05 / 13)  # This metric cannot be negative.
AT_0 = Judge((Requirement("delay", True, 0.8, 0.1),), 0.005)
EQUAL: list[Row] = [{"delay": 0.0, "delivery_ratio": 1.0}] * 400
# Eight of the first 141 runs are above the limit.
EVERY_20TH: list[Row] = [{"delay": float(place % 20 == 0)} for place in range(400)]
LONG: list[Row] = [row if place % 5 else {"delay": 1.5} for place, row in enumerate(rows(0.5, 400, 0.01))]
VARIED = [
    0.26,
    3.0,
    0.27,
    2.0,
    0.26,
    4.0,
    0.3,
    0.26,
    0.28,
    0.3,
    # The backlog grows in each run, but the slopes vary too much for a decision with the small error probability of one
    # look.
]


def at_least(limit: float) -> Judge:
    return Judge((Requirement("delivery_ratio", False, limit, 0.002),), 0.005)


@pytest.mark.parametrize(
    ("judge", "run_rows", "state", "n", "assumes"),
    [
        # If the mean is far from the limit, ten runs are enough.
        (TEN, rows(0.5), State.HOLDS, 10, True),
        (TEN, rows(2.0), State.FAILS, 10, True),
        # A value is feasible if all requirements hold, and infeasible if one of them fails. In the third case, the runs
        # do not have the ratio.
        (BOTH, rows(0.5, ratio=0.99), State.HOLDS, 10, True),
        (BOTH, rows(0.5, ratio=0.5), State.FAILS, 10, True),
        (BOTH, rows(2.0), State.FAILS, 10, True),
        # The search decides when some runs contradict the requirement, or when there are enough runs to rule out
        # frequent contradictions.
        (IN_SEARCH, rows(0.5, 400, 0.01), State.HOLDS, 156, True),
        # Run number 36 is the eighth long run, but other runs may take even longer.
        (IN_SEARCH, LONG, State.HOLDS, 156, True),
        # A delay far above its limit fails after a few runs. Delays are not negative, so rare small values cannot
        # reduce the mean to the limit.
        (OF_RUNS, rows(5.0, 400, name="delivery_delay_mean_s"), State.FAILS, 10, False),
        (OF_RUNS, rows(2.0, 400, name="delivery_delay_mean_s"), State.FAILS, 14, False),
        # The search reports that the metric is missing when the share of runs with this metric is certainly below
        # `rare`.
        (USUAL, [{}] * 2_000, State.NO_DATA, 156, False),
        (SELDOM, [{}] * 2_000, State.NO_DATA, 20, False),
        (SELDOM, [{} if place % 10 else row for place, row in enumerate(rows(0.5, 2_000))], State.HOLDS, 219, True),
        # If all values are equal, the search waits for enough runs to rule out that it has missed a frequent outcome.
        (USUAL, EQUAL[:155], State.OPEN, 111, False),
        (USUAL, EQUAL, State.HOLDS, 156, True),
        (at_least(0.5), EQUAL, State.HOLDS, 14, False),
        (at_least(0.99), EQUAL, State.HOLDS, 156, True),
        (AT_0, EVERY_20TH[:111], State.OPEN, 111, False),
        (AT_0, EVERY_20TH, State.HOLDS, 156, True),
        # A requirement is not met while the backlog may grow without bound. The metric may be missing in one of the
        # runs.
        (TEN, sloping(rows(0.5, 10), VARIED), State.OPEN, 10, True),
        (TEN, sloping(rows(0.5, 10), [0.1] * 10), State.HOLDS, 10, True),
        (TEN, [*rows(0.5, 9), {}], State.HOLDS, 10, True),
    ],
)
def test_requirements_are_decided_by_confidence_bounds(
    judge: Judge, run_rows: list[Row], state: State, n: int, assumes: bool
) -> None:
    judgement = judge.judge(run_rows)
    assert (judgement.state, judgement.n, judgement.assumes) == (state, n, assumes)
    assert (judgement.next_n > n) is (state is State.OPEN)


def test_means_near_the_limit_require_more_replications() -> None:
    judgement = judge(rows(1.0, 10))
    assert (judgement.state, judgement.n, judgement.next_n) == (State.OPEN, 10, 14)
    judgement = judge(rows(1.0, 13))
    assert (judgement.n, judgement.next_n) == (10, 14)  # The judgement ignores runs after the last look.
    assert judge([]) == ValueJudgement(State.OPEN, 0, 10)
    whole = judge(rows(1.0, 2_000))
    assert whole.state in (State.HOLDS, State.FAILS) and not whole.is_clear and whole.n > 50


@pytest.mark.parametrize(("mean", "state"), [(0.97, State.HOLDS), (1.03, State.FAILS)])
def test_the_mean_decides_within_the_tolerance(mean: float, state: State) -> None:
    """The tolerance is wide, and the whole confidence interval is above or below the limit."""
    for wanted, expected in ((Requirement("delay", True, 1.0, 0.5), state), (
        Requirement("delay", False, 1.0, 0.5), State.FAILS if state is State.HOLDS else State.HOLDS
    )):  # fmt: skip
        judgement = judge(rows(mean, spread=0.01), wanted)
        assert (judgement.state, judgement.n, judgement.is_clear, judgement.is_far) == (expected, 10, True, False)
        assert judgement.of(judgement.estimates[0]) == (expected, True)


def test_a_mean_at_the_limit_is_decided_within_the_tolerance() -> None:
    judgement = judge(rows(1.0, spread=0.03), Requirement("delay", True, 1.0, 0.5))
    (own,) = judgement.estimates
    assert own.bounds is not None and 0.5 < own.bounds.low < 1 < own.bounds.high < 1.5 and not judgement.is_clear
    assert judgement.state is (State.HOLDS if own.bounds.mean <= 1 else State.FAILS)


def test_a_decision_does_not_change_with_later_runs() -> None:
    assert judge(rows(0.8, 40)) == judge(rows(0.8, 40) + rows(9.0, 40))


def test_each_requirement_has_its_estimate() -> None:
    estimates = BOTH.judge(rows(0.5, ratio=0.5)).estimates
    assert [str(one.requirement) for one in estimates] == ["delay <= 1", "ratio >= 0.9"]


def test_more_requirements_make_intervals_wider() -> None:
    one, two = judge(rows(0.5, ratio=0.99)), judge(rows(0.5, ratio=0.99), DELAY, RATIO)
    first, second = one.estimates[0].bounds, two.estimates[0].bounds
    assert first is not None and second is not None and second.low < first.low < first.high < second.high


def test_a_growing_backlog_fails_whatever_the_delay() -> None:
    judgement = judge(sloping(rows(0.5, 20), np.linspace(0.6, 0.79, 20)))
    assert judgement.state is State.FAILS and judgement.runs_away and judgement.is_clear


@pytest.mark.parametrize(("mean", "spread"), [(0.6, 0.3), (0.8, 0.4), (0.5, 0.3)])
def test_runs_with_growing_backlogs_are_not_judged_feasible(mean: float, spread: float) -> None:
    """The slopes of the runs vary. A search tests the backlog more strictly than a study, so it needs more runs."""
    judge, fails = Judge((DELAY,), 0.05 / 13, rare=0.6), 0
    for seed in range(50):
        slopes = generator(seed, "slopes", "0").normal(mean, spread, 200)
        own = sloping(rows(0.3), slopes)
        whole = judge.judge(own)
        assert whole.state is State.FAILS or not grows(slopes[: whole.n])
        first = judge.judge(own[:10])
        assert first.state is not State.OPEN or (first.may_run_away and first.next_n == 14)
        fails += whole.state is State.FAILS
    assert fails >= 48


def test_a_stable_backlog_is_eventually_judged_feasible() -> None:
    """The slopes are around 0. With few runs, the backlog may seem to grow by chance."""
    for seed in range(50):
        slopes = generator(seed, "settled", "0").normal(0, 1, 200)
        assert judge(sloping(rows(0.3), slopes)).state is State.HOLDS


@pytest.mark.parametrize("limit", [1.0, 1e6])
def test_a_delay_percentile_beyond_the_deliveries_is_infinite(limit: float) -> None:
    name = "delivery_delay_survival_p95_s"
    run_rows = rows(0.5, 10, name=name)
    run_rows[3] = {}
    judged = judge(run_rows, Requirement(name, True, limit, 0.05))
    assert judged.state is State.FAILS and judged.estimates[0].bounds is not None
    assert judge(run_rows, Requirement(name, False, limit, 0.05)).state is State.HOLDS


def test_a_metric_missing_from_most_runs_stays_undecided() -> None:
    """The search makes more runs until enough of them have the metric."""
    run_rows: list[Row] = rows(0.5, 4) + [{} for _ in range(6)]
    for few in (run_rows, [{} for _ in range(10)]):
        seen = Judge((DELAY,), 0.005).judge(few)
        assert (seen.state, seen.n, seen.next_n) == (State.OPEN, 10, 14)
        assert seen.of(seen.estimates[0]) == (State.NO_DATA, False) and seen.estimates[0].is_of_some
    for number, mean in enumerate((0.5, 2.0)):
        seldom = [row if place % 4 == 0 else {} for place, row in enumerate(rows(mean, 200))]
        seen = judge(seldom)
        (own,) = seen.estimates
        assert seen.state is (State.HOLDS, State.FAILS)[number] and 5 <= own.n < own.runs / 2 and own.runs == seen.n
    assert not judge(rows(0.5, 10)).estimates[0].is_of_some


def test_a_metric_present_in_half_of_the_runs_is_usually_decided() -> None:
    drawn = generator(1, "half", "0")
    for _ in range(50):
        own = [row if there else {} for row, there in zip(rows(0.5, 200), drawn.random(200) < 0.57, strict=True)]
        assert judge(own).state is State.HOLDS


@pytest.mark.parametrize("share", [0.06, 0.1, 0.2])
def test_the_capacity_search_accounts_for_rare_long_runs(share: float) -> None:
    """The delay is about 0.5 s, except in a fraction `share` of the runs, where it is longer. Its mean is 1.5 s."""
    wrong, judge = 0, Judge((DELAY,), 0.05 / 13)
    for seed in range(50):
        stream = generator(seed, "long runs", str(share))
        long = stream.random(2_000) < share
        values = stream.uniform(0.49, 0.51, 2_000) + long / share
        wrong += judge.judge([{"delay": float(value)} for value in values]).state is State.HOLDS
    assert wrong == 0


def test_rare_extremes_are_detected_behind_runs_over_the_limit() -> None:
    """Most delays are 0.8 or 1.06. In 6 % of the runs, 5 is added to the delay, so the mean is about 1.2."""
    wrong, judge = 0, Judge((DELAY,), 0.05 / 13)
    for seed in range(50):
        stream = generator(seed, "farther", "0")
        values = np.where(stream.random(2_000) < 0.6, 0.8, 1.06) + 5 * (stream.random(2_000) < 0.06)
        wrong += judge.judge([{"delay": float(value)} for value in values]).state is State.HOLDS
    assert wrong <= 1
