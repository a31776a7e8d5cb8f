"""Tests of the contents of claims files. Each mistake leads to one message with the file, the line, the key and a
correction.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mobilenet.lab.studies.claims.declaration import Claims
from mobilenet.lab.studies.claims.questions import Cell, Plan, plan
from mobilenet.parameters import ScenarioError
from tests.cli.command import mobilenet, one_line
from tests.conftest import SCENARIOS

GOOD = """\
experiments:
  loss:
    scenario: first.yaml
    factors:
      wireless.loss: [0, {label: some, value: 0.1}, 0.2]
      hosts.count: [6]
  other: {study: loss.yaml}
claims:
  fast:
    relation: within
    metric: delivery_delay_mean_s
    value: {experiment: loss, at: {wireless.loss: some}}
    at_most: 0.5
  growing:
    relation: grows
    metric: delivery_delay_mean_s
    value: {experiment: loss}
    along: wireless.loss
  safe: {relation: no_violation, schedules: 10}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "first.yaml").write_text((SCENARIOS / "first.yaml").read_text())
    (tmp_path / "loss.yaml").write_text("scenario: first.yaml\nfactors: {wireless.loss: [0, 0.3]}\nseed: 7\n")
    return tmp_path


def plan_of(place: Path, text: str, seed: int | None = None) -> Plan:
    (place / "claims.yaml").write_text(text)
    return plan(Claims.load(place / "claims.yaml", seed))


def test_a_claims_file_is_parsed_into_questions_about_studies(place: Path) -> None:
    file_plan = plan_of(place, GOOD)
    assert list(file_plan.studies) == ["loss"]  # A study without claims is not run.
    fast, growing, safe = file_plan.questions
    assert fast.cells == (Cell("loss", 1),) and growing.cells == tuple(Cell("loss", n) for n in range(3))
    assert (fast.tests[0].bound, fast.tests[0].margin) == (0.5, 0.025) and not safe.tests
    # The error probability is divided between the two claims whose answers can be wrong.
    assert file_plan.error == pytest.approx(0.025)
    assert file_plan.costs.keys() == {Cell("loss", n) for n in range(3)} and min(file_plan.costs.values()) > 0


def test_a_study_keeps_its_seed_unless_the_claims_specify_one(place: Path) -> None:
    text = GOOD.replace(
        "{experiment: loss, at: {wireless.loss: some}}", "{experiment: other, at: {wireless.loss: 0.3}}"
    )
    assert plan_of(place, text).studies["other"].seed == 7
    assert plan_of(place, text, seed=3).studies["other"].seed == 3 and plan_of(place, text, 3).claims.seed == 3


