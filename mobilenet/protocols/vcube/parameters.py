"""What can be set of the broadcasts over VCube, and what each of them promises.

Units     time units (t.u.) of the papers for times, 1 t.u. is 1 s of simulated time; bytes
Promises  `order`: none, fifo or causal. `delivers`: whose messages reach every correct process: those of correct
          sources, or (agreement) also whatever any correct process has delivered. `tolerates_crashes`: whether
          processes may fail at all. `completes`: a source is notified when all processes have its message.
          `may_hold`: the buffer that need not drain, as its messages may wait for what was lost with a crashed process
Source    the papers named by each protocol; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from mobilenet.parameters import Parameters

Bytes = Field(default=1, ge=1, le=1_000_000)


class BestEffortParameters(Parameters):
    order: ClassVar[str] = "none"
    delivers: ClassVar[str] = "correct_source"
    tolerates_crashes: ClassVar[bool] = True
    completes: ClassVar[bool] = True
    max_delay: float = Field(
        default=0.0, ge=0, le=1e6, description="t.u. that a message may wait for others to the same process"
    )
    max_payload_bytes: int = Field(
        default=1, ge=1, le=1_000_000, description="of a bundle; as small as a message: no bundling"
    )
    tree_bytes: int = Bytes
    ack_bytes: int = Bytes


class ReliableParameters(Parameters):
    order: ClassVar[str] = "fifo"
    delivers: ClassVar[str] = "agreement"
    tolerates_crashes: ClassVar[bool] = True
    completes: ClassVar[bool] = True
    tree_bytes: int = Bytes
    ack_bytes: int = Bytes


class AllToAllParameters(Parameters):
    order: ClassVar[str] = "fifo"
    delivers: ClassVar[str] = "agreement"
    tolerates_crashes: ClassVar[bool] = True
    completes: ClassVar[bool] = True
    tree_bytes: int = Bytes
    ack_bytes: int = Bytes


class DisjointPathsParameters(Parameters):
    order: ClassVar[str] = "none"
    delivers: ClassVar[str] = "correct_source_below_dimension"  # with fewer than log2 n crashes
    tolerates_crashes: ClassVar[bool] = True
    completes: ClassVar[bool] = False
    tree_bytes: int = Bytes


class CausalParameters(Parameters):
    order: ClassVar[str] = "causal"
    delivers: ClassVar[str] = "agreement"
    tolerates_crashes: ClassVar[bool] = False
    completes: ClassVar[bool] = False
    aggregate: bool = True
    release: Literal["packet", "message"] = Field(
        default="packet", description="what is set free: once per packet, or per message"
    )
    trees: Literal["per_source", "single"] = "per_source"
    mtu_bytes: int = Field(default=1500, ge=1, le=1_000_000)
    header_bytes: int = Field(default=20, ge=0, le=10_000)
    message_bytes: int = Field(default=50, ge=0, le=1_000_000, description="without its clock")
    entry_bytes: int = Field(default=4, ge=0, le=1_000, description="of a vector clock, for each entry that changed")

    @model_validator(mode="after")
    def _room_in_a_packet(self) -> Self:
        if self.mtu_bytes <= self.header_bytes:
            raise ValueError(
                f"mtu_bytes: should be more than header_bytes, which is {self.header_bytes}, got {self.mtu_bytes}"
            )
        return self


class CausalReliableParameters(Parameters):
    order: ClassVar[str] = "causal"
    delivers: ClassVar[str] = "agreement"
    tolerates_crashes: ClassVar[bool] = True
    completes: ClassVar[bool] = False
    may_hold: ClassVar[str] = "held"
    tree_bytes: int = Field(
        default=1, ge=1, le=1_000_000, description="without the stamp, which has 4 bytes for each entry that changed"
    )
    ack_bytes: int = Bytes
