"""Tests of the judge that checks safety during a run. It must report the same verdict and the same violating event as
the verifier does for the complete run.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from mobilenet.verify.broadcasts.fifo import fifo_problem
from mobilenet.verify.broadcasts.judge import SAFETY, BroadcastJudge
from mobilenet.verify.online import FirstViolation, SafetyJudge

from .test_against_brute_force import KINDS, columns

PROMISES = {"broadcast": "causal", "gap_after_s": None, "heard_every_s": 0.0, "delivers_to_all": True}


def judge_in_pieces(draw: Random, events: dict[str, list[Any]], promises: dict[str, Any]) -> list[FirstViolation]:
    """Return the violations that the judge finds while the record grows by a few events at a time."""
    growing: dict[str, list[Any]] = {name: [] for name in events}
    judge = SafetyJudge(lambda: growing, promises, sorted({node for node in events["node"] if node[:1] == "h"}))
    violations: list[FirstViolation] = []
    row, count = 0, len(events["time_ns"])
    while row < count:
        end = min(count, row + draw.randrange(1, 9))
        for name, column in growing.items():
            column.extend(events[name][row:end])
        while (one := judge.look()) is not None:
            assert one.row < end
            violations.append(one)
        row = end
    return violations


@pytest.mark.parametrize("kind", KINDS)
def test_violations_are_found_however_the_run_is_divided(kind: str) -> None:
    violated = 0
    for seed in range(300):
        events = columns(KINDS[kind](Random(seed), False), False)
        reference = BroadcastJudge(events, None, 0.0)
        reference.judge()
        violations = judge_in_pieces(Random(seed), events, PROMISES)
        assert {one.check: one.explanation for one in violations} == {
            check: what for check, what in reference.violations.items() if check in SAFETY
        }
        for one in violations:
            shorter = {name: column[: one.row] for name, column in events.items()}
            before = BroadcastJudge(shorter, None, 0.0)
            before.judge()
            assert one.check not in before.violations
        violated += bool(violations)
    assert violated > 10 or kind == "sound"


def test_fifo_order_can_be_checked_incrementally() -> None:
    violated = 0
    for seed in range(300):
        events = columns(KINDS["damaged"](Random(seed), False), False)
        whole = fifo_problem(events, True)
        violations = judge_in_pieces(Random(seed), events, PROMISES | {"broadcast": "fifo"})
        assert [one.explanation for one in violations if one.check == "fifo_order"] == (
            [] if whole is None else [whole]
        )
        violated += whole is not None
    assert violated > 10
