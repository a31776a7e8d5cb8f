"""Tests that each mutant with a fault of the printed algorithms is rejected by a scene, or within a few schedules of
the swarm.

The command `python -m tests.protocols.vcube.mutants` tries all of them from seed 0. Its table is in
docs/protocols/vcube.md.
"""

from __future__ import annotations

import pytest

from . import test_crashes
from .mutants import MUTANTS, hunt

LATE = {  # mutant -> the first seed that catches it
    "bottom_is_true": 22, "last_message_only": 24, "out_of_order": 207, "no_restart_on_arrival": 50,
    "all_no_restart_on_arrival": 334,
}  # fmt: skip
QUICK = [name for name, mutant in MUTANTS.items() if mutant.scene is None and name not in LATE]


@pytest.mark.parametrize("name", QUICK)
def test_vcube_mutants_are_killed_by_the_swarm(name: str) -> None:
    kill = hunt(name, 40)
    assert kill.seed is not None and kill.check != "raises", MUTANTS[name].hole


@pytest.mark.parametrize("name", LATE)
def test_vcube_mutants_are_killed_by_their_listed_seeds(name: str) -> None:
    assert hunt(name, 1, LATE[name]).seed == LATE[name], MUTANTS[name].hole


def test_mutants_that_random_schedules_miss_have_fixed_schedules() -> None:
    assert all(hasattr(test_crashes, mutant.scene) for mutant in MUTANTS.values() if mutant.scene is not None)
