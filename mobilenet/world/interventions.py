"""Interventions in a run at given times, made by hand or listed in a scenario.

Model     An intervention takes effect after all other events of its nanosecond. Simultaneous interventions take effect
          in the order of the list, and must not concern the same host. An impossible intervention has no effect: only
          the run can reveal, for example, that a host to be crashed is already down. A crash, a cut link, a radio that
          is switched off and an impairment last until they are undone by hand, or until the active part ends.
Units     Parameters are in seconds and metres, and times in integer nanoseconds.
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from mobilenet.engine.clock import ns
from mobilenet.parameters import HostName, Parameters, StationName, number
from mobilenet.world.workload import WorkloadParameters, broadcast_times

MOST_DELAY_S = 60.0


class _AtATime(Parameters):
    at_s: float = Field(ge=0, le=1e6, description="time of the intervention, less than duration_s")


class OfHost(_AtATime):
    """An intervention that makes one host crash, recover, join, leave or broadcast."""

    do: Literal["crash", "recover", "join", "leave", "broadcast"] = Field(description="kind of intervention")
    host: HostName = Field(description="host that the intervention affects")


class Drag(_AtATime):
    """Move a host to another position, from which it continues to walk."""

    do: Literal["drag"] = Field(description="kind of intervention")
    host: HostName = Field(description="host that is moved")
    to_m: tuple[float, float] = Field(description="new position of the host, [x, y]")


class Loss(_AtATime):
    """Change the probability of random loss from this time on."""

    do: Literal["loss"] = Field(description="kind of intervention")
    loss: float = Field(ge=0, le=1, description="new value of wireless.loss")


class Interval(_AtATime):
    """Change how often hosts broadcast from this time on."""

    do: Literal["interval"] = Field(description="kind of intervention")
    interval_s: float = Field(ge=0.001, le=1e6, description="new value of workload.interval_s")


class _OfLink(_AtATime):
    link: tuple[StationName, StationName] = Field(description="link between two stations, such as [s0, s1]")

    @property
    def ends(self) -> tuple[int, int]:
        """The numbers of the two stations, in increasing order, because a link has no direction."""
        a, b = sorted(map(number, self.link))
        return a, b


class Cut(_OfLink):
    """Cut a wired link. By default, the link then stores all messages that are sent over it."""

    do: Literal["cut"] = Field(description="kind of intervention")
    loses: bool = Field(
        default=False,
        description="whether messages on the wire are lost; protocols do not expect such losses",
    )


class Mend(_OfLink):
    """Repair a wired link, which first delivers the messages that it has stored."""

    do: Literal["mend"] = Field(description="kind of intervention")


class OfStation(_AtATime):
    """Switch the radio of a station off or on. While it is off, the station neither sends nor receives frames."""

    do: Literal["radio_off", "radio_on"] = Field(description="kind of intervention")
    station: StationName = Field(description="station that the intervention affects")


class Add(_AtATime):
    """Add a host with the next free number. The host then joins."""

    do: Literal["add"] = Field(description="kind of intervention")
    to_m: tuple[float, float] = Field(description="position at which the host appears, [x, y]")


class Impair(_AtATime):
    """Impair the radio of a host from this time on. The default values restore the radio."""

    do: Literal["impair"] = Field(description="kind of intervention")
    host: HostName = Field(description="host that the intervention affects")
    loss: float = Field(
        default=0.0, ge=0, le=1, description="additional probability that a frame from or to the host is lost"
    )
    delay_s: float = Field(
        default=0.0, ge=0, le=MOST_DELAY_S, description="additional delay of each frame that the host sends"
    )


class ImpairLink(_OfLink):
    """Impair a wired link from this time on. The default values restore the link."""

    do: Literal["impair_link"] = Field(description="kind of intervention")
    loss: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="probability that a message is lost; allowed only if lost messages are sent again",
    )
    delay_s: float = Field(
        default=0.0, ge=0, le=MOST_DELAY_S, description="additional delay of each message, in both directions"
    )


OnHost = OfHost | Drag | Impair
AnyIntervention = OnHost | Loss | Interval | Cut | Mend | OfStation | Add | ImpairLink
Intervention = Annotated[AnyIntervention, Field(discriminator="do")]


def concerns(one: AnyIntervention) -> tuple[str, ...]:
    """Return the host, the station, or the two ends of the link that an intervention affects. Return an empty tuple if
    it affects the whole network.
    """
    if isinstance(one, OnHost):
        return (one.host,)
    if isinstance(one, Cut | Mend | ImpairLink):
        return tuple(f"s{end}" for end in one.ends)
    return (one.station,) if isinstance(one, OfStation) else ()


def in_order(interventions: Sequence[AnyIntervention]) -> list[AnyIntervention]:
    """Return the interventions in the order in which they take effect."""
    return sorted(interventions, key=lambda one: ns(one.at_s))


def added_hosts(interventions: Sequence[AnyIntervention]) -> list[Add]:
    """Return the interventions that add hosts, in the order of host numbers."""
    return [one for one in in_order(interventions) if isinstance(one, Add)]


def losses_at_hosts(interventions: Sequence[AnyIntervention]) -> list[float]:
    """Return the highest additional loss of each impaired host, sorted."""
    most: dict[str, float] = {}
    for one in interventions:
        if isinstance(one, Impair):
            most[one.host] = max(most.get(one.host, 0.0), one.loss)
    return sorted(most.values())


def both_lose(one: float, other: float) -> float:
    """Return the probability that at least one of two independent causes loses a message. If one probability is 0,
    return exactly the other.
    """
    return one + other - one * other


def segments(interventions: Sequence[AnyIntervention]) -> list[Interval]:
    """Return the workload changes in chronological order. After change n, counted from 1, hosts follow segment n."""
    return [one for one in in_order(interventions) if isinstance(one, Interval)]


def offers(
    workload: WorkloadParameters,
    interventions: Sequence[AnyIntervention],
    seed: int,
    host: int,
    appears_ns: int,
    end_ns: int,
) -> list[int]:
    """Return when the application of a host asks to broadcast, in nanoseconds and in chronological order."""
    times_ns: list[int] = []
    changes = segments(interventions)
    begins_ns = [0, *(ns(change.at_s) for change in changes)]
    stops_ns = [*(begin_ns + 1 for begin_ns in begins_ns[1:]), end_ns]
    for segment, (begin_ns, stop_ns) in enumerate(zip(begins_ns, stops_ns, strict=True)):
        parameters = workload if segment == 0 else workload_after(workload, changes[segment - 1])
        start_ns = max(appears_ns, begin_ns)
        times_ns += broadcast_times(parameters, seed, host, start_ns, stop_ns, segment)
    for one in interventions:
        if (
            isinstance(one, OfHost)
            and one.do == "broadcast"
            and number(one.host) == host
            and ns(one.at_s) >= appears_ns
        ):
            times_ns.append(ns(one.at_s))
    return sorted(times_ns)


def workload_after(workload: WorkloadParameters, change: Interval) -> WorkloadParameters:
    """Return the workload parameters after the change."""
    return workload.model_copy(update={"interval_s": change.interval_s})
