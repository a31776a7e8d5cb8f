"""The radio of all nodes.

Model     some keys mean something for one kind of MAC, or one model of reception, only (ONLY, OF_MODEL); with another
          one they are refused, and not among the values of the scenario
Units     metres, Mb/s, dB, dBm, frames, bits, milliseconds
Errors    pydantic.ValidationError: a rate that the mode does not have, a range within the communication range, a key of
          another MAC or model
Source    IEEE 802.11-2016 for modes and rates; INET 4.2's AckingMac and unit disk radio for the defaults of acking,
          except its bit rate, which is inferred (docs/validation/paper.md); ns-3 3.44 for the defaults of sinr; ours:
          docs/models/radio.md, docs/models/sinr.md
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from mobilenet.network.propagation.parameters import ONLY as MEANINGFUL
from mobilenet.network.propagation.parameters import (
    FadingParameters,
    ObstaclesParameters,
    PathLossParameters,
    ShadowingParameters,
)
from mobilenet.network.radio.phy import MODES
from mobilenet.parameters import Parameters

ONLY = {
    "dcf": (
        "detection_range_m",
        "mode",
        "broadcast_rate_mbps",
        "unicast_rate_mbps",
        "eifs",
        "retry_limit",
        "groupcast",
    ),
    "acking": ("bitrate_mbps", "phy_header_bits", "mac_header_bytes", "link_ack_timeout_ms", "full_duplex"),
}
OF_MODEL = {
    "unit_disk": ("range_m", "interference_range_m", "detection_range_m"),
    "sinr": (
        "tx_dbm", "station_tx_dbm", "path_loss", "shadowing", "fading", "obstacles", "noise_figure_db",
        "preamble_rssi_dbm", "preamble_sinr_db", "ed_threshold_dbm",
    ),
}  # fmt: skip
INSTEAD = {
    "range_m": "tx_dbm and path_loss determine the range",
    "interference_range_m": "received power determines the interference",
    "detection_range_m": "preamble_rssi_dbm and ed_threshold_dbm determine what is sensed",
}
FARTHEST_M = 3000
BANDS: dict[str, dict[str, float]] = {"a": {"reference_loss_db": 46.68, "frequency_ghz": 5.15}}
"""Path-loss defaults for 5 GHz modes; the other defaults are for 2.4 GHz."""


class WirelessParameters(Parameters):
    mac: Literal["dcf", "acking"] = Field(
        default="dcf",
        description="802.11's CSMA/CA, or INET's AckingMac, which sends without listening and never retransmits",
    )
    model: Literal["unit_disk", "sinr"] = Field(
        default="unit_disk",
        description="whether reception depends on range and collisions, or on SINR",
    )
    range_m: float = Field(
        default=120.0, gt=0, le=3000, description="unit_disk: frames are received up to this distance, inclusive"
    )
    interference_range_m: float | None = Field(
        default=None, gt=0, le=3000, description="unit_disk: frames interfere up to this distance; null: range_m"
    )
    detection_range_m: float | None = Field(
        default=None,
        gt=0,
        le=3000,
        description="dcf over unit_disk: frames are sensed up to this distance; null: range_m",
    )
    mode: Literal["b", "g_mixed", "g_erp", "a", "g"] = Field(
        default="g_mixed", description="dcf: slot time, interframe spaces, contention window and rates; g means g_erp"
    )
    broadcast_rate_mbps: float = Field(
        default=2.0,
        gt=0,
        description="dcf: rate of broadcast frames, including all frames of the mobile causal broadcast",
    )
    unicast_rate_mbps: float | None = Field(
        default=None, gt=0, description="dcf: rate of unicast frames; null: 11 in mode b, else 24"
    )
    eifs: bool = Field(default=True, description="dcf: whether a node waits longer after receiving a damaged frame")
    loss: float = Field(
        default=0.0, ge=0, le=1, description="share of receptions lost at random, in addition to collisions"
    )
    capture_db: float | None = Field(
        default=None,
        ge=0,
        le=100,
        description="capture threshold: a frame that is stronger by this much survives a collision; null: no capture",
    )
    queue_frames: int = Field(
        default=100, ge=1, le=1_000_000, description="length of a node's queue; further frames are dropped"
    )
    retry_limit: int = Field(default=7, ge=1, le=255, description="dcf: maximum number of attempts for a unicast frame")
    groupcast: Literal["none", "unsolicited_retry"] = Field(
        default="none",
        description="dcf: whether stations retransmit each broadcast frame that carries data (GCR of IEEE 802.11aa)",
    )
    group_retries: int = Field(
        default=1,
        ge=1,
        le=15,
        description="unsolicited_retry: number of times that a station retransmits a broadcast frame with data",
    )
    bitrate_mbps: float = Field(
        default=12.0, ge=0.01, le=10_000, description="acking: rate of all frames (inferred for the paper)"
    )
    phy_header_bits: int = Field(
        default=96,
        ge=0,
        le=100_000,
        description="acking: length of the preamble and header before each frame (INET: 96)",
    )
    mac_header_bytes: int = Field(
        default=16, ge=0, le=1_000, description="acking: size of the header of each frame (INET: 16)"
    )
    link_ack_timeout_ms: float = Field(
        default=100.0, gt=0, le=60_000,
        description="acking: time after which a unicast frame without an acknowledgement is dropped",
    )  # fmt: skip
    full_duplex: bool = Field(default=True, description="acking: whether a node can receive while it sends (INET: yes)")

    tx_dbm: float = Field(
        default=20.4,
        ge=-50,
        le=40,
        description="sinr: transmit power of hosts, including the antenna gains of sender and receiver",
    )
    station_tx_dbm: float | None = Field(
        default=None, ge=-50, le=40, description="sinr: transmit power of stations; null: tx_dbm"
    )
    path_loss: PathLossParameters = Field(
        default_factory=PathLossParameters, description="sinr: loss caused by distance"
    )
    shadowing: ShadowingParameters | None = Field(
        default=None, description="sinr: loss or gain caused by the surroundings"
    )
    fading: FadingParameters | None = Field(default=None, description="sinr: variation from frame to frame")
    obstacles: ObstaclesParameters | None = Field(default=None, description="sinr: loss caused by walls")
    noise_figure_db: float = Field(default=7.0, ge=0, le=50, description="sinr: noise in addition to thermal noise")
    preamble_rssi_dbm: float = Field(
        default=-82.0, ge=-150, le=30, description="sinr: minimum power at which a preamble is detected"
    )
    preamble_sinr_db: float = Field(
        default=4.0, ge=-20, le=50, description="sinr: minimum SINR at which a preamble is detected"
    )
    ed_threshold_dbm: float = Field(
        default=-62.0, ge=-150, le=30, description="sinr: power above which the medium is sensed as busy"
    )

    @model_validator(mode="after")
    def _of_this_model(self) -> WirelessParameters:
        for model, names in OF_MODEL.items():
            for name in names:
                if model != self.model and name in self.model_fields_set:
                    instead = f"; {INSTEAD[name]}" if name in INSTEAD else ", or set model: sinr"
                    raise ValueError(f"{name}: has no effect with model: {self.model}; leave it out{instead}")
        if self.model == "sinr" and self.mac != "dcf":
            raise ValueError(
                "mac: acking does not use the rates of 802.11, which sinr needs for bit errors; use mac: dcf"
            )
        return self

    @model_validator(mode="after")
    def _of_this_band(self) -> WirelessParameters:
        """Take from the mode what the path loss leaves open about the carrier."""
        explicit_keys, meaningful = self.path_loss.model_fields_set, MEANINGFUL[self.path_loss.model]
        usual = BANDS.get(self.mode, {}).items()
        missing = {key: value for key, value in usual if key in meaningful and key not in explicit_keys}
        if missing:
            in_band = self.path_loss.model_copy()
            in_band.__dict__.update(missing)  # not as if they had been given
            self.__dict__["path_loss"] = in_band
        return self

    @model_validator(mode="after")
    def _of_this_mac(self) -> WirelessParameters:
        for name in self._foreign():
            if name in self.model_fields_set:
                if name == "group_retries" and self.mac == "dcf":
                    raise ValueError(
                        "group_retries: has no effect with groupcast: none; leave it out, or set groupcast:"
                        " unsolicited_retry"
                    )
                raise ValueError(f"{name}: has no effect with mac: {self.mac}; leave it out")
        return self

    def _foreign(self) -> list[str]:
        """The keys of the other MACs and models."""
        others = [names for mac, names in ONLY.items() if mac != self.mac]
        others += [names for model, names in OF_MODEL.items() if model != self.model]
        others += [("group_retries",)] if self.groupcast == "none" else []
        return [name for names in others for name in names]

    @model_serializer(mode="wrap")
    def _meaningful(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        foreign = self._foreign()
        return {name: value for name, value in handler(self).items() if name not in foreign}

    @model_validator(mode="after")
    def _possible(self) -> WirelessParameters:
        for name in ("interference_range_m", "detection_range_m"):
            value = getattr(self, name)
            if value is not None and value < self.range_m:
                raise ValueError(f"{name}: should be at least range_m ({self.range_m:g}), got {value:g}")
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
        """How far a frame is sensed; None: nodes send without listening."""
        return None if self.mac == "acking" else self.detection_range_m or self.range_m

    @property
    def reach_m(self) -> float:
        """The longest of the three."""
        return max(self.interference_m, self.detection_m or 0.0)

    @property
    def disturbs_unsensed(self) -> bool:
        """With unit_disk: whether a frame disturbs receivers that are too far away to receive or sense it."""
        return self.interference_m > max(self.range_m, self.detection_m or 0.0)

    @property
    def group_copies(self) -> int:
        """How often a station sends each group frame with data."""
        return 1 if self.groupcast == "none" else 1 + self.group_retries

    @property
    def unicast_mbps(self) -> float:
        """With dcf."""
        return self.unicast_rate_mbps or (11 if self.mode == "b" else 24)
