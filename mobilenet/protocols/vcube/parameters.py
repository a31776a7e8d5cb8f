"""The settings of the broadcasts over VCube, and their promises.

Units     times in the papers' time units (t.u.), where 1 t.u. is 1 s of simulated time; sizes in bytes
Source    the papers named by each protocol; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self, get_args

from pydantic import Field, model_validator

from mobilenet.parameters import Parameters

from .all_to_all import AllToAllBroadcast
from .best_effort import BestEffortBroadcast
from .causal import CausalBroadcast
from .causal_reliable import CausalReliableBroadcast
from .disjoint_paths import DisjointPathsBroadcast
from .port import BroadcastProtocol, ProcessPort
from .reliable import ReliableBroadcast

SECOND = 1_000_000_000  # one time unit in nanoseconds
TREE = "size of a message that travels through a tree"


def _size(description: str) -> int:
    size: int = Field(default=1, ge=1, le=1_000_000, description=description)
    return size


ACK = _size("size of an acknowledgement")


class BroadcastParameters(Parameters):
    """The settings of a broadcast, with defaults for its declaration."""

    order: ClassVar[Literal["none", "fifo", "causal"]] = "none"
    # Which messages reach every correct process: those of correct sources (below_dimension: if fewer than log2 n
    # processes crash) or, with agreement, also those that any correct process has delivered.
    delivers: ClassVar[str] = "correct_source"
    tolerates_crashes: ClassVar[bool] = True
    tolerates_mistakes: ClassVar[bool] = False  # whether the failure detector may be wrong
    completes: ClassVar[bool] = False  # whether a source is notified when all processes have its message
    # The buffer that need not drain, because its messages may wait for messages that were lost with a crashed process.
    may_hold: ClassVar[str | None] = None

    def create(self, port: ProcessPort, n: int) -> BroadcastProtocol:
        """Create the protocol object of one of n processes."""
        raise NotImplementedError


class BestEffortParameters(BroadcastParameters):
    """Best-effort broadcast over the trees of VCube. Messages for the same process are bundled."""

    name: Literal["best_effort"] = "best_effort"
    completes = True
    max_delay: float = Field(
        default=0.0, ge=0, le=1e6, description="maximum time that a message waits for others to the same process"
    )
    max_payload_bytes: int = Field(
        default=1,
        ge=1,
        le=1_000_000,
        description="maximum size of a bundle; if it is the size of one message, bundling is switched off",
    )
    tree_bytes: int = _size(TREE)
    ack_bytes: int = ACK

    def create(self, port: ProcessPort, n: int) -> BroadcastProtocol:
        delay_ns = round(self.max_delay * SECOND)
        return BestEffortBroadcast(port, n, delay_ns, self.max_payload_bytes, self.tree_bytes, self.ack_bytes)


class ReliableParameters(BroadcastParameters):
    """VCube-RB: reliable broadcast over the trees of VCube, even if the detector makes mistakes."""

    name: Literal["reliable"] = "reliable"
    order = "fifo"
    delivers = "agreement"
    tolerates_mistakes = True
    completes = True
    tree_bytes: int = _size(TREE)
    ack_bytes: int = ACK

    def create(self, port: ProcessPort, n: int) -> BroadcastProtocol:
        return ReliableBroadcast(port, n, self.tree_bytes, self.ack_bytes)


class AllToAllParameters(BroadcastParameters):
    """All-RB: reliable broadcast without trees. The source sends each message to all processes."""

    name: Literal["all_to_all"] = "all_to_all"
    order = "fifo"
    delivers = "agreement"
    tolerates_mistakes = True
    completes = True
    tree_bytes: int = _size("size of a message to one process")
    ack_bytes: int = ACK

    def create(self, port: ProcessPort, n: int) -> BroadcastProtocol:
        return AllToAllBroadcast(port, n, self.tree_bytes, self.ack_bytes)


class DisjointPathsParameters(BroadcastParameters):
    """DPath-RB: broadcast over trees with disjoint paths, without acknowledgements, for 2, 4, 8, ... processes."""

    name: Literal["disjoint_paths"] = "disjoint_paths"
    delivers = "correct_source_below_dimension"
    tree_bytes: int = _size("size of a copy that travels through one of the trees")

    def create(self, port: ProcessPort, n: int) -> BroadcastProtocol:
        return DisjointPathsBroadcast(port, n, self.tree_bytes)


class CausalParameters(BroadcastParameters):
    """Causal broadcast with aggregation of messages. No process may crash."""

    name: Literal["causal"] = "causal"
    order = "causal"
    delivers = "agreement"
    tolerates_crashes = False
    aggregate: bool = Field(
        default=True,
        description="forward messages together once their causal past has been received; false: immediately",
    )
    release: Literal["packet", "message"] = Field(
        default="packet", description="whether waiting messages are released once per packet or once per message"
    )
    trees: Literal["per_source", "single"] = Field(
        default="per_source",
        description="each source broadcasts over its own tree, or all sources over the tree of p0",
    )
    mtu_bytes: int = Field(
        default=1500,
        ge=1,
        le=1_000_000,
        description="maximum size of a multi-message packet (> header_bytes); a larger message is sent by itself",
    )
    header_bytes: int = Field(default=20, ge=0, le=10_000, description="size of the header of each packet")
    message_bytes: int = Field(default=50, ge=0, le=1_000_000, description="size of a message without its vector clock")
    entry_bytes: int = Field(default=4, ge=0, le=1_000, description="size of each changed entry of a vector clock")

    @model_validator(mode="after")
    def _room_in_a_packet(self) -> Self:
        if self.mtu_bytes <= self.header_bytes:
            raise ValueError(f"mtu_bytes: should be more than header_bytes ({self.header_bytes}), got {self.mtu_bytes}")
        return self

    def create(self, port: ProcessPort, n: int) -> BroadcastProtocol:
        bytes_of = self.mtu_bytes, self.header_bytes, self.message_bytes, self.entry_bytes
        return CausalBroadcast(port, n, self.aggregate, self.release, self.trees, *bytes_of)


class CausalReliableParameters(BroadcastParameters):
    """Causal broadcast on top of VCube-RB, which tolerates crashes."""

    name: Literal["causal_reliable"] = "causal_reliable"
    order = "causal"
    delivers = "agreement"
    tolerates_mistakes = True
    may_hold = "held"
    tree_bytes: int = Field(
        default=1, ge=1, le=1_000_000, description="size without the stamp, which has 4 bytes for each changed entry"
    )
    ack_bytes: int = ACK

    def create(self, port: ProcessPort, n: int) -> BroadcastProtocol:
        return CausalReliableBroadcast(port, n, self.tree_bytes, self.ack_bytes)


Broadcasts = (
    BestEffortParameters
    | ReliableParameters
    | AllToAllParameters
    | DisjointPathsParameters
    | CausalParameters
    | CausalReliableParameters
)
PARAMETERS: dict[str, type[BroadcastParameters]] = {
    parameters.model_fields["name"].default: parameters for parameters in get_args(Broadcasts)
}
