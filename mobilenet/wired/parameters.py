"""The network between the stations.

Units     Mb/s, milliseconds, bytes
Errors    pydantic.ValidationError
Source    ours: DESIGN.md §5
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mobilenet.parameters import Parameters

Station = Annotated[int, Field(ge=0, le=10_000)]


class BackboneParameters(Parameters):
    kind: Literal["tree"] = "tree"
    shape: Literal["star", "chain", "breadth_first"] = Field(default="breadth_first", description="unless edges are given")
    edges: tuple[tuple[Station, Station], ...] | None = Field(default=None, description="pairs of station numbers, [[0, 1], ...]")
    bandwidth_mbps: float = Field(default=10.0, ge=0.001, le=1_000_000, description="of each link, each way")
    delay_ms: float = Field(default=10.0, ge=0, le=60_000, description="of each link")
    header_bytes: int = Field(default=40, ge=0, le=1000, description="around each message on a link; TCP 20 and IP 20")
