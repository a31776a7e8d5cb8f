"""Read scenario.yaml of a run directory: a scenario, or a schedule of the swarm's adversary.

Model     a schedule is drawn from its seed and flavour, so these repeat it; the rest is for readers, and for the
          verifier, which derives from it what the run promises. `network: adversary` distinguishes it from a scenario
Units     seconds, nanoseconds, probabilities, as the names show
Errors    ScenarioError, one line for each problem
Source    ours: docs/run-directory.md, docs/validation/trust.md
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from mobilenet.parameters import Parameters, ScenarioError, class_says_it
from mobilenet.quoting import quote
from mobilenet.scenario.base import read
from mobilenet.scenario.error_messages import problems
from mobilenet.scenario.mobile import Scenario
from mobilenet.scenario.opening import class_for
from mobilenet.scenario.processes import ProcessScenario
from mobilenet.scenario.protocol_groups import MobileCausal, OwnProgram, OwnProtocol
from mobilenet.scenario.real_time import REAL_TIME
from mobilenet.scenario.yaml_reader import Node

Share = Field(ge=0, le=1)


class AdversaryAir(Parameters):
    """How bad the radio was while the faults lasted."""

    loss: float = Share
    duplicate: float = Share
    late: float = Share
    overhear: float = Share
    drop: float = Share
    delay_ns: int = Field(ge=0)
    late_ns: int = Field(ge=0)


class AdversarySchedule(Parameters):
    network: Literal["adversary"]
    seed: int = Field(ge=0)
    flavour: str
    duration_s: float = Field(gt=0, description="time during which faults happen")
    drain_s: float = Field(ge=0, description="time limit for coming to rest")
    stations: int = Field(ge=1)
    hosts: int = Field(ge=0)
    actions: int = Field(ge=0)
    backbone: str = Field(
        default="tree", description="backbone between the stations; see stations.backbone.kind of a scenario"
    )
    air: AdversaryAir
    protocol: Annotated[
        MobileCausal | OwnProtocol | OwnProgram, Field(discriminator="name"), BeforeValidator(class_says_it("name"))
    ]


def read_source(path: Path) -> Scenario | ProcessScenario | AdversarySchedule:
    """Read what a run was made from, as strictly as a scenario."""
    root = read(path)
    kind = class_for(root.value)
    if kind is Scenario and isinstance(root.value, dict) and "network" in root.value:
        return _schedule(root)
    return kind.from_nodes(root, (), path.parent)


def _schedule(root: Node) -> AdversarySchedule:
    values: Any = root.plain()
    try:
        return AdversarySchedule.model_validate(values)
    except ValidationError as error:
        raise ScenarioError("\n".join(problems(error, root, AdversarySchedule))) from None


def command_of(name: str, scenario: Any) -> str:
    """What repeats a run, from the folder that holds its directory of that name."""
    verb = "serve" if scenario.protocol.name in REAL_TIME else "run"
    file, again = quote(Path(name) / "scenario.yaml"), quote(Path(name + "-again"))
    return f"mobilenet {verb} {file} --out {again}{permission(scenario)}"


def permission(*scenarios: Any) -> str:
    """Return ` --allow-code` if a command that runs these scenarios needs it, or nothing."""
    return " --allow-code" if any(any(scenario.code()) for scenario in scenarios) else ""
