"""Coverage is judged at recorded positions, but not in the nanosecond in which a host leaves the run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mobilenet.verify.record.coverage import coverage_problem

SECOND = 10**9


@pytest.mark.parametrize(
    ("last_s", "vanishes_s", "is_judged"), [(106, 105, False), (106, None, True), (104, 105, True)]
)
def test_the_last_position_of_a_leaving_host_decides_nothing(
    last_s: int, vanishes_s: int | None, is_judged: bool
) -> None:
    """A host that goes out of coverage, asks to leave at 105 s, and is gone at 106 s, before the tick of that second
    finds that it has come back.
    """
    columns = {"event": ["in_coverage", "out_of_coverage"], "node": ["h0", "h0"], "time_ns": [0, 103 * SECOND]}
    vanishes_ns = None if vanishes_s is None else vanishes_s * SECOND
    plan: Any = SimpleNamespace(appears_ns=0, vanishes_ns=vanishes_ns, speed_mps=10.0, drags=[])
    places: Any = SimpleNamespace(
        error_m=0.0,
        tick_ns=SECOND // 10,
        by_power=True,
        covers=lambda x, y: x < 5,
        stations_m=[(0.0, 0.0)],
        range_m=5.0,
    )
    track = [102 * SECOND, last_s * SECOND], [0.0, 1.0], [0.0, 0.0]
    expected: Any = SimpleNamespace(places=places, end_ns=120 * SECOND)
    problem = coverage_problem(columns, {"h0": track}, {"h0": plan}, expected)
    assert (problem is not None) == is_judged
