"""Tests that the unchanged broadcast protocols also run on the emulated wires, without mobile hosts."""

from __future__ import annotations

import pytest

from mobilenet.parameters import ScenarioError
from tests.protocols.vcube.play import play

HOP_S = 0.01 + 41 * 8 / 10e6  # 1 byte and 40 bytes of headers at 10 Mb/s
WIRED = "network.kind=wired"
CHAIN = "network.edges=[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7]]"
PROTOCOLS = ("best_effort", "reliable", "all_to_all", "disjoint_paths", "causal", "causal_reliable")


@pytest.mark.parametrize(
    ("protocol", "hops", "messages"),
    [("best_effort", 6, 14), ("reliable", 6, 14), ("all_to_all", 2, 14), ("disjoint_paths", 4, 21)],
)
def test_wired_latency_follows_from_the_number_of_hops(protocol: str, hops: int, messages: int) -> None:
    # A failure detector would send its messages over the same links.
    played = play(8, protocol, WIRED, "workload.sources=1", "detector=null")
    assert played.metrics["latency"] == pytest.approx(hops * HOP_S, abs=2e-5 * hops)
    assert played.metrics["messages"] == messages and not played.wrong


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "more", [(), (CHAIN,), ("workload.messages=5", "workload.instants={kind: uniform, latest: 0.2}")]
)
def test_every_process_protocol_runs_on_a_wired_backbone(protocol: str, more: tuple[str, ...]) -> None:
    played = play(8, protocol, WIRED, *more)
    assert not played.wrong and played.metrics["deliveries"] in (64, 320)


@pytest.mark.parametrize("protocol", PROTOCOLS[:4])
def test_vcube_broadcasts_survive_crashes_on_wires(protocol: str) -> None:
    played = play(16, protocol, WIRED, "faults=[{process: p3, at: 0.005}, {process: p8, at: 0.015}]")
    assert not played.wrong and played.metrics["crashes"] == 2 and played.metrics["suspicions"] == 2 * 14


def test_network_edges_that_do_not_connect_are_rejected() -> None:
    with pytest.raises(ScenarioError, match=r"network.edges: 1 edge cannot connect 8 stations"):
        play(8, "reliable", WIRED, "network.edges=[[0, 1]]")
