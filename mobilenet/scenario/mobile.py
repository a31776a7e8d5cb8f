"""A scenario: everything that decides how a run goes, checked before it begins.

Model     the parameter groups of the world, the radio, the backbone and the protocol, put together. Frozen.
          Files that it names are looked for in the scenario's own folder.
Units     by the last part of each name
Errors    ScenarioError, one line for each problem: `dynamic.yaml:14: wireless.range: unknown key, did you mean
          'range_m'?`
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from mobilenet.network.radio.parameters import WirelessParameters
from mobilenet.network.wired.parameters import BackboneParameters
from mobilenet.parameters import OwnMetrics, Parameters
from mobilenet.scenario.base import ScenarioFile, code_of_metrics, effective, files_of_metrics, require_files
from mobilenet.scenario.preflight import check, origin_of
from mobilenet.scenario.programs import shown
from mobilenet.scenario.protocol_groups import OwnProgram, OwnProtocol, Protocol
from mobilenet.scenario.radio_preflight import STRANGE_HYSTERESIS
from mobilenet.scenario.yaml_reader import Node
from mobilenet.tracks.projection import Origin
from mobilenet.world.churn import ChurnParameters
from mobilenet.world.faults import FaultsParameters
from mobilenet.world.layout import FileLayout, StationLayout, station_positions
from mobilenet.world.mobility import HostsParameters, OwnMobility
from mobilenet.world.tracks import Tracks
from mobilenet.world.workload import WorkloadParameters

__all__ = ["OwnProtocol", "Scenario", "effective"]

Name = Annotated[str, Field(min_length=1, max_length=200)]


class StationsParameters(Parameters):
    """The stations and the network between them."""

    layout: StationLayout = Field(description="where they stand")
    backbone: BackboneParameters = BackboneParameters()
    names: tuple[Name, ...] | None = Field(
        default=None,
        description="one for each station, all different, for readers; null: those of the file, or s0, s1 and so on",
    )


class RecordParameters(Parameters):
    """What is recorded beside events and samples."""

    frames: bool = Field(default=False, description="one row for each frame and hearing node")
    messages: bool = Field(default=False, description="one row for each protocol message and receiver")
    programs: bool = Field(default=False, description="one row for each line that programs are told, or say")
    positions_interval_s: float | None = Field(
        default=1.0, ge=0.01, le=1e6, description="between two positions of each host; null: no positions"
    )


class LimitsParameters(Parameters):
    """How big a run may become."""

    max_events: int = Field(
        default=100_000_000,
        ge=1,
        le=10**15,
        description="refuse a run that is estimated to have more, stop one that has",
    )


class Scenario(ScenarioFile):
    """A scenario of hosts and stations."""

    name: Name | None = Field(default=None, description="for readers, as on the map; null: that of the run directory")
    description: str | None = Field(default=None, max_length=10_000, description="for readers")
    seed: int = Field(default=1, ge=0, le=2**63 - 1, description="all that is random in a run derives from it")
    duration_s: float = Field(gt=0, le=1e6, description="how long hosts walk and broadcast")
    warmup_s: float = Field(default=0.0, ge=0, description="the beginning that metrics leave out; less than duration_s")
    drain_s: float = Field(default=60.0, ge=0, le=1e6, description="how long at most messages may arrive after that")
    origin: Origin | None = Field(
        default=None,
        description="where (0, 0) lies on Earth; null: nowhere, or amid sites or tracks in longitude and latitude",
    )
    stations: StationsParameters
    wireless: WirelessParameters = Field(
        default=WirelessParameters(), description="the radio of all hosts and stations"
    )
    hosts: HostsParameters
    faults: FaultsParameters | None = Field(default=None, description="which hosts crash when; null: none")
    churn: ChurnParameters | None = Field(
        default=None, description="when hosts join and leave; null: members all the time, or as long as their tracks"
    )
    protocol: Protocol = Field(description="what hosts and stations run")
    workload: WorkloadParameters
    metrics: OwnMetrics = ()
    record: RecordParameters = RecordParameters()
    limits: LimitsParameters = LimitsParameters()

    @model_validator(mode="after")
    def _warm_before_the_end(self) -> Self:
        if self.warmup_s >= self.duration_s:
            raise ValueError(
                f"warmup_s: should be less than duration_s, which is {self.duration_s:g}, got {self.warmup_s:g}"
            )
        return self

    @model_serializer(mode="wrap")
    def _meaningful(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = handler(self)
        attachment = values.get("hosts", {}).get("attachment")
        if isinstance(attachment, dict):
            attachment.pop(STRANGE_HYSTERESIS[self.wireless.model], None)
        return values

    @property
    def station_count(self) -> int:
        return len(station_positions(self.stations.layout, self._folder, self.origin))

    def completed(self, root: Node) -> Self:
        require_files(self, root)
        origin = origin_of(self, root)
        return self if origin == self.origin else self.model_copy(update={"origin": origin})

    def check(self, root: Node) -> None:
        check(self, root)

    def files(self) -> Iterator[tuple[str, Path]]:
        """The files that it names: the dotted path of the key, and where the file is."""
        if isinstance(self.stations.layout, FileLayout):
            yield "stations.layout.file", self._folder / self.stations.layout.file
        if isinstance(self.hosts.mobility, Tracks):
            yield "hosts.mobility.file", self._folder / self.hosts.mobility.file
        if isinstance(self.hosts.mobility, OwnMobility):
            yield "hosts.mobility.class", self._folder / self.hosts.mobility.file
        if self.wireless.obstacles is not None:
            yield "wireless.obstacles.file", self._folder / self.wireless.obstacles.file
        if isinstance(self.protocol, OwnProtocol) and self.protocol.file is not None:
            yield "protocol.class", self._folder / self.protocol.file
        if isinstance(self.protocol, OwnProgram):
            yield from self.protocol.files(self._folder)
        yield from files_of_metrics(self.metrics, self._folder)

    def code(self) -> Iterator[tuple[str, str, str | None]]:
        if isinstance(self.protocol, OwnProtocol):
            yield "protocol.class", self.protocol.reference, self.protocol.file
        if isinstance(self.protocol, OwnProgram):
            yield "protocol.command", shown(self.protocol.command.host), None
        if isinstance(self.hosts.mobility, OwnMobility):
            yield "hosts.mobility.class", self.hosts.mobility.reference, self.hosts.mobility.file
        yield from code_of_metrics(self.metrics)
