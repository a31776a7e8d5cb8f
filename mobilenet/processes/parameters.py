"""What can be set of processes, beside their protocol: network, detector, who crashes, who broadcasts when.

Units     time units (t.u.) of the papers, 1 t.u. is 1 s of simulated time
Source    the papers on VCube; ours: DESIGN.md §16
"""

from __future__ import annotations

from math import ceil
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from mobilenet.kernel import ns
from mobilenet.parameters import Parameters
from mobilenet.wired.parameters import LinkParameters

SHORTEST = 1e-9  # t.u.; the clock counts nanoseconds


def _not_lost(time: float) -> float:
    """A time that rounds to 0 is not the time that was asked for."""
    if time > 0 and ns(time) == 0:
        raise ValueError(f"should be 0, or at least {SHORTEST:g}")
    return time


Tu = Annotated[float, Field(ge=0, le=1e7), AfterValidator(_not_lost)]
ProcessName = Annotated[str, Field(pattern=r"^p(0|[1-9]\d{0,5})$", description="p0, p1, ...")]


class AbstractNetwork(Parameters):
    kind: Literal["abstract"] = "abstract"
    send: Tu = Field(default=0.1, description="the send server of a process, for each message")
    link: Tu = 0.8
    jitter: Tu = Field(default=0.0, description="more at most, drawn for each message of the protocol: no order is kept")
    reception: Tu = 0.1
    hand_over: Tu = Field(default=0.1, description="to the handler; not in what is measured")


class PacketNetwork(Parameters):
    kind: Literal["packet"] = "packet"
    processing: Tu = Field(default=1.0, description="t_pc")
    queue: Tu = Field(default=1.0, description="t_t: how long a packet holds the head of its sender's queue")
    delay_mean: Tu = Field(default=100.0, description="t_pp, normal, cut off at 0")
    delay_sd: Tu = 25.0
    fixed_delays: bool = Field(default=False, description="one delay for each link, instead of one for each packet")


class WiredNetwork(LinkParameters):
    """The links that stations have: a full mesh, or over given edges hop by hop. Any of the protocols runs on it."""

    kind: Literal["wired"] = "wired"


Network = Annotated[AbstractNetwork | PacketNetwork | WiredNetwork, Field(discriminator="kind")]


class Mistake(Parameters):
    """A false suspicion that somebody plans; the detector corrects it later."""

    at: Tu
    by: ProcessName
    about: ProcessName


class DetectorParameters(Parameters):
    interval: float = Field(default=30.0, ge=SHORTEST, le=1e6, description="from the end of a round to the next one")
    timeout: float = Field(default=4.0, ge=SHORTEST, le=1e6, description="of an answer, from the moment that its turn has come")
    mode: Literal["perfect", "unreliable"] = "perfect"
    mistakes: tuple[Mistake, ...] = Field(default=(), max_length=10_000)

    @model_validator(mode="after")
    def _perfect_makes_no_mistakes(self) -> Self:
        if self.mistakes and self.mode == "perfect":
            raise ValueError("mistakes: a perfect detector makes none; expected mode: unreliable")
        if any(mistake.by == mistake.about for mistake in self.mistakes):
            raise ValueError("mistakes: nobody suspects itself; expected another process in about than in by")
        return self


class Crash(Parameters):
    process: ProcessName
    at: Tu


class RandomCrashes(Parameters):
    """Different processes, drawn from the seed, at times drawn uniformly."""

    count: int = Field(ge=1, le=100_000)
    earliest: Tu = 0.0
    latest: Tu
    whole_times: bool = Field(default=True, description="only whole t.u., both ends included")
    spared: tuple[ProcessName, ...] = Field(default=(), max_length=1000)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.latest < self.earliest:
            raise ValueError(f"latest: should be at least earliest, which is {self.earliest:g}, got {self.latest:g}")
        first, last = self.whole
        if self.whole_times and last < first:
            raise ValueError(f"latest: no whole time from {self.earliest:g} to {self.latest:g}; expected {first}, or whole_times: false")
        return self

    @property
    def whole(self) -> tuple[int, int]:
        """The first and the last whole time."""
        return ceil(self.earliest), int(self.latest)


class At(Parameters):
    """All at the same instant."""

    kind: Literal["at"] = "at"
    time: Tu = 0.0

    @property
    def typical(self) -> float:
        """When, or about when, somebody broadcasts."""
        return self.time


class Uniform(Parameters):
    kind: Literal["uniform"] = "uniform"
    earliest: Tu = 0.0
    latest: Tu = 500.0

    @property
    def typical(self) -> float:
        """The latest."""
        return self.latest

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.latest < self.earliest:
            raise ValueError(f"latest: should be at least earliest, which is {self.earliest:g}, got {self.latest:g}")
        return self


class Exponential(Parameters):
    """Exponential intervals, so a process broadcasts in a Poisson stream."""

    kind: Literal["exponential"] = "exponential"
    mean: Tu = 1000.0

    @property
    def typical(self) -> float:
        """Of the first broadcast."""
        return self.mean


class Poisson(Parameters):
    """A Poisson-distributed number of t.u. after 0."""

    kind: Literal["poisson"] = "poisson"
    mean: Tu = 1000.0

    @property
    def typical(self) -> float:
        """Of the first broadcast."""
        return self.mean


Instants = Annotated[At | Uniform | Exponential | Poisson, Field(discriminator="kind")]


class ProcessWorkload(Parameters):
    sources: int | None = Field(default=None, ge=0, description="p0 to p(k-1) broadcast; null: all")
    messages: int = Field(default=1, ge=0, le=1_000_000, description="of each source")
    instants: Instants = At()
