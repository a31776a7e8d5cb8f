"""Tests that the verifier does not call a correct run violated in a small part of the campaign."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mobilenet.scenario import Scenario, load_scenario
from mobilenet.scenario.plans.by_kind import plans_of

from .runs import campaign, one, results
from .scenarios import NotDrawn, draw_scenario

SHIPPED = Path(__file__).parents[3] / "scenarios"
SEEDS = [*range(9000, 9018), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(9018, 9026))]
GOOD = ("valid", "unknown", "cut_off", "not_drawn")


@pytest.mark.parametrize("seed", SEEDS)
def test_random_campaign_runs_report_no_violation(seed: int, tmp_path: Path) -> None:
    result = one(seed, tmp_path)
    assert result["outcome"] in GOOD, result
    # The directory of a run is kept only if its verdict needs inspection.
    assert bool(list(tmp_path.iterdir())) == (result["outcome"] == "unknown")


def test_the_same_seed_gives_the_same_scenario(tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        draw_scenario(9000, tmp_path / name, 100_000)
        texts.append((tmp_path / name / "scenario.yaml").read_text())
    assert texts[0] == texts[1]


@pytest.mark.long
def test_the_campaign_draws_most_kinds_of_scenarios(tmp_path: Path) -> None:
    wanted = {
        "mobile_causal", "tcp_flooding", "own", "program", "reliable", "sinr", "unit_disk", "dcf", "acking",
        "RandomWaypoint", "GaussMarkov", "Static", "Tracks", "OwnMobility", "faults", "churn", "interventions",
        "recorded silences",
    }  # fmt: skip
    seen: set[str] = set()
    for seed in range(9000, 9060):
        if seen >= wanted:
            return
        (tmp_path / f"{seed}").mkdir()
        try:
            scenario = draw_scenario(seed, tmp_path / f"{seed}", 100_000)
        except NotDrawn:
            continue
        seen.add(scenario.protocol.name)
        if isinstance(scenario, Scenario):
            seen |= {scenario.wireless.model, scenario.wireless.mac, type(scenario.hosts.mobility).__name__}
            seen |= {name for name in ("faults", "churn", "interventions") if getattr(scenario, name)}
            if getattr(scenario.protocol, "repair", None) == "selective" and scenario.protocol.expiry_s is not None:
                is_impaired = any(one.do == "impair" for one in scenario.interventions)
                seen |= {"recorded silences"} if is_impaired and scenario.record.frames else set()
    assert seen >= wanted


@pytest.mark.long
def test_a_campaign_resumes_where_it_stopped(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text(
        json.dumps({"seed": 9001, "outcome": "valid", "cpu_s": 1}) + '\n{"seed": 90'
    )
    done = [result["seed"] for result in campaign(range(9000, 9003), tmp_path, 1)]
    assert done == [9000, 9002]
    assert sorted(result["seed"] for result in results(tmp_path)) == [9000, 9001, 9002]


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("first.yaml", "wireless.loss=1", "all receptions are lost"),
        (
            "first.yaml",
            "workload={arrivals: none}",
            "the expected number of broadcasts from members is about 0 in total",
        ),
        ("first.yaml", "drain_s=1", "drain_s is 1 s"),
        ("holes.yaml", "seed=1", "hosts.mobility.area"),
        ("own_mobility/patrol.yaml", "seed=1", "hosts.mobility.class"),
        ("streets.yaml", "seed=1", "tracks"),
        ("vcube/reliable.yaml", "workload.sources=1", "no process broadcasts"),
    ],
)
def test_warnings_about_a_scenario_are_printed_before_the_run(name: str, change: str, why: str) -> None:
    scenario = load_scenario(SHIPPED / name, [change])
    assert any(why in doubt for doubt in plans_of(scenario).doubts(scenario))


@pytest.mark.parametrize("name", ["first", "dynamic", "static", "churn", "faults", "vcube/bundling"])
def test_shipped_scenarios_raise_no_warnings(name: str) -> None:
    scenario = load_scenario(SHIPPED / f"{name}.yaml")
    assert list(plans_of(scenario).doubts(scenario)) == []
