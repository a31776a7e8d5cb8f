"""Tests that the protocol survives random schedules and that its mutants do not.

The following command prints the complete table: python -m tests.protocols.mobile_causal.mutants.
"""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mobilenet.lab.hunt.swarm.campaign import record_adversary
from mobilenet.lab.hunt.swarm.schedule import FLAVOURS, PlayedSchedule, draw, run
from mobilenet.protocols.mobile_causal import Status
from mobilenet.verify import verify_run
from tests.lab.hunt.exhaustion.mutants import TRIED, explore

from .crowd import deaf_host_blocks_nobody, nothing_is_resent_to_the_silent, radio_is_not_flooded
from .mutants import MUTANTS, hunt

LATE = "no_inst"  # The swarm catches this mutant only after 1,474 schedules. Exhaustive search needs a few seconds.
# The first seed that catches each of these mutants.
SHOWN_BY = {
    "ack_fresh_only": 6, "ack_without_context": 8, "join_nobarrier": 18, "lc_ignored": 114, "no_freeze": 24,
    "none_late": 60, "rel_reinit": 58, "same_session_again": 10,
}  # fmt: skip


@settings(max_examples=150)
@given(st.integers(0, 2**32), st.sampled_from(sorted(FLAVOURS)))
def test_random_schedules_do_not_break_the_mobile_protocol(seed: int, flavour: str) -> None:
    with TemporaryDirectory() as folder:
        record_adversary(draw(seed, flavour), Path(folder))
        answers = {name: verdict for name, verdict in verify_run(Path(folder)).items() if verdict.answer != "valid"}
    assert answers == {}  # I5 (a lost token would appear as a gap)


def leaks(outcome: PlayedSchedule) -> list[str]:
    """Return faults that a run directory does not show: contexts that are no longer needed, and stations with different
    message counts.
    """
    network = outcome.network
    problems = []
    if len({station.next_number for station in network.stations}) > 1:  # I7
        problems.append("the stations have not numbered the same messages")
    for h, stable in enumerate(network.stable):
        contexts = [s for s, station in enumerate(network.stations) if h in station.ctx]
        expected = [network.cells[h]] if stable.status is Status.MEMBER else []
        if contexts != expected:  # I8
            problems.append(f"h{h}: contexts at {contexts}, expected at {expected}")
    return problems


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.sampled_from(sorted(FLAVOURS)))
def test_every_member_has_exactly_one_context_at_the_end(seed: int, flavour: str) -> None:
    outcome = run(draw(seed, flavour))
    assert outcome.quiescent and leaks(outcome) == []


def test_a_schedule_is_determined_by_its_seed() -> None:
    assert draw(7) == draw(7) != draw(8)
    assert run(draw(7)).recording.fingerprint() == run(draw(7)).recording.fingerprint()


def test_random_schedules_contain_every_kind_of_event() -> None:
    counts: dict[str, int] = {}
    for seed in range(60):
        for event in run(draw(seed)).recording.events.event:
            counts[event] = counts.get(event, 0) + 1
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
    assert all(counts.get(event, 0) > 20 for event in wanted), counts


@pytest.mark.parametrize("scene", [deaf_host_blocks_nobody, nothing_is_resent_to_the_silent, radio_is_not_flooded])
def test_silent_and_deaf_hosts_do_not_block_or_flood_a_cell(scene: Callable[[], str | None]) -> None:
    assert scene() is None


@pytest.mark.parametrize("name", [name for name in MUTANTS if name != LATE])
def test_mobile_protocol_mutants_are_killed_by_the_swarm(name: str) -> None:
    assert hunt(name, limit=150, first=SHOWN_BY.get(name, 0)).check is not None


def test_exhaustive_search_kills_a_mutant_that_swarms_miss() -> None:
    case = next(case for case in TRIED if case.name == "leave_move_join")
    assert explore(LATE, 100, [case]).check == "delivery"
