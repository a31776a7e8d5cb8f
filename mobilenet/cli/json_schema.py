"""JSON Schemas of scenarios, studies and claims files, with which editors complete keys and mark invalid ones.

Model     the schemas are generated from the declarations that check a file. They contain the rules for single values
          (types, ranges, choices, unknown keys). Only `mobilenet check` applies rules that involve several keys
Source    JSON Schema 2020-12; ours: docs/guide/scenarios.md
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, TypeAdapter

from mobilenet.lab.studies.claims.declaration import Claims
from mobilenet.lab.studies.declaration import Study
from mobilenet.scenario import ProcessScenario, Scenario

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NAMES = ("scenario.schema.json", "study.schema.json", "claims.schema.json")


def schemas() -> dict[str, dict[str, Any]]:
    """Return the schemas, by the names of their files."""
    of_scenarios: TypeAdapter[Any] = TypeAdapter(Scenario | ProcessScenario)
    scenario = of_scenarios.json_schema(by_alias=True)
    return {
        NAMES[0]: {"$schema": DIALECT, "title": "A scenario of mobilenet"} | _discriminate(scenario),
        NAMES[1]: {"$schema": DIALECT} | _plain(Study) | {"title": "A study of mobilenet"},
        NAMES[2]: {"$schema": DIALECT} | _plain(Claims) | {"title": "A claims file of mobilenet"},
    }


def text_of(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _plain(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(by_alias=True)


def _discriminate(schema: dict[str, Any]) -> dict[str, Any]:
    """Select the schema by the key `processes`, so that the messages of an editor refer to the right kind of
    scenario.
    """
    hosts, processes = schema.pop("anyOf")
    return schema | {"if": {"required": ["processes"]}, "then": processes, "else": hosts}
