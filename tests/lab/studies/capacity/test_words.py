"""Tests of the result of a search in sentences, tables and a figure. Each row of a table is about one requirement."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from mobilenet.viz.capacity import compose, draw

from mobilenet.lab.studies.capacity.answer import SearchQuestion, SearchResult
from mobilenet.lab.studies.capacity.feasibility import Judge, State, ValueJudgement
from mobilenet.lab.studies.capacity.requirements import Requirement
from mobilenet.lab.studies.capacity.search import Verdict
from mobilenet.lab.studies.capacity.words import (
    answer,
    assurance,
    document,
    head,
    headline,
    markdown,
    point_rows,
    progress_note,
    sentences,
    support,
)
from mobilenet.lab.studies.statistics import Bounds
from mobilenet.metrics.registry import OF_HOSTS

DELAY = Requirement("delivery_delay_mean_s", True, 1.0, 0.05)
RATIO = Requirement("delivery_ratio", False, 0.5, 0.05)
FREE = Requirement("own_metric", True, 1.0, 0.1)  # a metric without known limits


def rows(delay: float, ratio: float, slope: float = 0.0, runs: int = 40) -> list[dict[str, float]]:
    return [
        {
            "delivery_delay_mean_s": delay * (1 + 0.02 * (place % 10 - 5)),
            "delivery_ratio": ratio * (1 + 0.01 * (place % 10 - 5)),
            "backlog_slope": slope * (1 + 0.1 * (place % 3)),
        }
        for place in range(runs)
    ]


def search_result(
    points: dict[float, ValueJudgement], holds_at: float, fails_at: float, *wanted: Requirement
) -> SearchResult:
    asked = SearchQuestion("wireless.loss", tuple(sorted(points)), wanted, 0.05, 2000, 1, OF_HOSTS)
    return SearchResult(asked, Verdict.LARGEST, holds_at, fails_at, points, 80)


@pytest.fixture
def two() -> SearchResult:
    """Return a search with two requirements. At the value 0.1, only the requirement on the delay fails."""
    judge = Judge((DELAY, RATIO), 0.004, rare=0.6)
    return search_result({0.0: judge.judge(rows(0.5, 0.8)), 0.1: judge.judge(rows(2.0, 0.8))}, 0.0, 0.1, DELAY, RATIO)


def test_each_result_row_states_whether_its_requirement_holds(two: SearchResult) -> None:
    states = [(row["requirement"], row["state"], row["all_requirements"]) for row in two.rows()]
    delay, ratio = "delivery_delay_mean_s <= 1", "delivery_ratio >= 0.5"
    assert states == [
        (delay, "holds", "holds"), (ratio, "holds", "holds"), (delay, "fails", "fails"), (ratio, "holds", "fails"),
    ]  # fmt: skip
    assert head(two.question)[-2:] == ("decision", "all requirements")
    assert [row[-2:] for row in point_rows(two)] == [(own, whole) for _, own, whole in states]
    assert "| holds | fails |" in markdown(two)
    assert [line.partition(":")[0] for line in support(two)] == [
        "at 0 (holds)", "at 0 (holds)", "at 0.1 (fails)", "at 0.1 (holds)",
    ]  # fmt: skip


@pytest.mark.parametrize(("requirement", "ends"), [(DELAY, ("fails", "holds")), (RATIO, ("holds", "fails"))])
def test_the_note_states_what_would_decide_an_open_value(requirement: Requirement, ends: tuple[str, str]) -> None:
    judged = Judge((requirement,), 0.004).judge(rows(1.0, 0.5, runs=10))
    asked = SearchQuestion("wireless.loss", (0, 0.1), (requirement,), 0.05, 2000, 1, OF_HOSTS)
    above, below = ends
    least, most = (f"{requirement.limit + sign * requirement.tolerance:g}" for sign in (-1, 1))
    assert progress_note(asked, 0.1, judged).endswith(
        f"; {above} if all of it is above {least}, {below} if below {most}"
    )
    assert progress_note(asked, 0.1, None) == "loss 0.1"


def test_a_single_requirement_needs_no_combined_column(two: SearchResult) -> None:
    judge = Judge((DELAY,), 0.004, rare=0.6)
    one = search_result({0.0: judge.judge(rows(0.5, 1)), 0.1: judge.judge(rows(2.0, 1))}, 0.0, 0.1, DELAY)
    assert head(one.question)[-1] == "decision" and [row[-1] for row in point_rows(one)] == ["holds", "fails"]


def test_the_capacity_figure_marks_each_requirement(two: SearchResult, tmp_path: Path) -> None:
    with compose(two) as figure:
        marks = [[line.get_marker() for line in axes.lines if line.get_marker() in "os"] for axes in figure.axes[:2]]
    assert marks == [["o", "s"], ["o", "o"]]


def test_a_possibly_growing_backlog_leaves_the_row_undecided() -> None:
    judged = Judge((DELAY,), 0.004, rare=0.6).judge(rows(0.5, 1.0))
    (own,) = judged.estimates
    assert judged.of(own) == (State.HOLDS, True)
    growing = judged._replace(state=State.OPEN, may_run_away=True)
    assert growing.of(own) == (State.OPEN, False)
    (row,) = point_rows(search_result({0.0: growing}, 0.0, 0.0, DELAY))
    assert row[-1] == "open, backlog may grow without bound"
    away = Judge((DELAY, RATIO), 0.004, rare=0.6).judge(rows(0.5, 0.8, 0.9))
    assert away.runs_away and {away.of(one)[0] for one in away.estimates} == {State.FAILS}
    one = search_result({0.0: away}, 0.0, 0.0, DELAY, RATIO)
    assert {row[-2] for row in point_rows(one)} == {"fails, backlog grows without bound"}


def test_the_capacity_answer_states_how_many_runs_have_a_value() -> None:
    judge = Judge((DELAY,), 0.004, rare=0.6)
    holds, fails = rows(0.5, 1.0), rows(2.0, 1.0)
    holds[1::2] = [{} for _ in holds[1::2]]
    one = search_result({0.0: judge.judge(holds), 0.1: judge.judge(fails)}, 0.0, 0.1, DELAY)
    assert "in 10 of 20 runs (" in support(one)[0] and "runs (" not in support(one)[1]
    left_out = "only 20 of 30 runs have a value for delivery_delay_mean_s, and its means are taken over these"
    assert left_out in assurance(one)
    assert [row[2] for row in point_rows(one)] == ["10 of 20", "10"]
    none = {value: Judge((DELAY,), 0.004).judge([{}] * 40) for value in (0.0, 0.1)}
    open_ = SearchResult(search_result(none, 0.0, 0.1, DELAY).question, Verdict.UNDECIDED, None, None, none, 80, True)
    assert "after 80 runs, and too few runs have a value for the metric" in answer(open_)
    assert support(open_)[0].endswith("has a value in 0 of 40 runs, too few for an interval")
    points = {value: Judge((DELAY,), 0.004).judge([{}] * 400) for value in (0.0, 0.1)}
    never = SearchResult(open_.question, Verdict.UNDECIDED, None, None, points, 312)
    assert answer(never) == "undecided: at 0, delivery_delay_mean_s has a value in under 5 % of the runs"


def test_the_capacity_answer_states_its_assumptions(two: SearchResult) -> None:
    monotone = "assumed: the requirements are monotone in wireless.loss; this was checked at 0, 0.1"
    assert sentences(two)[-1] == monotone and monotone in markdown(two).replace("Assumed", "assumed")
    assert sentences(two)[-2] == "outcomes in under 5 % of the runs could have been missed"
    delays = [{"delivery_delay_mean_s": 0.5 + place % 4 / 4} for place in range(400)]
    contradicted = Judge((DELAY._replace(limit=1.1),), 0.004).judge(delays)
    assert contradicted.state is State.HOLDS and contradicted.assumes
    one = search_result({0.0: close(State.HOLDS, True), 0.1: close(State.FAILS, True)}, 0.0, 0.1, DELAY)
    assert "missed" not in "".join(sentences(one))
    undecided = SearchResult(two.question, Verdict.UNDECIDED, 0.0, 0.1, two.points, 80, True)
    assert "monotone" not in "".join(sentences(undecided))


def close(state: State, is_clear: bool) -> ValueJudgement:
    return ValueJudgement(state, 10, 0, is_clear=is_clear)


@pytest.mark.parametrize(
    ("holds", "fails", "suffix"),
    [
        (True, True, ""),
        (False, True, " (at 0 only within the tolerance)"),
        (True, False, " (at 0.1 only within the tolerance)"),
        (False, False, " (both only within the tolerance)"),
    ],
)
def test_the_headline_mentions_decisions_within_the_tolerance(holds: bool, fails: bool, suffix: str) -> None:
    one = search_result({0.0: close(State.HOLDS, holds), 0.1: close(State.FAILS, fails)}, 0.0, 0.1, DELAY)
    assert answer(one) == f"the largest wireless.loss is 0: the requirements hold at 0 and fail at 0.1{suffix}"
    more = " (decided within the tolerance)" if suffix else ""
    assert headline(one) == f"the largest wireless.loss is 0{more}"
    assert document(one)["sentences"][0] == answer(one)


def test_a_capacity_answer_without_a_threshold_is_a_sentence() -> None:
    one = search_result({0.0: close(State.HOLDS, True), 0.1: close(State.HOLDS, False)}, 0.0, 0.1, DELAY)
    everywhere = SearchResult(one.question, Verdict.EVERYWHERE, None, None, one.points, 20)
    assert answer(everywhere).endswith("for wireless.loss from 0 to 0.1 (at 0.1 only within the tolerance)")


def test_intervals_are_clipped_to_the_range_of_the_metric() -> None:
    """A delay is not negative, and a ratio is at most 1."""
    runs = [
        {"delivery_delay_mean_s": 0.001 * 40**place, "delivery_ratio": 1.0 - 0.4 * (place == 2)} for place in (0, 1, 2)
    ]
    judged = Judge((DELAY, RATIO), 0.004, rare=0.6)._look(runs * 4, 0.1, 20)
    delay, ratio = (one.bounds for one in judged.estimates)
    assert delay is not None and ratio is not None and delay.low == 0 and ratio.high == 1


def test_infinite_error_bars_extend_beyond_the_panel(tmp_path: Path) -> None:
    """Twenty runs have equal values of a metric without limits, so the interval is infinite."""
    judge = Judge((FREE,), 0.004)
    points = {value: judge.judge([{"own_metric": 0.5 + value}] * 20) for value in (0.0, 0.1)}
    assert points[0.0].estimates[0].bounds == Bounds(0.5, -math.inf, math.inf)
    one = search_result(points, 0.0, 0.1, FREE)
    with compose(one) as figure:
        low, high = figure.axes[0].get_ylim()
        assert math.isfinite(low) and math.isfinite(high) and low < 0.5 and high > 1.1
        texts = " ".join(text.get_text() for text in figure.texts)
    assert "no known end" in " ".join(texts.split())
    draw(one, tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 5_000
