"""Tests of the guarantees of a backbone whose links may reorder messages. They also show that each part of the causal
layer is necessary.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet import api
from mobilenet.engine.clock import MILLISECOND
from mobilenet.lab.hunt.swarm.campaign import judge_seed, record_adversary
from mobilenet.lab.hunt.swarm.schedule import draw
from mobilenet.protocols.vcube import backbone
from mobilenet.protocols.vcube.backbone import ID_BYTES, Layer
from mobilenet.verify import verify_run

from .mutants import FifoOnly, OtherChannel, OtherChannelBesideCausal, StampedWhenSent, Unordered
from .stations import Note, World

KINDS = ("vcube_best_effort", "vcube_reliable", "vcube_causal")
MUTANTS = [
    ("vcube_best_effort", Unordered), ("vcube_best_effort", FifoOnly), ("vcube_best_effort", OtherChannel),
    ("vcube_reliable", Unordered), ("vcube_reliable", FifoOnly), ("vcube_reliable", OtherChannel),
    ("vcube_reliable", StampedWhenSent), ("vcube_causal", OtherChannelBesideCausal),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 11), messages=st.integers(1, 80))
def test_a_directed_send_arrives_once_and_after_its_broadcasts(kind: str, seed: int, n: int, messages: int) -> None:
    world = World(kind, n, seed)
    world.play(messages)
    assert world.problems() == []


@pytest.mark.parametrize(("kind", "layer"), MUTANTS)
def test_each_part_of_the_causal_layer_is_needed(kind: str, layer: Layer) -> None:
    def breaks(seed: int) -> bool:
        world = World(kind, 5, seed, layer)
        world.play(60)
        return bool(world.wrong)

    assert any(breaks(seed) for seed in range(30))


@pytest.mark.parametrize("kind", [*(pytest.param(kind, marks=pytest.mark.long) for kind in KINDS[:2]), KINDS[2]])
def test_the_swarm_finds_no_violation_on_the_causal_layer(kind: str) -> None:
    results = [judge_seed(seed, backbone=kind) for seed in range(60)]
    assert [(result.seed, result.explanation) for result in results if result.answer == "violated"] == []


@pytest.mark.parametrize(("kind", "layer"), MUTANTS)
def test_removing_the_causal_layer_leads_to_violations(kind: str, layer: Layer) -> None:
    """The same schedules are valid with the layer."""
    violated = []
    for seed in range(60):
        with tempfile.TemporaryDirectory() as folder:
            record_adversary(draw(seed, "slow_wire", kind), Path(folder), check=False, layer=layer)
            if any(verdict.answer == "violated" for verdict in verify_run(Path(folder)).values()):
                violated.append(seed)
                break
    assert violated
    with tempfile.TemporaryDirectory() as folder:
        record_adversary(draw(violated[0], "slow_wire", kind), Path(folder))
        assert not [name for name, verdict in verify_run(Path(folder)).items() if verdict.answer == "violated"]


def test_a_vector_clock_stamp_costs_four_bytes_per_changed_entry() -> None:
    world = World("vcube_reliable", 4, 1, answers=0)
    sizes = []
    for i in (0, 0, 1):  # Source 0 sends two messages. Then source 1 sends a message that follows both of them.
        world.bytes.clear()
        note = Note(len(world.sent), None, 50)
        world.sent.append(note)
        world.before[note] = frozenset()
        world.layers[i].broadcast(note)
        world.kernel.run_until(world.kernel.now + 10**9)
        sizes.append({size for name, size in world.bytes if name == "Tree"})
    assert sizes == [{ID_BYTES + 100 + 4}, {ID_BYTES + 100 + 4}, {ID_BYTES + 100 + 8}]
    world.bytes.clear()
    note = Note(len(world.sent), 3, 0)
    world.before[note] = frozenset()
    world.layers[2].send(3, note)
    assert world.bytes == [("Directed", 100 + 4 * 4)]


def test_control_messages_flush_waiting_bundles() -> None:
    wait = 50 * MILLISECOND
    world = World("vcube_best_effort", 2, 1, wait_ns=wait, answers=0)
    world.before |= {Note(k, None, payload): frozenset() for k, payload in ((0, 50), (1, 0), (2, 50))}
    first, control, last = world.before
    world.layers[0].broadcast(first)
    assert world.bytes == []
    world.layers[0].broadcast(control)
    assert world.bytes == [("Bundle", 2 * (ID_BYTES + 4 + 100))]
    world.layers[0].broadcast(last)
    assert len(world.bytes) == 1
    world.kernel.run_until(wait)
    assert ("Bundle", ID_BYTES + 4 + 100) in world.bytes


def test_a_directed_send_waits_for_an_earlier_broadcast() -> None:
    """Line 7 of the reliable broadcast: the second broadcast starts only after the first has been acknowledged, but the
    directed send x already depends on the second broadcast.
    """
    world = World("vcube_reliable", 2, 1)
    notes = [Note(0, None, 50), Note(1, None, 50), Note(2, 1, 0)]
    world.before = dict.fromkeys(notes, frozenset())
    order: list[Note] = []
    world.receive = lambda at, note: order.append(note)  # type: ignore[method-assign]
    world.layers[0].broadcast(notes[0])
    world.layers[0].broadcast(notes[1])
    world.layers[0].send(1, notes[2])
    assert [name for name, _ in world.bytes] == ["Tree", "Directed"]
    world.kernel.run_until(10**9)
    assert order == notes


def test_emulated_links_also_require_the_causal_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The FIFO links form a full mesh of equal links. A directed send takes one link, while a broadcast may take
    three.
    """
    monkeypatch.setitem(backbone.LAYERS, "vcube_causal", OtherChannelBesideCausal)
    changes = ["stations.backbone.kind=vcube_causal", "duration_s=17", "drain_s=2", "warmup_s=0"]
    done = api.run(Path(__file__).parents[3] / "scenarios" / "dynamic.yaml", out=tmp_path / "run", overrides=changes)
    assert done.verdicts["duplication"].answer == "violated"
