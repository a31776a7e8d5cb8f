"""The settings of beacon traffic: how often nodes send, and how much.

Units     seconds, bytes
Errors    pydantic.ValidationError
Source    ours: docs/models/radio.md
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class BeaconParameters(BaseModel):
    """Beacons without a causal broadcast, for comparing the radio with other simulators."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    station_interval_s: float = Field(
        default=0.04,
        ge=0.001,
        le=1e6,
        description="mean interval between the beacons of a station; intervals are exponentially distributed",
    )
    station_payload_bytes: int = Field(default=100, ge=0, le=1400, description="size of a station's beacon")
    host_interval_s: float = Field(
        default=2.8,
        ge=0.001,
        le=1e6,
        description="mean interval between the beacons of a host; intervals are exponentially distributed",
    )
    host_payload_bytes: int = Field(default=100, ge=0, le=1400, description="size of a host's beacon")
    hello_interval_s: float = Field(
        default=0.5,
        ge=0.001,
        le=1e6,
        description="interval between the hellos of a node, which are periodic with a random phase",
    )
    hello_payload_bytes: int = Field(default=30, ge=0, le=1400, description="size of a hello")
