"""The declaration of flooding over TCP.

Source    Wilhelm, Arantes, Sens (2020), section V; ours: docs/models/tcp.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..declaration import Declaration
from .host import Host
from .parameters import TcpFloodingParameters
from .stable_storage import Stable
from .station import Station

# Round trips over the wires: one for Ping and Return, one for Close and Closed, and one for the Close after a leave and
# the Close after the move.
HANDOFF_ROUND_TRIPS = 3
LEAST_SILENCE = 0.7  # the shortest interval between two probes of a host, in units of silence_s
# The maximum mean number of hosts that wait for the answer to a probe. With a mean of 3, about 5% of the time no host
# is waiting, so the run can settle.
MOST_PROBED = 3.0


class TcpFlooding(Declaration):
    name = "tcp_flooding"
    host, station, stable, parameters = Host, Station, Stable, TcpFloodingParameters
    promises = "causal"
    checks = f"{__package__}.promises"
    loses_at_any_time = True  # because a connection can be lost at any time
    needs = ("connections",)
    buffers = ("sbuffer", "rbuffer")
    details: ClassVar[Mapping[str, tuple[str, ...]]] = {"handoff_start": ("cause",), "handoff_end": ("relayed?",)}

    @staticmethod
    def first_join_spread_s(p: TcpFloodingParameters) -> float:
        return p.first_join_spread_s

    @staticmethod
    def longest_wait_s(p: Any, hosts: int, frame_s: float) -> float:
        tcp = p.tcp
        longest_s = max(tcp.rto_max_s, tcp.connect_timeout_s, 1.3 * p.silence_s, 1.5 * p.reconnect_s, p.handoff_wait_s)
        return float(longest_s + hosts * p.spacing_ms / 1e3)

    @staticmethod
    def may_not_settle(p: Any, hosts: int, round_trip_s: float, attempts: int) -> str | None:
        tcp = p.tcp
        if HANDOFF_ROUND_TRIPS * round_trip_s > p.handoff_wait_s:
            return f"a handoff over these wires may take longer than handoff_wait_s, {p.handoff_wait_s:g} s"
        why: str | None = tcp.may_not_connect(attempts)
        if why is not None:
            return why
        probed = hosts * tcp.delayed_ack_s / (LEAST_SILENCE * p.silence_s)
        if probed > MOST_PROBED:
            return (
                f"silence_s is {p.silence_s:g} s, so the number of hosts that wait for the answer to a probe is"
                f" about {probed:.2g} at any moment"
            )
        return None

    @staticmethod
    def frames_per_broadcast(p: TcpFloodingParameters, hosts: int, stations: int) -> float:
        return hosts
