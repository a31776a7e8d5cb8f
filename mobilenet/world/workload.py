"""Decide when hosts broadcast messages.

Model     Each host broadcasts independently: at exponential intervals, at equal intervals with a random phase, at
          listed times, or never.
Units     Parameters are in seconds, and times in integer nanoseconds.
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from mobilenet.engine.clock import ns
from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import HostName, Parameters, number


class ListedMessage(Parameters):
    """An entry in the list of messages: a host broadcasts once."""

    host: HostName = Field(description="host that broadcasts")
    at_s: float = Field(ge=0, le=1e6, description="time of the broadcast")


class WorkloadParameters(Parameters):
    """Parameters that determine when hosts broadcast, and the size of their messages."""

    arrivals: Literal["exponential", "periodic", "explicit", "none"] = Field(
        default="exponential",
        description="broadcasts of a host: at exponential intervals, periodic with a random phase, as listed, or none",
    )
    interval_s: float | None = Field(
        default=None,
        ge=0.001,
        le=1e6,
        description="mean time between broadcasts of a host; required if arrivals are exponential or periodic",
    )
    payload_bytes: int = Field(
        default=100, ge=0, le=1400, description="payload of each message; it must fit into one frame"
    )
    messages: tuple[ListedMessage, ...] = Field(
        default=(),
        max_length=1_000_000,
        description="list of broadcasts, each with its host and time; allowed only with arrivals 'explicit'",
    )

    @model_validator(mode="after")
    def _complete(self) -> WorkloadParameters:
        if self.arrivals in ("exponential", "periodic"):
            if self.interval_s is None:
                raise ValueError("interval_s: missing; expected seconds between a host's broadcasts")
        elif self.interval_s is not None:
            raise ValueError(f"interval_s: has no effect if arrivals are {self.arrivals!r}")
        if self.messages and self.arrivals != "explicit":
            raise ValueError("messages: allowed only with arrivals 'explicit'")
        return self

    @property
    def broadcasts_per_host_per_s(self) -> float:
        return 1 / self.interval_s if self.interval_s else 0.0


def broadcast_times(
    parameters: WorkloadParameters, seed: int, host: int, start_ns: int, stop_ns: int, segment: int = 0
) -> Iterator[int]:
    """Yield the times at which a host broadcasts, in nanoseconds from `start_ns` up to but excluding `stop_ns`.
    `segment` is the number of manual workload changes before `start_ns`. Each segment has its own random numbers.
    """
    if parameters.arrivals == "explicit":
        own = sorted(ns(message.at_s) for message in parameters.messages if number(message.host) == host)
        yield from (at_ns for at_ns in own if start_ns <= at_ns < stop_ns)
    elif parameters.interval_s is not None:
        stream = Stream(seed, "workload", f"h{host}/{segment}" if segment else f"h{host}")
        periodic = parameters.arrivals == "periodic"
        interval_ns = ns(parameters.interval_s)
        at_ns = start_ns + (
            int(stream.random() * interval_ns) if periodic else ns(stream.exponential(parameters.interval_s))
        )
        while at_ns < stop_ns:
            yield at_ns
            at_ns += interval_ns if periodic else max(1, ns(stream.exponential(parameters.interval_s)))
