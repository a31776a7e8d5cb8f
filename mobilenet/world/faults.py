"""Decide when hosts crash and how long they stay down.

Model     `paper`: at regular intervals, one host in the cell of a given station crashes, and each outage is longer
          than the previous one. A number that was drawn in advance selects one of the hosts that are attached to the
          station at that time. `explicit`: outages are listed. `random`: uptimes and outages are exponentially
          distributed. Hosts do not crash after the active part of the run, but outages may extend beyond it.
Units     Parameters are in seconds, and outages in integer nanoseconds.
Source    Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks (2020), Section
          V.C, for `paper`; ours: docs/models/world.md
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field, model_validator

from mobilenet.engine.clock import MILLISECOND, ns
from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import HostName, Parameters, StationName, number


class Outage(NamedTuple):
    at_ns: int
    lasts_ns: int
    host: int | None  # if None, one of the hosts in the station's cell is chosen
    station: int | None
    draw: float  # a number in [0, 1) that selects one of the station's hosts


class PaperFaults(Parameters):
    """At regular intervals, one host in the cell of a station crashes. Each outage is longer than the previous one."""

    schedule: Literal["paper"] = "paper"
    station: StationName = Field(default="s3", description="station in whose cell a host crashes each time")
    first_at_s: float = Field(default=15.0, ge=0, le=1e6, description="time of the first crash")
    every_s: float = Field(default=30.0, gt=0, le=1e6, description="time from one crash to the next")
    first_duration_s: float = Field(default=3.0, gt=0, le=1e6, description="duration of the first outage")
    duration_step_s: float = Field(
        default=1.0, ge=0, le=1e6, description="difference between the durations of successive outages"
    )


class Fault(Parameters):
    """A crash of one host, which recovers after the outage."""

    host: HostName = Field(description="host that crashes")
    at_s: float = Field(ge=0, le=1e6, description="time of the crash")
    duration_s: float = Field(gt=0, le=1e6, description="duration of the outage")


class ExplicitFaults(Parameters):
    """Hosts crash at the times in a list."""

    schedule: Literal["explicit"] = "explicit"
    outages: tuple[Fault, ...] = Field(
        max_length=100_000,
        description="list of crashes with host, time and duration; the outages of a host must not overlap",
    )

    @model_validator(mode="after")
    def _one_at_a_time(self) -> ExplicitFaults:
        up_again_s: dict[str, float] = {}
        for fault in sorted(self.outages, key=lambda fault: fault.at_s):
            if fault.at_s < up_again_s.get(fault.host, 0.0):
                raise ValueError(f"outages: {fault.host} would crash at {fault.at_s:g} s while it is down")
            up_again_s[fault.host] = fault.at_s + fault.duration_s
        return self


class RandomFaults(Parameters):
    """Each host crashes at random times. Uptimes and outages are exponentially distributed."""

    schedule: Literal["random"] = "random"
    rate_per_host_per_min: float = Field(gt=0, le=600, description="mean number of crashes per minute of uptime")
    mean_duration_s: float = Field(
        gt=0, le=1e6, description="mean duration of an outage; durations are exponentially distributed"
    )


Faults = PaperFaults | ExplicitFaults | RandomFaults
FaultsParameters = Annotated[Faults, Field(discriminator="schedule")]


def outages(faults: Faults | None, seed: int, hosts: int, end_ns: int) -> list[Outage]:
    """Return all outages that begin before `end_ns`, in chronological order."""
    all_outages: list[Outage] = []
    if isinstance(faults, PaperFaults):
        stream = Stream(seed, "faults", faults.station)
        at_s, lasts_s = faults.first_at_s, faults.first_duration_s
        while ns(at_s) < end_ns:
            all_outages.append(Outage(ns(at_s), ns(lasts_s), None, number(faults.station), stream.random()))
            at_s, lasts_s = at_s + faults.every_s, lasts_s + faults.duration_step_s
    elif isinstance(faults, ExplicitFaults):
        listed = (
            Outage(ns(fault.at_s), ns(fault.duration_s), number(fault.host), None, 0.0) for fault in faults.outages
        )
        all_outages = [outage for outage in listed if outage.at_ns < end_ns]
    elif faults is not None:
        for host in range(hosts):
            all_outages += _random(faults, Stream(seed, "faults", f"h{host}"), host, end_ns)
    return sorted(all_outages, key=lambda outage: (outage.at_ns, -1 if outage.host is None else outage.host))


def _random(faults: RandomFaults, stream: Stream, host: int, end_ns: int) -> list[Outage]:
    drawn_outages: list[Outage] = []
    at_ns = 0
    while True:
        at_ns += max(MILLISECOND, ns(stream.exponential(60 / faults.rate_per_host_per_min)))
        if at_ns >= end_ns:
            return drawn_outages
        lasts_ns = max(MILLISECOND, ns(stream.exponential(faults.mean_duration_s)))
        drawn_outages.append(Outage(at_ns, lasts_ns, host, None, 0.0))
        at_ns += lasts_ns
