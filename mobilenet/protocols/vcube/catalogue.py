"""Which broadcast over VCube a scenario means.

Errors    KeyError for parameters of no known protocol (the scenario refuses unknown names before)
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from .all_to_all import AllToAllBroadcast
from .best_effort import BestEffortBroadcast
from .causal import CausalBroadcast
from .causal_reliable import CausalReliableBroadcast
from .disjoint_paths import DisjointPathsBroadcast
from .parameters import (
    AllToAllParameters,
    BestEffortParameters,
    CausalParameters,
    CausalReliableParameters,
    DisjointPathsParameters,
    ReliableParameters,
)
from .port import BroadcastProtocol, ProcessPort
from .reliable import ReliableBroadcast

SECOND = 1_000_000_000  # a time unit, in nanoseconds


def new_process(parameters: object, port: ProcessPort, n: int) -> BroadcastProtocol:
    """One process of the protocol that these parameters belong to."""
    match parameters:
        case BestEffortParameters(max_delay=delay, max_payload_bytes=most, tree_bytes=tree, ack_bytes=ack):
            return BestEffortBroadcast(port, n, round(delay * SECOND), most, tree, ack)
        case ReliableParameters(tree_bytes=tree, ack_bytes=ack):
            return ReliableBroadcast(port, n, tree, ack)
        case AllToAllParameters(tree_bytes=tree, ack_bytes=ack):
            return AllToAllBroadcast(port, n, tree, ack)
        case DisjointPathsParameters(tree_bytes=tree):
            return DisjointPathsBroadcast(port, n, tree)
        case CausalReliableParameters(tree_bytes=tree, ack_bytes=ack):
            return CausalReliableBroadcast(port, n, tree, ack)
        case CausalParameters() as p:
            return CausalBroadcast(
                port, n, p.aggregate, p.release, p.trees, p.mtu_bytes, p.header_bytes, p.message_bytes, p.entry_bytes
            )
    raise KeyError(type(parameters).__name__)
