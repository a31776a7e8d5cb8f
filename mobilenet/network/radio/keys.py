"""The keys of `wireless` that all models of reception share: the keys of the MACs, and properties derived from keys.

Units     Distances are in metres, rates in Mb/s, ratios in dB, sizes in frames or bits, and times in milliseconds.
Source    IEEE 802.11-2016 for modes and rates; INET 4.2's AckingMac for the defaults of acking, except its bit rate,
          which is inferred (docs/validation/paper.md); ours: docs/models/radio.md
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from mobilenet.network.radio.phy import ACK_BYTES, MODES
from mobilenet.parameters import Parameters

FARTHEST_M = 3000
BANDS: dict[str, dict[str, float]] = {"a": {"reference_loss_db": 46.68, "frequency_ghz": 5.15}}
"""Path-loss defaults for 5 GHz modes; the other defaults are for 2.4 GHz."""


class RadioKeys(Parameters):
    """The keys that choose a MAC and a model of reception. Keys that only one model reads are declared in the class of
    that model.
    """

    by_distance: ClassVar[bool] = True
    """Whether a frame's receivers are the nodes within a distance of its sender."""
    limits: ClassVar[str] = ""
    """What the model leaves out, for reports."""
    receivers: ClassVar[str] = "in range"
    """Where a node is that a frame may reach, as in 'a frame at one node in range'."""
    circles: ClassVar[str] = "cells"
    """What a circle around a station with the radius of its cell shows."""
    macs: ClassVar[tuple[str, ...]] = ("dcf", "acking")
    hysteresis: ClassVar[str] = "hysteresis_m"
    """The key of hosts.attachment that the model reads."""
    required: ClassVar[tuple[str, ...]] = ()
    """The keys without a default that the model needs."""
    instead: ClassVar[dict[str, str]] = {}
    """For a key of another model: what it comes from in this one."""
    farthest: ClassVar[str] = "range_m"
    """What determines `farthest_m`, in words."""

    mac: Literal["dcf", "acking"] = Field(
        default="dcf",
        description="802.11's CSMA/CA, or INET's AckingMac, which sends without listening and never retransmits",
    )
    model: str = ""
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

    @property
    def group_copies(self) -> int:
        """How many times a station sends each group frame with data."""
        return 1 if self.groupcast == "none" else 1 + self.group_retries

    @property
    def unicast_mbps(self) -> float:
        """The rate of unicast frames with the MAC `dcf`, in Mb/s."""
        return self.unicast_rate_mbps or (11 if self.mode == "b" else 24)

    @property
    def reservation_ns(self) -> int:
        """The time for which an acknowledged frame reserves the medium after its end. It consists of SIFS and the
        acknowledgement.
        """
        if self.mac != "dcf":
            return 0
        mode = MODES[self.mode]
        return mode.sifs_ns + mode.airtime_ns(ACK_BYTES, mode.ack_rate_mbps(self.unicast_mbps))

    def farthest_m(self) -> float:
        """Return the longest distance at which a frame may be received, or 0 if reception does not depend on distance
        alone.
        """
        return 0.0


class DistanceKeys(RadioKeys):
    """The keys that are common to all models in which distance determines reception."""

    interference_range_m: float | None = Field(
        default=None,
        gt=0,
        le=3000,
        description="unit_disk, distance_table: frames interfere up to this distance; null: as far as any is received",
    )
    detection_range_m: float | None = Field(
        default=None,
        gt=0,
        le=3000,
        description="dcf over unit_disk, distance_table: frames are sensed so far; null: as far as any is received",
    )
