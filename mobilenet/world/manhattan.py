"""Manhattan mobility: hosts drive on a grid of streets.

Model     Streets run from west to east and from south to north, at equal distances. There is a street between two
          crossings if its full width lies in the area. Hosts keep to the lane on the right, and draw a speed for each
          block. Where four streets meet, a host drives straight on, left or right with the configured probabilities.
          At other crossings, all directions except back are equally likely. At a dead end, the host turns round. At
          each crossing, each street is therefore left as often as it is entered, and all directions of all streets
          are equally likely. The initial state is drawn in proportion to the time that each direction takes, as in
          random_waypoint.
Units     Distances are in metres, speeds in metres per second, and times in seconds. Legs use integer nanoseconds.
Errors    ScenarioError if the area does not contain a block, or contains too many.
Source    ETSI TR 101 112 (UMTS 30.03, 1998), annex B; 3GPP TR 37.885 (2019), 6.1.2, for lanes; Aschenbruck et al.:
          BonnMotion (SIMUTools 2010). The argument for the steady state is ours: docs/models/manhattan.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import hypot
from typing import Annotated, Literal, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray
from pydantic import Field, model_validator

from mobilenet.engine.clock import ns
from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import Parameters, Range, ScenarioError, Within
from mobilenet.world.coverage import AreaParameters
from mobilenet.world.ground import Ground
from mobilenet.world.trajectory import Leg, between, rest_of, standing_leg

EAST, NORTH, WEST, SOUTH = range(4)
VECTORS = ((1, 0), (0, 1), (-1, 0), (0, -1))
MOST_CROSSINGS = 250_000

Block = Annotated[float, Field(ge=1, le=100_000)]
Crossing = tuple[int, int]  # row (from south to north) and column (from west to east) of the crossing
Place = tuple[float, float]


class Manhattan(Parameters):
    """Hosts drive on a grid of streets, and turn at random at crossings."""

    model: Literal["manhattan"] = "manhattan"
    block_m: tuple[Block, Block] = Field(
        description="distance between neighbouring parallel streets, [west to east, south to north]"
    )
    speed_mps: Annotated[Range, Within(0.001, 1000, times=1000)] = Field(
        description="speed, drawn uniformly for each block from the range [lowest, highest]; a single number: constant"
    )
    turn_probability: float = Field(
        default=0.5, ge=0, le=1, description="probability of turning where four streets meet, left and right alike"
    )
    stop_probability: float = Field(default=0.0, ge=0, le=1, description="probability of stopping at a crossing")
    stop_s: Annotated[Range, Within(0, 1_000_000, ("shortest", "longest"))] = Field(
        default=(0.0, 0.0),
        description="duration of a stop, drawn uniformly from the range [shortest, longest]; one number: constant",
    )
    lanes: int = Field(default=1, ge=1, le=10, description="lanes in each direction; a host keeps to one of them")
    lane_width_m: float = Field(
        default=3.5, ge=0, le=50, description="width of a lane; 0: all hosts move on the middle of their street"
    )
    area: AreaParameters | None = Field(
        default=None, description="area that contains the streets; null: the area that the stations cover"
    )

    @model_validator(mode="after")
    def _fit_streets_between_blocks(self) -> Manhattan:
        if 2 * self.half_width_m >= min(self.block_m):
            raise ValueError(
                f"block_m: streets are {2 * self.half_width_m:g} m wide (lanes, lane_width_m); expected blocks longer"
                " than that"
            )
        return self

    @property
    def speed_limit_mps(self) -> float:
        return self.speed_mps[1]

    @property
    def half_width_m(self) -> float:
        """Half the width of a street: the total width of all lanes in one direction."""
        return self.lanes * self.lane_width_m

    def walk(self, ground: Ground) -> Callable[[Stream], Iterator[Leg]]:
        return partial(legs, self, Streets(self, ground))


class Streets:
    """The streets that fit into an area, described by their crossings.

    x_m and y_m are float64: the coordinates at which streets run. ways is bool (y, x, 4): whether a street leaves a
    crossing to the east, north, west and south. starts is int64 (n, 3): the crossing and the direction of each one-way
    street.
    """

    def __init__(self, parameters: Manhattan, ground: Ground) -> None:
        half_m = parameters.half_width_m
        self.x_m = _middles(ground.west + half_m, ground.east - half_m, parameters.block_m[0])
        self.y_m = _middles(ground.south + half_m, ground.north - half_m, parameters.block_m[1])
        if self.x_m.size * self.y_m.size > MOST_CROSSINGS:
            raise ScenarioError(
                f"hosts.mobility.block_m: {self.x_m.size * self.y_m.size:,} crossings in the area that hosts move in;"
                f" expected at most {MOST_CROSSINGS:,}"
            )
        x, y = np.meshgrid(self.x_m, self.y_m)
        self.ways = np.zeros((*x.shape, 4), dtype=bool)
        west_x, south_y = x - half_m, y - half_m
        east_x, north_y = x + half_m, y + half_m
        eastward = shapely.box(west_x[:, :-1], south_y[:, :-1], east_x[:, 1:], north_y[:, 1:])
        northward = shapely.box(west_x[:-1], south_y[:-1], east_x[1:], north_y[1:])
        self.ways[:, :-1, EAST] = self.ways[:, 1:, WEST] = _lie_inside(ground, eastward)
        self.ways[:-1, :, NORTH] = self.ways[1:, :, SOUTH] = _lie_inside(ground, northward)
        self.starts = np.argwhere(self.ways)
        if not len(self.starts):
            raise ScenarioError(
                "hosts.mobility.block_m: the area that hosts move in is too small for a street between two crossings"
            )

    def next_way(self, stream: Stream, at: Crossing, heading: int, turn_probability: float) -> int:
        """Draw the direction in which a host continues from a crossing."""
        ahead = [way % 4 for way in (heading, heading + 1, heading - 1) if self.ways[(*at, way % 4)]]
        if len(ahead) < 3:
            return stream.one_of(*ahead) if ahead else (heading + 2) % 4
        if not stream.chance(turn_probability):
            return heading
        return stream.one_of(*ahead[1:])

    def corner(self, at: Crossing, heading: int, way: int, off_m: float) -> Place:
        """Return the point where the lane, `off_m` from the middle of the street, meets the lane in the next street.
        For a host that turns round, return the point where the lane passes the middle of the crossing.
        """
        right_x, right_y = VECTORS[(heading - 1) % 4]
        if (heading - way) % 2:
            right_x, right_y = right_x + VECTORS[(way - 1) % 4][0], right_y + VECTORS[(way - 1) % 4][1]
        return float(self.x_m[at[1]] + off_m * right_x), float(self.y_m[at[0]] + off_m * right_y)


def _middles(low_m: float, high_m: float, block_m: float) -> NDArray[np.float64]:
    """Return the coordinates of parallel streets with equal margins on both sides."""
    blocks = max(0, int((high_m - low_m) / block_m + 1e-9))
    return np.asarray((low_m + high_m) / 2 + block_m * (np.arange(blocks + 1) - blocks / 2), dtype=np.float64)


def _lie_inside(ground: Ground, boxes: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Return whether the area covers each box. A small tolerance allows for rounding errors in the boxes."""
    return np.asarray(shapely.covers(ground.area.buffer(1e-6), boxes))


