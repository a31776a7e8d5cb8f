"""Reference point group mobility, in which hosts move in groups.

Model     The centre of each group follows random waypoint mobility. Each host has a reference point, which is uniform
          in a disk around the centre and moves with it. At regular intervals, the host draws a distance and a direction
          from this point, both uniform, and moves there at a constant velocity relative to the group. A host is never
          farther from the centre than the sum of both radii, and the centre keeps this distance from the border. The
          initial state is the steady state.
Units     Distances are in metres, speeds in metres per second, and times in seconds. Legs use integer nanoseconds.
Errors    ScenarioError if the area is too small for a group.
Source    Hong, Gerla, Pei, Chiang: A group mobility model for ad hoc wireless networks (MSWiM 1999)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import cos, pi, sin, sqrt
from typing import Annotated, Literal

from pydantic import Field

from mobilenet.engine.clock import SECOND, ns
from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import Parameters, Range, ScenarioError, Within
from mobilenet.world import random_waypoint
from mobilenet.world.coverage import CORNERS_OF_A_QUARTER, AreaParameters, solid
from mobilenet.world.ground import Ground
from mobilenet.world.random_waypoint import RandomWaypoint
from mobilenet.world.trajectory import Leg, rest_of

Radius = Annotated[float, Field(ge=0, le=100_000)]


class ReferencePointGroup(Parameters):
    """Hosts move in groups, and each host stays near its reference point in the group."""

    model: Literal["reference_point_group"] = "reference_point_group"
    groups: int = Field(ge=1, le=100_000, description="number of groups; host h5 is in group 5 modulo groups")
    group_radius_m: Radius = Field(description="maximum distance of a host's reference point from the group's centre")
    deviation_m: Radius = Field(description="maximum distance of a host from its reference point")
    deviation_step_s: float = Field(
        default=10.0,
        ge=0.01,
        le=1_000_000,
        description="time from one random position around the reference point to the next",
    )
    speed_mps: Annotated[Range, Within(0.001, 1000, times=1000)] = Field(
        description="speed of the group's centre, drawn uniformly for each leg; a single number: constant"
    )
    pause_s: Annotated[Range, Within(0, 1_000_000, ("shortest", "longest"))] = Field(
        default=(0.0, 0.0), description="pause of the group's centre, drawn uniformly at each waypoint"
    )
    area: AreaParameters | None = Field(
        default=None, description="area in which hosts move; null: the area that the stations cover"
    )

    @property
    def speed_limit_mps(self) -> float:
        return self.speed_mps[1] + 2 * self.deviation_m / self.deviation_step_s

    def walk(self, ground: Ground) -> Callable[[Stream, Stream], Iterator[Leg]]:
        """Return a function that takes the streams of a host and of its group, and yields the legs of the host."""
        # The polygon lies inside its circle. The division makes the polygon large enough.
        off_m = (self.group_radius_m + self.deviation_m) / cos(pi / 4 / CORNERS_OF_A_QUARTER)
        try:
            inner = solid(ground.area.buffer(-off_m, quad_segs=CORNERS_OF_A_QUARTER))
        except ScenarioError:
            raise ScenarioError(
                f"hosts.mobility.group_radius_m: a group of {self.group_radius_m + self.deviation_m:g} m (with"
                " deviation_m) does not fit into the area that hosts move in"
            ) from None
        return partial(legs, self, Ground(inner))


def legs(parameters: ReferencePointGroup, ground: Ground, stream: Stream, of_group: Stream) -> Iterator[Leg]:
    """Yield the legs of a host. `ground` is the area in which the centres of groups move."""
    waypoints = RandomWaypoint(speed_mps=parameters.speed_mps, pause_s=parameters.pause_s)
    centre = random_waypoint.legs(waypoints, ground, of_group)
    around = _deviations(parameters, stream)
    one, other = next(centre), next(around)
    while True:
        assert one.duration_ns is not None and other.duration_ns is not None
        duration_ns = min(one.duration_ns, other.duration_ns)
        yield Leg(
            duration_ns,
            one.x_m + other.x_m,
            one.y_m + other.y_m,
            one.vx_mps + other.vx_mps,
            one.vy_mps + other.vy_mps,
        )
        one, other = rest_of(one, duration_ns) or next(centre), rest_of(other, duration_ns) or next(around)


def _deviations(parameters: ReferencePointGroup, stream: Stream) -> Iterator[Leg]:
    """Yield legs relative to the centre of the group. The first leg has already begun."""
    far_m, angle = parameters.group_radius_m * sqrt(stream.random()), 2 * pi * stream.random()
    own_x, own_y = far_m * cos(angle), far_m * sin(angle)
    step_ns = ns(parameters.deviation_step_s)

    def place() -> tuple[float, float]:
        off_m, angle = parameters.deviation_m * stream.random(), 2 * pi * stream.random()
        return own_x + off_m * cos(angle), own_y + off_m * sin(angle)

    x, y = place()
    gone_ns = int(stream.random() * step_ns)
    while True:
        to_x, to_y = place()
        leg = Leg(step_ns, x, y, (to_x - x) * SECOND / step_ns, (to_y - y) * SECOND / step_ns)
        yield rest_of(leg, gone_ns) or leg
        x, y, gone_ns = to_x, to_y, 0
