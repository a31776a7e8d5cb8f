"""The declaration of the mobile causal broadcast.

Source    Wilhelm, Arantes, Sens (2020); ours: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..declaration import Declaration
from ..port import MessageId
from .host import Host
from .messages import (
    ACKS_PER_FRAME,
    AckC,
    AppCo,
    AppSh,
    InitAck,
)
from .parameters import MobileCausalParameters
from .selective_host import SelectiveHost
from .selective_station import SelectiveStation
from .stable_storage import Stable
from .station import Station

# The minimum spread of an interval's random factor. With equal intervals, two hidden hosts would collide repeatedly.
LEAST_SPREAD = 0.2


class MobileCausal(Declaration):
    name = "mobile_causal"
    stable, parameters = Stable, MobileCausalParameters
    promises = "causal"
    checks = f"{__package__}.promises"
    buffers = ("sbuffer", "rbuffer")
    details: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "handoff_start": ("cause",),
        "handoff_end": ("recovered", "skipped"),
    }
    all_stations_admit = True
    samples_lists = True

    @staticmethod
    def host(  # type: ignore[override]
        port: Any, stable: Stable, p: MobileCausalParameters, stations: int, check: bool = True
    ) -> Host:
        return (SelectiveHost if p.repair == "selective" else Host)(port, stable, p, stations, check)

    @staticmethod
    def station(  # type: ignore[override]
        port: Any, wired: Any, p: MobileCausalParameters, stations: int, check: bool = True
    ) -> Station:
        return (SelectiveStation if p.repair == "selective" else Station)(port, wired, p, stations, check)

    @staticmethod
    def unicasts(p: MobileCausalParameters) -> bool:
        return p.repair == "selective"  # R1

    @staticmethod
    def first_join_spread_s(p: MobileCausalParameters) -> float:
        return p.first_join_spread_s

    @staticmethod
    def longest_heartbeat_s(p: MobileCausalParameters) -> float:
        return p.heartbeat_s * p.resend_jitter_high

    @staticmethod
    def longest_wait_s(p: MobileCausalParameters, hosts: int, frame_s: float) -> float:
        repeated_s = max(p.heartbeat_s, p.control_interval_s, p.resend_first_s, p.resend_full_s)
        # The time to send a batch, including frames that others send meanwhile. The resender then pauses.
        batch_s = p.mac_backlog * 2 * frame_s
        return max(repeated_s * p.resend_jitter_high, batch_s / p.resend_share, p.ack_max_s, p.forwarding_jitter_s)

    @staticmethod
    def may_not_settle(p: MobileCausalParameters, hosts: int, round_trip_s: float, attempts: int) -> str | None:
        again_s, asked_s = p.resend_first_s * p.resend_jitter_high, p.control_interval_s * p.resend_jitter_high
        if p.resend_jitter_high - p.resend_jitter_low < LEAST_SPREAD:
            return (
                f"resend_jitter_low and resend_jitter_high differ by less than {LEAST_SPREAD:g}, so frames that collide"
                " once may collide repeatedly"
            )
        if p.silent_after_s < again_s:
            return (
                f"silent_after_s is {p.silent_after_s:g} s and copies are up to {again_s:g} s apart, so a host may"
                " count as silent before a copy is sent to it"
            )
        if p.cookie_lifetime_s < asked_s + round_trip_s:
            return (
                f"cookie_lifetime_s is {p.cookie_lifetime_s:g} s, and a join is repeated after up to"
                f" {asked_s + round_trip_s:.3g} s, so its cookie may have expired each time"
            )
        return None

    @staticmethod
    def expiry_s(p: MobileCausalParameters) -> float | None:
        return p.expiry_s

    @staticmethod
    def longest_message_bytes(p: MobileCausalParameters, payload_bytes: int, hosts: int, broadcasts: int) -> int:
        """Return the maximum size of AppSh with all hosts in M_d, InitAck with a full skip set, and AckC."""
        longest: tuple[Any, ...] = (
            AppSh(0, MessageId(0, 0), payload_bytes, tuple(range(hosts))),
            AppCo(0, 0, 0, MessageId(0, 0), payload_bytes),
            InitAck(0, 0, 0, 0, (broadcasts,), 0, False),
            AckC(dict.fromkeys(range(min(hosts, ACKS_PER_FRAME)), 0)),
        )
        return max(int(message.size_bytes) for message in longest)

    @staticmethod
    def hops_per_join(p: MobileCausalParameters, stations: int, mean_hops: float) -> float:
        """Return how many transmissions over links a join causes: Req1, which floods the tree (A2:36), and one answer
        from each station (A4:54).
        """
        return stations - 1 + stations * mean_hops

    @staticmethod
    def most_sent_again_per_s(p: MobileCausalParameters, pending: int) -> float:
        """Return the rate if a whole window is resent in every interval and all intervals have their minimum length."""
        return min(pending, p.window) / (p.resend_full_s * p.resend_jitter_low)
