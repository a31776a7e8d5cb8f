"""The configuration keys of the radio model with a table of distances and probabilities.

Units     Distances are in metres. Probabilities are from 0 to 1.
Errors    pydantic.ValidationError for a table whose distances do not increase.
Source    ours: docs/models/distance-table.md
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, field_validator

from mobilenet.network.radio.keys import DistanceKeys

Distance = Annotated[float, Field(ge=0, le=3000)]
Probability = Annotated[float, Field(ge=0, le=1)]
Table = Annotated[tuple[tuple[Distance, Probability], ...], Field(min_length=2, max_length=10_000)]


class DistanceTableKeys(DistanceKeys):
    limits: ClassVar = (
        "Radio: a table of distance and probability determines which frames are received, unless others overlap them."
        " Receptions are independent of each other: a place or a moment that is bad for all frames is not"
        " modelled."
    )
    farthest: ClassVar = "the last distance of reception"
    instead: ClassVar = {"range_m": f"{farthest} is the range"}
    required: ClassVar = ("reception",)

    reception: Table | None = Field(
        default=None,
        description="distance_table: rows of [distance in metres, probability of reception], linear in between",
    )

    @field_validator("reception")
    @classmethod
    def _growing(cls, table: Table | None) -> Table | None:
        for (before_m, _), (after_m, _) in zip(table or (), (table or ())[1:], strict=False):
            if after_m <= before_m:
                raise ValueError(f"distances should grow from row to row, got {after_m:g} after {before_m:g}")
        return table

    def farthest_m(self) -> float:
        return max((distance_m for distance_m, _ in self.reception or ()), default=0.0)
