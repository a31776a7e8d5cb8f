"""The configuration keys of the radio model with SINR.

Units     Powers are in dBm, and ratios in dB.
Source    ns-3 3.44 for the defaults; ours: docs/models/sinr.md
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from mobilenet.network.propagation.parameters import (
    FadingParameters,
    ObstaclesParameters,
    PathLossParameters,
    ShadowingParameters,
)
from mobilenet.network.radio.keys import RadioKeys


class SinrKeys(RadioKeys):
    by_distance: ClassVar = False
    limits: ClassVar = (
        "Radio: power, noise and interference determine which frames are received. Losses are statistical models of"
        " places and walls, not ray tracing; antennas are omnidirectional, and rates do not adapt."
    )
    circles: ClassVar = "half of the positions at that distance are reached without walls"
    receivers: ClassVar = "where its preamble is strong enough to be detected in silence"
    macs: ClassVar = ("dcf",)
    hysteresis: ClassVar = "hysteresis_db"
    instead: ClassVar = {
        "range_m": "tx_dbm and path_loss determine the range",
        "interference_range_m": "received power determines the interference",
        "detection_range_m": "preamble_rssi_dbm and ed_threshold_dbm determine what is sensed",
    }

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
