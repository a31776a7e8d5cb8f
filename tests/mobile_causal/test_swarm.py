"""Drawn schedules: the protocol survives them, each mutant does not. The long hunts: python -m tests.mobile_causal.hunt, ... .mutants."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.swarm.schedule import FLAVOURS, draw, run

from .crowd import deaf_host_blocks_nobody, nothing_is_resent_to_the_silent, radio_is_not_flooded
from .mutants import MUTANTS, hunt
from .oracle import judge

SLOW = {"lc_ignored", "req_obj_early", "no_inst", "ackc_fresh_only", "same_session_again", "join_nobarrier", "rel_reinit"}
"""Mutants that need more schedules than a quick run has time for."""


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(FLAVOURS)))
def test_no_schedule_breaks_the_protocol(seed: int, flavour: str) -> None:
    outcome = run(draw(seed, flavour))
    assert judge(outcome.log) + outcome.left_over == []
    assert set(outcome.buffers.values()) == {(0, 0)}


def test_a_schedule_is_its_seed() -> None:
    assert draw(7) == draw(7) != draw(8)
    assert run(draw(7)).log.fingerprint() == run(draw(7)).log.fingerprint()


def test_schedules_have_content() -> None:
    counts: dict[str, int] = {}
    for seed in range(60):
        for event in run(draw(seed)).log.event:
            counts[event] = counts.get(event, 0) + 1
    wanted = ("join", "leave", "broadcast", "deliver", "crash", "recover", "gap", "handoff_start", "handoff_end",
              "out_of_coverage", "in_coverage")
    assert all(counts.get(event, 0) > 20 for event in wanted), counts


@pytest.mark.parametrize("scene", [deaf_host_blocks_nobody, nothing_is_resent_to_the_silent, radio_is_not_flooded])
def test_scene(scene) -> None:
    assert scene() is None


@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in SLOW])
def test_mutant_dies(name: str) -> None:
    *_, found = hunt(name, limit=300)
    assert found is not None
