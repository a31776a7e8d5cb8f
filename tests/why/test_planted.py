"""Tests that `why` finds a planted cause and no other cause.

The command `python -m tests.why.random_causes 200` draws many of these causes.
"""

from __future__ import annotations

import pytest

from mobilenet.why.kinds import KINDS
from tests.why.random_causes import CAUSES, PlantedCause, draws


@pytest.fixture(scope="module")
def first() -> dict[str, PlantedCause]:
    return {name: next(draws(name)) for name in CAUSES}


@pytest.mark.parametrize("name", CAUSES)
def test_an_injected_cause_explains_most_of_the_difference(name: str, first: dict[str, PlantedCause]) -> None:
    assert first[name].share > 0.5, first[name]


@pytest.mark.parametrize("kind", KINDS)
def test_why_does_not_blame_a_kind_of_fault_that_did_not_occur(kind: str, first: dict[str, PlantedCause]) -> None:
    others = [one for one in first.values() if kind not in one.cause.kinds]
    assert len(others) >= 5
    assert [one.name for one in others if one.by_kind.get(kind, 0.0) >= 0.5] == []
