"""What can be set of the broadcasts over VCube, and what each of them promises.

Units     time units (t.u.) of the papers for times, 1 t.u. is 1 s of simulated time; bytes
Source    the papers named by each protocol; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from mobilenet.parameters import Parameters

Bytes = Field(default=1, ge=1, le=1_000_000)


class BroadcastParameters(Parameters):
    """The defaults of a broadcast's declaration."""

    order: ClassVar[Literal["none", "fifo", "causal"]] = "none"
    # whose messages reach every correct process: those of correct sources (below_dimension: with fewer than log2 n
    # crashes), or (agreement) also whatever any correct process has delivered
    delivers: ClassVar[str] = "correct_source"
    tolerates_crashes: ClassVar[bool] = True
    tolerates_mistakes: ClassVar[bool] = False  # of a failure detector
    completes: ClassVar[bool] = False  # a source is notified when all processes have its message
    # the buffer that need not drain, as its messages may wait for what was lost with a crashed process
    may_hold: ClassVar[str | None] = None


class BestEffortParameters(BroadcastParameters):
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
    tree_bytes: int = Bytes
    ack_bytes: int = Bytes


class ReliableParameters(BroadcastParameters):
    order = "fifo"
    delivers = "agreement"
    tolerates_mistakes = True
    completes = True
    tree_bytes: int = Bytes
    ack_bytes: int = Bytes


class AllToAllParameters(BroadcastParameters):
    order = "fifo"
    delivers = "agreement"
    tolerates_mistakes = True
    completes = True
    tree_bytes: int = Bytes
    ack_bytes: int = Bytes


class DisjointPathsParameters(BroadcastParameters):
    delivers = "correct_source_below_dimension"
    tree_bytes: int = Bytes


class CausalParameters(BroadcastParameters):
    order = "causal"
    delivers = "agreement"
    tolerates_crashes = False
    aggregate: bool = True
    release: Literal["packet", "message"] = Field(
        default="packet", description="whether waiting messages are released once per packet or once per message"
    )
    trees: Literal["per_source", "single"] = "per_source"
    mtu_bytes: int = Field(default=1500, ge=1, le=1_000_000)
    header_bytes: int = Field(default=20, ge=0, le=10_000)
    message_bytes: int = Field(default=50, ge=0, le=1_000_000, description="size of a message without its vector clock")
    entry_bytes: int = Field(default=4, ge=0, le=1_000, description="size of each changed entry of a vector clock")

    @model_validator(mode="after")
    def _room_in_a_packet(self) -> Self:
        if self.mtu_bytes <= self.header_bytes:
            raise ValueError(f"mtu_bytes: should be more than header_bytes ({self.header_bytes}), got {self.mtu_bytes}")
        return self


class CausalReliableParameters(BroadcastParameters):
    order = "causal"
    delivers = "agreement"
    tolerates_mistakes = True
    may_hold = "held"
    tree_bytes: int = Field(
        default=1, ge=1, le=1_000_000, description="size without the stamp, which has 4 bytes for each changed entry"
    )
    ack_bytes: int = Bytes


PARAMETERS: dict[str, type[BroadcastParameters]] = {
    "best_effort": BestEffortParameters,
    "reliable": ReliableParameters,
    "all_to_all": AllToAllParameters,
    "disjoint_paths": DisjointPathsParameters,
    "causal": CausalParameters,
    "causal_reliable": CausalReliableParameters,
}
