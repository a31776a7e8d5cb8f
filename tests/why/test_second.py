"""Two implementations of docs/models/causes.md agree: mobilenet's own, and the slow one of second.py."""

from __future__ import annotations

from pathlib import Path

import pytest

import mobilenet
from mobilenet.why.stories import recorded_stories
from tests.conftest import SCENARIOS
from tests.why.second import joined, stretches

RUNS: dict[str, tuple[str, ...]] = {  # scenario, and what is set in it
    "first.yaml": (),
    "first.yaml with losses": ("wireless.loss=0.2",),
    "dynamic.yaml": ("duration_s=14", "warmup_s=0"),
    "tcp_dynamic.yaml": ("duration_s=8", "warmup_s=0"),
    "by_hand.yaml": (),
    "cut_and_off.yaml": (),
    "vcube/causal.yaml": (),
    "own_protocol/gossip.yaml": ("duration_s=20",),
    "programs/flood.yaml": (),
    "paper/tcp_static.yaml": ("duration_s=10", "warmup_s=0"),  # copies of a message in one queue
    "town.yaml": ("duration_s=10", "warmup_s=0"),  # stations within reach of each other
    "vcube/dynamic_on_vcube.yaml": ("duration_s=5", "warmup_s=0"),
}
Shares = dict[tuple[str, str], int]  # kind, leg -> ns over all deliveries


def add(shares: Shares, story: list[tuple[int, int, str, str]]) -> None:
    for begin, end, kind, leg in story:
        shares[kind, leg] = shares.get((kind, leg), 0) + end - begin


@pytest.mark.parametrize("name", RUNS)
def test_every_story_agrees_to_the_nanosecond(name: str, tmp_path: Path) -> None:
    """And so do the shares; a story has no hole, and adds up to the delay."""
    scenario = SCENARIOS / name.partition(" ")[0]
    overrides = ["record.causes=true", *RUNS[name]]
    mobilenet.run(scenario, out=tmp_path / "run", overrides=overrides, allow_code=True)
    ours = recorded_stories(tmp_path / "run")
    second = stretches(tmp_path / "run")
    delays = {
        (one.message, one.node): (ours.record.broadcasts[one.message].time_ns, one.time_ns)
        for one in ours.record.deliveries
    }
    assert second.keys() == delays.keys() and len(delays) > 400
    shares_of_ours: Shares = {}
    shares_of_second: Shares = {}
    for (message, node), (sent_ns, delivered_ns) in delays.items():
        story = joined((s.begin_ns, s.end_ns, s.kind, s.leg) for s in ours.of(message, node))
        assert story == second[message, node], (message, node)
        edges = [sent_ns, *(end for _, end, _, _ in story)]
        assert [begin for begin, _, _, _ in story] == edges[:-1] and edges[-1] == delivered_ns, (message, node)
        add(shares_of_ours, story)
        add(shares_of_second, second[message, node])
    assert shares_of_ours == shares_of_second and len(shares_of_ours) >= 3
