"""Who walks how: the trajectories of all hosts of a scenario.

Model     one movement model for all; each host draws from its own stream ("mobility", its name)
Units     metres, seconds, integer nanoseconds
Errors    ScenarioError for a file that cannot be used and for an area too thin to walk in
Source    ours: DESIGN.md, "World"
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, model_validator

from mobilenet.engine.kernel import SECOND
from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import Parameters
from mobilenet.tracks.projection import Origin
from mobilenet.world import gauss_markov, random_waypoint, tracks
from mobilenet.world.attachment import AttachmentParameters
from mobilenet.world.coverage import AreaParameters, Coverage
from mobilenet.world.gauss_markov import GaussMarkov, Walls
from mobilenet.world.random_waypoint import Ground, RandomWaypoint
from mobilenet.world.tracks import Tracks
from mobilenet.world.trajectory import Leg, Trajectory, standing

__all__ = ["HostsParameters", "Leg", "Population", "Static", "Trajectory", "trajectories"]

MOST_HOSTS = 100_000


class Static(Parameters):
    """Uniform in the area, and there to stay."""

    model: Literal["static"] = "static"
    area: AreaParameters | None = Field(
        default=None, description="where hosts are; null: the ground that the stations cover"
    )


Mobility = Annotated[Static | RandomWaypoint | GaussMarkov | Tracks, Field(discriminator="model")]


class HostsParameters(Parameters):
    """How many hosts there are, how they move, and which station they talk to."""

    count: int | None = Field(
        default=None, ge=0, le=MOST_HOSTS, description="how many; must be given unless they come from a file"
    )
    mobility: Mobility = Field(description="how all of them move")
    attachment: AttachmentParameters = AttachmentParameters()

    @model_validator(mode="after")
    def _counted_once(self) -> HostsParameters:
        if isinstance(self.mobility, Tracks) and self.count is not None:
            raise ValueError("count: the tracks tell how many; to take fewer of them, set mobility.max_hosts")
        if not isinstance(self.mobility, Tracks) and self.count is None:
            raise ValueError("count: missing, expected how many hosts there are")
        return self


class Population(NamedTuple):
    trajectories: list[Trajectory]  # of h0, h1, ...
    speed_limit_mps: float  # nobody is ever faster
    skipped_tracks: int  # imported ones that were too short to join and leave
    names: dict[str, str]  # h0 -> what an imported file calls it


def trajectories(
    hosts: HostsParameters, seed: int, coverage: Coverage, duration_ns: int, folder: Path, origin: Origin | None = None
) -> Population:
    """A file is looked for in `folder`; `origin` is for one in longitude and latitude."""
    mobility = hosts.mobility
    if isinstance(mobility, Tracks):
        imported = tracks.imported(mobility, folder, duration_ns / SECOND, origin)
        names = {f"h{host}": name for host, name in enumerate(imported.names)}
        return Population(imported.trajectories, imported.speed_limit_mps, imported.too_short, names)
    if not hosts.count:
        return Population([], 0.0, 0, {})
    ground = Ground(mobility.area.ground() if mobility.area else coverage.ground)
    speed_limit_mps = 0.0
    legs: partial[Iterator[Leg]]
    if isinstance(mobility, RandomWaypoint):
        legs, speed_limit_mps = partial(random_waypoint.legs, mobility, ground), mobility.speed_mps[1]
    elif isinstance(mobility, GaussMarkov):
        legs, speed_limit_mps = (
            partial(gauss_markov.legs, mobility, ground, Walls(ground.area)),
            mobility.speed_limit_mps,
        )
    else:
        legs = partial(_stand, ground)
    found = [Trajectory(partial(_begin, legs, seed, f"h{host}")) for host in range(hosts.count)]
    return Population(found, speed_limit_mps, 0, {})


def _begin(legs: partial[Iterator[Leg]], seed: int, host: str) -> Iterator[Leg]:
    return legs(Stream(seed, "mobility", host))


def _stand(ground: Ground, stream: Stream) -> Iterator[Leg]:
    yield standing(*ground.point(stream))
