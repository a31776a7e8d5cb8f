"""Tests of the question that a capacity search answers: the values of its key, and one clear error for each invalid
question.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mobilenet.lab.studies.capacity.question import Plan, Question, default_directory, plan
from mobilenet.parameters import ScenarioError
from tests.conftest import FIRST, SCENARIOS

DELAY = "delivery_delay_p95_s <= 1"


def plan_of(vary: str = "wireless.loss", low: float = 0, high: float = 1, *require: str, **others: Any) -> Plan:
    return plan(Question(others.pop("scenario", FIRST), vary, low, high, require or (DELAY,), **others))


def test_the_step_of_a_capacity_search_is_a_round_number() -> None:
    assert plan_of("wireless.loss", 0, 0.6).values[:4] == (0, 0.01, 0.02, 0.03)
    assert plan_of("workload.interval_s", 6, 1).values[:3] == (1, 1.1, 1.2)
    assert plan_of("workload.interval_s", 1, 6).values[-1] == 6
    for high in (0.3, 1, 2.7, 7, 60, 1e4):
        assert 32 <= plan_of("workload.interval_s", 0.01, 0.01 + high).last <= 64


def test_the_resolution_is_exact_except_for_a_shorter_last_step() -> None:
    assert plan_of("workload.interval_s", 1, 2, resolution=0.3).values == (1, 1.3, 1.6, 1.9, 2)
    assert plan_of("workload.interval_s", 1, 2, resolution=5).values == (1, 2)


def test_integer_keys_are_varied_in_integer_steps() -> None:
    assert plan_of("hosts.count", 1, 20).values == tuple(range(1, 21))
    wide = plan_of("hosts.count", 1, 200).values
    assert wide[:3] == (1, 6, 11) and wide[-1] == 200 and all(isinstance(value, int) for value in wide)
    assert plan_of("hosts.count", 20, 10, resolution=4).values == (10, 14, 18, 20)


def test_capacity_varies_unset_keys_and_plug_in_settings() -> None:
    assert plan_of("wireless.capture_db", 1, 20).last > 0
    gossip = SCENARIOS / "own_protocol" / "gossip.yaml"
    question_plan = plan(Question(gossip, "protocol.settings.within_s", 0.1, 1, (DELAY,)), allow_code=True)
    assert question_plan.values[0] == 0.1


def test_a_capacity_question_is_planned_as_a_study() -> None:
    question_plan = plan_of("wireless.loss", 0, 0.6, set=("duration_s=8",), seed=7)
    study = question_plan.study
    assert (study.factors.keys(), study.set, study.seed) == ({"wireless.loss"}, {"duration_s": 8}, 7)
    assert default_directory(question_plan.question) == Path("studies/first-capacity-loss")


def test_a_capacity_search_accepts_a_scenario_as_a_dictionary() -> None:
    values = {
        "seed": 1, "duration_s": 5, "stations": {"layout": {"shape": "points", "points_m": [[0, 0]]}},
        "hosts": {"count": 2, "mobility": {"model": "static"}}, "protocol": {"name": "mobile_causal"},
        "workload": {"interval_s": 1},
    }  # fmt: skip
    assert plan_of("hosts.count", 1, 9, scenario=values).values == tuple(range(1, 10))
    assert plan_of("hosts.count", 1, 9, scenario=values, set={"duration_s": 3}).study.set == {"duration_s": 3}


REFUSED: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "no file": (("a.b", 0, 1), {"scenario": "nope.yaml"}, "nope.yaml: cannot be read: No such file or directory"),
    "a study": (
        ("hosts.count", 1, 9), {"scenario": SCENARIOS / "studies" / "loss.yaml"}, "a study, not a scenario; `mobilenet",
    ),
    "an unknown key": (
        ("wireless.los", 0, 1), {}, "--vary wireless.los: wireless.los: unknown key; did you mean 'loss'?",
    ),
    "a word": (("protocol.name", 0, 1), {}, "--vary protocol.name: its value is mobile_causal, which is not a number"),
    "a group": (("hosts", 0, 1), {}, "--vary hosts: its value is {count: 6"),
    "no key": ((" ", 0, 1), {}, "--vary: missing; expected a key such as workload.interval_s"),
    "the seed": (("seed", 1, 9), {}, "--vary seed: runs take their seeds from the seed of the study"),
    "equal ends": (("wireless.loss", 0.5, 0.5), {}, "--from and --to: both are 0.5, so there is nothing to search"),
    "beyond the range": (("wireless.loss", 0, 2), {}, "--to 2: wireless.loss: should be at most 1, got 2"),
    "not a number": (("wireless.loss", float("nan"), 1), {}, "--from nan: expected a number"),
    "half a host": (("hosts.count", 1.5, 9), {}, "--from 1.5: hosts.count: expected a whole number, got 1.5"),
    "half a step": (
        ("hosts.count", 1, 9), {"resolution": 0.5}, "--resolution 0.5: hosts.count takes whole numbers, expected",
    ),
    "no step": ((), {"resolution": 0.0}, "--resolution 0: expected more than 0"),
    "many steps": (
        (), {"resolution": 0.0001},
        "--resolution: 10000 steps between 0 and 1, expected at most 999; choose a resolution of at least 0.00101",
    ),
    "a metric": (
        ("wireless.loss", 0, 1, "delivery_dely_p95_s <= 1"), {},
        "--require 'delivery_dely_p95_s <= 1': unknown metric 'delivery_dely_p95_s' (did you mean",
    ),
    "a budget": (
        (), {"budget": 49},
        "--budget 49: too few runs; expected at least 50, which is 10 at each of the first 5 values",
    ),
    "a tolerance": ((), {"tolerance": 1.5}, "--tolerance 1.5: expected a share of the limit"),
    "an error": ((), {"error": 0.0}, "--error 0: expected a probability from 0.0001 to 0.5"),
    "a share": ((), {"rare": 0.6}, "--rare 0.6: expected a share of the runs from 0.001 to 0.5"),
    "set twice": ((), {"set": ("wireless.loss=1",)}, "--set wireless.loss: is the key that varies"),
    "set badly": ((), {"set": ("wireless.rang=1",)}, "--set wireless.rang=1: wireless.rang: unk"),
    "no equals sign": ((), {"set": ("loss",)}, "--set loss: expected key=value, such as"),
    "code": (
        ("hosts.count", 1, 9), {"scenario": SCENARIOS / "own_protocol" / "gossip.yaml"},
        "gossip.yaml: protocol.class: runs Python code, gossip.py:Gossip, with your full permissions; if you trust it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_malformed_capacity_questions_are_rejected(name: str) -> None:
    asked, others, problem = REFUSED[name]
    with pytest.raises(ScenarioError) as caught:
        plan_of(*asked, is_command=True, **others)
    assert problem in str(caught.value) and "\n" not in str(caught.value)


def test_capacity_errors_in_python_mention_the_arguments() -> None:
    for asked, others, problem in (
        (("wireless.loss", 0, 2), {}, "high 2: wireless.loss: should be at most 1"),
        (("wireless.loss", 1, 1), {}, "low and high: both are 1"),
        ((), {"set": {"wireless.rang": 1}}, "overrides wireless.rang=1: wireless.rang: unknown"),
        (("wireless.loss", 0, 1, "x"), {}, "require 'x': cannot be read"),
        (("wireless.los", 0, 1), {}, "vary wireless.los: wireless.los: unknown key"),
    ):
        with pytest.raises(ScenarioError) as caught:
            plan_of(*asked, **others)
        assert str(caught.value).startswith(problem)
