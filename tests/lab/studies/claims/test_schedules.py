"""Tests of claims about schedules of the swarm. Each schedule is run once and its result is stored, so the answer does
not depend on chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mobilenet.lab.hunt.swarm.campaign import Result
from mobilenet.lab.studies.claims import schedules
from mobilenet.lab.studies.claims.declaration import Answer, NoViolation
from mobilenet.lab.studies.claims.schedules import command, judge_answers, play

CLAIM = NoViolation(relation="no_violation", schedules=6, seed=3)


class Stop(Exception):
    pass


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    seeds: list[int] = []

    def campaign(wanted: Iterable[int], workers: int, **others: Any) -> Iterator[Result]:
        for seed in wanted:
            seeds.append(seed)
            yield Result(seed, "radio", "violated" if seed == 100 else "valid", "")

    monkeypatch.setattr(schedules, "run_campaign", campaign)
    return seeds


def test_an_interrupted_claim_can_be_resumed(played: list[int], tmp_path: Path) -> None:
    def stop(left: int) -> None:
        if left == 2:
            raise Stop

    with pytest.raises(Stop):
        play(CLAIM, tmp_path, 1, 0.05, stop)
    with (tmp_path / "schedules.jsonl").open("a") as file:
        file.write('{"code": "torn')
    assert play(CLAIM, tmp_path, 1, 0.05).answer is Answer.HOLDS
    assert played == [3, 4, 5, 6, 7, 8]
    assert play(CLAIM, tmp_path, 1, 0.05).schedules == 6 and len(played) == 6


def test_a_claim_runs_only_the_missing_schedules(played: list[int], tmp_path: Path) -> None:
    play(CLAIM, tmp_path, 1, 0.05)
    play(CLAIM.model_copy(update={"schedules": 8}), tmp_path, 1, 0.05)
    assert played[6:] == [9, 10]
    play(CLAIM.model_copy(update={"protocol": "tcp_flooding"}), tmp_path, 1, 0.05)
    assert played[8:] == [3, 4, 5, 6, 7, 8]


def test_schedules_run_again_after_a_code_change(
    played: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(CLAIM, tmp_path, 1, 0.05)
    monkeypatch.setattr(schedules, "digest_of_code", lambda: "other")
    play(CLAIM, tmp_path, 1, 0.05)
    assert len(played) == 12


def test_a_schedule_claim_fails_if_any_schedule_is_violated() -> None:
    assert judge_answers(["valid"] * 99 + ["unknown"], 0.05).answer is Answer.HOLDS
    violated = judge_answers(["valid"] * 99 + ["violated"], 0.05)
    assert violated.answer is Answer.FAILS and violated.violated == 1
    assert judge_answers(["valid", "ended with an error"], 0.05).answer is Answer.UNDECIDED
    assert judge_answers(["unknown"] * 5, 0.05).answer is Answer.UNDECIDED


def test_the_bound_without_violations_is_the_rule_of_three() -> None:
    assert judge_answers(["valid"] * 1000, 0.05).high == pytest.approx(3 / 1000, rel=0.01)
    assert judge_answers(["violated"] * 5, 0.05).high == 1


def test_a_claim_about_schedules_states_its_swarm_command() -> None:
    assert command(CLAIM) == "mobilenet swarm --count 6 --seed 3"
    other = CLAIM.model_copy(update={"protocol": "tcp_flooding"})
    assert command(other) == "mobilenet swarm --count 6 --seed 3 --protocol tcp_flooding"
