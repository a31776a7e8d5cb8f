"""A schedule of the swarm's adversary, as stored in the scenario.yaml of its run.

Model     The seed, the backbone and the protocol determine the run. The other keys inform readers and the verifier,
          which derives the promises of the run from them.
Units     probabilities, and seconds or nanoseconds, as the names of the keys state
Errors    ScenarioError, one line for each problem
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError

from mobilenet.network.wired.parameters import Kind
from mobilenet.parameters import Parameters, ScenarioError, class_says_it
from mobilenet.scenario.error_messages import problems
from mobilenet.scenario.protocol_groups import MobileCausal, OwnProgram, OwnProtocol
from mobilenet.scenario.yaml_reader import Node

Share = Field(ge=0, le=1)


class AdversaryAir(Parameters):
    """The quality of the radio during the faults, as probabilities and delays."""

    loss: float = Share
    duplicate: float = Share
    late: float = Share
    overhear: float = Share
    drop: float = Share
    delay_ns: int = Field(ge=0)
    late_ns: int = Field(ge=0)


class AdversarySchedule(Parameters):
    kind: ClassVar[str] = "adversary"
    wireless: ClassVar[None] = None  # positions have no influence on this radio
    network: Literal["adversary"]
    seed: int = Field(ge=0)
    flavour: str
    duration_s: float = Field(gt=0, description="time during which faults happen")
    drain_s: float = Field(ge=0, description="time limit for coming to rest")
    stations: int = Field(ge=1)
    hosts: int = Field(ge=0)
    actions: int = Field(ge=0)
    backbone: Kind = Field(
        default="tree", description="backbone between the stations; see stations.backbone.kind of a scenario"
    )
    air: AdversaryAir
    protocol: Annotated[
        MobileCausal | OwnProtocol | OwnProgram, Field(discriminator="name"), BeforeValidator(class_says_it("name"))
    ]

    @classmethod
    def from_nodes(cls, root: Node) -> Self:
        values: Any = root.plain()
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ScenarioError("\n".join(problems(error, root, cls))) from None
