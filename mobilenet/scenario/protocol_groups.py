"""The group `protocol` of a scenario: one model for each built-in protocol, and one for a plug-in.

Model     A model contains the name and the parameters of a protocol, and the parameters of TCP if the protocol needs
          connections. `declaration_of` returns what the protocol declares (promises, needs, buffers), without running
          a plug-in.
Errors    pydantic.ValidationError, which the scenario reports as one line for each problem
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, create_model, field_validator

from mobilenet.network.tcp.parameters import TcpParameters
from mobilenet.parameters import Parameters, class_says_it
from mobilenet.protocols.declaration import Declaration, Promise
from mobilenet.protocols.names import DEFAULT
from mobilenet.scenario.datagrams import Datagrams
from mobilenet.scenario.ip import Ip
from mobilenet.scenario.programs import CommandsOfHosts, Program, files_of
from mobilenet.scenario.protocol_catalogue import CATALOGUE
from mobilenet.scenario.real_time import RealTimePrograms
from mobilenet.scenario.yaml_writer import inline

TCP = Field(
    default=TcpParameters(),
    description="TCP between hosts and stations, and between stations unless wired_tcp is given",
)
CLASS_OR_OFFER = r"[^:\\]+\.py:[A-Za-z_]\w*|[A-Za-z_][\w-]*"  # FILE.py:CLASS, or the name of an installed plug-in
TRIES = "longest wait of a node before it tries again (docs/verdicts-and-metrics.md); "
WIRED_TCP = Field(default=None, description="TCP between stations; null: as in tcp")


def _group(declaration: type[Declaration]) -> Any:
    fields: dict[str, Any] = {"name": (Literal[declaration.name], declaration.name)}
    if "connections" in declaration.needs:
        fields |= {"tcp": (TcpParameters, TCP), "wired_tcp": (TcpParameters | None, WIRED_TCP)}
    base: Any = declaration.parameters
    return create_model(declaration.__name__, __base__=base, __module__=__name__, **fields)


GROUPS = {declaration.name: _group(declaration) for declaration in CATALOGUE}
DECLARATIONS = {declaration.name: declaration for declaration in CATALOGUE}
# this module must contain the classes, because it is their `__module__`
globals().update({group.__name__: group for group in GROUPS.values()})


class OwnBuffers(Parameters):
    """The measured buffers of a custom protocol, as named in the BUFFERS of its classes."""

    hosts: tuple[str, ...] = Field(default=(), max_length=100, description="buffers of each host")
    stations: tuple[str, ...] = Field(default=(), max_length=100, description="buffers of each station")


class OwnProtocol(Parameters):
    """A custom protocol. `name` is not needed if `class` is given."""

    model_config = ConfigDict(serialize_by_alias=True)
    name: Literal["own"] = "own"
    reference: str = Field(
        alias="class",
        max_length=200,
        json_schema_extra={"pattern": f"^({CLASS_OR_OFFER})$"},
        description="a class in a file next to the scenario, such as gossip.py:Gossip, or the name of an installed one",
    )
    settings: dict[str, Any] = Field(default={}, description="values of the protocol's Settings")
    promises: Promise | None = Field(
        default=None,
        description="property that the verifier checks (docs/verdicts-and-metrics.md); null: as the class declares",
    )
    delivers_to_all: bool | None = Field(
        default=None,
        description="whether every member must receive every message; null: as in the class (default: true if causal)",
    )
    buffers: OwnBuffers | None = Field(
        default=None, description="names of the buffers of hosts and stations; null: as in BUFFERS of their classes"
    )
    tries_again_within_s: float | None = Field(default=None, gt=0, le=3600, description=TRIES + "null: as in the class")
    tcp: TcpParameters | None = Field(
        default=None, description="TCP parameters, only for protocols that need connections; null: all defaults"
    )
    wired_tcp: TcpParameters | None = WIRED_TCP

    @field_validator("reference")
    @classmethod
    def _is_a_class_or_an_offer(cls, value: str) -> str:
        if not re.fullmatch(CLASS_OR_OFFER, value):
            raise ValueError(
                "expected a file and a class, such as gossip.py:Gossip, or the name that an installed package offers,"
                f" got {inline(value)}"
            )
        return value

    @property
    def file(self) -> str | None:
        return self.reference.rpartition(":")[0] or None


class OwnProgram(Program):
    """Custom programs, in any language. `name` is not needed if `command` is given."""

    command: CommandsOfHosts = Field(description="commands of hosts and stations, or one list of words for both")
    promises: Promise = Field(
        default="causal", description="property that the verifier checks (docs/verdicts-and-metrics.md)"
    )
    delivers_to_all: bool | None = Field(
        default=None,
        description="whether every member must receive every message; null: true only if `promises` is causal",
    )
    buffers: OwnBuffers | None = Field(
        default=None, description="names of the buffers; null: as named in the answer to the first start event"
    )

    tries_again_within_s: float | None = Field(default=None, gt=0, le=3600, description=TRIES + "null: not known")

    def commands_by_role(self) -> dict[str, tuple[str, ...]]:
        return {"host": self.command.host, "station": self.command.station}

    def named_buffers(self, by_role: Mapping[str, tuple[str, ...]]) -> OwnBuffers:
        return OwnBuffers(hosts=by_role.get("host", ()), stations=by_role.get("station", ()))

    def named_files(self, folder: Path) -> Iterator[tuple[str, Path]]:
        for role in ("host", "station"):
            yield from files_of(getattr(self.command, role), f"protocol.command.{role}", folder)


class OwnDeclaration(Declaration):
    """What is known about a plug-in without running its code. Its events may have any details."""

    name: ClassVar[str] = "own"

    @staticmethod
    def longest_wait_s(p: Any, hosts: int, frame_s: float) -> float | None:
        usual_s = Declaration.tries_again_within_s if isinstance(p, OwnProtocol) else None
        return getattr(p, "tries_again_within_s", None) or usual_s


class OwnOverConnections(OwnDeclaration):
    """What is known about a plug-in that needs connections."""

    needs = ("connections",)

    @staticmethod
    def longest_wait_s(p: Any, hosts: int, frame_s: float) -> float:
        own_s = p.tries_again_within_s or Declaration.tries_again_within_s
        return float(max(own_s, p.tcp.rto_max_s, p.tcp.connect_timeout_s))

    @staticmethod
    def may_not_settle(p: Any, hosts: int, round_trip_s: float, attempts: int) -> str | None:
        why: str | None = p.tcp.may_not_connect(attempts)
        return why


def declaration_of(protocol: Any) -> type[Declaration]:
    """Return the declaration for the group `protocol` of a scenario. The code of a plug-in is not run."""
    if isinstance(protocol, (OwnProgram, RealTimePrograms)):
        return OwnDeclaration
    if isinstance(protocol, OwnProtocol):
        return OwnDeclaration if protocol.tcp is None else OwnOverConnections
    return DECLARATIONS[protocol.name]


def buffers(protocol: Any) -> list[str] | dict[str, list[str]]:
    """Return the buffers of hosts and stations: one list, or one for each kind of node if they differ."""
    if isinstance(protocol, RealTimePrograms):
        return []
    if not isinstance(protocol, (OwnProtocol, OwnProgram)):
        return list(declaration_of(protocol).buffers)
    own_buffers = protocol.buffers or OwnBuffers()
    if own_buffers.hosts == own_buffers.stations:
        return list(own_buffers.hosts)
    return {"hosts": list(own_buffers.hosts), "stations": list(own_buffers.stations)}


def promise_of(protocol: Any) -> str | None:
    """Return the promise that the verifier judges."""
    if isinstance(protocol, RealTimePrograms):
        return protocol.promises
    if isinstance(protocol, (OwnProtocol, OwnProgram)):
        return protocol.promises or OwnDeclaration.promises
    return declaration_of(protocol).promises


def delivers_to_all(protocol: Any) -> bool:
    """Return whether the protocol promises to deliver every message to every member."""
    is_own = isinstance(protocol, (OwnProtocol, OwnProgram, RealTimePrograms))
    to_all = protocol.delivers_to_all if is_own else declaration_of(protocol).delivers_to_all
    return to_all if to_all is not None else promise_of(protocol) == "causal"


if TYPE_CHECKING:
    MobileCausal = Any
    Protocol = Any
else:
    MobileCausal = GROUPS[DEFAULT]
    Protocol = Annotated[
        reduce(or_, (*GROUPS.values(), OwnProtocol, OwnProgram, Datagrams, Ip)),
        Field(discriminator="name"),
        BeforeValidator(class_says_it("name")),
    ]
