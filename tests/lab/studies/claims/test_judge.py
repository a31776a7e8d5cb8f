"""One question at one look: what the numbers of its runs say."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobilenet.engine.random_streams import generator
from mobilenet.lab.studies.claims.answer import answer_to, requirement
from mobilenet.lab.studies.claims.declaration import Answer, Below, Grows, Near, Place, Within
from mobilenet.lab.studies.claims.judge import Judgement, judge
from mobilenet.lab.studies.claims.looks import Looks
from mobilenet.lab.studies.claims.questions import Cell, Inequality, Question
from mobilenet.lab.studies.claims.words import sentence
from mobilenet.lab.studies.common_deliveries import OTHER_BROADCASTS, NotPaired
from mobilenet.lab.studies.statistics import grows, look

A, B, C = (Cell("e", number) for number in range(3))
HERE = Place(experiment="e")


def question(*tests: Inequality, metric: str = "m", is_exact: bool = False) -> Question:
    claim = Within(relation="within", metric=metric, value=HERE, at_most=1.0)
    return Question("q", claim, metric, tests, is_exact)


def at_most(bound: float, margin: float = 0.1) -> Inequality:
    return Inequality(A, None, False, True, bound, margin)


def at_least(bound: float, margin: float = 0.1) -> Inequality:
    return Inequality(A, None, False, False, bound, margin)


def below(one: Cell, other: Cell, margin: float = 0.05) -> Inequality:
    return Inequality(one, other, True, True, 1.0, margin, True)


def rows(*values: float, metric: str = "m") -> list[dict[str, float]]:
    return [{metric: value} for value in values]


def spread(mean: float, sd: float, n: int = 28, seed: int = 1) -> list[dict[str, float]]:
    values = generator(seed, "test", "0").normal(0, 1, n)
    values = (values - values.mean()) / values.std(ddof=1)
    return rows(*(mean + sd * values))


def judge_claim(one: Question, number: int = 3, **cells: list[dict[str, float]]) -> Judgement:
    """With `rare` so large that 28 replications without a contradicting one suffice."""
    return judge(one, {globals()[name]: own for name, own in cells.items()}, number, 0.05, rare=0.3)


def test_both_sides_of_a_bound() -> None:
    one = question(at_most(1.0))
    assert (
        judge_claim(one, A=spread(0.8, 0.1))[0] is Answer.HOLDS
        and judge_claim(one, A=spread(1.2, 0.1))[0] is Answer.FAILS
    )
    assert judge_claim(one, A=spread(0.8, 0.1)).is_clear
    one = question(at_most(1.0, 0.2))
    assert not judge_claim(one, A=spread(0.98, 0.09)).is_clear
    assert (
        judge_claim(one, A=spread(0.98, 0.09))[0] is Answer.HOLDS
        and judge_claim(one, A=spread(1.02, 0.09))[0] is Answer.FAILS
    )
    open_ = judge_claim(one, A=spread(1.0, 0.5))
    assert open_.answer is Answer.UNDECIDED and not open_.is_final


def test_a_mean_beyond_the_bound_never_holds_and_one_within_never_fails() -> None:
    """However wide the margin is."""
    for mean in np.linspace(0.5, 1.5, 41):
        answer = judge_claim(question(at_most(1.0, 10.0)), A=spread(float(mean), 0.3)).answer
        assert answer is (Answer.HOLDS if mean <= 1 + 1e-9 else Answer.FAILS)


def test_between_two_bounds() -> None:
    one = question(at_least(1.0), at_most(2.0))
    assert [judge_claim(one, A=spread(mean, 0.1)).answer for mean in (0.8, 1.5, 2.2)] == [
        Answer.FAILS, Answer.HOLDS, Answer.FAILS,
    ]  # fmt: skip


def test_a_difference_and_a_ratio_are_of_pairs() -> None:
    """What both places share does not count."""
    world = spread(10, 5)
    more = [{"m": row["m"] + 1 + 0.001 * place} for place, row in enumerate(world)]
    difference = question(Inequality(A, B, False, True, 0.5, 0.1))
    assert judge_claim(difference, A=more, B=world).answer is Answer.FAILS
    twice = [{"m": 2 * row["m"]} for row in world]
    ratio = question(Inequality(A, B, True, False, 1.8, 0.1))
    judgement = judge_claim(ratio, A=twice, B=world)
    assert judgement.answer is Answer.HOLDS and judgement.bounds[0] is not None
    assert judgement.bounds[0].mean == pytest.approx(2) and judgement.bounds[0].low == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize(("value", "other", "denominator"), [(0, 0, "0"), (5, 0, "0"), (-2, -1, "-1"), (0, -1, "-1")])
def test_a_ratio_needs_a_denominator_above_zero(value: float, other: float, denominator: str) -> None:
    """It is undecided at every look, and more runs may still change that; of deterministic runs they cannot."""
    for at_most_ in (True, False):
        for is_exact in (False, True):
            one = question(Inequality(A, B, True, at_most_, 1.0, 0.1), is_exact=is_exact)
            judgement = judge_claim(one, A=rows(*[value] * 28), B=rows(*[other] * 28))
            assert (
                judgement.answer is Answer.UNDECIDED and judgement.is_final is is_exact and judgement.bounds == (None,)
            )
            assert judgement.why == f"the denominator is {denominator} on average; a ratio needs a denominator above 0"


def test_comparing_with_zero_needs_no_ratio() -> None:
    one = question(below(A, B), metric="handoffs")
    zeros, some = (rows(*[value] * 400, metric="handoffs") for value in (0.0, 3.0))
    judgement = judge_claim(one, 10, A=some, B=zeros)
    assert judgement.answer is Answer.FAILS and judgement.why == "the mean that should be the larger one is 0"
    exact = question(below(A, B), is_exact=True)
    judgement = judge_claim(exact, A=rows(0, 0), B=rows(0, 0))
    assert judgement.answer is Answer.FAILS and judgement.why == "the mean that should be the larger one is 0"


def test_the_interval_of_a_ratio_is_that_of_fieller() -> None:
    """For t bounds, its ends solve a quadratic equation."""
    a, b = (np.array([row["m"] for row in spread(mean, 0.2, 40, seed)]) for mean, seed in ((2.0, 1), (1.0, 2)))
    bounds = judge_claim(question(Inequality(A, B, True, True, 3.0, 0.1)), 5, A=rows(*a), B=rows(*b)).bounds[0]
    assert bounds is not None and bounds.low < 2 < bounds.high
    for end in (bounds.low, bounds.high):
        combined = a - end * b
        statistic = abs(combined.mean()) / (combined.std(ddof=1) / math.sqrt(40))
        assert 2.5 < statistic < 5  # the quantile of the level, moved a little by the skewness


@given(st.floats(0.01, 100), st.floats(0.01, 3), st.integers(0, 5))
def test_scaling_changes_nothing(factor: float, mean: float, seed: int) -> None:
    own, scaled = (spread(mean * f, 0.2 * f, seed=seed) for f in (1.0, factor))
    judgement = judge_claim(question(at_most(1.0)), A=own)
    assert judge_claim(question(at_most(factor, 0.1 * factor)), A=scaled).answer is judgement.answer


def test_growing_needs_every_step() -> None:
    one = question(below(A, B), below(B, C))
    assert judge_claim(one, A=spread(1, 0.1), B=spread(2, 0.1), C=spread(3, 0.1)).answer is Answer.HOLDS
    assert judge_claim(one, A=spread(1, 0.1), B=spread(2, 0.1), C=spread(1.5, 0.1)).answer is Answer.FAILS
    same = spread(2, 0.1)
    assert judge_claim(one, A=spread(1, 0.1), B=same, C=same).answer is Answer.FAILS  # equal is not more
    zeros = rows(*[0.0] * 28)
    assert judge_claim(one, A=zeros, B=zeros, C=same).answer is not Answer.HOLDS


def test_of_several_tests_the_one_nearest_to_failing_is_reported() -> None:
    one = Question("q", Grows(relation="grows", metric="m", value=HERE, along="f"), "m", (below(A, B), below(B, C)))
    answer = answer_to(one, judge_claim(one, A=spread(1, 0.1), B=spread(2, 0.1), C=spread(2.5, 0.1)), "", False)
    assert answer.bounds is not None and answer.bounds.mean == pytest.approx(0.8) and answer.unit == ""
    assert requirement(one) == "below 1 ± 0.05"


def test_runs_without_the_metric() -> None:
    one = question(at_most(1.0))
    none = judge_claim(one, A=[{}] * 24 + rows(*[0.5] * 4))
    assert none.answer is Answer.UNDECIDED and not none.is_final and "too few runs have a finite m" in none.why
    for missing in (8, 40):
        some = judge_claim(one, A=spread(0.5, 0.01, 20) + [{}] * missing)
        assert some.answer is Answer.HOLDS and some.had == (20,)
        words = f"; {20 + missing} replications, of which 20 have m;"
        assert words in sentence(answer_to(one, some, "c", False))
    assert "28 replications; c" in sentence(answer_to(one, judge_claim(one, A=spread(0.5, 0.01)), "c", False))
    pairs = judge_claim(question(below(A, B)), A=[{}] * 3 + spread(1, 0.1, 25), B=spread(2, 0.1, 24) + [{}] * 4)
    assert pairs.answer is Answer.HOLDS and pairs.had == (21,)


def test_no_run_with_the_metric_at_the_first_looks_is_not_final() -> None:
    looks = Looks([question(at_most(1.0))], 0.05, 100, rare=0.2)
    late: list[dict[str, float]] = [{}] * 14 + spread(0.5, 0.1, 86)
    looks.take({A: late[:14]})
    assert looks.replications() == {A: 20}
    looks.take({A: late})
    assert looks.judged["q"].answer is Answer.HOLDS
    never = Looks([question(at_most(1.0))], 0.05, 100)
    never.take({A: [{}] * 100})
    assert (
        not never.replications()
        and never.judged["q"].why == "too few runs have a finite m"
        and never.judged["q"].n == 79
    )
    seldom = Looks([question(at_most(1.0))], 0.05, 400)
    seldom.take({A: [{}] * 400})
    assert seldom.judged["q"].why == "fewer than 5 % of the runs have a finite m" and seldom.judged["q"].n == 111


def test_a_share_that_never_arrives_takes_for_ever() -> None:
    metric = "delivery_delay_survival_p95_s"
    runs = [*rows(*[0.5] * 27, metric=metric), {}]
    judgement = judge_claim(question(at_most(1.0), metric=metric), A=runs)
    assert judgement.answer is Answer.FAILS and judgement.bounds[0] is not None and judgement.bounds[0].mean == math.inf
    both = judge_claim(question(below(A, B), metric=metric), A=runs, B=runs)
    assert both.answer is Answer.UNDECIDED and both.is_final
    assert (
        judge_claim(question(below(A, B), metric=metric), A=rows(*[0.5] * 28, metric=metric), B=runs)[0] is Answer.HOLDS
    )


def test_a_claim_states_how_many_runs_are_infinite() -> None:
    metric = "delivery_delay_survival_p95_s"
    runs = [*rows(*[0.5] * 27, metric=metric), {}]
    one = question(at_most(1.0), metric=metric)
    one = replace(one, claim=one.claim.model_copy(update={"says": "Gossip is fast"}))
    line = sentence(answer_to(one, judge_claim(one, A=runs), "c", False))
    assert " Gossip is fast. " in line and "∞, required at most 1 ± 0.1; infinite in 1 of 28 runs;" in line
    of_pair = question(Inequality(A, B, True, True, 1.0, 0.05), metric=metric)
    judged = judge_claim(of_pair, A=rows(*[0.5] * 28, metric=metric), B=runs)
    assert judged.bounds == (None,), "a ratio to an infinite mean is not infinite"
    assert "infinite in 0 of 28 runs and in 1 of 28 runs" in sentence(answer_to(of_pair, judged, "c", False))


def test_places_with_other_broadcasts_are_not_compared_by_what_is_still_waiting() -> None:
    metric = "delivery_delay_survival_p95_s"

    def refuse(own: Cell, other: Cell, replication: int, of: object) -> None:
        raise NotPaired(OTHER_BROADCASTS)

    lossy = [row | {"delivery_ratio": 0.5} for row in rows(*[0.5] * 28, metric=metric)]
    judged = judge(question(below(A, B), metric=metric), {A: lossy, B: lossy}, 3, 0.05, common=refuse)
    assert judged.answer is Answer.UNDECIDED and "planned different broadcasts" in judged.why


def test_a_backlog_that_runs_away_has_no_mean() -> None:
    runs = [{"m": 0.5, "backlog_slope": 0.6 + 0.01 * place} for place in range(28)]
    limited = judge_claim(question(at_most(1.0)), A=runs)
    assert limited.answer is Answer.FAILS and "the backlog grows without bound" in limited.why
    assert judge_claim(question(at_least(0.1)), A=runs).answer is Answer.UNDECIDED
    assert judge_claim(question(below(A, B)), A=spread(0.1, 0.01), B=runs).answer is Answer.UNDECIDED
    growth = [{"backlog_slope": row["backlog_slope"]} for row in runs]
    assert judge_claim(question(at_least(0.25), metric="backlog_slope"), A=growth).answer is Answer.HOLDS


def test_a_backlog_that_studies_call_unstable_is_not_judged_to_settle() -> None:
    """Slopes of different runs vary, so the strict test needs more of them than the one of studies."""
    fails = 0
    for seed in range(50):
        slopes = generator(seed, "slopes", "0").normal(0.6, 0.3, 400)
        runs = [
            {"m": row["m"], "backlog_slope": slope} for row, slope in zip(spread(0.3, 0.05, 400), slopes, strict=True)
        ]
        looks = Looks([question(at_most(1.0))], 0.05 / 40, 400, rare=0.6)
        looks.take({A: runs})
        judgement = looks.judged["q"]
        assert judgement.answer is Answer.FAILS or not grows(slopes[: judgement.n])
        fails += judgement.answer is Answer.FAILS
    assert fails >= 48
    first = judge(question(at_most(1.0)), {A: runs[:10]}, 0, 0.05 / 40)
    assert first.answer is Answer.FAILS or (not first.is_final and first.why == "the backlog may grow without bound")


def test_equal_values_decide_only_when_nothing_frequent_can_have_been_missed() -> None:
    """A metric without known limits; a share that is always 1 is at least 0.6 after a few runs."""

    def at(one: Question, number: int, **cells: list[dict[str, float]]) -> Judgement:
        return judge(one, {globals()[name]: own for name, own in cells.items()}, number, 0.05)

    one, zeros = question(at_most(0.005, 0.001)), rows(*[0.0] * 400)
    assert at(one, 3, A=zeros[:28]).answer is Answer.UNDECIDED
    judgement = at(one, 10, A=zeros[:307])
    assert judgement.answer is Answer.HOLDS and judgement.assumes
    differing = [{"m": row["m"] + 1} for row in zeros[:28]]
    constant = question(Inequality(A, B, False, True, 0.5, 0.1))
    assert at(constant, 3, A=differing, B=zeros[:28]).answer is Answer.UNDECIDED
    share = question(at_least(0.6, 0.05), metric="delivery_ratio")
    quick = at(share, 3, A=rows(*[1.0] * 28, metric="delivery_ratio"))
    assert quick.answer is Answer.HOLDS and not quick.assumes and quick.bounds[0] is not None
    assert 0.6 < quick.bounds[0].low < quick.bounds[0].high == 1


def test_deterministic_runs() -> None:
    one = question(at_least(11.15, 0.0), at_most(11.25, 0.0), is_exact=True)
    assert (
        judge_claim(one, A=rows(11.2, 11.2)).answer is Answer.HOLDS
        and judge_claim(one, A=rows(11.3, 11.3))[0] is Answer.FAILS
    )
    assert judge_claim(one, A=rows(11.25, 11.25)).answer is Answer.HOLDS  # the bound belongs to it
    differing = judge_claim(one, A=rows(11.2, 11.3))
    assert differing.answer is Answer.UNDECIDED and "is not deterministic" in differing.why
    strict = Question("q", Below(relation="below", metric="m", value=HERE, than=HERE), "m", (below(A, B),), True)
    assert judge_claim(strict, A=rows(1, 1), B=rows(1, 1)).answer is Answer.FAILS
    assert judge_claim(strict, A=rows(0.99, 0.99), B=rows(1, 1)).answer is Answer.HOLDS


def test_each_question_looks_only_at_its_own_runs_and_ends_with_the_replications() -> None:
    near = Near(relation="near", metric="m", value=HERE, number=1.0, percent=10)
    easy, hard = question(at_most(5.0)), Question("hard", near, "m", (Inequality(B, None, False, True, 1.0, 0.001),))
    looks = Looks((easy, hard), 0.01, 30, rare=0.6)
    runs = {A: spread(1, 0.2, 100), B: spread(1, 0.5, 100)}
    seen = []
    while wanted := looks.replications():
        seen.append(dict(wanted))
        looks.take({cell: runs[cell][:count] for cell, count in wanted.items()})
    assert seen == [{A: 10, B: 10}, {B: 14}, {B: 20}, {B: 28}] and look(4) > 30
    assert looks.judged["q"].answer is Answer.HOLDS
    assert looks.judged["hard"].why == "all replications that the file allows have been used"
    at_once = Looks((easy, hard), 0.01, 30, rare=0.6)
    at_once.take(runs)  # more runs than a look needs change nothing
    assert at_once.judged == looks.judged


@pytest.mark.parametrize("jitter", [0.0, 0.001])
@pytest.mark.parametrize("share", [0.06, 0.1, 0.2])
@pytest.mark.parametrize("is_difference", [True, False])
def test_a_subtracted_place_that_was_nearly_0_so_far_is_not_certainly_0(
    share: float, is_difference: bool, jitter: float
) -> None:
    """The mean of A is 0.5; B is 0, or nearly, except in a share of the runs, and has a mean of 1."""
    test = Inequality(A, B, False, False, 0.3, 0.05) if is_difference else below(A, B)
    truth, wrong, metric = Answer.FAILS if is_difference else Answer.HOLDS, 0, "delivery_delay_mean_s"
    for seed in range(20):
        drawn = generator(seed, "seldom", "0")
        a = rows(*drawn.normal(0.5, 0.05, 800), metric=metric)
        b = rows(*(drawn.random(800) < share) / share + drawn.uniform(0, jitter, 800), metric=metric)
        looks = Looks([question(test, metric=metric)], 0.05, 800)
        looks.take({A: a, B: b})
        wrong += looks.judged["q"].answer not in (truth, Answer.UNDECIDED)
    assert wrong <= 3


@pytest.mark.parametrize("share", [0.06, 0.1, 0.2])
@pytest.mark.parametrize("relation", ["within", "difference", "ratio"])
def test_a_value_that_is_far_longer_in_few_runs(share: float, relation: str) -> None:
    """A is about 0.5, except in a share of the runs, and has a mean of 1.5; the mean of B is 1."""
    tests = {
        "within": at_most(1.0), "difference": Inequality(A, B, False, True, 0.0, 0.1), "ratio": below(A, B),
    }  # fmt: skip
    wrong = 0
    for seed in range(20):
        drawn = generator(seed, "long", relation)
        a = rows(*drawn.uniform(0.49, 0.51, 800) + (drawn.random(800) < share) / share)
        looks = Looks([question(tests[relation])], 0.05, 800)
        looks.take({A: a, B: rows(*drawn.normal(1, 0.05, 800))})
        wrong += looks.judged["q"].answer is Answer.HOLDS
    assert wrong <= 3
