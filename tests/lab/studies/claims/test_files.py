"""Tests that claims files are answered wrongly no more often than promised. The claims are about random numbers with
known distributions (validation/claims.py).
"""

from __future__ import annotations

import pytest

from validation.capacity import most_wrong
from validation.claims import COUNT, DISTANCES, LAWS, RELATIONS, answers, cases, repeat


def test_claims_file_cases_cover_all_relations_and_laws() -> None:
    all_cases = cases()
    assert len(all_cases) == COUNT == 40 and sum(case.is_true for case in all_cases) == 20
    assert {case.keys["relation"] for case in all_cases} == set(RELATIONS)
    assert {case.law for case in all_cases} == set(LAWS)
    assert min(DISTANCES) > 1  # Within the margin, either answer would be correct.


@pytest.mark.long
@pytest.mark.timeout(900)
def test_claims_files_are_wrong_no_more_than_promised(request: pytest.FixtureRequest) -> None:
    """The test answers 200 claims files if many repetitions are requested, and otherwise 30."""
    count = 200 if request.config.getoption("--repetitions") >= 20 else 30
    tally = repeat(count)
    print(tally)
    assert tally.wrong_files <= most_wrong(count) and tally.decided >= 0.9 * tally.claims


def test_the_binomial_bound_allows_18_wrong_files_of_200() -> None:
    assert most_wrong(200) == 18


def test_a_claims_file_gets_the_same_answers_twice() -> None:
    assert [(one.answer, one.replications) for one in answers(3)] == [
        (one.answer, one.replications) for one in answers(3)
    ]


@pytest.mark.long
def test_without_splitting_the_error_too_many_files_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """With these distributions, an answer is wrong too often if each interim look at each claim may use the full error
    probability.
    """
    monkeypatch.setattr("mobilenet.lab.studies.claims.judge.share_of_look", lambda number: 1.0)
    assert repeat(20, error=0.05).wrong_files > most_wrong(20)
