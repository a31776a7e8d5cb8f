"""Tests that little of the delay is unexplained in hostile runs. `python -m tests.why.unexplained 235` prints the
distribution.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.why.unexplained import LIMIT, hostile_run, hostile_runs

MECHANISMS = {  # seeds for which more than 1 % of the delay was once unexplained
    57016: "a frame that the MAC gives up makes the station act",
    57107: "a new cell ends a wait for a timer",
    57142: "the timers of a VCube backbone",
    57173: "a crash ends a wait for an answer",
    57197: "a host repeats older messages first",
}


@pytest.mark.parametrize("seed", MECHANISMS)
def test_hostile_runs_leave_almost_no_delay_unexplained(seed: int, tmp_path: Path) -> None:
    run = hostile_run(seed, tmp_path)
    assert run is not None and run.share <= LIMIT


@pytest.mark.long
def test_almost_all_hostile_runs_leave_little_delay_unexplained() -> None:
    shares = [run.share for _, run in zip(range(15), hostile_runs(), strict=False)]
    assert sum(share > LIMIT for share in shares) <= 1
