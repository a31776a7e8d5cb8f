"""A backbone between stations over VCube: a broadcast, and a layer that makes broadcasts and directed sends causal.

Kinds     vcube_best_effort   Bundling. It assumes a perfect detector, and needs none here because stations never fail
          vcube_reliable      VCube-RB; its detector may be wrong
          vcube_causal        causal broadcast with aggregation, ordered by its own vector clocks
Units     bytes. A message carries its source and the number that the source gave it, and so does an acknowledgement
Errors    KeyError for another kind (the scenario refuses unknown names earlier)
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections.abc import Callable

from .best_effort import BestEffortBroadcast
from .causal import CausalBroadcast
from .causal_layer import CausalLayer, LayerPort, StampedSends
from .port import BroadcastProtocol, ProcessPort
from .reliable import ReliableBroadcast

ID_BYTES = 12
Layer = Callable[[LayerPort, int, Callable[[ProcessPort], BroadcastProtocol]], StampedSends]

LAYERS: dict[str, Layer] = {
    "vcube_best_effort": CausalLayer, "vcube_reliable": CausalLayer, "vcube_causal": StampedSends,
}  # fmt: skip


def new_layer(
    kind: str, port: LayerPort, n: int, max_delay_ns: int, mtu_bytes: int, layer: Layer | None = None
) -> StampedSends:
    """Return one station's part of the backbone.

    `max_delay_ns` is how long an application message may wait for others (best effort). `mtu_bytes` is the maximum size
    of a bundle or packet. `layer` replaces the correct layer in tests of broken layers.
    """

    def make(beneath: ProcessPort) -> BroadcastProtocol:
        if kind == "vcube_best_effort":
            return BestEffortBroadcast(beneath, n, max_delay_ns, mtu_bytes, ID_BYTES, ID_BYTES)
        if kind == "vcube_reliable":
            return ReliableBroadcast(beneath, n, ID_BYTES, ID_BYTES)
        return CausalBroadcast(beneath, n, mtu_bytes=mtu_bytes, header_bytes=0, message_bytes=ID_BYTES)

    return (layer or LAYERS[kind])(port, n, make)
