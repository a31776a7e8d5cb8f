"""Choose the next value of a capacity search, and derive its verdict from the decisions so far.

Model     Values are numbered 0 to `last` in ascending order. The search first examines both ends and the quarter
          points. They show the direction, and reveal requirements that hold only in the middle of the range. Then it
          bisects: it examines the midpoint between a value that holds and one that fails. If an end is hard to decide,
          the search alternates between this end and the point halfway to the next decided value, and continues with the
          one that has fewer runs. This is probabilistic bisection: a sequential test with a small error answers each
          question, and the median of the posterior is the midpoint. The choice of values depends only on decisions. As
          long as all decisions are right, only certain values outside of the tolerance can be chosen: the first values,
          and one for each halving on either side of the threshold. So the error is divided among `claims` values.
          Values need not be independent, so all of them may use the same random worlds.
Shapes    `judged` maps each value that has been run to its judgement so far.
Source    Horstein (1963); Waeber, Frazier, Henderson, Bisection search with noisy responses, SIAM J. Control Optim.
          (2013); ours: docs/guide/capacity.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from mobilenet.lab.studies.capacity.feasibility import State, ValueJudgement
from mobilenet.lab.studies.statistics import look

QUARTERS = 4


class Verdict(Enum):
    LARGEST = "largest"
    SMALLEST = "smallest"
    EVERYWHERE = "holds everywhere"
    NOWHERE = "holds nowhere"
    NOT_MONOTONE = "not monotone here"
    UNDECIDED = "undecided"


class Step(NamedTuple):
    """The current state of the search. `run_counts` maps each value to run next to its number of runs; it is empty if
    the search is over.
    """

    verdict: Verdict  # UNDECIDED while more runs are needed
    run_counts: dict[int, int]
    holds_at: int | None = None  # value next to the threshold at which the requirements hold
    fails_at: int | None = None


def first_values(last: int) -> list[int]:
    """Return both ends of the range and the quarter points between them."""
    return sorted({round(last * place / QUARTERS) for place in range(QUARTERS + 1)})


def claims(last: int) -> int:
    """Return the number of decisions among which the error is divided."""
    first = first_values(last)
    widest = max(b - a for a, b in pairwise(first))
    return len(first) + 2 * math.ceil(math.log2(widest))


def next_step(last: int, judged: Mapping[int, ValueJudgement]) -> Step:
    """Return the next step of the search, given the judgements so far."""
    first = first_values(last)
    if missing := [value for value in first if value not in judged or judged[value].n == 0]:
        return Step(Verdict.UNDECIDED, {value: look(0) for value in missing})
    if _turns(judged) > 1:
        return Step(Verdict.NOT_MONOTONE, {})
    bracket = _bracket(judged)
    low, high = between = bracket or _beside_an_open_end(last, judged)
    states = {judged[value].state: value for value in between if low < high}
    known = states.get(State.HOLDS), states.get(State.FAILS)
    if any(one.state is State.NO_DATA for one in judged.values()):
        return Step(Verdict.UNDECIDED, {}, *known)
    inside = _open(judged, [value for value in judged if low < value < high])
    middle = min(inside, key=lambda value: (abs(2 * value - low - high), value), default=(low + high) // 2)
    halving = {middle: inside.get(middle, look(0))} if high - low > 1 else {}
    if bracket is not None and halving:
        return Step(Verdict.UNDECIDED, halving, *known)
    if bracket is None and (ends := _open(judged, [0, last])):
        least = min((ends | halving).values())
        return Step(Verdict.UNDECIDED, {value: n for value, n in (ends | halving).items() if n == least}, *known)
    if outside := _open(judged, first):
        return Step(Verdict.UNDECIDED, outside, *known)  # The values in `outside` may still contradict the answer.
    if bracket is None:
        holds = judged[0].state is State.HOLDS
        return Step(Verdict.EVERYWHERE if holds else Verdict.NOWHERE, {})
    return Step(Verdict.LARGEST if known[0] == low else Verdict.SMALLEST, {}, *known)


def runs_left(last: int, judged: Mapping[int, ValueJudgement], step: Step) -> int:
    """Estimate how many runs remain at most, for all values in progress and all later halvings. The estimate assumes
    that each mean is at its limit and that each value is as noisy as the noisiest one so far.
    """
    known = [end for end in (step.holds_at, step.fails_at) if end is not None]
    halvings = math.ceil(math.log2(max(1, abs(known[0] - known[-1]) if len(known) > 1 else last / QUARTERS)))
    each = max((one.n + one.runs_needed(is_at_limit=True) for one in judged.values()), default=look(0))
    in_progress = [one.runs_needed(is_at_limit=True) for one in judged.values() if one.state is State.OPEN]
    return math.ceil(sum(in_progress) + halvings * each)


def _beside_an_open_end(last: int, judged: Mapping[int, ValueJudgement]) -> tuple[int, int]:
    """Return the undecided end and the decided value nearest to it, in ascending order. Return (0, 0) unless exactly
    one end is undecided and some value is decided.
    """
    decided = _decided_values(judged)
    if not decided or (0 in decided) is (last in decided):
        return 0, 0
    return (decided[-1], last) if 0 in decided else (0, decided[0])


def _open(judged: Mapping[int, ValueJudgement], values: list[int]) -> dict[int, int]:
    return {value: judged[value].next_n for value in values if judged[value].state is State.OPEN}


def _decided_values(judged: Mapping[int, ValueJudgement]) -> list[int]:
    return [value for value in sorted(judged) if judged[value].state in (State.HOLDS, State.FAILS)]


def _turns(judged: Mapping[int, ValueJudgement]) -> int:
    """Return how often the requirements change between holding and failing along the key. A change between two decided
    values counts only if both decisions are independent of the tolerance, or if one value is outside the tolerance.
    """
    decided = [judged[value] for value in _decided_values(judged)]
    sequences = [
        [one.state for one in decided if one.is_clear],
        [one.state for one in decided if one.state is State.HOLDS or one.is_far],
        [one.state for one in decided if one.state is State.FAILS or one.is_far],
    ]
    return max(sum(a is not b for a, b in pairwise(states)) for states in sequences)


def _bracket(judged: Mapping[int, ValueJudgement]) -> tuple[int, int] | None:
    """Return two neighbouring decided values, one that holds and one that fails, or None. Several such pairs exist only
    within the tolerance. In this case, return the pair nearest to the end that holds, so that all decided values
    between this end and the pair hold.
    """
    pairs = [(a, b) for a, b in pairwise(_decided_values(judged)) if judged[a].state is not judged[b].state]
    if not pairs:
        return None
    values = _decided_values(judged)
    return pairs[0] if judged[values[0]].state is State.HOLDS else pairs[-1]
