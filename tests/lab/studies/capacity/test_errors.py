"""Tests that the answers of searches are wrong no more often than promised. The searches use random numbers with known
distributions (validation/capacity.py).
"""

from __future__ import annotations

import pytest

from mobilenet.lab.studies.capacity.feasibility import Judge
from mobilenet.lab.studies.capacity.search import Step, Verdict, claims
from validation.capacity import ERROR, LAWS, experiments, fixed_runs, is_wrong, most_wrong, search

CHEAP = ("normal, worst", "aloha (slotted)")


def test_the_stated_error_limits_how_many_searches_are_wrong() -> None:
    assert [most_wrong(searches) for searches in (20, 200, 1000)] == [4, 18, 67]


def require_right(name: str, searches: int) -> None:
    counts, runs = experiments(name, searches)
    fixed = fixed_runs(LAWS[name])
    print(f"{name}: {dict(counts)}, {runs:.0f} runs on average, {fixed} in a fixed design")
    assert counts["wrong"] <= most_wrong(searches) and counts["undecided"] <= searches / 10


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", LAWS)
def test_capacity_searches_err_no_more_often_than_promised(name: str, request: pytest.FixtureRequest) -> None:
    """If many repetitions are requested, the test makes 200 searches for each distribution, or 1,000 if a search is
    fast.
    """
    is_whole = request.config.getoption("--repetitions") >= 20
    require_right(name, 60 if not is_whole else 1000 if name in CHEAP else 200)


def test_the_check_of_searches_recognizes_wrong_answers() -> None:
    law = LAWS["normal, smooth"]  # The mean is 0.5 + 0.5 * value / threshold. The limit is 1, with a tolerance of 0.05.
    for verdict, holds_at, fails_at, wrong in (
        (Verdict.LARGEST, 31, 32, False),
        (Verdict.LARGEST, 35, 36, False),  # At 35, the mean is 1.047, which is within the tolerance.
        (Verdict.LARGEST, 36, 37, True),  # At 36, the mean is 1.0625.
        (Verdict.LARGEST, 27, 28, True),  # At 28, the mean is 0.9375, so the requirement holds there.
        (Verdict.SMALLEST, 32, 31, True),
        (Verdict.NOT_MONOTONE, None, None, True),
        (Verdict.EVERYWHERE, None, None, True),
        (Verdict.NOWHERE, None, None, True),
        (Verdict.UNDECIDED, None, None, False),
    ):
        assert is_wrong(law, Step(verdict, {}, holds_at, fails_at), 32.0) is wrong, (verdict, holds_at)


def test_without_splitting_the_error_too_many_searches_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """With this distribution, a search is wrong too often if each interim look at each value may use the full error
    probability.
    """
    monkeypatch.setattr("mobilenet.lab.studies.capacity.feasibility.share_of_look", lambda number: 1.0)
    # Without this patch, the searches would need more runs.
    monkeypatch.setattr("mobilenet.lab.studies.statistics.is_rare", lambda *_: True)
    name = "normal, worst"
    judge = Judge([LAWS[name].requirement], ERROR)
    monkeypatch.setattr("validation.capacity.Judge", lambda requirements, error: judge)
    assert claims(64) == 13
    assert experiments(name, 100)[0]["wrong"] > most_wrong(100)


def test_a_capacity_search_gives_the_same_answer_twice() -> None:
    law, name = LAWS["normal, smooth"], "normal, smooth"
    assert search(law, name, 3) == search(law, name, 3)
