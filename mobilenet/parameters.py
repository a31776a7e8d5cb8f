"""What every group of scenario parameters is: frozen, strict, without room for unknown keys.

Model     a group is declared beside the code it configures; the scenario composes the groups
Units     named by the last part of a field's name: _m, _s, _ms, _mps, _mbps, _bytes
Errors    ScenarioError: what a scenario, or a file that it names, asks for cannot be; one line for each problem.
          A check over several fields raises ValueError("field: what is wrong"), and the line of that field is named.
Source    ours: DESIGN.md, "Scenarios"
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class ScenarioError(Exception):
    """One line for each problem: where it is, what is wrong, what would be right."""


class Parameters(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


def _as_range(value: Any) -> Any:
    """One number stands for the range from it to itself."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (value, value)
    if not isinstance(value, tuple) or len(value) != 2:
        raise ValueError("expected a number, or a range [lowest, highest]")
    return value


Range = Annotated[tuple[float, float], BeforeValidator(_as_range)]  # uniform between the two
Metres = Annotated[float, Field(ge=-1_000_000, le=1_000_000)]
Point = tuple[Metres, Metres]
HostName = Annotated[str, Field(pattern=r"^h(0|[1-9]\d{0,6})$", description="h0, h1, ...")]
StationName = Annotated[str, Field(pattern=r"^s(0|[1-9]\d{0,6})$", description="s0, s1, ...")]


def number(name: str) -> int:
    """`12` of `h12` or `s12`."""
    return int(name[1:])
