"""Tests of the shipped plug-in with handoffs: it keeps its promises, and in a handoff a host receives the messages that
it missed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import mobilenet
from mobilenet.lab.hunt.controlled import Network
from mobilenet.lab.hunt.swarm.campaign import judge_seed
from mobilenet.record.reader import read_events
from mobilenet.simulation.plugin_code import load_named
from tests.conftest import SCENARIOS
from tests.scenario.examples import edit

FOLDER = SCENARIOS / "own_protocol"
CRASHES = "faults={schedule: random, rate_per_host_per_min: 4, mean_duration_s: 2}"
HOLES = "hosts={count: 30, mobility: {model: random_waypoint, speed_mps: 9, area: {box_m: [-320, -320, 320, 320]}}}"
CHURN = "churn={leave_rate_per_host_per_min: 4, mean_away_s: 2}"


@pytest.mark.parametrize("changes", [[], [CRASHES], [CHURN], [CRASHES, CHURN, HOLES]])
def test_roaming_runs_are_valid_and_have_handoff_metrics(changes: list[str], tmp_path: Path) -> None:
    run = mobilenet.run(FOLDER / "roaming.yaml", out=tmp_path / "run", overrides=changes, allow_code=True)
    assert run.verdict == "valid" and "promises: fifo" in (run.path / "scenario.yaml").read_text()
    metrics = run.metrics
    assert metrics["handoffs"] >= 30 and metrics["handoffs_with_recovered"] > metrics["handoffs"] / 3
    assert 0 < metrics["handoff_duration_mean_s"] < 0.3 and metrics["handoff_interruption_mean_s"] > 0
    events = read_events(run.path)
    kinds = [event for event in events["event"] if event.startswith("handoff")]
    assert kinds.count("handoff_start") >= kinds.count("handoff_end") >= metrics["handoffs"]
    pairs = zip(events["event"], events["detail"], strict=True)
    causes = {detail for event, detail in pairs if event == "handoff_start"}
    assert ('{"cause": "recovery"}' in causes) == (CRASHES in changes)


def test_the_roaming_plug_in_is_at_most_100_lines_long() -> None:
    lines = (FOLDER / "roaming.py").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line]) <= 100


def test_roaming_hosts_receive_fewer_messages_without_a_buffer(tmp_path: Path) -> None:
    """In a handoff, only stations with a buffer can send a host the messages that it missed. The promised order holds
    in both cases.
    """
    ratios = {}
    for keep in (30, 0):
        run = mobilenet.run(
            FOLDER / "roaming.yaml",
            out=tmp_path / str(keep),
            overrides=[f"protocol.settings={{keep: {keep}}}"],
            allow_code=True,
        )
        ratios[keep] = run.metrics["delivery_ratio"]
        assert run.verdict == "valid" and (run.metrics["handoffs_with_recovered"] > 0) == (keep > 0)
    assert ratios[30] > ratios[0] + 0.01


def test_a_roaming_station_sends_only_if_hosts_are_associated(tmp_path: Path) -> None:
    roaming = load_named("protocol.class", "roaming.py:Roaming", FOLDER, True)
    network = Network(roaming, roaming.settings(), cells=[0, 0], parents=[0])
    for host in (0, 1):
        network.join(host)
    first = network.broadcast(0)
    network.flush()
    assert network.deliveries(1) == [first]
    assert network.packets(sender="s1") == []  # there are no hosts in the cell
    network.move(1, 1)
    network.deliver(network.packet("Hello", sender="h1"))
    assert network.packet("Welcome", receiver="h1").message.missed == ()
    network.settle()
    network.move(1, None)
    second = network.broadcast(0)
    network.settle()
    assert network.deliveries(1) == [first]
    network.move(1, 1)
    network.settle()
    assert network.deliveries(1) == [first, second]
    handoffs = [(event.name, *event.arguments) for event in network.events if event.name.startswith("session")]
    assert handoffs[-2:] == [("session_opened", 3, 1, "cell"), ("session_confirmed", 3, 1, {"recovered": 1})]


def test_swarm_schedules_of_roaming_find_no_violation() -> None:
    reference = f"{FOLDER / 'roaming.py'}:Roaming"
    results = [judge_seed(seed, protocol=reference) for seed in range(1, 13)]
    assert {result.answer for result in results} <= {"valid", "unknown"}, results
    assert sum(result.answer == "valid" for result in results) >= 10


def test_a_bug_in_the_roaming_plug_in_is_detected(tmp_path: Path) -> None:
    path = edit(tmp_path, "own_protocol/roaming", "self.stable.expected[news.id.host] = news.id.seq + 1", "pass")
    run = mobilenet.run(path, out=tmp_path / "run", allow_code=True)
    assert run.verdict == "violated" and "h29:0 twice" in run.verdicts["duplication"].explanation
