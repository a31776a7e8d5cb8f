"""Regression tests for bugs that campaigns found in the simulator. Without the fix, a run raises an error, or its
verdict is violated or unknown.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import mobilenet
from mobilenet.lab.hunt.swarm.campaign import judge_seed
from mobilenet.scenario import Scenario

NEAR = """
duration_s: 10
stations: {layout: {shape: points, points_m: [[0, 0], [60, 0]]}}
hosts: {count: 4, mobility: {model: random_waypoint, speed_mps: 10}}
protocol: {name: mobile_causal}
workload: {interval_s: 1}
"""
WISHES = """
duration_s: 14
stations: {layout: {shape: hexagon, rings: 0}}
hosts: {count: 3, mobility: {model: static}}
faults: {schedule: explicit, outages: [{host: h0, at_s: 5, duration_s: 4}, {host: h1, at_s: 5, duration_s: 2}]}
churn:
  changes:
    - {host: h0, at_s: 5.5, kind: leave}
    - {host: h0, at_s: 6.5, kind: join}
    - {host: h1, at_s: 5.5, kind: leave}
protocol: {name: mobile_causal}
workload: {interval_s: 1}
"""


def test_stations_within_range_of_each_other_pass_the_swarm(tmp_path: Path) -> None:
    """The bug: when a station sent a message to its cell, another station in range processed the message as if it were
    the addressee.
    """
    assert mobilenet.run(Scenario.from_text(NEAR), out=tmp_path / "run").verdict == "valid"


def test_a_join_superseded_by_a_leave_is_not_retried_forever(tmp_path: Path) -> None:
    """The bug: a join that was requested before the previous leave had succeeded was retried forever, so the run never
    became quiescent.
    """
    run = mobilenet.run(Scenario.from_text(WISHES), out=tmp_path / "run")
    assert run.verdict == "valid" and run.manifest["quiescent"] is True
    changes = run.events[run.events.event.isin(["join", "leave"])]
    assert list(changes[changes.node == "h0"].event) == ["join"]  # h0 was down when its leave and its join were due.
    assert list(changes[changes.node == "h1"].event) == ["join", "leave"]


@pytest.mark.parametrize("seed", [2149, 5409, 9155])
def test_recovery_messages_in_transit_at_the_end_are_handled(seed: int) -> None:
    """The bug: the run was considered quiescent while a station still had to resend messages that a host had missed in
    another cell.
    """
    assert judge_seed(seed).answer == "valid"
