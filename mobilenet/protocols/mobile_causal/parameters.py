"""The settings of the mobile causal broadcast: timers, windows and the optional expiry.

Units     seconds and messages, as the names show
Errors    pydantic.ValidationError for an unknown key, a wrong type, or a number that is not finite or out of range
Source    "paper" is Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile
          networks (2020), section V; the rest is from docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

# repair -> the keys that apply only to this kind of repair
ONLY = {
    "none": ("resend_share",),
    "selective": (
        "report_s",
        "most_reports",
        "repair_rest_s",
        "doubt_s",
        "cell_copies",
        "few_hosts",
        "lossy_share",
        "retry_s",
    ),
}
LOOKS = 8  # how many times in each T (IV.E) a station checks for silent hosts


class MobileCausalParameters(BaseModel):
    """Causal broadcast for mobile hosts, after Wilhelm, Arantes, Sens (2020)."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    window: int = Field(
        default=150,
        ge=1,
        le=100_000,
        description="number of messages resent per interval I(x), or kept beyond the next expected one (paper: 150)",
    )
    mac_backlog: int = Field(
        default=20,
        ge=1,
        le=10_000,
        description="maximum number of resent copies in the radio's queue (not in the paper)",
    )
    resend_share: float = Field(
        default=0.25,
        gt=0,
        le=1,
        description="repair none: share of time spent resending, in batches; 1: without pauses (not in the paper)",
    )
    resend_first_s: float = Field(
        default=1.0,
        gt=0,
        le=60,
        description="interval I(x) when nothing is pending (paper: 1)",
    )
    resend_full_s: float = Field(
        default=0.2,
        gt=0,
        le=60,
        description="interval I(x) when a whole window is pending (paper: 0.2, but without linear interpolation)",
    )
    resend_jitter_low: float = Field(
        default=0.7,
        gt=0,
        le=1,
        description="minimum random factor of I(x), the control interval and the heartbeat (not in the paper)",
    )
    resend_jitter_high: float = Field(
        default=1.3,
        ge=1,
        le=10,
        description="maximum random factor of I(x), the control interval and the heartbeat (not in the paper)",
    )
    ack_min_s: float = Field(
        default=0.25,
        gt=0,
        le=60,
        description="minimum delay of an acknowledgement; each delay is drawn uniformly (paper: 0.5 on average)",
    )
    ack_max_s: float = Field(
        default=0.75,
        gt=0,
        le=60,
        description="maximum delay of an acknowledgement (not in the paper)",
    )
    heartbeat_s: float = Field(
        default=2.0,
        gt=0,
        le=600,
        description=(
            "maximum time between acknowledgements sent by a connected host, times the jitter (not in the paper)"
        ),
    )
    silent_after_s: float = Field(
        default=5.0,
        gt=0,
        le=600,
        description="time without a frame from a host after which nothing more is resent to it (not in the paper)",
    )
    control_interval_s: float = Field(
        default=0.25,
        gt=0,
        le=60,
        description="interval at which Join, Init and Leave are repeated, times the jitter (not in the paper)",
    )
    forwarding_jitter_s: float = Field(
        default=0.020,
        ge=0,
        le=10,
        description=(
            "maximum time that a message from another station waits for its first radio frame (not in the paper)"
        ),
    )
    first_join_spread_s: float = Field(
        default=2.0,
        ge=0,
        le=600,
        description=(
            "period in which hosts that are present from the beginning join, at random times (not in the paper)"
        ),
    )
    cookie_lifetime_s: float = Field(
        default=10.0,
        gt=0,
        le=600,
        description="time for which a station remembers the challenge of a join (not in the paper)",
    )
    repair: Literal["none", "selective"] = Field(
        default="none",
        description="none: repair as in the paper; selective: as in docs/protocols/repair.md (not in the paper)",
    )
    report_s: float = Field(
        default=0.04,
        gt=0,
        le=10,
        description="selective: maximum delay of a gap's first report; doubled for each later one (not in the paper)",
    )
    most_reports: int = Field(
        default=5,
        ge=1,
        le=100,
        description="selective: maximum number of consecutive reports of a gap without progress (not in the paper)",
    )
    repair_rest_s: float = Field(
        default=0.02,
        ge=0,
        le=10,
        description="selective: time after a copy during which a report triggers no other copy (not in the paper)",
    )
    doubt_s: float = Field(
        default=0.06,
        ge=0,
        le=10,
        description="selective: time after which a copy that a host does not mention counts as lost (not in the paper)",
    )
    cell_copies: int = Field(
        default=4,
        ge=1,
        le=100,
        description="selective: copies sent to the whole cell before copies go to single hosts (not in the paper)",
    )
    few_hosts: int = Field(
        default=6,
        ge=1,
        le=100,
        description="selective: up to this many hosts get individual first copies on a lossy radio (not in the paper)",
    )
    lossy_share: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="selective: share of missed messages above which a radio counts as lossy (not in the paper)",
    )
    retry_s: float = Field(
        default=0.1,
        gt=0,
        le=60,
        description="selective: second wait after the MAC dropped a frame; then doubled, up to I(x) (not in the paper)",
    )
    expiry_s: float | None = Field(
        default=None,
        gt=0,
        description="T: silence of a host after which a station gives up on it; null: never (paper, IV.E)",
    )
    stub_lifetime_s: float | None = Field(
        default=None,
        gt=0,
        description="time for which a station keeps the context of an expired host; null: forever (not in the paper)",
    )

    @model_validator(mode="after")
    def _of_this_repair(self) -> Self:
        for name in self._foreign():
            # scenarios stored in run directories contain defaults
            if getattr(self, name) != type(self).model_fields[name].default:
                other = next(repair for repair, names in ONLY.items() if name in names)
                raise ValueError(
                    f"{name}: has no effect with repair: {self.repair}; leave it out, or set repair: {other}"
                )
        return self

    def _foreign(self) -> list[str]:
        """Return the keys that belong to the other kinds of repair."""
        return [name for repair, names in ONLY.items() if repair != self.repair for name in names]

    @model_serializer(mode="wrap")
    def _meaningful(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        foreign = self._foreign()
        return {name: value for name, value in handler(self).items() if name not in foreign}

    @model_validator(mode="after")
    def _require_order(self) -> Self:
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
