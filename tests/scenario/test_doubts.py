"""What `check` names as reasons why nothing may be delivered, and what it takes for enough."""

from __future__ import annotations

from typing import Any

import pytest

from mobilenet.expected.hosts import doubts
from mobilenet.scenario import Scenario
from mobilenet.scenario.given import given_scenario

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


def told(**changes: Any) -> list[str]:
    loaded = given_scenario(PLAIN | changes)
    assert isinstance(loaded, Scenario)
    return list(doubts(loaded))


def test_a_plain_scenario_leaves_no_doubt() -> None:
    assert told() == []
    assert told(interventions=NOBODY_THERE[:1]) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"interventions": NOBODY_THERE},
        {"interventions": [{"at_s": 0, "do": "radio_off", "station": "s0"}]},
        {"workload": {"arrivals": "explicit", "messages": AT_THE_BEGINNING}},
        {"hosts": PLAIN["hosts"] | {"attachment": {"error_m": 3000}}},
    ],
)
def test_broadcasts_of_hosts_that_are_no_members_are_not_expected(changes: dict[str, Any]) -> None:
    assert any("broadcasts are expected from members" in line for line in told(**changes))
