"""The numbers of the mobile causal broadcast: timers, windows and the optional expiry.

Units     seconds and messages, as the names show
Errors    pydantic.ValidationError at construction only: unknown key, wrong type, out of range, not finite
Source    "paper" is Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile
          networks (2020), section V; "ours" is docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

LOOKS = 8  # in each T (IV.E): a station looks so often whether a host has been silent


class MobileCausalParameters(BaseModel):
    """The mobile causal broadcast of the paper."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    window: int = Field(
        default=150,
        ge=1,
        le=100_000,
        description="window: messages resent per interval I(x), or kept ahead of the next expected one (paper: 150)",
    )
    mac_backlog: int = Field(
        default=20,
        ge=1,
        le=10_000,
        description="maximum number of resent copies in the radio's queue (ours)",
    )
    resend_share: float = Field(
        default=0.25,
        gt=0,
        le=1,
        description="share of the time that resent copies may take; resending pauses after each batch; 1: all (ours)",
    )
    resend_first_s: float = Field(
        default=1.0,
        gt=0,
        le=60,
        description="the interval I(x) when nothing is pending (paper: 1)",
    )
    resend_full_s: float = Field(
        default=0.2,
        gt=0,
        le=60,
        description="the interval I(x) when a whole window is pending (paper: 0.2; linear in between: ours)",
    )
    resend_jitter_low: float = Field(
        default=0.7,
        gt=0,
        le=1,
        description="minimum random factor of I(x), the control interval and the heartbeat (ours)",
    )
    resend_jitter_high: float = Field(
        default=1.3,
        ge=1,
        le=10,
        description="maximum random factor of I(x), the control interval and the heartbeat (ours)",
    )
    ack_min_s: float = Field(
        default=0.25,
        gt=0,
        le=60,
        description="minimum delay of an acknowledgement; drawn uniformly each time (paper: 0.5 on average)",
    )
    ack_max_s: float = Field(
        default=0.75,
        gt=0,
        le=60,
        description="maximum delay of an acknowledgement (ours)",
    )
    heartbeat_s: float = Field(
        default=2.0,
        gt=0,
        le=600,
        description="maximum time between two acknowledgements of a connected host, times the jitter (ours)",
    )
    silent_after_s: float = Field(
        default=5.0,
        gt=0,
        le=600,
        description="silence of a host after which nothing is resent to it (ours)",
    )
    control_interval_s: float = Field(
        default=0.25,
        gt=0,
        le=60,
        description="interval at which join, init and leave are repeated, times the jitter (ours)",
    )
    forwarding_jitter_s: float = Field(
        default=0.020,
        ge=0,
        le=10,
        description="maximum time that a message from another station waits for its first radio frame (ours)",
    )
    first_join_spread_s: float = Field(
        default=2.0,
        ge=0,
        le=600,
        description="period in which hosts that are present from the beginning join, at random times (ours)",
    )
    cookie_lifetime_s: float = Field(
        default=10.0,
        gt=0,
        le=600,
        description="time for which a station remembers the challenge of a join (ours)",
    )
    repair: Literal["none", "selective"] = Field(
        default="none",
        description="none: losses are repaired as in the paper; selective: as in docs/protocols/repair.md (ours)",
    )
    report_s: float = Field(
        default=0.04,
        gt=0,
        le=10,
        description="selective: maximum delay of the first report of a gap; it doubles with each further one (ours)",
    )
    most_reports: int = Field(
        default=5,
        ge=1,
        le=100,
        description="selective: maximum number of reports of a gap without progress (ours)",
    )
    repair_rest_s: float = Field(
        default=0.02,
        ge=0,
        le=10,
        description="selective: time after a copy in which a report causes no other copy (ours)",
    )
    doubt_s: float = Field(
        default=0.06,
        ge=0,
        le=10,
        description="selective: time after which a copy that a host does not mention counts as lost (ours)",
    )
    cell_copies: int = Field(
        default=4,
        ge=1,
        le=100,
        description="selective: copies for all hosts of the cell before a host that lacks one gets its own (ours)",
    )
    uplink_s: float = Field(
        default=0.1,
        gt=0,
        le=60,
        description="selective: time after which a host sends its own message again; it doubles up to I(x) (ours)",
    )
    expiry_s: float | None = Field(
        default=None,
        gt=0,
        description="T: silence after which a host no longer holds back messages; null: never (paper, IV.E)",
    )
    stub_lifetime_s: float | None = Field(
        default=None,
        gt=0,
        description="time for which a host's context is kept after its expiry; null: forever (ours)",
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.resend_full_s > self.resend_first_s:
            raise ValueError("resend_full_s: must not be above resend_first_s")
        if self.ack_min_s > self.ack_max_s:
            raise ValueError("ack_min_s: must not be above ack_max_s")
        longest_s = self.heartbeat_s * self.resend_jitter_high
        if self.expiry_s is not None and self.expiry_s <= longest_s:
            raise ValueError(
                f"expiry_s: should be more than {longest_s:g}, the longest time between two heartbeats, or stations"
                f" give up on hosts that are still present; got {self.expiry_s:g}"
            )
        return self
