"""Tests that the reference of all keys is complete and agrees with the declarations in the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mobilenet.cli.key_reference import keys, listing, reference, source_of
from mobilenet.lab.studies.claims.declaration import Claims
from mobilenet.lab.studies.declaration import Study
from mobilenet.metrics.registry import OF_HOSTS, OF_PROCESSES
from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.scenario import load_scenario
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.processes import ProcessScenario
from tests.conftest import SCENARIOS


def test_the_reference_of_keys_is_up_to_date() -> None:
    assert (SCENARIOS / "REFERENCE.md").read_text() == reference(), "mobilenet reference -o scenarios/REFERENCE.md"


def leaves(value: object, path: str = "") -> list[str]:
    if isinstance(value, dict) and value and not path.endswith((".settings", "counts", ".commands")):
        return [leaf for key, inside in value.items() for leaf in leaves(inside, f"{path}.{key}" if path else str(key))]
    if isinstance(value, tuple) and value and isinstance(value[0], dict):
        return leaves(value[0], path + "[]")
    return [path]


@pytest.mark.parametrize("file", sorted((SCENARIOS).rglob("*.yaml")), ids=lambda file: file.name)
def test_the_reference_has_every_key_of_every_scenario(file: Path) -> None:
    if file.parent.name in ("studies", "claims"):
        return
    listed = {re.sub(r"\{[^}]*\}", "", path) for path in re.findall(r"^\| `([^`]+)` \|", reference(), re.MULTILINE)}
    for path in leaves(load_scenario(file).model_dump()):
        assert path in listed, path


@pytest.mark.parametrize("model", [Scenario, ProcessScenario, Study, Claims])
def test_every_key_has_a_description_and_a_source(model: type[Parameters]) -> None:
    all_keys = list(keys(model))
    assert len(all_keys) > 20
    for key in all_keys:
        assert key.meaning and key.module and source_of(key.module), key
        assert len(key.meaning) <= 100 and not key.meaning.endswith(".") and key.meaning[:5] != "null:", key
        assert "null" not in key.kind or "none:" not in key.meaning, f"{key}: YAML calls it null"


def test_every_reference_row_has_all_columns_and_a_listed_source() -> None:
    text = reference()
    sources = re.findall(r"^- (\[\d+\]) `mobilenet\.[\w.]+`: \S.*$", text, re.MULTILINE)
    assert sources == [f"[{i}]" for i in range(1, len(sources) + 1)]
    text, _, of_metrics = text.partition("\n## Metrics\n")
    known = {*OF_HOSTS.declared, *OF_PROCESSES.declared}
    assert known <= set(re.findall(r"^\| `(\w+)` \| \S.* \| .*\|$", of_metrics, re.MULTILINE))
    rows = re.findall(r"^\| `.*$", text, re.MULTILINE)
    assert len(rows) == sum(len(set(keys(model))) for model in (Scenario, ProcessScenario, Study, Claims))
    used = set()
    for row in rows:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        assert len(cells) == 7 and cells[5] and cells[6] in sources, row
        used.add(cells[6])
    assert used == set(sources)


def test_the_reference_has_ranges_of_elements_and_validators() -> None:
    bounds_of = {key.path: key.bounds for key in (*keys(Scenario), *keys(ProcessScenario))}
    walk = "hosts.mobility{model: random_waypoint}."
    assert bounds_of[walk + "speed_mps"] == "each ≥ 0.001, ≤ 1000, highest ≤ 1000 × lowest"
    assert bounds_of[walk + "pause_s"] == "each ≥ 0, ≤ 1e+06"
    assert (
        bounds_of["stations.layout{shape: points}.points_m"]
        == "at least 1 long, at most 10000 long; each ≥ -1e+06, ≤ 1e+06"
    )
    assert bounds_of[walk + "area.hole_polygons_m"].endswith(
        "each at least 3 long, at most 1000 long; in it each ≥ -1e+06, ≤ 1e+06"
    )
    assert bounds_of["churn.changes[].host"] == "h0, h1, ..."
    assert bounds_of["network{kind: abstract}.link"] == "0 or ≥ 1e-09, ≤ 1e+07"


def test_the_reference_states_the_default_and_range_of_a_key() -> None:
    key_at = {key.path: key for key in keys(Scenario)}
    assert (key_at["wireless.loss"].default, key_at["wireless.loss"].bounds) == ("0", "≥ 0, ≤ 1")
    assert key_at["stations.layout{shape: hexagon}.spacing_m"].unit == "m"
    assert "protocol{name: own}.class" in key_at
    assert key_at["protocol{name: mobile_causal}.window"].module == "mobilenet.protocols.mobile_causal.parameters"
    assert key_at["stations.layout{shape: grid}.shape"].kind == "`grid`"
    steps = {key.path: key for key in keys(ProcessScenario)}
    assert (steps["network{kind: abstract}.link"].unit, steps["network"].default) == ("t.u.", "kind: abstract")
    assert "factors.*.from" in {key.path for key in keys(Study)}
    assert key_at["duration_s"].default == "must be given"


def test_ranges_of_value_pairs_are_validated() -> None:
    text = (SCENARIOS / "first.yaml").read_text()
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_text(text, ["hosts.mobility={model: random_waypoint, speed_mps: [1, 1001], pause_s: [2, 1]}"])
    speed, pause = str(caught.value).splitlines()
    assert speed.endswith("hosts.mobility.speed_mps: expected 0.001 <= lowest <= highest <= 1000")
    assert pause.endswith("hosts.mobility.pause_s: expected 0 <= shortest <= longest <= 1000000")


def test_the_key_listing_shows_the_requested_keys() -> None:
    text = listing(["wireless.loss"])
    assert text.startswith("wireless.loss\n    number, ≥ 0, ≤ 1, default 0\n") and text.count("\n") == 2
    inside = listing(["fading"])
    assert "wireless.fading.model" in inside and "wireless.loss" not in inside
    assert "delivery_delay_mean_s\n    metric, s\n" in listing(search="mean delay")
    assert listing(["wireless"], "decibel of nothing") == ""
    whole = listing()
    assert max(map(len, whole.splitlines())) <= 100
    assert all(key.path in whole for key in keys(Scenario))


def test_the_list_of_keys_suggests_the_nearest_key() -> None:
    with pytest.raises(LookupError, match="neither a key nor a metric; did you mean wireless"):
        listing(["wireles.los"])
