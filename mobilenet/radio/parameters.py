"""The radio of all nodes.

Units     metres, Mb/s, dB, frames
Errors    pydantic.ValidationError: a rate that the mode does not have, a range within the communication range
Source    IEEE 802.11-2016 for modes and rates; ours: DESIGN.md §4
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from mobilenet.parameters import Parameters
from mobilenet.radio.phy import MODES


class WirelessParameters(Parameters):
    range_m: float = Field(default=120.0, gt=0, le=3000, description="frames are received up to here, inclusive")
    interference_range_m: float | None = Field(default=None, gt=0, le=3000, description="they disturb up to here; null: range_m")
    detection_range_m: float | None = Field(default=None, gt=0, le=3000, description="they are sensed up to here; null: range_m")
    mode: Literal["b", "g_mixed", "g_erp", "a"] = Field(default="g_mixed", description="slot, spaces, window and rates")
    broadcast_rate_mbps: float = Field(default=2.0, gt=0, description="of frames to everybody, all of a causal broadcast's")
    unicast_rate_mbps: float | None = Field(default=None, gt=0, description="of frames with an ACK; null: 11 in mode b, else 24")
    eifs: bool = Field(default=True, description="wait longer after a frame that arrived broken")
    loss: float = Field(default=0.0, ge=0, le=1, description="share of receptions lost at random, beside collisions")
    capture_db: float | None = Field(default=None, ge=0, le=100, description="so much stronger survives; null: never")
    queue_frames: int = Field(default=100, ge=1, le=1_000_000, description="waiting at a node; a further one is dropped")
    retry_limit: int = Field(default=7, ge=1, le=255, description="attempts at a frame with an ACK")

    @model_validator(mode="after")
    def _possible(self) -> WirelessParameters:
        for name in ("interference_range_m", "detection_range_m"):
            value = getattr(self, name)
            if value is not None and value < self.range_m:
                raise ValueError(f"{name}: should be at least range_m, which is {self.range_m:g}, got {value:g}")
        rates = MODES[self.mode].rates_mbps
        for name in ("broadcast_rate_mbps", "unicast_rate_mbps"):
            value = getattr(self, name)
            if value is not None and value not in rates:
                offered = ", ".join(f"{rate:g}" for rate in rates)
                raise ValueError(f"{name}: mode {self.mode} has no rate of {value:g} Mb/s, only {offered}")
        return self

    @property
    def interference_m(self) -> float:
        return self.interference_range_m or self.range_m

    @property
    def detection_m(self) -> float:
        return self.detection_range_m or self.range_m

    @property
    def unicast_mbps(self) -> float:
        return self.unicast_rate_mbps or (11 if self.mode == "b" else 24)
