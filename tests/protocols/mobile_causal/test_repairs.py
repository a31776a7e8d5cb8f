"""Tests of `repair: selective`. No random schedule breaks its rules, and each mutant is caught.

Source     the rules: docs/protocols/repair.md; checks in addition to the verifier: checked_repairs.py
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from mobilenet.lab.hunt.swarm.campaign import judge_seed, record_adversary
from mobilenet.lab.hunt.swarm.schedule import Schedule, draw
from mobilenet.protocols import mobile_causal
from mobilenet.protocols.names import SELECTIVE
from mobilenet.verify import verify_run
from tests.protocols.edits import mutate

from .broken_repairs import REPAIRS
from .checked_repairs import Untrue, with_checks
from .mutants import PACKAGE, SHARED

LIMIT = 300
# The first seed that catches each of these mutants.
SHOWN_BY = {
    "have_of_another_session": 140, "missed_kept": 9, "reports_what_others_report": 49, "reports_without_bound": 9,
    "retries_without_back_off": 9, "silent_hosts_lack": 16,
}  # fmt: skip


@cache
def load(name: str) -> ModuleType:
    return mutate(PACKAGE, name, REPAIRS[name][3], SHARED)


def draw_schedule(seed: int, flavour: str | None = None) -> Schedule:
    """Draw a schedule with repairs. With odd seeds, the MAC gives up on many frames."""
    schedule = draw(seed, flavour, repairs=True)
    return replace(schedule, air=replace(schedule.air, drop=schedule.air.drop * 10)) if seed % 2 else schedule


def first_rejection(name: str, limit: int = LIMIT, first: int = 0) -> tuple[int, str] | None:
    """Return the seed of the first rejected schedule, and the property or check that it violates."""
    host, station = with_checks(load(name))
    for seed in range(first, first + limit):
        with tempfile.TemporaryDirectory(prefix="mobilenet-mutant-") as folder:
            schedule = draw_schedule(seed, REPAIRS[name][2])
            try:
                record_adversary(schedule, Path(folder), host, station, check=False)
            except (AssertionError, KeyError, ValueError, IndexError):
                continue
            except Untrue as error:
                return seed, str(error)
            violated = (prop for prop, verdict in verify_run(Path(folder)).items() if verdict.answer == "violated")
            if (check := next(violated, None)) is not None:
                return seed, check
    return None


@pytest.mark.parametrize("name", REPAIRS)
def test_breaking_a_selective_repair_rule_is_detected(name: str) -> None:
    assert first_rejection(name, first=SHOWN_BY.get(name, 0)) is not None


@pytest.mark.parametrize("seed", range(1, 41))
def test_random_schedules_do_not_break_selective_repair(seed: int) -> None:
    """Even seeds use the hostile network, and odd seeds use the radio."""
    result = judge_seed(seed, protocol=SELECTIVE)
    assert result.answer == "valid", result.explanation


@pytest.mark.parametrize("seed", range(60))
def test_selective_repair_passes_every_invariant_check(seed: int, tmp_path: Path) -> None:
    record_adversary(draw_schedule(seed), tmp_path, *with_checks(mobile_causal))
