"""Tests that swarms of the broadcasts over VCube are valid, and that their schedules include crashes and reordered
messages.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from mobilenet.lab.hunt.swarm.broadcasts import draw
from mobilenet.lab.hunt.swarm.campaign import run_campaign
from mobilenet.protocols.vcube.parameters import PARAMETERS
from mobilenet.simulation.processes.experiment import Experiment
from tests.tools import invoke

SAMPLE = range(60)


@pytest.mark.parametrize("protocol", PARAMETERS)
def test_swarm_schedules_of_vcube_broadcasts_are_valid(protocol: str) -> None:
    results = list(run_campaign(range(30), workers=1, protocol=protocol))
    assert [(r.seed, r.explanation) for r in results if r.answer == "violated"] == []
    assert sum(r.answer == "valid" for r in results) >= 27
    assert {r.network for r in results} == {"processes"} and len({r.fingerprint for r in results}) >= 29


@pytest.mark.parametrize("protocol", PARAMETERS)
def test_a_schedule_is_a_scenario_that_can_be_written_and_read(protocol: str) -> None:
    for seed in range(20):
        scenario = draw(seed, protocol)
        assert scenario.with_changes([]) == scenario == draw(seed, protocol)


@pytest.mark.parametrize("protocol", PARAMETERS)
def test_random_broadcast_scenarios_vary_in_size_and_workload(protocol: str) -> None:
    scenarios = [draw(seed, protocol) for seed in range(200)]
    sizes = {scenario.processes for scenario in scenarios}
    assert sizes == ({2, 4, 8, 16} if protocol == "disjoint_paths" else set(range(2, 21)))
    assert {scenario.workload.messages for scenario in scenarios} == {1, 2, 3, 4}
    assert any(scenario.workload.sources == 1 for scenario in scenarios)


class Overtakings:
    """Counts the messages that overtake an earlier message on the same link."""

    def __init__(self) -> None:
        # (sender, receiver, message) -> numbers of the message's copies
        self._sent: dict[tuple[int, int, int], list[int]] = {}
        self._numbers: Counter[tuple[int, int]] = Counter()
        self._latest: dict[tuple[int, int], int] = {}
        self.count = 0

    def on_send(self, _: int, sender: int, to: int, message: Any) -> None:
        self._numbers[sender, to] += 1
        self._sent.setdefault((sender, to, id(message)), []).append(self._numbers[sender, to])

    def on_receive(self, _: int, sender: int, to: int, message: Any) -> None:
        number = self._sent[sender, to, id(message)].pop(0)
        self.count += number < self._latest.get((sender, to), 0)
        self._latest[sender, to] = max(number, self._latest.get((sender, to), 0))


@pytest.mark.parametrize("protocol", [name for name in PARAMETERS if name != "causal"])
def test_swarm_schedules_include_reordering_and_mid_send_crashes(
    protocol: str,
) -> None:
    counts: Counter[str] = Counter()
    for seed in SAMPLE:
        overtakings = Overtakings()
        experiment = Experiment(draw(seed, protocol), overtakings.on_send, overtakings.on_receive)
        events = experiment.run().recording.events
        counts.update(events.event)
        counts["cut short"] += bool(experiment.recording.counters["messages"]["never_left"])
        counts["without order"] += overtakings.count > 0
        crashed = {int(node[1:]) for node, event in zip(events.node, events.event, strict=True) if event == "crash"}
        wrong = [
            d["process"]
            for d, event in zip(events.columns()["detail"], events.event, strict=True)
            if event == "suspect" and isinstance(d, dict)
        ]
        counts["mistaken"] += any(int(name[1:]) not in crashed for name in wrong)
    assert counts["crash"] > 0.5 * len(SAMPLE) and counts["deliver"] > 50 * len(SAMPLE)
    assert counts["cut short"] >= 5 and counts["without order"] >= 15
    if PARAMETERS[protocol].tolerates_mistakes:
        assert counts["trust"] > 2 * len(SAMPLE)
    else:
        assert counts["trust"] == 0


def test_swarm_schedules_split_and_delay_aggregated_packets() -> None:
    packets: Counter[str] = Counter()
    for seed in SAMPLE:
        scenario = draw(seed, "causal")
        experiment = Experiment(scenario)
        experiment.run()
        counters = experiment.recording.counters["messages"]
        packets["several"] += any(int(size) > 1 for size in counters["packets_by_messages"])
        packets["split"] += scenario.protocol.mtu_bytes < 1500  # type: ignore[union-attr]
    assert packets["several"] > 10 and packets["split"] > 20


@pytest.mark.parametrize(
    "words",
    [("--protocol", "all_to_all"), ("--protocol", "mobile_causal_selective"), ("--backbone", "vcube_causal")],
    ids=" ".join,
)
def test_the_swarm_command_accepts_protocols_and_backbones(words: tuple[str, str]) -> None:
    result = invoke("swarm", "--count", 3, "--seed", 1, "--workers", 1, *words)
    assert result.exit_code == 0 and "3 valid" in result.output
    assert "Events per schedule, on average: " in result.output
    assert f"Next: mobilenet swarm --count 3 --seed 4 {' '.join(words)}" in result.output


@pytest.mark.parametrize("words", [("--protocol", "reliable", "--backbone", "tree"), ("--protocol", "gossip")])
def test_the_swarm_command_rejects_unsuitable_options(words: tuple[str, ...]) -> None:
    result = invoke("swarm", "--count", 3, *words)
    assert result.exit_code == 2
    assert ("applies only to mobile_causal" in result.output) is ("--backbone" in words)
