"""The base class of every group of scenario parameters: frozen and strict, so that unknown keys are refused.

Model     A group is declared next to the code that it configures. The scenario combines the groups.
Units     The last part of a field's name is its unit: _m, _s, _ms, _mps, _mbps or _bytes.
Errors    ScenarioError if a scenario, or a file that it names, is invalid, with one line for each problem. A check of
          several fields raises ValueError("field: what is wrong"), and the message names the line of that field.
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

CODE_PATTERN = r"^[^:\\]+\.py:[A-Za-z_]\w*$"  # a file next to the scenario, and a name in this file


class ScenarioError(Exception):
    """The input is invalid. The message has one line for each problem, which states the location, the error and a
    correction.

    `is_input` is False if the cause is a time limit instead of the input.
    """

    is_input = True


class Parameters(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class ClassInFile(Parameters):
    """Custom code: a class in a file next to the scenario. It runs only with permission."""

    model_config = ConfigDict(serialize_by_alias=True)
    reference: str = Field(
        alias="class",
        max_length=200,
        pattern=CODE_PATTERN,
        description="a class in a file next to the scenario, such as patrol.py:Patrol",
    )
    settings: dict[str, Any] = Field(default={}, description="values of the class's fields")

    @property
    def file(self) -> str:
        return self.reference.rpartition(":")[0]


def class_says_it(key: str) -> Callable[[Any], Any]:
    """Return a validator that infers the value of `key` from the presence of `class` or `command`."""

    def fill_in(group: Any) -> Any:
        if not isinstance(group, dict):
            return group
        kinds = {"class": "own", "command": "program"}
        return next(({key: kind, **group} for by, kind in kinds.items() if by in group), group)

    return fill_in


def _as_range(value: Any) -> Any:
    """Convert a single number to a range that contains only this number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (value, value)
    if not isinstance(value, tuple) or len(value) != 2:
        raise ValueError("expected a number, or a range [lowest, highest]")
    return value


Range = Annotated[
    tuple[float, float], BeforeValidator(_as_range, json_schema_input_type=float | tuple[float, float])
]  # values are drawn uniformly from the range


@dataclass(frozen=True, slots=True)
class Within:
    """The limits for both ends of a Range, and the names of the ends."""

    least: float
    most: float
    ends: tuple[str, str] = ("lowest", "highest")
    times: float | None = None  # the maximum ratio of the higher end to the lower end

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._validate, handler(source))

    def _validate(self, value: tuple[float, float]) -> tuple[float, float]:
        low, high = value
        if not self.least <= low <= high <= self.most:
            raise ValueError(f"expected {self.least:g} <= {self.ends[0]} <= {self.ends[1]} <= {self.most:.15g}")
        if self.times is not None and high > self.times * low:
            raise ValueError(f"expected the highest value to be at most {self.times:g} times the lowest")
        return value

    def __str__(self) -> str:
        ratio = "" if self.times is None else f", {self.ends[1]} ≤ {self.times:g} × {self.ends[0]}"
        return f"each ≥ {self.least:g}, ≤ {self.most:g}{ratio}"


@dataclass(frozen=True, slots=True)
class KeyNotes:
    """Notes about a value for the reference of all keys: a unit that its name lacks, or a range that replaces the
    declared bounds.
    """

    unit: str = ""
    bounds: str = ""


MetricName = Annotated[str, Field(max_length=200, pattern=CODE_PATTERN)]
OwnMetrics = Annotated[
    tuple[MetricName, ...],
    Field(description="custom metrics: functions in files next to the scenario, such as slo.py:deliveries_within_1_s"),
]
Metres = Annotated[float, Field(ge=-1_000_000, le=1_000_000)]
Point = tuple[Metres, Metres]
HostName = Annotated[str, Field(pattern=r"^h(0|[1-9]\d{0,6})$")]
StationName = Annotated[str, Field(pattern=r"^s(0|[1-9]\d{0,6})$")]


def number(name: str) -> int:
    """Return the number in a node's name, such as `12` for `h12` or `s12`."""
    return int(name[1:])
