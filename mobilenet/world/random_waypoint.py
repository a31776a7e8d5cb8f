"""Random waypoint mobility, which starts in the steady state unless a uniform start is requested.

Model     A host walks straight to a point that is drawn uniformly from all points that it can reach without leaving
          the area, pauses, and draws the next point. In equilibrium, two successive waypoints are uniform over all
          pairs with a straight path inside the area, because the chain is reversible. A random moment falls into a
          leg and its pause with a probability proportional to their duration. The initial state is therefore drawn by
          rejection. Pairs of points are drawn until such a path exists between them, and then a speed and a pause.
          The draw is accepted with the probability (their duration) / (the longest possible duration). Finally, a
          moment within this duration is drawn.
Units     Distances are in metres, and times in seconds. Legs use integer nanoseconds.
Errors    ScenarioError if the area is too narrow to place a host in it.
Source    Le Boudec, Vojnovic: Perfect simulation and stationarity of a class of mobility models (INFOCOM 2005)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from math import hypot
from typing import Annotated, Literal

from pydantic import Field

from mobilenet.engine.clock import ns
from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import Parameters, Range, ScenarioError, Within
from mobilenet.world.coverage import AreaParameters
from mobilenet.world.ground import TRIES, Ground
from mobilenet.world.trajectory import Leg, between, standing_leg


class RandomWaypoint(Parameters):
    """Hosts walk straight to a random point that they can reach, pause, and then walk to the next point."""

    model: Literal["random_waypoint"] = "random_waypoint"
    speed_mps: Annotated[Range, Within(0.001, 1000, times=1000)] = Field(
        description="speed, drawn uniformly for each leg from the range [lowest, highest]; a single number: constant"
    )
    pause_s: Annotated[Range, Within(0, 1_000_000, ("shortest", "longest"))] = Field(
        default=(0.0, 0.0),
        description="pause, drawn uniformly at each waypoint from the range [shortest, longest]; one number: constant",
    )
    area: AreaParameters | None = Field(
        default=None, description="area in which hosts move; null: the area that the stations cover"
    )
    start: Literal["steady_state", "uniform"] = Field(
        default="steady_state",
        description="initial distribution of hosts; uniform: evenly spread at first, and denser in the middle later",
    )

    @property
    def speed_limit_mps(self) -> float:
        return self.speed_mps[1]

    def walk(self, ground: Ground) -> Callable[[Stream], Iterator[Leg]]:
        return partial(legs, self, ground)


def legs(parameters: RandomWaypoint, ground: Ground, stream: Stream) -> Iterator[Leg]:
    if parameters.start == "uniform":
        x, y = ground.point(stream)
    else:
        x, y = yield from _begin_underway(parameters, ground, stream)
    while True:
        ax, ay = x, y
        x, y = _next(ground, stream, ax, ay)
        yield from _walk(ax, ay, x, y, stream.uniform(*parameters.speed_mps))
        yield from _pause(x, y, stream.uniform(*parameters.pause_s))


def _begin_underway(
    parameters: RandomWaypoint, ground: Ground, stream: Stream
) -> Generator[Leg, None, tuple[float, float]]:
    """Yield the rest of a leg and the pause after it, starting at a random moment. Return the position at the end of
    the leg.
    """
    slow, fast = parameters.speed_mps
    short, long = parameters.pause_s
    longest_s = ground.diameter_m / slow + long
    for _ in range(TRIES):
        ax, ay, bx, by = ground.pair(stream)
        speed, pause_s = stream.uniform(slow, fast), stream.uniform(short, long)
        walk_s = hypot(bx - ax, by - ay) / speed
        if stream.random() * longest_s < walk_s + pause_s and ground.sees(ax, ay, bx, by):
            break
    else:
        raise ScenarioError("the area is too narrow for hosts to walk in")
    elapsed_s = stream.random() * (walk_s + pause_s)
    if elapsed_s < walk_s:
        walked_share = elapsed_s / walk_s
        ax, ay = ax + walked_share * (bx - ax), ay + walked_share * (by - ay)
        yield from _walk(ax, ay, bx, by, speed)
        elapsed_s = walk_s
    yield from _pause(bx, by, walk_s + pause_s - elapsed_s)
    return bx, by


def _next(ground: Ground, stream: Stream, x: float, y: float) -> tuple[float, float]:
    for _ in range(TRIES):
        to_x, to_y = ground.point(stream)
        if (to_x, to_y) != (x, y) and ground.sees(x, y, to_x, to_y):
            return to_x, to_y
    raise ScenarioError(f"hosts cannot leave the corner at ({x:.1f}, {y:.1f}) m of the area that they walk in")


def _walk(ax: float, ay: float, bx: float, by: float, speed: float) -> Iterator[Leg]:
    duration_ns = ns(hypot(bx - ax, by - ay) / speed)
    if duration_ns > 0:
        yield between(ax, ay, bx, by, duration_ns)


def _pause(x: float, y: float, seconds: float) -> Iterator[Leg]:
    duration_ns = ns(seconds)
    if duration_ns > 0:
        yield standing_leg(x, y)._replace(duration_ns=duration_ns)
