"""Draw values for the keys of a scenario from its JSON schema: minima, maxima, defaults, and values between them.

Model     A number is its minimum, its maximum, its default, or log-uniform between the bounds. If the schema does not
          give a bound, the range covers three decades around the default. Only some keys of each group are drawn, and
          the others are left out. Names of hosts and stations are chosen among the existing ones.
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log
from random import Random
from typing import Any

from mobilenet.cli.json_schema import schemas

TINY = 1e-6  # minimum for keys that only have to be positive
UNBOUNDED = 1000.0  # factor applied to the default if the schema has no bound
MOST_ITEMS = 4


class Values:
    """Draws values for keys. `share` is the fraction of the keys in each group for which a value is drawn."""

    def __init__(self, random: Random, share: float) -> None:
        self.random = random
        self.share = share
        self._definitions = schemas()["scenario.schema.json"]["$defs"]

    def group(self, name: str, leave_out: frozenset[str] = frozenset()) -> dict[str, Any]:
        """Draw values for the keys of the class with this name. Keys in `leave_out` are drawn elsewhere."""
        values = {}
        definition = self._definitions[name]
        required = definition.get("required", ())
        for key, schema in definition["properties"].items():
            if key not in leave_out and (key in required or "const" in schema or self.random.random() < self.share):
                values[key] = self.value(schema)
        return values

    def value(self, schema: Mapping[str, Any]) -> Any:
        if "$ref" in schema:
            return self.group(schema["$ref"].rpartition("/")[2])
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        for choice in ("oneOf", "anyOf"):
            if choice in schema:
                return self.value(self._with_default(self.random.choice(schema[choice]), schema))
        if schema["type"] in ("number", "integer"):
            return self.number(schema)
        if schema["type"] == "array":
            return self._items(schema)
        return {"boolean": lambda: self.random.random() < 0.5, "null": lambda: None, "string": lambda: "x"}.get(
            schema["type"], dict
        )()

    @staticmethod
    def _with_default(chosen: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
        default = schema.get("default")
        return chosen if isinstance(default, dict) or "default" in chosen else {**chosen, "default": default}

    def _items(self, schema: Mapping[str, Any]) -> list[Any]:
        if "prefixItems" in schema:
            return sorted(self.value(item) for item in schema["prefixItems"])
        least, most = schema.get("minItems", 0), min(MOST_ITEMS, schema.get("maxItems", MOST_ITEMS))
        return [self.value(schema["items"]) for _ in range(self.random.randint(least, max(least, most)))]

    def number(self, schema: Mapping[str, Any]) -> float | int:
        default = schema.get("default")
        about = float(default) if isinstance(default, (int, float)) and default else 1.0
        least = schema.get("minimum", schema.get("exclusiveMinimum", -about if about < 0 else about / UNBOUNDED))
        most = schema.get("maximum", schema.get("exclusiveMaximum", abs(about) * UNBOUNDED))
        if least == schema.get("exclusiveMinimum"):
            least += TINY
        if most == schema.get("exclusiveMaximum"):
            most -= TINY
        number = self._between(float(least), float(most), default)
        return round(number) if schema["type"] == "integer" else number

    def _between(self, least: float, most: float, default: Any) -> float:
        """Draw a number uniformly. The range may contain negative numbers, so a log-uniform distribution is not
        possible.
        """
        how = self.random.choices(("least", "greatest", "default", "between"), (1, 1, 2, 6))[0]
        if how == "least":
            return least
        if how == "greatest":
            return most
        if how == "default" and isinstance(default, (int, float)):
            return float(default)
        if least < 0:
            return round(self.random.uniform(least, most), 3)
        low = log(max(least, TINY))
        return float(f"{exp(self.random.uniform(low, max(low, log(most)))):.3g}") if most > 0 else least
