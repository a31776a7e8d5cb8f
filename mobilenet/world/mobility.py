"""The trajectories of all hosts of a scenario.

Model     All hosts use the same mobility model. Each host and each group of hosts has its own random stream
          ("mobility", its name). A model is a class of parameters with `speed_limit_mps`, which hosts never exceed,
          and `walk(ground)`, which returns a function from a random stream to the legs of a host. To add a model,
          write such a class and include it in `Mobility`. A plug-in (`hosts.mobility.class`) is such a class, but is
          not included in `Mobility`.
Units     Distances are in metres, and times in seconds or integer nanoseconds.
Errors    ScenarioError for an unusable file, for an area that is too narrow to walk in, and for a plug-in whose hosts
          walk faster than the scenario allows.
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from math import hypot, isfinite
from numbers import Real
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, model_validator

from mobilenet.engine.clock import SECOND
from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import ClassInFile, Parameters, ScenarioError, class_says_it
from mobilenet.world import track_mobility
from mobilenet.world.attachment import AttachmentParameters
from mobilenet.world.coverage import AreaParameters, Coverage
from mobilenet.world.gauss_markov import GaussMarkov
from mobilenet.world.ground import Ground
from mobilenet.world.manhattan import Manhattan
from mobilenet.world.random_waypoint import RandomWaypoint
from mobilenet.world.reference_point_group import ReferencePointGroup
from mobilenet.world.track_mobility import Tracks
from mobilenet.world.tracks.projection import Anchor
from mobilenet.world.trajectory import Leg, Trajectory, standing_leg

__all__ = ["HostsParameters", "Leg", "OwnMobility", "Population", "Static", "Trajectory", "Walk", "trajectories"]

MOST_HOSTS = 100_000
HARDLY_FASTER = 1 + 1e-6  # tolerance for the speed limit, because the durations of legs are rounded to nanoseconds
FARTHEST_M = 1_000_000  # maximum distance from (0, 0), as for all positions of a scenario
NEARLY_THERE_M = 1e-3  # tolerance for the distance between two legs; rounding errors are much smaller
Walk = Callable[[Stream], Iterator[Leg]]


class Static(Parameters):
    """Hosts are placed uniformly in the area, and do not move."""

    model: Literal["static"] = "static"
    area: AreaParameters | None = Field(
        default=None, description="area in which hosts move; null: the area that the stations cover"
    )

    @property
    def speed_limit_mps(self) -> float:
        return 0.0

    def walk(self, ground: Ground) -> Walk:
        return partial(_stand, ground)


class OwnMobility(ClassInFile):
    """A custom mobility model in a file next to the scenario. The key `model` is not needed if `class` is given."""

    model: Literal["own"] = "own"
    speed_limit_mps: float = Field(
        ge=0, le=1000, description="upper bound on the speed; a host that exceeds it ends the run"
    )
    area: AreaParameters | None = Field(
        default=None, description="area that is passed to the model; null: the area that the stations cover"
    )


Mobility = Annotated[
    Static | RandomWaypoint | GaussMarkov | Manhattan | ReferencePointGroup | Tracks | OwnMobility,
    Field(discriminator="model"),
    BeforeValidator(class_says_it("model")),
]


class HostsParameters(Parameters):
    """Parameters of the hosts: their number, how they move, and which stations they use."""

    count: int | None = Field(
        default=None, ge=0, le=MOST_HOSTS, description="number of hosts; required unless they come from a file"
    )
    mobility: Mobility = Field(description="mobility model of the hosts")
    attachment: AttachmentParameters = AttachmentParameters()

    @model_validator(mode="after")
    def _require_one_count(self) -> HostsParameters:
        if isinstance(self.mobility, Tracks) and self.count is not None:
            raise ValueError("count: determined by the tracks; to use fewer of them, set mobility.max_hosts")
        if not isinstance(self.mobility, Tracks) and self.count is None:
            raise ValueError("count: missing; expected the number of hosts")
        return self


class Population(NamedTuple):
    trajectories: list[Trajectory]  # trajectories of h0, h1, ...
    speed_limit_mps: float  # an upper limit on the speed of all hosts
    skipped_tracks: int  # number of skipped tracks, which are too short for their host to join and leave
    names: dict[str, str]  # host name, such as h0 -> name in the imported file
    further: Callable[[str], Trajectory]  # returns the trajectory of a host with this name that is added by hand


def trajectories(
    hosts: HostsParameters,
    seed: int,
    coverage: Coverage,
    duration_ns: int,
    folder: Path,
    anchor: Anchor | None = None,
    own: Any = None,
) -> Population:
    """Return the trajectories of all hosts. File names are relative to `folder`. `anchor` is the position of (0, 0) in
    the file. `own` is the plug-in's model for OwnMobility. If it is missing, trajectories cannot be followed.
    """
    mobility = hosts.mobility
    if isinstance(mobility, Tracks):
        imported = track_mobility.import_tracks(mobility, folder, duration_ns / SECOND, anchor, seed)
        names = {f"h{host}": name for host, name in enumerate(imported.names)}
        return Population(imported.trajectories, imported.speed_limit_mps, imported.too_short, names, _stays)

    @cache
    def walk() -> Callable[..., Iterator[Leg]]:
        ground = Ground(mobility.area.ground() if mobility.area else coverage.ground)
        if not isinstance(mobility, OwnMobility):
            return mobility.walk(ground)
        walks = _unknown if own is None else _walk_of(mobility, own.walk(ground))
        return partial(_within_the_limit, mobility, walks)

    def further(host: str) -> Trajectory:
        group = f"g{int(host[1:]) % mobility.groups}" if isinstance(mobility, ReferencePointGroup) else None
        return Trajectory(partial(_begin, walk(), seed, host, group))

    all_trajectories = [further(f"h{host}") for host in range(hosts.count or 0)]
    return Population(all_trajectories, mobility.speed_limit_mps, 0, {}, further)


def _stays(host: str) -> Trajectory:
    """Return the trajectory of a host without a track. The host stays where it is placed."""
    return Trajectory(lambda: iter((standing_leg(0.0, 0.0),)))


def _begin(walk: Callable[..., Iterator[Leg]], seed: int, host: str, group: str | None) -> Iterator[Leg]:
    streams = [Stream(seed, "mobility", host)]
    if group is not None:
        streams.append(Stream(seed, "mobility, group", group))
    return walk(*streams)


def _stand(ground: Ground, stream: Stream) -> Iterator[Leg]:
    yield standing_leg(*ground.point(stream))


def _unknown(stream: Stream) -> Iterator[Leg]:
    raise ScenarioError("hosts.mobility.class: its code was not run, so the hosts' walks are unknown")


def _wrong(mobility: OwnMobility, what: str) -> ScenarioError:
    return ScenarioError(f"hosts.mobility.class: {mobility.reference}: {what}")


def _walk_of(mobility: OwnMobility, walk: Any) -> Walk:
    """Return the result of a plug-in's walk(ground). Raise ScenarioError if it is not callable."""
    if not callable(walk):
        raise _wrong(
            mobility,
            f"walk(ground) returned {_repr(walk)}, expected a function that takes a host's stream and yields legs",
        )
    own_walk: Walk = walk
    return own_walk


