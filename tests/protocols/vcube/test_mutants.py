"""Each hole of the printed algorithms, taken back, is rejected within a few of the swarm's schedules; the others have
a scene.

The slow ones: python -m tests.protocols.vcube.mutants; the table is in docs/protocols/vcube.md.
"""

from __future__ import annotations

import pytest

from . import test_crashes
from .mutants import MUTANTS, hunt

# at most 400 schedules
SLOW = ("bottom_is_true", "last_message_only", "out_of_order", "no_restart_on_arrival", "all_no_restart_on_arrival")
QUICK = [name for name, mutant in MUTANTS.items() if mutant.scene is None and name not in SLOW]


@pytest.mark.parametrize("name", QUICK)
def test_a_mutant_is_caught(name: str) -> None:
    kill = hunt(name, 40)
    assert kill.seed is not None and kill.check != "raises", MUTANTS[name].hole


def test_whoever_breaks_no_promise_or_needs_a_rare_schedule_has_a_scene() -> None:
    assert all(hasattr(test_crashes, mutant.scene) for mutant in MUTANTS.values() if mutant.scene is not None)
