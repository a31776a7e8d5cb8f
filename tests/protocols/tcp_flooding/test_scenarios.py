"""Tests of TCP flooding on the real radio, with static and moving hosts. The verifier judges each run from its
record.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mobilenet.api import manifest_of, simulate
from mobilenet.lab.hunt.swarm import scenes
from mobilenet.scenario import Scenario
from mobilenet.verify import Evidence
from mobilenet.verify.conservation import conservation_problem
from mobilenet.verify.judge import overall
from tests.conftest import SCENARIOS

from .mutants import MUTANTS, hunt
from .verdicts import measure

RARE = {
    "stale_return",
    "one_via",
    "no_via",
    "closed_before_done",
    "no_moved",
    "no_stay",
    "old_admitted",
    "past_ignored",
    "only_own_again",
    "only_unacknowledged_again",
    "leaves_at_once",
}
"""Mutants that need more schedules than a quick run has time for: python -m tests.protocols.tcp_flooding.mutants."""

# The first seed that catches each of these mutants.
SHOWN_BY = {
    "closed_not_awaited": 11, "delivers_out": 24, "ping_overtakes": 5, "return_over_new": 11, "says_nothing_again": 10,
}  # fmt: skip


def scenario(name: str, *overrides: str) -> Scenario:
    return Scenario.load(SCENARIOS / f"{name}.yaml", ["protocol.name=tcp_flooding", *overrides])


def test_tcp_flooding_is_valid_without_movement() -> None:
    verdicts, metrics, _ = measure(scenario("static", "duration_s=30"))
    assert overall(verdicts) == "valid"
    assert metrics["gaps"] == metrics["broadcasts_undelivered"] == metrics["handoffs"] == 0
    assert 1.2 < metrics["messages_sent_per_delivery"] < 1.8 and metrics["delivery_delay_mean_s"] < 0.3
    # MAC retries do not count as messages.
    assert metrics["messages_sent_per_delivery"] * metrics["deliveries"] < metrics["frames"]


def test_the_radio_carries_tcp_in_acknowledged_frames() -> None:
    _, _, simulation = measure(scenario("first"))
    counters = simulation.recording.counters
    assert counters["radio"]["mac_acks"] > 100
    assert set(counters["by_message_type"]["host"]) <= {"TcpSyn", "TcpData", "TcpAck", "TcpReset"}
    assert set(counters["by_message_type"]["wired"]) == {"TcpSyn", "TcpData", "TcpAck"}
    acks = counters["by_message_type"]["host"]["TcpAck"]
    assert acks["bytes"] == (20 + 56) * acks["count"]  # TCP 20; IP 20, LLC 8, MAC 28
    wired = counters["by_message_type"]["wired"]
    assert counters["wired"]["bytes"] == sum(kind["bytes"] + 20 * kind["count"] for kind in wired.values())


def test_moving_hosts_change_stations_without_a_gap() -> None:
    verdicts, metrics, _ = measure(scenario("dynamic", "duration_s=30", "hosts.count=40", "hosts.mobility.speed_mps=5"))
    assert overall(verdicts) == "valid" and metrics["handoffs"] > 10 and metrics["broadcasts_undelivered"] == 0


@pytest.mark.parametrize(
    ("name", "change"), [("faults", "faults.every_s=10"), ("churn", "churn.mean_away_s=5"), ("holes", "seed=1")]
)
def test_tcp_flooding_is_valid_with_faults_and_churn(name: str, change: str) -> None:
    verdicts, metrics, simulation = measure(scenario(name, "duration_s=35", "hosts.count=25", "drain_s=200", change))
    assert overall(verdicts) == "valid"
    if name == "churn":
        events = simulation.recording.events.event
        assert "join" in events[events.index("leave") :]
    else:
        assert metrics["gaps"] > 0 and metrics["deliveries_missed_by_gaps"] > 0


def test_timers_of_closed_connections_do_not_accumulate() -> None:
    _, metrics, simulation = measure(
        scenario("dynamic", "duration_s=20", "hosts.count=20", "hosts.mobility.speed_mps=10", "warmup_s=0")
    )
    assert metrics["handoffs"] > 10
    assert max(len(node._timers) for node in (*simulation.hosts, *simulation.stations)) <= 4


def test_all_protocols_run_in_the_same_simulated_world() -> None:
    _, _, flooding = measure(scenario("holes", "duration_s=20"))
    _, _, mobile = measure(Scenario.load(SCENARIOS / "holes.yaml", ["duration_s=20"]))
    assert flooding.recording.positions.lists == mobile.recording.positions.lists
    for seed in range(4):
        one, other = scenes.draw(seed, "tcp_flooding"), scenes.draw(seed)
        assert (one.hosts, one.stations, one.wireless, one.faults) == (
            other.hosts,
            other.stations,
            other.wireless,
            other.faults,
        )


def test_tcp_flooding_is_valid_in_hostile_scenarios() -> None:
    events: Counter[str] = Counter()
    for seed in range(60):
        verdicts, _, simulation = measure(scenes.draw(seed, "tcp_flooding"))
        assert [(name, v.explanation) for name, v in verdicts.items() if v.answer == "violated"] == [], seed
        assert verdicts["drained"].answer == "valid", seed
        events.update(simulation.recording.events.event)
    wanted = (
        "join",
        "leave",
        "broadcast",
        "deliver",
        "crash",
        "recover",
        "gap",
        "handoff_start",
        "handoff_end",
        "out_of_coverage",
        "in_coverage",
    )
    assert all(events[event] > 50 for event in wanted), events


def test_regression_a_message_does_not_follow_its_successor() -> None:
    """Before the fix, Welcome did not state which messages preceded it."""
    verdicts, _, _ = measure(scenes.draw(1001, "tcp_flooding"))
    assert overall(verdicts) == "valid"


@pytest.mark.parametrize("seed", [1912, 2148])
def test_regression_an_idle_host_learns_that_it_was_given_up(seed: int) -> None:
    """Before the fix, a host without messages to send never learned that its station had given up on it."""
    verdicts, _, _ = measure(scenes.draw(seed, "tcp_flooding"))
    assert overall(verdicts) == "valid"


def test_regression_an_ack_on_the_air_at_the_end_is_counted() -> None:
    """Before the fix, an ACK was counted at its start, but its frame was counted at its end."""
    for number in range(40):
        changes = "drain_s=0", "workload.interval_s=0.05", "wireless.unicast_rate_mbps=1"
        one = scenario("first", f"duration_s={3 + number / 1e3}", *changes)
        outcome = simulate(one)
        recording, facts = outcome.recording, manifest_of(one, outcome, 0.0, "")
        assert conservation_problem(Evidence(recording.tables(), recording.document(), facts)) is None


@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in RARE])
def test_tcp_flooding_mutants_are_killed_by_random_scenarios(name: str) -> None:
    assert hunt(name, 60, first=SHOWN_BY.get(name, 0)).check is not None


@pytest.mark.parametrize(("name", "seed"), [("no_via", 105)])
def test_tcp_flooding_mutants_are_killed_by_their_listed_seeds(name: str, seed: int) -> None:
    assert hunt(name, 1, seed).check is not None


@pytest.mark.parametrize("changes", [("protocol.tcp.max_retransmissions=0",), ("protocol.tcp.connect_timeout_s=0.5",)])
def test_station_connections_survive_a_slow_wire(changes: tuple[str, ...]) -> None:
    """A round trip of 1.2 s exceeds the first timeout, and the time within which a connection with a host must open."""
    slow = ("duration_s=10", "drain_s=60", "stations.backbone.delay_ms=600")
    verdicts, metrics, _ = measure(scenario("first", *slow, *changes))
    assert metrics["deliveries"] > 0 and all(verdict.answer != "violated" for verdict in verdicts.values())


def test_hosts_beyond_one_sifs_of_propagation_are_supported(tmp_path: Path) -> None:
    """At 2 999.4 m, propagation takes 10.005 microseconds and SIFS is 10. The answer is therefore due before the last
    node has received the frame.
    """
    rows = [f"{t},{name},{x},0" for t in range(0, 21, 5) for name, x in (("near", 0.5), ("far", 2999.9))]
    (tmp_path / "far.csv").write_text("t,id,x,y\n" + "\n".join(rows) + "\n")
    far = Scenario.from_text(
        "duration_s: 14\nstations: {layout: {shape: points, points_m: [[0, 0]]}}\nwireless: {range_m: 3000}\n"
        "hosts: {mobility: {model: tracks, file: far.csv}}\nprotocol: {name: tcp_flooding}\nworkload: {interval_s:"
        " 1}\n",
        folder=tmp_path,
    )
    verdicts, metrics, _ = measure(far)
    assert metrics["broadcasts_undelivered"] == 0 and metrics["deliveries"] > 10
    assert all(verdict.answer != "violated" for verdict in verdicts.values())
