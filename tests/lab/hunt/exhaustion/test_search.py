"""Tests the explorer on correct and broken protocols whose states can be counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from mobilenet.lab.hunt.exhaustion.case import Case
from mobilenet.lab.hunt.exhaustion.judge import Violation
from mobilenet.lab.hunt.exhaustion.search import Result, Search
from mobilenet.lab.hunt.exhaustion.trace import judge_again, lines_of, trace_of

from .toys import DeliversCopies, ForgetsInACrash, Host, Invents, Repeats, SendsOnce, Stumbles, toy


def explore(case: Case, breadth: bool = False, **limits: Any) -> tuple[Search, Result]:
    search = Search(case)
    list(search.run(breadth=breadth, **limits))
    assert search.result is not None
    return search, search.result


@pytest.mark.parametrize(
    ("case", "states", "transitions", "depth"),
    [
        (toy(messages=(0,)), 1, 0, 0),
        (toy(messages=(1,)), 3, 2, 2),  # three states: message not yet sent, in transit, and delivered
        (toy(messages=(2,)), 5, 4, 4),
        # The host is up or down in each of the three states, which gives six states. Five of the eight steps are
        # broadcasts, deliveries and crashes. The other three are recoveries, which lead to states that were already
        # reached with one more crash left.
        (toy(messages=(1,), crashes=1), 6, 8, 3),
        # The host is in one of three cells, with two, one or no moves left. No other state covers the first one, so it
        # is expanded with two moves. The other two are expanded with one move, and then all three without moves.
        (toy(messages=(0,), parents=(0, 0), moves=1), 3, 2, 1),
    ],
)
@pytest.mark.parametrize("breadth", [False, True])
def test_exhaustive_search_counts_states_and_transitions(
    case: Case, states: int, transitions: int, depth: int, breadth: bool
) -> None:
    result = explore(case, breadth)[1]
    assert (result.outcome, result.states, result.transitions, result.depth) == (
        "exhausted",
        states,
        transitions,
        depth,
    )


@pytest.mark.parametrize(
    ("case", "check", "steps"),
    [
        (toy(DeliversCopies), "duplication", 3),  # The steps are broadcast, deliver, and deliver again.
        # The steps are broadcast, crash and recover. The host then does not repeat its message.
        (toy(ForgetsInACrash, crashes=1), "delivery", 3),
        (toy(SendsOnce), "delivery", 1),
        # The violation appears in the extra broadcast that the search makes to complete a state.
        (
            toy(station=Stumbles, messages=(2,)),
            "assertion",
            1,
        ),
        (toy(Host, Invents), "creation", 0),
        (toy(messages=(1, 1)), "delivery", 2),  # h0 broadcasts and delivers the message, but h1 never receives it.
        # A message travels from h0 through s0 to h1. The answer returns through s0, and h0 delivers it first.
        (
            toy(Host, Repeats, messages=(1, 1)),
            "causal_order",
            6,
        ),
    ],
)
def test_exhaustive_search_detects_broken_protocols(case: Case, check: str, steps: int) -> None:
    depth_first = explore(case)[1]
    _, result = explore(case, breadth=True)
    assert depth_first.outcome == result.outcome == "violated"
    assert result.violation is not None and result.violation.check == check
    assert len(result.path) == steps


@pytest.mark.parametrize("case", [toy(DeliversCopies), toy(Host, Repeats, messages=(1, 1))])
def test_a_violation_is_reproduced_on_the_controlled_network(case: Case) -> None:
    search, result = explore(case, breadth=True)
    trace = trace_of(search)
    with pytest.raises(Violation) as again:
        judge_again(case, trace)
    assert result.violation is not None
    assert again.value.check == result.violation.check
    assert lines_of(case, trace)[-1].endswith(result.violation.explanation)


def test_the_shortest_violating_trace_has_no_superfluous_steps() -> None:
    case = toy(DeliversCopies)
    lines = lines_of(case, trace_of(explore(case, breadth=True)[0]))
    assert [line.strip() for line in lines] == [
        "1  h0 broadcasts",
        "2  s0 receives Up(id=h0:1) of h0",
        "3  h0 receives Down(id=h0:1) of s0; h0 delivers h0:1",
        "4  h0 receives Down(id=h0:1) of s0 (again); h0 delivers h0:1",
        "duplication: h0 delivers h0:1 a second time",
    ]


def test_exhaustive_search_reports_a_limit_that_stopped_it() -> None:
    case = toy(messages=(2, 2), crashes=2)
    assert explore(case, gib=0)[1].outcome in ("stopped", "violated")