def _legs_of(mobility: OwnMobility, legs: Any) -> Iterator[Any]:
    """Return an iterator over the legs that a plug-in returned for a host. Raise ScenarioError if they are not
    iterable.
    """
    try:
        return iter(legs)
    except TypeError:
        raise _wrong(
            mobility,
            f"the function returned by walk(ground) returned {_repr(legs)} when called with a stream, expected"
            " an iterator of legs",
        ) from None


def _repr(value: object) -> str:
    return " ".join(repr(value).split())[:80]


def _is_finite(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def _require_place(mobility: OwnMobility, leg: Leg) -> None:
    """Raise ScenarioError unless a leg has finite coordinates and a finite velocity, and begins near enough to (0,
    0).
    """
    for pair, what in (((leg.x_m, leg.y_m), "begins at"), ((leg.vx_mps, leg.vy_mps), "has the velocity")):
        if not all(map(_is_finite, pair)):
            raise _wrong(mobility, f"a leg {what} {_repr(pair)}, expected two finite numbers")
    if max(abs(leg.x_m), abs(leg.y_m)) > FARTHEST_M:
        raise _wrong(
            mobility, f"a leg begins at ({leg.x_m:g}, {leg.y_m:g}) m, expected at most {FARTHEST_M:,} m from (0, 0)"
        )


def _within_the_limit(mobility: OwnMobility, walk: Walk, stream: Stream) -> Iterator[Leg]:
    limit_mps = mobility.speed_limit_mps
    here: tuple[float, float] | None = None  # end of the previous leg
    for leg in _legs_of(mobility, walk(stream)):
        if not isinstance(leg, Leg):
            raise _wrong(mobility, f"{_repr(leg)} is not a Leg; see between() in mobilenet/world/trajectory.py")
        _require_place(mobility, leg)
        speed_mps = hypot(leg.vx_mps, leg.vy_mps)
        if not speed_mps <= limit_mps * HARDLY_FASTER:
            raise ScenarioError(
                f"hosts.mobility.speed_limit_mps: {mobility.reference} moves at {speed_mps:g} m/s, faster than"
                f" {limit_mps:g}"
            )
        if leg.duration_ns is not None and (type(leg.duration_ns) is not int or leg.duration_ns <= 0):
            raise ScenarioError(
                f"hosts.mobility.class: {mobility.reference}: a leg lasts {leg.duration_ns!r} ns, expected a whole"
                " number above 0, or None for an unlimited time"
            )
        if here is not None and hypot(leg.x_m - here[0], leg.y_m - here[1]) > NEARLY_THERE_M:
            raise ScenarioError(
                f"hosts.mobility.class: {mobility.reference}: a leg begins at ({leg.x_m:g}, {leg.y_m:g}) m, but the"
                f" previous one ended at ({here[0]:g}, {here[1]:g}) m"
            )
        if leg.duration_ns is not None:
            seconds = leg.duration_ns / SECOND
            here = (leg.x_m + leg.vx_mps * seconds, leg.y_m + leg.vy_mps * seconds)
        yield leg
