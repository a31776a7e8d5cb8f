"""Regression tests for bugs that campaigns found in the simulator: without its fix, each run is violated, unknown, or
raises.
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
    """A station took what another one sent to its cell for a message to itself."""
    assert mobilenet.run(Scenario.from_text(NEAR), out=tmp_path / "run").verdict == "valid"


def test_a_join_replaced_by_a_later_leave_is_not_retried_forever(tmp_path: Path) -> None:
    """If a join came before the previous leave had succeeded, it was retried forever, and the run
    never came to rest.
    """
    run = mobilenet.run(Scenario.from_text(WISHES), out=tmp_path / "run")
    assert run.verdict == "valid" and run.manifest["quiescent"] is True
    changes = run.events[run.events.event.isin(["join", "leave"])]
    assert list(changes[changes.node == "h0"].event) == ["join"]  # it was down the whole time
    assert list(changes[changes.node == "h1"].event) == ["join", "leave"]


@pytest.mark.parametrize("seed", [2149, 5409, 9155])
def test_recovery_messages_in_transit_at_the_end_are_handled(seed: int) -> None:
    """The run considered itself quiescent while a station still had to resend what a host had missed elsewhere."""
    assert judge_seed(seed).answer == "valid"
