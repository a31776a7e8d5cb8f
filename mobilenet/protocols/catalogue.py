"""Which protocol a scenario means: for each parameter set, the roles that a network runs.

Errors    KeyError for parameters of no known protocol (the scenario refuses unknown names before)
Source    ours: DESIGN.md §3
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mobilenet.protocols import beacon, mobile_causal, tcp_flooding
from mobilenet.protocols.beacon_parameters import BeaconParameters
from mobilenet.protocols.mobile_causal.parameters import MobileCausalParameters
from mobilenet.protocols.tcp_flooding.parameters import TcpFloodingParameters


@dataclass(frozen=True, slots=True)
class Roles:
    """How to make the parties of a protocol.

    host(port, stable, parameters, number of stations), station(port, wired port, parameters, number of
    stations), stable(): the empty store of a host, which survives its crashes. `over_channels`: it talks over connections,
    its ports are those named Channel in port.py, and its scenario has the groups `tcp` and `wired_tcp`. `listens`: frames are handed
    up to it; without, being heard costs its network nothing.
    """

    host: Callable[..., Any]
    station: Callable[..., Any]
    stable: Callable[[], Any]
    over_channels: bool = False
    listens: bool = True


ROLES: dict[type, Roles] = {
    MobileCausalParameters: Roles(mobile_causal.Host, mobile_causal.Station, mobile_causal.Stable),
    BeaconParameters: Roles(beacon.BeaconHost, beacon.BeaconStation, beacon.BeaconMember, listens=False),
    TcpFloodingParameters: Roles(tcp_flooding.Host, tcp_flooding.Station, tcp_flooding.Stable, over_channels=True),
}


def roles_of(parameters: object) -> Roles:
    return next(roles for kind, roles in ROLES.items() if isinstance(parameters, kind))
