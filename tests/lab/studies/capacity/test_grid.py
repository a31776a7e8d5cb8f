"""Tests of the rule that decides whether a search agrees with a grid (validation/capacity_grid.py)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mobilenet.lab.studies.statistics import Interval
from validation.capacity_grid import Comparison, contradictions, crossings, lines, replications


def compare(holds: float | None, fails: float | None, **means: float) -> Comparison:
    """Return a comparison with a limit of 1.3, a tolerance of 0.1, and intervals of ± 0.05."""
    grid = {float(name[1:]): Interval(20, mean, 0.1, 0.05) for name, mean in means.items()}
    answer: Any = SimpleNamespace(
        answer=SimpleNamespace(holds_at=holds, fails_at=fails), runs=10, verdict="undecided",
        sentences=lambda: ["the smallest key is 4"],
    )  # fmt: skip
    return Comparison(answer, grid, 100, 1.3, 0.1)


def test_the_grid_search_makes_at_least_the_requested_runs() -> None:
    assert replications(168, 41, 10) == 41 and 41 * 41 >= 10 * 168
    assert all(replications(runs, 41, 10) * 41 >= 10 * runs for runs in range(50, 500))


def test_the_grid_search_finds_where_the_mean_crosses_the_limit() -> None:
    assert crossings(compare(4, 3, v2=2.0, v3=1.4, v4=1.2, v5=1.35, v6=1.1).grid, 1.3) == [(3, 4), (4, 5), (5, 6)]


@pytest.mark.parametrize(
    ("holds", "fails", "means", "wrong"),
    [
        (4.0, 3.0, {"v2": 2.0, "v3": 1.35, "v4": 1.25, "v5": 1.0}, 0),
        (4.0, 3.0, {"v2": 2.0, "v3": 1.28, "v4": 1.34, "v5": 1.0}, 0),  # Both means are within the tolerance.
        (4.0, 3.0, {"v2": 2.0, "v3": 1.6, "v4": 1.5, "v5": 1.0}, 1),
        (4.0, 3.0, {"v2": 1.0, "v3": 1.1, "v4": 1.2, "v5": 1.0}, 2),
        # This search finds the largest value for which the requirement holds.
        (3.0, 4.0, {"v2": 1.0, "v3": 1.2, "v4": 1.4, "v5": 2.0}, 0),
        (3.0, 4.0, {"v2": 1.6, "v3": 1.2, "v4": 1.4, "v5": 2.0}, 1),
        (None, None, {"v2": 1.0}, 1),
    ],
)
def test_disagreement_between_search_and_grid_is_detected(
    holds: float | None, fails: float | None, means: dict[str, float], wrong: int
) -> None:
    one = compare(holds, fails, **means)
    assert len(list(contradictions(one))) == wrong
    printed = list(lines(one))
    assert printed[-1] == f"the answers {'do not agree' if wrong else 'agree'}, with a tolerance of ± 0.1"
    assert "grid: 100 runs, 10.0 times as many as the search" in printed
