"""Tests of causal order over VCube-RB: which guarantees hold despite crashes and false suspicions, and which messages
may never be delivered.
"""

from __future__ import annotations

from typing import Any

import pytest

from mobilenet.protocols.vcube import causal_reliable
from mobilenet.protocols.vcube.causal_layer import CausalLayer
from mobilenet.record.manifest import manifest
from mobilenet.record.table import Table
from mobilenet.verify import Evidence, verify

from .mutants import ByOwnEntries, DropsWhenSuspected, HandsUpWhenSuspected
from .play import PlayedRun, play

NONE = "workload.sources=0"
# The schedule of the header: m1 of p0 reaches only p1. Then p1 broadcasts m2, which names m1, and m2 reaches only p3.
LOST_PAST = (4, "faults=[{process: p2, at: 0}, {process: p0, at: 0.25}, {process: p1, at: 1.5}]", ((0, 0), (1.35, 1)))
# The same schedule with four correct processes. p2 and p4 are down, so only p1 receives m1. m2 reaches p5, which
# forwards it.
LOST_PAST_OF_FOUR = (
    8,
    "faults=[{process: p2, at: 0}, {process: p4, at: 0}, {process: p0, at: 0.35}, {process: p1, at: 1.6}]",
    ((0, 0), (1.45, 1)),
)


def lost_past(case: Any, *later: tuple[float, int], more: tuple[str, ...] = ()) -> PlayedRun:
    n, faults, broadcasts = case
    return play(n, "causal_reliable", NONE, faults, *more, broadcasts=(*broadcasts, *later))


def deliveries(played: PlayedRun) -> dict[str, list[str]]:
    events = played.experiment.recording.events
    messages_of: dict[str, list[str]] = {}
    for node, event, message in zip(events.node, events.event, events.message, strict=True):
        if event == "deliver":
            messages_of.setdefault(node, []).append(message)
    return messages_of


def most_held(played: PlayedRun) -> dict[str, float]:
    samples = played.experiment.recording.samples.lists
    rows = zip(samples["node"], samples["quantity"], samples["value"], strict=True)
    return {node: value for node, quantity, value in rows if quantity == "held" and node not in ("p0", "p1", "p2")}


def test_a_message_with_a_lost_predecessor_is_held_indefinitely() -> None:
    played = lost_past(LOST_PAST)
    assert not played.wrong and most_held(played) == {"p3": 1}
    assert deliveries(played) == {"p0": ["p0:0"], "p1": ["p0:0", "p1:0"]}


def test_all_correct_processes_hold_the_same_messages_back() -> None:
    played = lost_past(LOST_PAST_OF_FOUR, (5, 6), (80, 3))
    assert not played.wrong and most_held(played) == {"p3": 1, "p5": 1, "p6": 1, "p7": 1}
    assert all(deliveries(played)[name] == ["p6:0", "p3:0"] for name in ("p3", "p5", "p6", "p7"))


def test_delivering_messages_from_suspects_violates_causal_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causal_reliable, "CausalLayer", HandsUpWhenSuspected)
    assert "p3 delivers p1:0 before p0:0" in lost_past(LOST_PAST).violated["order"]


MISTAKES = "mistakes: [{at: 3, by: p7, about: p6}, {at: 6, by: p3, about: p1}, {at: 9, by: p2, about: p5}]"
DETECTOR = f"detector={{interval: 3, timeout: 6, mode: unreliable, {MISTAKES}}}"
BUSY = "workload={messages: 3, instants: {kind: uniform, latest: 12}}"


@pytest.mark.parametrize(
    ("layer", "broken"),
    [(CausalLayer, None), (DropsWhenSuspected, "agreement"), (HandsUpWhenSuspected, "order"), (ByOwnEntries, "order")],
)
def test_a_false_suspicion_does_not_lose_messages(
    layer: type, broken: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some processes wait for a message from a process that is suspected only because it is slow."""
    monkeypatch.setattr(causal_reliable, "CausalLayer", layer)
    schedules = (
        play(8, "causal_reliable", "network={kind: abstract, jitter: 20}", f"seed={seed}", BUSY, DETECTOR)
        for seed in range(20)
    )
    if broken is None:
        assert not any(played.wrong for played in schedules)
    else:
        assert any(broken in played.violated for played in schedules)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [({"p3": 2.0}, "p3 holds 2 messages, 1 of which wait"), ({"p5": 0.0}, "but p5 holds 0"), ({}, None)],
)
def test_the_verifier_counts_messages_that_are_held_back(values: dict[str, float], complaint: str | None) -> None:
    played = lost_past(LOST_PAST_OF_FOUR)
    recording, scenario = played.experiment.recording, played.experiment.scenario
    samples = {name: list(column) for name, column in recording.samples.lists.items()}
    end = max(samples["time_ns"])
    for row, (time, node, quantity) in enumerate(
        zip(samples["time_ns"], samples["node"], samples["quantity"], strict=True)
    ):
        if time == end and quantity == "held" and node in values:
            samples["value"][row] = values[node]
    facts = manifest(recording, scenario, end, True, 0.0, "")
    tables = recording.tables() | {"samples": Table.of(samples)}
    verdict = verify(Evidence(tables, recording.document(), facts))["drained"]
    assert verdict.answer == ("violated" if complaint else "valid") and (complaint or "") in verdict.explanation


def test_withholding_a_deliverable_message_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgets(CausalLayer):
        def _hand_up(self) -> None:
            self._ready = type(self._ready)(arrival for arrival in self._ready if self.me != 2)
            super()._hand_up()

    monkeypatch.setattr(causal_reliable, "CausalLayer", Forgets)
    played = play(4, "causal_reliable", "workload.messages=3", "duration=2000")
    assert {"agreement", "drained"} <= set(played.violated)


@pytest.mark.parametrize("edges", ["", "network.edges=[[0, 1], [1, 2], [2, 3], [3, 0]]"])
def test_the_reliable_causal_broadcast_is_valid_on_wires(edges: str) -> None:
    played = play(
        4, "causal_reliable", "network.kind=wired", *([edges] if edges else []), "workload.messages=3", "detector=null"
    )
    assert not played.wrong and played.metrics["deliveries"] == 48


def test_the_reliable_causal_broadcast_survives_crashes_on_wires() -> None:
    crashes = "faults=[{process: p3, at: 0.005}, {process: p8, at: 0.015}]"
    played = play(
        16,
        "causal_reliable",
        "network.kind=wired",
        crashes,
        "workload={messages: 2, instants: {kind: uniform, latest: 0.05}}",
    )
    assert not played.wrong and played.metrics["crashes"] == 2
