"""Tests that the explorer exhausts a small case of the mobile causal broadcast without finding a violation, and that it
finds violations in mutants of the protocol.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mobilenet.lab.hunt.exhaustion.campaign import Report, bounds, explore
from mobilenet.lab.hunt.exhaustion.cases import CASES
from mobilenet.lab.hunt.exhaustion.judge import Violation
from mobilenet.lab.hunt.exhaustion.search import Search
from mobilenet.lab.hunt.exhaustion.trace import judge_again, trace_of
from tests.cli.command import mobilenet

from .mutants import classes_of, with_protocol


@pytest.mark.parametrize(
    "name",
    [
        *("join", "one_move", "leave_and_join", "two_messages_one_crash"),
        *("repair_join", "repair_one_move", "repair_leave_and_join"),
    ],
)
def test_exhaustive_search_finds_no_violation_in_small_cases(name: str) -> None:
    report = list(explore([CASES[name]]))[-1]
    assert isinstance(report, Report)
    result = report.result
    assert (result.outcome, report.trace) == ("exhausted", ())
    assert result.states > 50 and result.transitions > result.states and result.depth > 10
    assert result.covering >= result.states and result.expanded >= result.covering


@pytest.mark.parametrize(
    ("mutant", "name"),
    [("gt", "one_move"), ("no_freeze", "one_move"), ("ackc_sets_seqc", "one_move"), ("md_only", "one_move"),
     ("lazy_nxt", "two_messages_one_crash"), ("reset_counters", "leave_and_join")],
)  # fmt: skip
def test_exhaustive_search_finds_each_mutant(mutant: str, name: str) -> None:
    case = with_protocol(CASES[name], *classes_of(mutant))
    search = Search(case)
    list(search.run(breadth=True))
    assert search.result is not None and search.result.violation is not None
    if search.result.violation.check == "delivery":
        # This raises an error if the steps of the trace are impossible or do not violate a check.
        judge_again(case, trace_of(search))
    else:
        with pytest.raises(Violation) as again:
            judge_again(case, trace_of(search))
        assert again.value.check == search.result.violation.check


def test_the_bounds_of_each_exhaustive_case_are_stated() -> None:
    for case in CASES.values():
        words = bounds(case)
        assert f"{case.stations} station" in words and f"{len(case.cells)} host" in words
        assert ("crash" in words) == bool(case.crashes) and ("move" in words.partition(";")[0]) == bool(case.moves)


def test_the_exhaust_command_reports_exhausted_cases(tmp_path: Path) -> None:
    done = mobilenet("exhaust", "join", "one_move", place=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("exhausted: no violation") == 2 and done.stdout.splitlines()[-1].startswith("Next: ")


def test_the_exhaust_command_says_when_it_ran_out_of_time(tmp_path: Path) -> None:
    done = mobilenet("exhaust", "two_messages_two_moves", "--minutes", "0.01", place=tmp_path)
    assert done.returncode == 4
    assert "not exhausted" in done.stdout and "Next: mobilenet exhaust two_messages_two_moves" in done.stdout


def test_an_unknown_exhaustive_search_case_is_rejected(tmp_path: Path) -> None:
    done = mobilenet("exhaust", "nonsense", place=tmp_path)
    assert done.returncode == 2 and "two_hosts" in done.stderr
