"""The parameters of processes other than their protocol: network, detector, crashes, broadcasts.

Units     time units (t.u.) of the papers; 1 t.u. is 1 s of simulated time
Source    the papers on VCube; ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from math import ceil
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from mobilenet.engine.clock import ns
from mobilenet.network.wired.parameters import LinkParameters
from mobilenet.parameters import KeyNotes, Parameters

SHORTEST = 1e-9  # in t.u.; the clock counts nanoseconds
LONGEST = 1e7  # in t.u.


def _not_lost(time: float) -> float:
    """Refuse a positive time that rounds to 0."""
    if time > 0 and ns(time) == 0:
        raise ValueError(f"should be 0, or at least {SHORTEST:g}")
    return time


Tu = Annotated[
    float,
    Field(ge=0, le=LONGEST),
    AfterValidator(_not_lost),
    KeyNotes(unit="t.u.", bounds=f"0 or ≥ {SHORTEST:g}, ≤ {LONGEST:g}"),
]
Pause = Annotated[float, Field(ge=SHORTEST, le=1e6), KeyNotes(unit="t.u.")]
ProcessName = Annotated[str, Field(pattern=r"^p(0|[1-9]\d{0,5})$")]


class Partition(Parameters):
    """A period in which messages between two groups of processes are lost."""

    since: Tu = Field(description="start of the partition; messages sent earlier still arrive")
    until: Tu = Field(description="end of the partition; later than `since`")
    apart: tuple[ProcessName, ...] = Field(
        min_length=1, max_length=100_000, description="the processes on one side; all others are on the other side"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.until <= self.since:
            raise ValueError(f"until: should be later than since ({self.since:g}), got {self.until:g}")
        return self


class AbstractNetwork(Parameters):
    """The network of the papers: sending takes time, but links and receivers are never busy."""

    kind: Literal["abstract"] = "abstract"
    send: Tu = Field(default=0.1, description="time to send one message; a process sends messages one at a time")
    link: Tu = Field(default=0.8, description="travel time of a message")
    jitter: Tu = Field(
        default=0.0,
        description="maximum additional delay; each message gets a uniformly random one, so links may reorder messages",
    )
    reception: Tu = Field(default=0.1, description="time to receive one message; included in the latency")
    hand_over: Tu = Field(
        default=0.1,
        description="time from the end of reception until the protocol gets the message; not included in the latency",
    )
    loss: float = Field(
        default=0.0, ge=0, le=1, description="probability that a message to another process is lost; only for programs"
    )
    partitions: tuple[Partition, ...] = Field(
        default=(),
        max_length=1000,
        description="periods in which two groups of processes lose messages to each other; only for programs",
    )

    @property
    def loses(self) -> bool:
        """Whether messages may be lost."""
        return self.loss > 0 or bool(self.partitions)


class PacketNetwork(Parameters):
    """The network of the paper on causal broadcast: each process has a queue, and links have random delays."""

    kind: Literal["packet"] = "packet"
    processing: Tu = Field(default=1.0, description="t_pc: processing time, added to the delay of each packet")
    queue: Tu = Field(default=1.0, description="t_t: time that a packet spends at the head of its sender's queue")
    delay_mean: Tu = Field(
        default=100.0, description="mean of t_pp, the delay of a link (normally distributed, but never below 0)"
    )
    delay_sd: Tu = Field(default=25.0, description="standard deviation of t_pp")
    fixed_delays: bool = Field(
        default=False, description="whether t_pp is drawn once for each link instead of once for each packet"
    )


class WiredNetwork(LinkParameters):
    """The links that stations use, as a full mesh or hop by hop over given edges. It supports all protocols."""

    kind: Literal["wired"] = "wired"


Network = Annotated[AbstractNetwork | PacketNetwork | WiredNetwork, Field(discriminator="kind")]


class Mistake(Parameters):
    """A planned false suspicion, which the detector corrects later."""

    at: Tu = Field(description="time of the event")
    by: ProcessName = Field(description="the process that suspects")
    about: ProcessName = Field(description="the suspected process; must not be the one that suspects")


class DetectorParameters(Parameters):
    """The failure detector of each process."""

    interval: Pause = Field(default=30.0, description="time from the end of a round to the start of the next one")
    timeout: Pause = Field(
        default=4.0,
        description="time limit for an answer, from the moment when the testing process starts to wait for it",
    )
    mode: Literal["perfect", "unreliable"] = Field(
        default="perfect", description="unreliable: suspicions may be wrong, and are withdrawn when an answer arrives"
    )
    mistakes: tuple[Mistake, ...] = Field(
        default=(), max_length=10_000, description="planned false suspicions; allowed only with mode 'unreliable'"
    )

    @model_validator(mode="after")
    def _perfect_makes_no_mistakes(self) -> Self:
        if self.mistakes and self.mode == "perfect":
            raise ValueError("mistakes: a perfect detector makes no mistakes; expected mode: unreliable")
        if any(mistake.by == mistake.about for mistake in self.mistakes):
            raise ValueError(
                "mistakes: a process cannot suspect itself; expected different processes in `by` and `about`"
            )
        return self


class Crash(Parameters):
    """The crash of a process, which does not recover."""

    process: ProcessName = Field(description="the process that crashes")
    at: Tu = Field(description="time of the event")


class RandomCrashes(Parameters):
    """Crashes of distinct processes, which are chosen at random, at uniformly distributed times."""

    count: int = Field(ge=1, le=100_000, description="number of processes that crash")
    earliest: Tu = Field(default=0.0, description="earliest time of a crash")
    latest: Tu = Field(description="latest time of a crash; not before `earliest`")
    whole_times: bool = Field(default=True, description="crash only at whole t.u., including `earliest` and `latest`")
    spared: tuple[ProcessName, ...] = Field(default=(), max_length=1000, description="processes that never crash")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.latest < self.earliest:
            raise ValueError(f"latest: should be at least earliest ({self.earliest:g}), got {self.latest:g}")
        first, last = self.whole
        if self.whole_times and last < first:
            raise ValueError(
                f"latest: no whole number from {self.earliest:g} to {self.latest:g}; expected {first}, or whole_times:"
                " false"
            )
        return self

    @property
    def whole(self) -> tuple[int, int]:
        """The first and the last whole number of time units in the interval."""
        return ceil(self.earliest), int(self.latest)


class At(Parameters):
    """All sources broadcast at the same time."""

    kind: Literal["at"] = "at"
    time: Tu = Field(default=0.0, description="time at which all sources broadcast")

    @property
    def typical(self) -> float:
        """The time, or approximate time, at which a process broadcasts."""
        return self.time


class Uniform(Parameters):
    """Each source broadcasts at a uniformly drawn time."""

    kind: Literal["uniform"] = "uniform"
    earliest: Tu = Field(default=0.0, description="earliest time of a broadcast")
    latest: Tu = Field(default=500.0, description="latest time of a broadcast; not before `earliest`")

    @property
    def typical(self) -> float:
        """The time at which each source has certainly broadcast."""
        return self.latest

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.latest < self.earliest:
            raise ValueError(f"latest: should be at least earliest ({self.earliest:g}), got {self.latest:g}")
        return self


class Exponential(Parameters):
    """Exponentially distributed intervals, so that the broadcasts of each process form a Poisson process."""

    kind: Literal["exponential"] = "exponential"
    mean: Tu = Field(default=1000.0, description="mean time between consecutive broadcasts of a process")

    @property
    def typical(self) -> float:
        """The mean time of the first broadcast."""
        return self.mean


class Poisson(Parameters):
    """The time at which each source broadcasts, in t.u., has a Poisson distribution."""

    kind: Literal["poisson"] = "poisson"
    mean: Tu = Field(default=1000.0, description="mean of the Poisson-distributed time at which each source broadcasts")

    @property
    def typical(self) -> float:
        """The mean time of the first broadcast."""
        return self.mean


Instants = Annotated[At | Uniform | Exponential | Poisson, Field(discriminator="kind")]


class ProcessWorkload(Parameters):
    """The workload: which processes broadcast, how often and when."""

    sources: int | None = Field(
        default=None, ge=0, description="number of processes that broadcast, starting with p0; null: all"
    )
    messages: int = Field(default=1, ge=0, le=1_000_000, description="number of messages that each source broadcasts")
    instants: Instants = Field(default=At(), description="times at which sources broadcast")
