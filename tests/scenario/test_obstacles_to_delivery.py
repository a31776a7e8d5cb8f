"""Tests that `check` explains why it may be impossible to deliver any message, and otherwise prints no warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mobilenet import api
from mobilenet.scenario import Scenario
from mobilenet.scenario.loader import given_scenario
from mobilenet.scenario.plans.hosts import doubts

PLAIN: dict[str, Any] = {
    "duration_s": 60,
    "drain_s": 600,
    "stations": {"layout": {"shape": "points", "points_m": [[0, 0]]}},
    "hosts": {"count": 3, "mobility": {"model": "random_waypoint", "speed_mps": 1.5}},
    "protocol": {"name": "mobile_causal"},
    "workload": {"interval_s": 2},
}
NOBODY_THERE = [{"at_s": 0, "do": "crash", "host": f"h{host}"} for host in range(3)]
AT_THE_BEGINNING = [{"host": f"h{number % 3}", "at_s": 0.01 * number} for number in range(30)]


def doubts_of(**changes: Any) -> list[str]:
    loaded = given_scenario(PLAIN | changes)
    assert isinstance(loaded, Scenario)
    return list(doubts(loaded))


def test_an_unproblematic_scenario_raises_no_warnings() -> None:
    assert doubts_of() == []
    assert doubts_of(interventions=NOBODY_THERE[:1]) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"interventions": NOBODY_THERE},
        {"interventions": [{"at_s": 0, "do": "radio_off", "station": "s0"}]},
        {"workload": {"arrivals": "explicit", "messages": AT_THE_BEGINNING}},
        {"hosts": PLAIN["hosts"] | {"attachment": {"error_m": 3000}}},
        {"churn": {"initial_fraction": 0, "mean_away_s": 1e6}},
        {"churn": {"changes": [{"host": f"h{host}", "at_s": 0.05, "kind": "leave"} for host in range(3)]}},
        {"hosts": PLAIN["hosts"] | {"count": 0}, "interventions": [{"at_s": 59.5, "do": "add", "to_m": [10, 10]}]},
        {"interventions": [{"at_s": 0.5, "do": "interval", "interval_s": 1e6}]},
    ],
)
def test_check_expects_no_broadcasts_from_outside_the_group(changes: dict[str, Any]) -> None:
    assert any("number of broadcasts from members" in line for line in doubts_of(**changes))


def test_check_warns_of_hosts_that_cross_cells_too_fast() -> None:
    fast = {"count": 3, "mobility": {"model": "random_waypoint", "speed_mps": 20}}
    slow_wires = {"layout": {"shape": "points", "points_m": [[0, 0], [110, 0]]}, "backbone": {"delay_ms": 3000}}
    assert any("s to join, but may cross half a cell" in line for line in doubts_of(hosts=fast, stations=slow_wires))
    assert not any("may cross half a cell" in line for line in doubts_of(hosts=fast))


def test_check_warns_of_position_errors_that_prevent_joining() -> None:
    stations = {"layout": {"shape": "points", "points_m": [[0, 0], [110, 0]]}, "backbone": {"delay_ms": 400}}
    for error_m, is_named in ((0, False), (100, True)):
        attachment = {"error_m": error_m, "hysteresis_m": 0, "tick_ms": 10}
        lines = doubts_of(stations=stations, hosts=PLAIN["hosts"] | {"attachment": attachment})
        assert any("misjudge their position" in line for line in lines) == is_named


TWO_STATIONS = {"shape": "points", "points_m": [[0, 0], [200, 0]]}
CUT = {"at_s": 0, "do": "cut", "link": ["s0", "s1"]}


def of_two_stations(backbone: dict[str, Any], **changes: Any) -> list[str]:
    return doubts_of(stations={"layout": TWO_STATIONS, "backbone": backbone}, **changes)


@pytest.mark.parametrize(
    ("backbone", "interventions"),
    [
        ({"delay_ms": 60_000}, []),
        ({"delay_ms": 30_000}, []),
        ({"kind": "vcube_causal", "delay_ms": 30_000}, []),
        ({}, [CUT]),
        ({}, [CUT, CUT | {"at_s": 59, "do": "mend"}]),
    ],
)
def test_check_warns_if_hosts_cannot_join_before_the_end(backbone: dict[str, Any], interventions: list[Any]) -> None:
    doubts = of_two_stations(backbone, interventions=interventions)
    assert any("s to join, but the active part ends after 60 s" in line for line in doubts)


@pytest.mark.parametrize(
    ("backbone", "interventions"),
    [
        ({"delay_ms": 2000}, []),
        ({}, [CUT | {"at_s": 20}]),  # the hosts have joined before the cut
        ({}, [CUT, CUT | {"at_s": 20, "do": "mend"}]),  # the hosts join after the repair
    ],
)
def test_check_does_not_warn_if_hosts_can_join_in_time(backbone: dict[str, Any], interventions: list[Any]) -> None:
    assert not [line for line in of_two_stations(backbone, interventions=interventions) if "join" in line]


@pytest.mark.parametrize(("mean_s", "announced"), [(0.05, True), (5.0, False)])
def test_check_warns_of_hosts_that_crash_before_joining(mean_s: float, announced: bool) -> None:
    crashes = {"schedule": "random", "rate_per_host_per_min": 10 / mean_s, "mean_duration_s": mean_s}
    lines = of_two_stations({"delay_ms": 1500}, faults=crashes, workload={"interval_s": 1})
    assert any("number of broadcasts from members" in line for line in lines) == announced


def test_joining_over_tcp_requires_no_second_station() -> None:
    slow = {"delay_ms": 60_000}
    assert not [line for line in of_two_stations(slow, protocol={"name": "tcp_flooding"}) if "to join" in line]


def test_a_run_that_no_host_can_join_is_unknown(tmp_path: Path) -> None:
    scenario = given_scenario(PLAIN | {"stations": {"layout": TWO_STATIONS}, "interventions": [CUT], "drain_s": 200})
    assert api.run(scenario, out=tmp_path / "run").verdict == "unknown"
