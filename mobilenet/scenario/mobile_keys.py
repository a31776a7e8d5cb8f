"""The keys of a scenario of hosts and stations.

Model     These classes combine the parameters of the world, the radio, the backbone and the protocol. preflight.py
          checks combinations of keys.
Units     The last part of each name states the unit
Source    ours: docs/guide/scenarios.md
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from mobilenet.network.wired.parameters import BackboneParameters
from mobilenet.network.wireless import HYSTERESES, MODELS, WirelessParameters
from mobilenet.parameters import OwnMetrics, Parameters
from mobilenet.scenario.base import ScenarioFile
from mobilenet.scenario.protocol_groups import Protocol
from mobilenet.world.churn import ChurnParameters
from mobilenet.world.faults import FaultsParameters
from mobilenet.world.interventions import Intervention, Loss, added_hosts, both_lose, losses_at_hosts
from mobilenet.world.layout import StationLayout
from mobilenet.world.mobility import HostsParameters
from mobilenet.world.own_process import OwnProcess
from mobilenet.world.tracks.projection import Anchor, Offset, Origin
from mobilenet.world.workload import WorkloadParameters

Name = Annotated[str, Field(min_length=1, max_length=200)]


class StationsParameters(Parameters):
    """The stations, and the network between them."""

    layout: StationLayout = Field(description="positions of the stations")
    backbone: BackboneParameters = BackboneParameters()
    names: tuple[Name, ...] | None = Field(
        default=None,
        description="a different name for each station, for readers; null: as in the file, or s0, s1 and so on",
    )


class RecordParameters(Parameters):
    """Tables that are recorded in addition to events and samples."""

    frames: bool = Field(default=False, description="record one row for each frame and node within its reach")
    messages: bool = Field(
        default=False,
        description="record one row for each protocol message and receiver; on with protocol.class",
    )
    programs: bool = Field(default=False, description="record one row for each line to or from programs")
    causes: bool = Field(default=False, description="record the causes of delays, for `mobilenet why`")
    positions_interval_s: float | None = Field(
        default=1.0,
        ge=0.01,
        le=1e6,
        description="time between consecutive recorded positions of a host; null: no positions",
    )


class LimitsParameters(Parameters):
    """Limits on the size of a run."""

    max_events: int = Field(
        default=1_000_000_000,
        ge=1,
        le=10**15,
        description="maximum number of events; a run that exceeds it is stopped, or refused if the estimate exceeds it",
    )
    process_s: float = Field(
        default=10.0, gt=0, le=1e6, description="wall time that a custom process may take between two yields"
    )


class MobileKeys(ScenarioFile):
    """Every key of a scenario of hosts and stations."""

    kind = "hosts"

    name: Name | None = Field(
        default=None, description="name shown to readers, for example on the map; null: name of the run directory"
    )
    description: str | None = Field(
        default=None, max_length=10_000, description="description of the scenario, for readers"
    )
    seed: int = Field(default=1, ge=0, le=2**63 - 1, description="seed of all random numbers in a run")
    duration_s: float = Field(gt=0, le=1e6, description="time during which hosts walk and broadcast")
    warmup_s: float = Field(
        default=0.0, ge=0, description="initial period that the metrics leave out; less than duration_s"
    )
    drain_s: float | None = Field(
        default=None, ge=0, le=1e6,
        description="deadline for coming to rest; null: duration_s + 20 longest waits (docs/verdicts-and-metrics.md)",
    )  # fmt: skip
    origin: Origin | None = Field(
        default=None,
        description="position of (0, 0) on Earth; null: centre of the sites or tracks if these use degrees, else none",
    )
    offset_m: tuple[float, float] | None = Field(
        default=None,
        description="position of (0, 0) in tracks, sites and walls whose metres begin far away (UTM); null: [0, 0]",
    )
    stations: StationsParameters
    wireless: WirelessParameters = Field(default=WirelessParameters(), description="radio of all hosts and stations")
    hosts: HostsParameters
    faults: FaultsParameters | None = Field(default=None, description="hosts that crash, and when; null: none")
    churn: ChurnParameters | None = Field(
        default=None,
        description="times at which hosts join and leave; null: hosts are members always, or while their tracks last",
    )
    protocol: Protocol = Field(description="broadcast protocol of hosts and stations")
    workload: WorkloadParameters
    interventions: tuple[Intervention, ...] = Field(
        default=(), max_length=100_000, description="interventions in the run, with their times"
    )
    own_processes: tuple[OwnProcess, ...] = Field(
        default=(), max_length=1000, description="custom simpy processes that act on hosts"
    )
    metrics: OwnMetrics = ()
    record: RecordParameters = RecordParameters()
    limits: LimitsParameters = LimitsParameters()

    @model_validator(mode="after")
    def _warm_before_the_end(self) -> Self:
        if self.warmup_s >= self.duration_s:
            raise ValueError(f"warmup_s: should be less than duration_s ({self.duration_s:g}), got {self.warmup_s:g}")
        return self

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.origin is not None and self.offset_m is not None:
            raise ValueError("offset_m: is for files in metres, origin for longitudes and latitudes; leave one out")
        return self

    @property
    def anchor(self) -> Anchor | None:
        """The origin (0, 0) of the plane: a position on Earth, or a position in the metric coordinates of the files."""
        return self.origin if self.offset_m is None else Offset(*self.offset_m)

    @property
    def most_loss(self) -> float:
        """The highest random loss between a host and a station at any time, including interventions."""
        everywhere = max(self.wireless.loss, *(one.loss for one in self.interventions if isinstance(one, Loss)), 0.0)
        return both_lose(everywhere, max(losses_at_hosts(self.interventions), default=0.0))

    @property
    def all_hosts(self) -> int | None:
        """The final number of hosts, including those that interventions add, or None if only the tracks determine
        it.
        """
        return None if self.hosts.count is None else self.hosts.count + len(added_hosts(self.interventions))

    @model_serializer(mode="wrap")
    def _meaningful(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = handler(self)
        attachment = values.get("hosts", {}).get("attachment")
        if isinstance(attachment, dict):
            for key in HYSTERESES:
                if key != MODELS[self.wireless.model].hysteresis:
                    attachment.pop(key, None)
        return values
