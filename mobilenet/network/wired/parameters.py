"""Parameters of the network between the stations.

Units     Bandwidths are in Mb/s, times in milliseconds or seconds, and sizes in bytes.
Errors    pydantic.ValidationError for invalid values.
Source    ours: docs/models/wires.md, docs/models/backbone.md
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mobilenet.parameters import Parameters

MAX_DELAY_MS = 5.0  # the value that max_delay_ms takes if it is null
MTU_BYTES = 1460
TEST_INTERVAL_S = 1.0
TIMEOUT_S = 0.5
Station = Annotated[int, Field(ge=0, le=10_000)]


class LinkParameters(Parameters):
    """Parameters of links with a bandwidth and a delay."""

    edges: tuple[tuple[Station, Station], ...] | None = Field(
        default=None,
        description="links as pairs of numbers, [[0, 1], ...]; null: set by `shape`, or a full mesh for processes",
    )
    bandwidth_mbps: float = Field(
        default=10.0, ge=0.001, le=1_000_000, description="bandwidth of each link in each direction"
    )
    delay_ms: float = Field(default=10.0, ge=0, le=60_000, description="delay of each link")
    header_bytes: int = Field(
        default=40,
        ge=0,
        le=1000,
        description="size of the header of each message on a link; 40 is 20 for TCP plus 20 for IP",
    )


Kind = Literal["tree", "vcube_best_effort", "vcube_reliable", "vcube_causal"]
DETECTING = ("vcube_reliable",)  # kinds of backbone that have a failure detector


class BackboneParameters(LinkParameters):
    """Parameters of the network between the stations."""

    kind: Kind = Field(
        default="tree", description="protocol for broadcasts between stations: over a tree of links, or over VCube"
    )
    shape: Literal["star", "chain", "breadth_first", "full_mesh"] | None = Field(
        default=None,
        description="shape of the links, unless edges are given; null: breadth_first for a tree, else full_mesh",
    )
    max_delay_ms: float | None = Field(
        default=None,
        ge=0,
        le=60_000,
        description="vcube_best_effort: maximum time that an application message waits for others; null: 5",
    )
    mtu_bytes: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="vcube_best_effort, vcube_causal: maximum size of a bundle or packet; null: 1460",
    )
    test_interval_s: float | None = Field(
        default=None,
        ge=1e-9,
        le=1e6,
        description="vcube_reliable: pause between consecutive rounds of the failure detector; null: 1",
    )
    timeout_s: float | None = Field(
        default=None,
        ge=1e-9,
        le=1e6,
        description="vcube_reliable: timeout after which a station is suspected; null: 0.5",
    )

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.edges is not None and self.shape is not None:
            raise ValueError(f"shape: {self.shape}, but edges are given; specify only one of the two")
        if self.kind == "tree" and self.shape == "full_mesh":
            raise ValueError(
                "shape: full_mesh is not a tree; expected star, chain or breadth_first, or a kind other than tree"
            )
        for key, kinds in (
            ("max_delay_ms", ("vcube_best_effort",)),
            ("mtu_bytes", ("vcube_best_effort", "vcube_causal")),
            ("test_interval_s", DETECTING),
            ("timeout_s", DETECTING),
        ):
            if getattr(self, key) is not None and self.kind not in kinds:
                raise ValueError(f"{key}: has no effect with kind: {self.kind}; it applies to {' and '.join(kinds)}")
        return self

    @property
    def detects(self) -> bool:
        """Whether stations have a failure detector."""
        return self.kind in DETECTING

    @property
    def acknowledges(self) -> bool:
        """Whether stations acknowledge the messages of other stations."""
        return self.kind in ("vcube_best_effort", "vcube_reliable")

    @property
    def waits_ms(self) -> float:
        """The time for which each station on the path may hold back a message until there is more to send."""
        if self.kind != "vcube_best_effort":
            return 0.0
        return MAX_DELAY_MS if self.max_delay_ms is None else self.max_delay_ms

    @property
    def broadcasts_in_turn(self) -> bool:
        """Whether a station broadcasts one message at a time, and waits until all stations have acknowledged it."""
        return self.kind == "vcube_reliable"

    @property
    def is_mesh(self) -> bool:
        return self.kind != "tree" and self.edges is None and self.shape in (None, "full_mesh")
