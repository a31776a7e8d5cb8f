"""Tests of the search over values. Some of them use predefined decisions, and others use simulated runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.capacity.capacity import Rounds
from mobilenet.lab.studies.capacity.feasibility import Judge, State, ValueJudgement
from mobilenet.lab.studies.capacity.requirements import Requirement
from mobilenet.lab.studies.capacity.search import Step, Verdict, claims, first_values, next_step
from mobilenet.metrics.registry import OF_HOSTS, OF_PROCESSES

Truth = Callable[[int], bool]


def decide(holds: bool, is_clear: bool = True) -> ValueJudgement:
    return ValueJudgement(State.HOLDS if holds else State.FAILS, 10, 0, is_clear=is_clear)


def steps(last: int, truth: Truth) -> Iterator[Step]:
    judged: dict[int, ValueJudgement] = {}
    while True:
        step = next_step(last, judged)
        yield step
        if not step.run_counts:
            return
        judged |= {value: decide(truth(value)) for value in step.run_counts}


def run_to_end(last: int, truth: Truth) -> tuple[Step, int]:
    all_steps = list(steps(last, truth))
    return all_steps[-1], sum(len(step.run_counts) for step in all_steps)


@pytest.mark.parametrize("last", [1, 2, 3, 4, 5, 7, 19, 64, 100, 999])
def test_thresholds_are_found_in_both_directions(last: int) -> None:
    for threshold in range(1, last + 1) if last < 200 else (1, 2, 250, 500, 998, 999):
        largest, values = run_to_end(last, lambda value, t=threshold: value < t)
        assert (largest.verdict, largest.holds_at, largest.fails_at) == (Verdict.LARGEST, threshold - 1, threshold)
        smallest, _ = run_to_end(last, lambda value, t=threshold: value >= t)
        assert (smallest.verdict, smallest.holds_at, smallest.fails_at) == (Verdict.SMALLEST, threshold, threshold - 1)
        assert values <= len(first_values(last)) + math.ceil(math.log2(max(1, last / 4))) + 1


def test_a_search_first_tries_the_ends_and_the_quarters() -> None:
    first = next(steps(64, lambda value: True))
    assert first.run_counts == {0: 10, 16: 10, 32: 10, 48: 10, 64: 10}
    assert first_values(1) == [0, 1] and first_values(2) == [0, 1, 2]


def test_requirements_can_hold_everywhere_or_nowhere() -> None:
    assert run_to_end(64, lambda value: True)[0].verdict is Verdict.EVERYWHERE
    assert run_to_end(64, lambda value: False)[0].verdict is Verdict.NOWHERE


@pytest.mark.parametrize("inside", [range(10, 40), range(30, 34), range(1, 64)])
def test_a_requirement_met_only_in_between_is_not_monotone(inside: range) -> None:
    assert run_to_end(64, lambda value: value in inside)[0].verdict is Verdict.NOT_MONOTONE
    assert run_to_end(64, lambda value: value not in inside)[0].verdict is Verdict.NOT_MONOTONE


HOLDS, FAILS, OPEN = decide(True), decide(False), ValueJudgement(State.OPEN, 10, 14)
DEAR = ValueJudgement(State.OPEN, 20, 28)
BARELY_HOLDS, BARELY_FAILS = decide(True, False), decide(False, False)  # These decisions are within the tolerance.
FAR = ValueJudgement(State.FAILS, 10, 0, is_clear=True, is_far=True)
NEXT: dict[str, tuple[dict[int, ValueJudgement], Step]] = {
    "an alternation within the tolerance is not a contradiction": (
        {0: HOLDS, 16: BARELY_FAILS, 32: BARELY_HOLDS, 48: FAILS, 64: FAILS}, Step(Verdict.UNDECIDED, {8: 10}, 0, 16),
    ),
    "what holds within the tolerance contradicts what fails beyond it": (
        {0: HOLDS, 16: HOLDS, 32: FAR, 48: BARELY_HOLDS, 64: FAR}, Step(Verdict.NOT_MONOTONE, {}),
    ),
    "a quarter point outside of the bracket is decided before the answer": (
        {0: HOLDS, 1: FAILS, 16: FAILS, 32: FAILS, 48: OPEN, 64: FAILS}, Step(Verdict.UNDECIDED, {48: 14}, 0, 1),
    ),
    "undecided ends come first": (
        {0: OPEN, 16: OPEN, 32: OPEN, 48: FAILS, 64: OPEN}, Step(Verdict.UNDECIDED, {0: 14, 64: 14}),
    ),
    "but not before the interval is narrowed": (
        {0: HOLDS, 16: HOLDS, 32: HOLDS, 48: FAILS, 64: OPEN}, Step(Verdict.UNDECIDED, {40: 10}, 32, 48),
    ),
    "an end takes turns with what lies next to it": (
        {0: DEAR, 16: FAILS, 32: FAILS, 48: FAILS, 64: FAILS}, Step(Verdict.UNDECIDED, {8: 10}, None, 16),
    ),
    "whichever has fewer runs": (
        {0: OPEN, 8: DEAR, 16: FAILS, 32: FAILS, 48: FAILS, 64: FAILS}, Step(Verdict.UNDECIDED, {0: 14}, None, 16),
    ),
    "until only the end is left": (
        {0: HOLDS, 16: HOLDS, 32: HOLDS, 48: HOLDS, 63: HOLDS, 64: DEAR}, Step(Verdict.UNDECIDED, {64: 28}, 63),
    ),
    "then the first value": (
        {0: HOLDS, 16: OPEN, 32: OPEN, 48: FAILS, 64: FAILS}, Step(Verdict.UNDECIDED, {16: 14}, 0, 48),
    ),
    "then the middle of the bracket": (
        {0: HOLDS, 16: FAILS, 32: OPEN, 48: FAILS, 64: FAILS}, Step(Verdict.UNDECIDED, {8: 10}, 0, 16),
    ),
    "all of the first values are decided before it holds everywhere": (
        dict.fromkeys(first_values(64), HOLDS) | {32: ValueJudgement(State.OPEN, 14, 20)},
        Step(Verdict.UNDECIDED, {32: 20}),
    ),
    "a value without data does not end the search": (
        {0: HOLDS, 16: HOLDS, 32: OPEN, 48: FAILS, 64: FAILS}, Step(Verdict.UNDECIDED, {32: 14}, 16, 48),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NEXT)
def test_the_next_search_value_follows_from_the_decisions(case: str) -> None:
    judged, step = NEXT[case]
    assert next_step(64, judged) == step


@pytest.mark.parametrize(("last", "looks"), [(1, 2), (4, 2), (9, 2), (19, 2), (64, 1), (100, 1)])
def test_the_error_is_split_over_all_values_a_search_can_reach(last: int, looks: int) -> None:
    """Within the tolerance, the search may decide either way at any look. It never reaches more values outside the
    tolerance than the number by which its error is divided.
    """
    for low in range(last + 1):
        for high in range(low, min(last, low + 12 // looks) + 1):
            outside = set()
            branches: list[dict[int, ValueJudgement]] = [{}]
            seen = set()
            while branches:
                judged = branches.pop()
                step = next_step(last, judged)
                outside |= {value for value in step.run_counts if not low <= value <= high}
                choices = [
                    ([decide(value < low)] if not low <= value <= high else [BARELY_HOLDS, BARELY_FAILS])
                    + [OPEN] * (n == 10 and looks > 1)
                    for value, n in step.run_counts.items()
                ]
                for drawn in itertools.product(*choices) if choices else ():
                    branch = judged | dict(zip(step.run_counts, drawn, strict=True))
                    key = tuple(sorted((value, one.state.value) for value, one in branch.items()))
                    if key not in seen:
                        seen.add(key)
                        branches.append(branch)
            assert len(outside) <= claims(last), (low, high, sorted(outside))


def test_a_second_feasible_region_is_usually_noticed() -> None:
    """The mean is first 0.5, then 1.5, and 0.6 around value 48. The limit is 1 ± 0.05 (docs/guide/capacity.md)."""
    requirement, noticed = Requirement("m", True, 1.0, 0.05), 0
    for seed in range(40):
        noise = np.random.default_rng(seed).normal(1, 0.2, 4000)
        judge, targets, judged = Judge([requirement], 0.05 / claims(64)), dict[int, int](), dict[int, ValueJudgement]()
        while (step := next_step(64, judged)).run_counts and sum((targets | step.run_counts).values()) <= 4000:
            targets |= step.run_counts
            for value in step.run_counts:
                mean = 0.5 if value < 24 else 0.6 if 46 <= value <= 50 else 1.5
                judged[value] = judge.judge([{"m": mean * one} for one in noise[: targets[value]]])
        noticed += step.verdict is Verdict.NOT_MONOTONE
    assert noticed >= 36


def test_known_metrics_can_be_missing_from_all_of_the_first_runs() -> None:
    """A search rejects an unknown metric if all of its first runs lack it. For plug-ins and processes, only the runs
    can show whether a metric exists.
    """
    for metric, words, is_known in (("handoff_duration_mean_s", OF_HOSTS, True), ("own", OF_HOSTS, False),
                                           ("handoff_duration_mean_s", OF_PROCESSES, False)):  # fmt: skip
        rounds = Rounds.__new__(Rounds)
        asked = SimpleNamespace(words=words)
        rounds.__dict__["_plan"] = SimpleNamespace(
            search_question=asked, requirements=(Requirement(metric, True, 1.0, 0.05),)
        )
        with nullcontext() if is_known else pytest.raises(StudyError, match="metric"):
            rounds._require_metrics({0: [{"delivery_ratio": 1.0}] * 10})
