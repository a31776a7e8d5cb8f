"""Tests of requirements in the notation that users write."""

from __future__ import annotations

import pytest

from mobilenet.lab.studies.capacity.requirements import Requirement, requirements
from mobilenet.parameters import ScenarioError


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("delivery_delay_p95_s <= 1.0", ("delivery_delay_p95_s", True, 1.0, 0.05)),
        ("delivery_delay_p95_s<2", ("delivery_delay_p95_s", True, 2.0, 0.1)),
        ("  delivery_ratio>=.99 ", ("delivery_ratio", False, 0.99, 0.0495)),
        ("delivery_ratio > 9.9e-1 +- 0.002", ("delivery_ratio", False, 0.99, 0.002)),
        ("x ≤ -4 ± 1", ("x", True, -4.0, 1.0)),
        ("x >= 0 +/- 0.5", ("x", False, 0.0, 0.5)),
        ("x <= -4", ("x", True, -4.0, 0.2)),
    ],
)
def test_requirements_can_be_written_in_all_documented_forms(text: str, fields: tuple[str, bool, float, float]) -> None:
    assert requirements([text], 0.05, "--require") == [pytest.approx(Requirement(*fields))]


def test_a_requirement_reports_by_how_much_a_value_misses_it() -> None:
    at_most, at_least = requirements(["x <= 2", "y >= 2"], 0.05, "--require")
    assert (at_most.lacks(3), at_least.lacks(3)) == (1, -1)
    assert (str(at_most), str(at_least)) == ("x <= 2", "y >= 2")


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        ([], "--require: missing; expected METRIC <= NUMBER"),
        (["delay is small"], "--require 'delay is small': cannot be read; expected METRIC <= NUMBER or METRIC >="),
        (["x = 2"], "'x = 2': cannot be read"),
        (["2 <= x"], "cannot be read"),
        (["x <= 2 s"], "cannot be read"),
        (["x <= 1e999"], "too large a number"),
        (["x <= 0"], "a limit of 0 has no relative tolerance; give an absolute one, such as 'x <= 0 +- 0.1'"),
        (["x <= 1 +- 0"], "tolerance 0, expected more than 0"),
        (["delivery_ratio >= 2"], "'delivery_ratio >= 2': delivery_ratio ends at 1, so no value meets this limit"),
        (["delivery_ratio <= 1"], "delivery_ratio ends at 1, so every value meets this limit"),
        (["delivery_delay_mean_s >= -1"], "delivery_delay_mean_s begins at 0, so every value meets this limit"),
        (["delivery_delay_mean_s >= 0 +- 0.1"], "delivery_delay_mean_s begins at 0, so every value meets this limit"),
        (["delivery_delay_mean_s <= -1"], "delivery_delay_mean_s begins at 0, so no value meets this limit"),
        (["x <= 1", "x < 2"], "--require 'x < 2': x is limited twice; keep the stricter limit"),
    ],
)
def test_malformed_requirements_are_rejected(texts: list[str], problem: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        requirements(texts, 0.05, "--require")
    assert problem in str(caught.value) and "\n" not in str(caught.value)


def test_requirements_at_the_limit_of_a_metric_are_accepted() -> None:
    """A share may be required to be 1 or 0. The limits of some metrics may be negative."""
    texts = ["delivery_ratio >= 1", "collision_ratio <= 0 +- 0.01", "backlog_slope >= -0.1", "crashes <= 0 +- 0.1"]
    assert [one.limit for one in requirements(texts, 0.05, "--require")] == [1, 0, -0.1, 0]


def test_a_metric_can_be_bounded_from_both_sides() -> None:
    assert len(requirements(["x <= 2", "x >= 1"], 0.05, "require")) == 2
