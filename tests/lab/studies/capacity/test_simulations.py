"""Tests of complete searches over plug-ins whose answers are known: an M/M/1 queue and slotted ALOHA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mobilenet.lab.studies.capacity.answer import SearchResult
from mobilenet.lab.studies.capacity.capacity import search
from mobilenet.lab.studies.capacity.question import Question, plan
from mobilenet.lab.studies.capacity.search import Verdict
from mobilenet.lab.studies.spark import local_master
from tests.lab.studies.directories import nothing
from validation.capacity import most_wrong

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(3000)]

HERE = Path(__file__).parent
WORKERS = 2
RARE = 0.5  # Both distributions have no rare outcomes.


def sojourn_s(interval_s: float) -> float:
    """Return the mean sojourn time of M/M/1 with 10 services per second (Kleinrock, Queueing Systems 1, 3.2)."""
    return 1 / (10 - 1 / interval_s)


def loss(hosts: float) -> float:
    """Return the probability that another host sends in the same slot (Abramson 1977)."""
    return 1 - (1 - 0.05) ** (hosts - 1)


CASES: dict[str, tuple[Question, Callable[[float], float], Verdict]] = {
    "queue": (
        Question(HERE / "queue.yaml", "workload.interval_s", 0.12, 0.44, ("delivery_delay_mean_s <= 0.25",), 0.2, 0.01),
        sojourn_s,
        Verdict.SMALLEST,
    ),
    "aloha": (
        Question(HERE / "aloha.yaml", "hosts.count", 2, 40, ("collision_ratio_addressed <= 0.5",), 0.05),
        loss,
        Verdict.LARGEST,
    ),
}


def search_model(question: Question, seed: int, out: Path) -> SearchResult:
    planned = plan(replace(question, seed=seed, rare=RARE), allow_code=True)
    done = search(planned, out, local_master(WORKERS), nothing, allow_code=True)
    assert done.failed == []
    return done.result


@pytest.mark.parametrize("name", CASES)
def test_capacity_searches_find_the_limits_of_known_models(name: str, repetitions: int, tmp_path: Path) -> None:
    question, mean, direction = CASES[name]
    counts, runs = Counter[str](), 0
    for seed in range(1, repetitions + 1):
        result = search_model(question, seed, tmp_path / str(seed))
        runs += result.runs
        (one,) = result.question.requirements
        if result.verdict is not direction:
            counts["undecided" if result.is_undecided else "wrong"] += 1
            continue
        assert result.holds_at is not None and result.fails_at is not None
        wrong = one.lacks(mean(result.holds_at)) > one.tolerance or one.lacks(mean(result.fails_at)) < -one.tolerance
        counts["wrong" if wrong else "right"] += 1
    print(f"{name}: {dict(counts)}, {runs / repetitions:.0f} runs on average")
    assert counts["wrong"] <= most_wrong(repetitions) and counts["undecided"] <= repetitions / 10
