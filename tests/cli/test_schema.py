"""Tests that the schemas agree with the loader. They accept shipped files and reject misspelt keys and wrong values."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from mobilenet.cli.json_schema import NAMES, schemas, text_of
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario
from tests.conftest import SCENARIOS

FILES = sorted(SCENARIOS.rglob("*.yaml"))


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = schemas()[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def content(path: Path) -> Any:
    return json.loads(json.dumps(YAML(typ="safe").load(path.read_text(encoding="utf-8"))))


def schema_of(path: Path) -> str:
    return NAMES[{"studies": 1, "claims": 2}.get(path.parent.name, 0)]


def test_the_shipped_schemas_are_up_to_date() -> None:
    for name, schema in schemas().items():
        assert (SCENARIOS / name).read_text(encoding="utf-8") == text_of(schema), "mobilenet schema --out scenarios"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SCENARIOS)))
def test_a_shipped_file_links_to_its_schema_and_is_valid(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    prefix = "# yaml-language-server: $schema="
    assert first.startswith(prefix)
    assert (path.parent / first.removeprefix(prefix)).resolve() == SCENARIOS / schema_of(path)
    assert [error.message for error in validator(schema_of(path)).iter_errors(content(path))] == []


@pytest.mark.parametrize(
    ("file", "path", "value"),
    [
        ("first.yaml", ("wireless", "range"), 100),
        ("first.yaml", ("wireless", "range_m"), "far"),
        ("first.yaml", ("duration_s",), -1),
        ("first.yaml", ("protocol", "name"), "mobil_causal"),
        ("first.yaml", ("hosts", "mobility", "model"), "flying"),
        ("first.yaml", ("workloads",), {}),
        ("vcube/causal.yaml", ("processes",), 1.5),
        ("vcube/causal.yaml", ("hosts",), {"count": 3}),
        ("studies/loss.yaml", ("replication",), {"min": 3}),
        ("studies/loss.yaml", ("confidence",), 2),
        ("claims/paper_mobile.yaml", ("errors",), 0.05),
        ("claims/paper_mobile.yaml", ("claims", "walking", "at_least"), "much"),
    ],
)
def test_the_schema_also_rejects_values_the_loader_rejects(file: str, path: tuple[str, ...], value: Any) -> None:
    document = content(SCENARIOS / file)
    *groups, key = path
    inside = document
    for group in groups:
        inside = inside.setdefault(group, {})
    inside[key] = value
    assert list(validator(schema_of(SCENARIOS / file)).iter_errors(document)) != []


@pytest.mark.parametrize(
    ("written", "fits"),
    [("gossip.py:Gossip", True), ("rumours", True), ("gossip.py", False), ("gossip.py:", False), ("a b", False)],
)
def test_the_schema_checks_the_form_of_a_plug_in_class(written: str, fits: bool) -> None:
    """The value is a file and a class in it, or an entry point of a package. The loader accepts the same values."""
    own = schemas()["scenario.schema.json"]["$defs"]["OwnProtocol"]["properties"]["class"]
    assert bool(re.search(own["pattern"], written)) == fits
    text = (SCENARIOS / "first.yaml").read_text(encoding="utf-8").replace("name: mobile_causal", f"class: {written!r}")
    try:
        Scenario.from_text(text)
        complaint = ""
    except ScenarioError as error:
        complaint = str(error)
    assert ("expected a file and a class, such as" not in complaint) == fits