class Setout(NamedTuple):
    """The state of a host at the beginning of a block: the crossing, the direction, and its position in the lane."""

    at: Crossing
    heading: int
    begins: Place


def legs(parameters: Manhattan, streets: Streets, stream: Stream) -> Iterator[Leg]:
    off_m = (stream.below(parameters.lanes) + 0.5) * parameters.lane_width_m
    block, following = _underway(parameters, streets, stream, off_m)
    while True:
        yield from block
        block, following = _block(parameters, streets, stream, off_m, following)


def _block(
    parameters: Manhattan,
    streets: Streets,
    stream: Stream,
    off_m: float,
    setout: Setout,
    is_certain_to_stop: bool = False,
) -> tuple[list[Leg], Setout]:
    """Draw a speed, a stop and a direction. Return the legs of this block, and the state at the beginning of the next
    block.
    """
    heading, (east, north) = setout.heading, VECTORS[setout.heading]
    at = (setout.at[0] + north, setout.at[1] + east)
    speed_mps = stream.uniform(*parameters.speed_mps)
    way = streets.next_way(stream, at, heading, parameters.turn_probability)
    corner = streets.corner(at, heading, way, off_m)
    block = _drive(setout.begins, corner, speed_mps)
    if is_certain_to_stop or stream.chance(parameters.stop_probability):
        duration_ns = ns(stream.uniform(*parameters.stop_s))
        if duration_ns > 0:
            block.append(standing_leg(*corner)._replace(duration_ns=duration_ns))
    if (heading - way) % 4 != 2:
        return block, Setout(at, way, corner)
    other_lane = streets.corner(at, way, heading, off_m)
    return block + _drive(corner, other_lane, speed_mps), Setout(at, way, other_lane)


def _underway(parameters: Manhattan, streets: Streets, stream: Stream, off_m: float) -> tuple[list[Leg], Setout]:
    """Draw a random moment of the steady state. Return the rest of the block from this moment on, and the beginning of
    the next block. The moment falls in a stop or a drive with probabilities proportional to their maximum durations. It
    is drawn again if the actual stop or drive is shorter.
    """
    # The longest path leads from the outer corner of one turn to the outer corner of the next, where the host turns
    # round at a dead end.
    longest_m = max(parameters.block_m) + 4 * off_m
    driving_s, stop_s = longest_m / parameters.speed_mps[0], parameters.stop_s[1]
    stopping_s = parameters.stop_probability * stop_s
    while True:
        is_in_stop = stream.random() * (driving_s + stopping_s) < stopping_s
        row, column, heading = streets.starts[stream.below(len(streets.starts))].tolist()
        at = (row, column)
        # In reversed time, turns have the same probabilities.
        before = (streets.next_way(stream, at, (heading + 2) % 4, parameters.turn_probability) + 2) % 4
        inwards, outwards = (heading, before) if (before - heading) % 4 == 2 else (before, heading)
        begins = streets.corner(at, inwards, outwards, off_m)
        block, following = _block(parameters, streets, stream, off_m, Setout(at, heading, begins), is_in_stop)
        moment_ns = int(stream.random() * ns(stop_s if is_in_stop else driving_s))
        for number, leg in enumerate(block):
            if (leg.vx_mps == leg.vy_mps == 0) is is_in_stop:
                if (first := rest_of(leg, moment_ns)) is not None:
                    return [first, *block[number + 1 :]], following
                moment_ns -= leg.duration_ns or 0


def _drive(begin: Place, end: Place, speed_mps: float) -> list[Leg]:
    duration_ns = ns(hypot(end[0] - begin[0], end[1] - begin[1]) / speed_mps)
    return [between(*begin, *end, duration_ns)] if duration_ns > 0 else []
