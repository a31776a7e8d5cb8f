"""What the mobile causal broadcast says of itself.

Source    Wilhelm, Arantes, Sens (2020); ours: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..declaration import Declaration
from .host import Host
from .parameters import MobileCausalParameters
from .stable import Stable
from .station import Station


class MobileCausal(Declaration):
    name = "mobile_causal"
    host, station, stable, parameters = Host, Station, Stable, MobileCausalParameters
    promises = "causal"
    buffers = ("sbuffer", "rbuffer")
    delivers_only_connected = True
    acts_on_frames = True
    details: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "handoff_start": ("cause",),
        "handoff_end": ("recovered", "skipped"),
    }
    messages_stay_whole = True

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
    def forgets_after_s(p: MobileCausalParameters) -> float | None:
        return p.stub_lifetime_s
