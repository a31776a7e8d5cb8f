"""The reference of all keys is what the declarations say, and complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mobilenet.scenario import load_scenario
from mobilenet.scenario.reference import keys, reference
from mobilenet.scenario.schema import Scenario

ROOT = Path(__file__).parents[2]


def test_the_file_is_up_to_date() -> None:
    assert (ROOT / "scenarios" / "REFERENCE.md").read_text() == reference(), "mobilenet reference -o scenarios/REFERENCE.md"


def leaves(value: object, path: str = "") -> list[str]:
    if isinstance(value, dict) and value and not path.endswith((".settings", "counts")):
        return [leaf for key, inside in value.items() for leaf in leaves(inside, f"{path}.{key}" if path else str(key))]
    if isinstance(value, tuple) and value and isinstance(value[0], dict):
        return leaves(value[0], path + "[]")
    return [path]


@pytest.mark.parametrize("file", sorted((ROOT / "scenarios").rglob("*.yaml")), ids=lambda file: file.name)
def test_every_key_of_every_scenario_is_in_it(file: Path) -> None:
    if file.parent.name == "studies":
        return
    listed = {re.sub(r"\{[^}]*\}", "", path) for path in re.findall(r"^\| `([^`]+)` \|", reference(), re.MULTILINE)}
    tags = ("name", "shape", "model", "kind", "schedule", "mode")
    for path in leaves(load_scenario(file).model_dump()):
        assert path in listed or path.rpartition(".")[2] in tags, path


def test_a_line() -> None:
    found = {key.path: key for key in keys(Scenario)}
    assert (found["wireless.loss"].default, found["wireless.loss"].bounds) == ("0", "≥ 0, ≤ 1")
    assert found["stations.layout{shape: hexagon}.spacing_m"].unit == "m"
    assert "protocol{name: own}.class" in found
    assert found["duration_s"].default == "must be given"
