"""The configuration keys of the unit disk.

Units     Distances are in metres.
Source    ours: docs/models/radio.md
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from mobilenet.network.radio.keys import DistanceKeys


class UnitDiskKeys(DistanceKeys):
    limits: ClassVar = (
        "Radio: unit disk. Within range, a frame is received unless another frame overlaps it. Fading and walls are not"
        " modelled; capture is, if the scenario enables it."
    )
    range_m: float = Field(
        default=120.0, gt=0, le=3000, description="unit_disk: frames are received up to this distance, inclusive"
    )

    def farthest_m(self) -> float:
        return self.range_m
