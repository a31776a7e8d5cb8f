"""The declaration of flooding over TCP.

Source    Wilhelm, Arantes, Sens (2020), section V; ours: docs/models/tcp.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..declaration import Declaration, Settling
from .host import Host
from .parameters import TcpFloodingParameters
from .stable import Stable
from .station import Station


class TcpFlooding(Declaration):
    name = "tcp_flooding"
    host, station, stable, parameters = Host, Station, Stable, TcpFloodingParameters
    promises = "causal"
    checks = f"{__package__}.promises"
    loses_at_any_time = True  # a connection can be lost at any time
    needs = ("connections",)
    buffers = ("sbuffer", "rbuffer")
    rests = "over connections"
    # Exchanges: leave; the connection and attach, ping over the old link, moved; reenter. Messages: Close of leave;
    # Ping and Return; Close and Closed; Close when it has moved. The new link buffers what came meanwhile, so the wires
    # carry nothing of it
    settling = Settling(exchanges=1 + 4 + 1, messages=1 + 2 + 2 + 1, backlogs=0)
    details: ClassVar[Mapping[str, tuple[str, ...]]] = {"handoff_start": ("cause",), "handoff_end": ("relayed?",)}

    @staticmethod
    def first_join_spread_s(p: TcpFloodingParameters) -> float:
        return p.first_join_spread_s

    @staticmethod
    def frames_per_broadcast(p: TcpFloodingParameters, hosts: int, stations: int) -> float:
        return hosts
