"""The radio of all nodes.

Model     some keys mean something for one kind of MAC only (ONLY); with another one they are refused, and not among the
          values of the scenario
Units     metres, Mb/s, dB, frames, bits, milliseconds
Errors    pydantic.ValidationError: a rate that the mode does not have, a range within the communication range, a key of
          another MAC
Source    IEEE 802.11-2016 for modes and rates; INET 4.2's AckingMac and unit disk radio for the defaults of acking,
          except its bit rate, which is inferred (docs/validation/paper.md); ours: docs/models/radio.md
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from mobilenet.network.radio.phy import MODES
from mobilenet.parameters import Parameters

ONLY = {
    "dcf": ("detection_range_m", "mode", "broadcast_rate_mbps", "unicast_rate_mbps", "eifs", "retry_limit"),
    "acking": ("bitrate_mbps", "phy_header_bits", "mac_header_bytes", "link_ack_timeout_ms", "full_duplex"),
}


class WirelessParameters(Parameters):
    mac: Literal["dcf", "acking"] = Field(
        default="dcf",
        description="802.11's CSMA/CA, or INET's AckingMac, which sends without listening and never tries again",
    )
    range_m: float = Field(default=120.0, gt=0, le=3000, description="frames are received up to here, inclusive")
    interference_range_m: float | None = Field(
        default=None, gt=0, le=3000, description="they disturb up to here; null: range_m"
    )
    detection_range_m: float | None = Field(
        default=None, gt=0, le=3000, description="dcf: they are sensed up to here; null: range_m"
    )
    mode: Literal["b", "g_mixed", "g_erp", "a"] = Field(
        default="g_mixed", description="dcf: slot, spaces, window and rates"
    )
    broadcast_rate_mbps: float = Field(
        default=2.0, gt=0, description="dcf: of frames to everybody, all of a causal broadcast's"
    )
    unicast_rate_mbps: float | None = Field(
        default=None, gt=0, description="dcf: of frames with an ACK; null: 11 in mode b, else 24"
    )
    eifs: bool = Field(default=True, description="dcf: wait longer after a frame that arrived broken")
    loss: float = Field(default=0.0, ge=0, le=1, description="share of receptions lost at random, beside collisions")
    capture_db: float | None = Field(default=None, ge=0, le=100, description="so much stronger survives; null: never")
    queue_frames: int = Field(
        default=100, ge=1, le=1_000_000, description="waiting at a node; a further one is dropped"
    )
    retry_limit: int = Field(default=7, ge=1, le=255, description="dcf: attempts at a frame with an ACK")
    bitrate_mbps: float = Field(
        default=12.0, ge=0.01, le=10_000, description="acking: of all frames (inferred for the paper)"
    )
    phy_header_bits: int = Field(default=96, ge=0, le=100_000, description="acking: sent before each frame (INET: 96)")
    mac_header_bytes: int = Field(default=16, ge=0, le=1_000, description="acking: of each frame (INET: 16)")
    link_ack_timeout_ms: float = Field(
        default=100.0, gt=0, le=60_000,
        description="acking: so long a unicast frame blocks the queue without an acknowledgement; then it is dropped",
    )  # fmt: skip
    full_duplex: bool = Field(default=True, description="acking: who sends receives as well (INET: yes)")

    @model_validator(mode="after")
    def _of_this_mac(self) -> WirelessParameters:
        strangers = [name for name in self._foreign() if name in self.model_fields_set]
        if strangers:
            raise ValueError(f"{strangers[0]}: means nothing with mac: {self.mac}; leave it out")
        return self

    def _foreign(self) -> list[str]:
        """The keys of the other MACs."""
        return [name for mac, names in ONLY.items() if mac != self.mac for name in names]

    @model_serializer(mode="wrap")
    def _meaningful(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        foreign = self._foreign()
        return {name: value for name, value in handler(self).items() if name not in foreign}

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
    def detection_m(self) -> float | None:
        """None: nobody listens before it sends."""
        return None if self.mac == "acking" else self.detection_range_m or self.range_m

    @property
    def reach_m(self) -> float:
        """The longest of the three."""
        return max(self.interference_m, self.detection_m or 0.0)

    @property
    def unicast_mbps(self) -> float:
        """With dcf."""
        return self.unicast_rate_mbps or (11 if self.mode == "b" else 24)
