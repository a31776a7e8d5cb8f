"""A scenario: everything that decides how a run goes, checked before it begins.

Model     the parameter groups of the world, the radio, the backbone and the protocol, put together. Frozen.
          Files that it names are looked for in the scenario's own folder.
Units     by the last part of each name
Errors    ScenarioError, one line for each problem: `dynamic.yaml:14: wireless.range: unknown key, did you mean 'range_m'?`
Source    ours: DESIGN.md, "Scenarios"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from mobilenet.parameters import Parameters, ScenarioError
from mobilenet.protocols.beacon_parameters import BeaconParameters
from mobilenet.protocols.mobile_causal.parameters import MobileCausalParameters
from mobilenet.protocols.tcp_flooding.parameters import TcpFloodingParameters
from mobilenet.radio.parameters import WirelessParameters
from mobilenet.scenario.checks import check
from mobilenet.scenario.load import MOST_BYTES, Node, parse, parse_value
from mobilenet.scenario.problems import problems
from mobilenet.scenario.text import to_yaml
from mobilenet.transport.parameters import TcpParameters
from mobilenet.wired.parameters import BackboneParameters
from mobilenet.world.churn import ChurnParameters
from mobilenet.world.faults import FaultsParameters
from mobilenet.world.layout import FileLayout, StationLayout
from mobilenet.world.mobility import HostsParameters
from mobilenet.world.tracks import Tracks
from mobilenet.world.workload import WorkloadParameters

Name = Annotated[str, Field(min_length=1, max_length=200)]


class StationsParameters(Parameters):
    layout: StationLayout
    backbone: BackboneParameters = BackboneParameters()
    names: tuple[Name, ...] | None = Field(default=None, description="for readers, instead of s0, s1, ...")


class MobileCausal(MobileCausalParameters):
    name: Literal["mobile_causal"] = "mobile_causal"


class Beacon(BeaconParameters):
    name: Literal["beacon"] = "beacon"


class TcpFlooding(TcpFloodingParameters):
    name: Literal["tcp_flooding"] = "tcp_flooding"
    tcp: TcpParameters = TcpParameters()
    wired_tcp: TcpParameters | None = Field(default=None, description="TCP between stations; null: the same as tcp")


Protocol = Annotated[MobileCausal | TcpFlooding | Beacon, Field(discriminator="name")]


class RecordParameters(Parameters):
    frames: bool = Field(default=False, description="one row for each frame and hearing node")
    messages: bool = Field(default=False, description="one row for each protocol message and receiver")
    positions_interval_s: float | None = Field(default=1.0, ge=0.01, le=1e6, description="null: no positions")


class LimitsParameters(Parameters):
    max_events: int = Field(default=100_000_000, ge=1, le=10**15, description="refuse a run that is estimated to have more")


class Scenario(Parameters):
    name: Name | None = None
    description: str | None = Field(default=None, max_length=10_000)
    seed: int = Field(default=1, ge=0, le=2**63 - 1)
    duration_s: float = Field(gt=0, le=1e6, description="how long hosts walk and broadcast")
    warmup_s: float = Field(default=0.0, ge=0, description="the beginning that figures leave out")
    drain_s: float = Field(default=60.0, ge=0, le=1e6, description="how long at most messages may arrive after that")
    stations: StationsParameters
    wireless: WirelessParameters = WirelessParameters()
    hosts: HostsParameters
    faults: FaultsParameters | None = None
    churn: ChurnParameters | None = None
    protocol: Protocol
    workload: WorkloadParameters
    record: RecordParameters = RecordParameters()
    limits: LimitsParameters = LimitsParameters()

    _folder: Path = PrivateAttr(default=Path("."))

    @model_validator(mode="after")
    def _warm_before_the_end(self) -> Self:
        if self.warmup_s >= self.duration_s:
            raise ValueError(f"warmup_s: should be less than duration_s, which is {self.duration_s:g}, got {self.warmup_s:g}")
        return self

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> Self:
        """From a file; each override is `a.b=value`."""
        path = Path(path)
        try:
            with path.open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise ScenarioError(f"{path.name or path}: cannot be read: {error.strerror}") from None
        return cls._from(parse(data, path.name), overrides, path.parent)

    @classmethod
    def from_text(cls, text: str, overrides: Sequence[str] = (), folder: str | Path = ".", name: str = "scenario") -> Self:
        """From text; `folder` is where the files that it names are, `name` is how messages call it."""
        return cls._from(parse(text.encode("utf-8", "surrogatepass"), name), overrides, Path(folder))

    def changed(self, overrides: Sequence[str]) -> Self:
        """The same with other values."""
        return self.from_text(effective(self), overrides, self._folder, self.name or "scenario")

    @classmethod
    def _from(cls, root: Node, overrides: Sequence[str], folder: Path) -> Self:
        if not isinstance(root.value, dict):
            raise ScenarioError(f"{root.where}: expected keys with values, as in `seed: 1`")
        for override in overrides:
            _override(root, override)
        try:
            scenario = cls.model_validate(root.plain())
        except ValidationError as error:
            raise ScenarioError("\n".join(problems(error, root, cls))) from None
        scenario._folder = folder
        check(scenario, root)
        return scenario

    @property
    def folder(self) -> Path:
        return self._folder

    def files(self) -> Iterator[tuple[str, Path]]:
        """The files that it names: the dotted path of the key, and where the file is."""
        if isinstance(self.stations.layout, FileLayout):
            yield "stations.layout.file", self._folder / self.stations.layout.file
        if isinstance(self.hosts.mobility, Tracks):
            yield "hosts.mobility.file", self._folder / self.hosts.mobility.file

    def __eq__(self, other: object) -> bool:
        """The same values; from which folder they came does not matter."""
        return isinstance(other, Scenario) and self.model_dump() == other.model_dump()

    __hash__ = None  # type: ignore[assignment]


def effective(scenario: Scenario) -> str:
    """All values, defaults included, as YAML that loads to an equal scenario."""
    return to_yaml(scenario.model_dump())


def _override(root: Node, override: str) -> None:
    option = f"--set {override}"
    shown = option if len(option) <= 80 else option[:77] + "..."
    path, equals, text = override.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise ScenarioError(f"{shown}: expected key=value, as in wireless.range_m=100")
    node = root
    for place, key in enumerate(keys):
        inside: Any = node.value
        if inside is None and place:
            inside = node.value = {}
        last = place == len(keys) - 1
        if isinstance(inside, list) and key.isdecimal() and int(key) < len(inside):
            index: Any = int(key)
        elif isinstance(inside, dict):
            index = key
            inside.setdefault(key, Node(None, shown))
        else:
            kind = f"a list of {len(inside)}" if isinstance(inside, list) else "a single value"
            raise ScenarioError(f"{shown}: {'.'.join(keys[:place])} is {kind}, there is no {key!r} in it")
        if last:
            inside[index] = parse_value(text, shown) if text.strip() else Node(None, shown)
        node = inside[index]
