"""The declaration of the mobile causal broadcast.

Source    Wilhelm, Arantes, Sens (2020); ours: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..declaration import Declaration, Settling
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
from .stable import Stable
from .station import Station


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
    rests = "by resending"
    # Exchanges: leave; join and chal, join and init_ACK; twice init and init_ACK, ack_h and nothing or reinit.
    # Messages: Delete; Req1 and the answers; and for each init Req1, Rsp1, Req2, Rsp2, which wait for the same four of
    # an older request that is in progress (F9b: then the owner serves the newest). Rsp2 carries what was missed
    settling = Settling(exchanges=1 + 2 + 2 * 2, messages=1 + 2 + 2 * 2 * 4, backlogs=2 * 2)

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
    def expiry_s(p: MobileCausalParameters) -> float | None:
        return p.expiry_s

    @staticmethod
    def longest_message_bytes(p: MobileCausalParameters, payload_bytes: int, hosts: int, broadcasts: int) -> int:
        """Return the size of the longest of AppSh with all hosts in M_d, InitAck with a full skip set, and AckC."""
        longest: tuple[Any, ...] = (
            AppSh(0, MessageId(0, 0), payload_bytes, tuple(range(hosts))),
            AppCo(0, 0, 0, MessageId(0, 0), payload_bytes),
            InitAck(0, 0, 0, 0, (broadcasts,), 0, False),
            AckC(dict.fromkeys(range(min(hosts, ACKS_PER_FRAME)), 0)),
        )
        return max(int(message.size_bytes) for message in longest)

    @staticmethod
    def most_sent_again_per_s(p: MobileCausalParameters, pending: int) -> float:
        """A whole window in each shortest interval."""
        return min(pending, p.window) / (p.resend_full_s * p.resend_jitter_low)