def test_exact_claims_consume_none_of_the_error_budget(place: Path) -> None:
    file_plan = plan_of(
        place, GOOD.replace("    scenario: first.yaml", "    scenario: first.yaml\n    deterministic: true")
    )
    assert file_plan.questions[0].is_exact and file_plan.error == 0.05


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("within", "wthn", "claims.yaml:10: claims.fast.relation: unknown relation wthn; did you mean 'within'?"),
        ("    at_most: 0.5\n", "", "claims.yaml:9: claims.fast.at_most: missing; expected at_most, at_least or both"),
        ("at_most: 0.5", "at_most: a lot", 'claims.yaml:13: claims.fast.at_most: expected a number, got "a lot"'),
        ("at_most: 0.5", "at_mst: 0.5", "claims.yaml:13: claims.fast.at_mst: unknown key; did you mean 'at_most'?"),
        ("at_most: 0.5", "at_most: 0", "claims.fast.margin: missing; the default, 5 % of the bound, is 0"),
        ("0.5", "0.5\n    at_least: 0.6", "at_most: should be at least at_least (0.6), got 0.5"),
        ("at_most: 0.5", "at_most: 0.5\n    expect: perhaps",
         "expect: unknown value perhaps; expected one of: holds, does"),
        ("experiment: loss, at", "experiment: lss, at",
         "claims.yaml:12: claims.fast.value.experiment: unknown experiment "
         "'lss', did you mean 'loss'?"),
        ("loss: some}", "loss: 0.4}", "claims.yaml:12: claims.fast.value.at.wireless.loss: 0.4 is not a level of "
         "wireless.loss, expected one of: 0, some, 0.2"),
        ("{wireless.loss: some}", "{wireless.los: some}",
         "at.wireless.los: unknown factor 'wireless.los', did you mean"),
        (", at: {wireless.loss: some}", "",
         "claims.fast.value: the level of wireless.loss is missing; expected one of: 0, some, "),
        ("delivery_delay_mean_s\n    value: {experiment: loss, ",
         "delivery_delay_mea_s\n    value: {experiment: loss, ",
         "claims.yaml:11: claims.fast.metric: unknown metric 'delivery_delay_mea_s' (did you mean"),
        ("along: wireless.loss", "along: wireless.rate", "claims.yaml:18: claims.growing.along: unknown factor"),
        ("along: wireless.loss", "along: hosts.count", "claims.growing.value: the level of wireless.loss is missing"),
        ("schedules: 10", "schedules: 0", "claims.yaml:19: claims.safe.schedules: should be at least 1, got 0"),
        ("schedules: 10", "schedules: 10, protocol: mobil", "claims.yaml:19: claims.safe.protocol: unknown protocol"),
        ("schedules: 10", "schedules: 10, metric: frames",
         "claims.yaml:19: claims.safe.metric: unknown key; known here"),
        ("scenario: first", "scenario: second",
         "claims.yaml:3: experiments.loss.scenario: file 'second.yaml' not found "),
        ("scenario: first.yaml", "study: loss.yaml", "experiments.loss.factors: belongs in the study file"),
        ("{study: loss.yaml}", "{}", "claims.yaml:7: experiments.other.scenario: expected either scenario or study"),
        ("0.2]", "2]",
         "claims.yaml:5: experiments.loss.factors.wireless.loss: level 2: wireless.loss: should be at most 1"),
        ("hosts.count: [6]", "hosts.cont: [6]",
         "claims.yaml:6: experiments.loss.factors.hosts.cont: level 6: hosts.cont: "
         "unknown key; did you mean 'count'?"),
        ("experiments:", "error: 2\nexperiments:", "claims.yaml:1: error: should be at most 0.5, got 2"),
        ("experiments:", "rare: 0\nexperiments:", "claims.yaml:1: rare: should be at least 0.001, got 0"),
        ("experiments:", "replications: 5\nexperiments:", "replications: should be at least 10, got 5"),
        ("  loss:", "  claims.json: {scenario: first.yaml}\n  loss:",
         "claims.yaml:2: experiments.claims.json: `mobilenet claims` writes a file or folder of this name; expected"),
        ("  loss:", "  Schedules.jsonl: {scenario: first.yaml}\n  loss:",
         "experiments.Schedules.jsonl: `mobilenet claims` writes a file or folder of this name; expected another name"),
        ("  safe:", "  a/b:",
         "claims.a/b: expected a name of up to 60 letters, digits, dots, dashes and underscores"),
        ("  safe:", "  fast:", "claims.yaml:19: duplicate key 'fast', first at claims.yaml:9"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_claims_file_gives_one_message(old: str, new: str, message: str, place: Path) -> None:
    assert old in GOOD
    (place / "claims.yaml").write_text(GOOD.replace(old, new, 1))
    line = one_line(mobilenet("claims", "claims.yaml", place=place), 2)
    assert message in line and line.startswith("claims.yaml:"), line
    assert not (place / "studies").exists()


def test_claims_reports_that_a_file_is_a_scenario_or_a_study(place: Path) -> None:
    for file, command in (("first.yaml", "run"), ("loss.yaml", "study")):
        with pytest.raises(ScenarioError, match=f"not a claims file; `mobilenet {command} "):
            Claims.load(place / file)
    (place / "claims.yaml").write_text("- 1\n")
    with pytest.raises(ScenarioError, match=r"claims\.yaml:1: expected keys with values, such as `claims:`"):
        Claims.load(place / "claims.yaml")
    (place / "claims.yaml").write_text("claims: [1, 2]\n")
    with pytest.raises(ScenarioError, match=r"claims: expected keys with values in \{ \}, got \[1, 2\]"):
        Claims.load(place / "claims.yaml")
    assert "cannot be read: No such file" in one_line(mobilenet("claims", "missing.yaml", place=place), 2)


def test_a_dry_run_of_claims_starts_no_runs(place: Path) -> None:
    (place / "claims.yaml").write_text(GOOD)
    done = mobilenet("claims", "claims.yaml", "--dry-run", "--seed", "4", place=place)
    assert done.returncode == 0 and not (place / "studies").exists()
    assert done.stdout.splitlines() == [
        "3 claims about 1 experiment, at most 400 runs of each configuration; studies/claims",
        "Next: mobilenet claims claims.yaml --seed 4",
    ]
