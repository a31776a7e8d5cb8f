"""Tests of Manhattan mobility. Hosts stay in their lanes, turn with the configured probability, and start in the steady
state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from math import atan2, hypot, log, pi
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import ks_2samp

from mobilenet.engine.clock import SECOND
from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import ScenarioError
from mobilenet.world.coverage import AreaParameters, Coverage
from mobilenet.world.ground import Ground
from mobilenet.world.layout import hexagon
from mobilenet.world.manhattan import EAST, NORTH, SOUTH, WEST, Manhattan, Streets
from mobilenet.world.trajectory import Leg

from .walks import check_continuous, place, table

BOX = AreaParameters(box_m=(0, 0, 107, 67))  # three by three streets 7 m wide, with blocks of 50 and 30 m
PARK = AreaParameters(box_m=(0, 0, 407, 407), hole_boxes_m=((120, 120, 250, 300),))
COVER = Coverage(hexagon(1, 200), 120)
GROUNDS = [BOX.ground(), PARK.ground(), COVER.ground]


def model(**parameters: Any) -> Manhattan:
    return Manhattan(**{"block_m": (50, 30), "speed_mps": (5, 14), **parameters})


def drive(area: shapely.Geometry, seed: int, **parameters: Any) -> Iterator[Leg]:
    return walk(area, **parameters)(stream_of(seed, 0))


def walk(area: shapely.Geometry, **parameters: Any) -> Callable[[Stream], Iterator[Leg]]:
    """Return the walk that all hosts in this area share, so that its streets are computed only once."""
    return model(**parameters).walk(Ground(area))


def stream_of(seed: int, host: int) -> Stream:
    return Stream(seed, "mobility", f"h{host}")


def headings(legs: list[Leg]) -> list[int]:
    """Return the headings of moving hosts, in quarter turns from east."""
    moving = [leg for leg in legs if hypot(leg.vx_mps, leg.vy_mps) > 0]
    return [round(atan2(leg.vy_mps, leg.vx_mps) / (pi / 2)) % 4 for leg in moving]


def test_streets_lie_between_the_blocks() -> None:
    streets = Streets(model(), Ground(BOX.ground()))
    assert streets.x_m.tolist() == [3.5, 53.5, 103.5]
    assert streets.y_m.tolist() == [3.5, 33.5, 63.5]
    assert streets.ways[1, 1].all()
    # East and north are open from the south-western corner.
    assert streets.ways[0, 0].tolist() == [True, True, False, False]
    assert streets.ways[2, 1].tolist() == [True, False, True, True]
    assert len(streets.starts) == 2 * 12


def test_a_hole_in_the_coverage_blocks_the_streets_it_touches() -> None:
    streets = Streets(model(block_m=(100, 100)), Ground(PARK.ground()))
    assert streets.x_m.tolist() == [3.5, 103.5, 203.5, 303.5, 403.5]
    assert not streets.ways[2, 1, EAST]
    assert not streets.ways[2, 2].any()
    assert streets.ways[2, 1, [NORTH, SOUTH, WEST]].all()


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    ground=st.sampled_from(GROUNDS),
    lanes=st.integers(1, 2),
    width=st.sampled_from([0, 3.5]),
    turn=st.sampled_from([0, 0.5, 1]),
    stop=st.sampled_from([0, 0.5]),
)
def test_hosts_in_streets_respect_the_area_and_their_speeds(
    seed: int, ground: shapely.Geometry, lanes: int, width: float, turn: float, stop: float
) -> None:
    parameters = {"lanes": lanes, "lane_width_m": width, "turn_probability": turn, "stop_probability": stop}
    legs = list(islice(drive(ground, seed, **parameters, stop_s=(1, 5)), 60))
    check_continuous(legs)
    ends = [((leg.x_m, leg.y_m), (after.x_m, after.y_m)) for leg, after in pairwise(legs)]
    assert shapely.covers(ground.buffer(1e-5), shapely.linestrings(ends)).all()
    speeds = [hypot(leg.vx_mps, leg.vy_mps) for leg in legs]
    assert all(speed == 0 or 5 * (1 - 1e-6) <= speed <= 14 * (1 + 1e-6) for speed in speeds)
    assert all(min(abs(leg.vx_mps), abs(leg.vy_mps)) < 1e-6 for leg in legs)
    assert stop or min(speeds) > 0


@given(seed=st.integers(0, 10**6), lanes=st.integers(1, 3))
def test_hosts_drive_in_their_lane_on_the_right(seed: int, lanes: int) -> None:
    area = AreaParameters(box_m=(0, 0, 321, 321)).ground()
    streets = Streets(model(block_m=(100, 100), lanes=lanes), Ground(area))
    legs = list(islice(drive(area, seed, block_m=(100, 100), lanes=lanes), 30))
    offsets = set()
    for leg, heading in zip(legs, headings(legs), strict=True):
        if heading in (EAST, WEST):
            middle = streets.y_m[abs(streets.y_m - leg.y_m).argmin()]
            offsets.add(round((middle - leg.y_m) * (1 if heading == EAST else -1), 6))
        else:
            middle = streets.x_m[abs(streets.x_m - leg.x_m).argmin()]
            offsets.add(round((leg.x_m - middle) * (1 if heading == NORTH else -1), 6))
    assert len(offsets) == 1
    assert offsets <= {3.5 * (lane + 0.5) for lane in range(lanes)}


def test_the_corner_is_the_intersection_of_both_lanes() -> None:
    streets = Streets(model(), Ground(BOX.ground()))
    assert streets.corner((1, 1), EAST, EAST, 2) == (53.5, 31.5)
    assert streets.corner((1, 1), EAST, SOUTH, 2) == (51.5, 31.5)
    assert streets.corner((1, 1), EAST, NORTH, 2) == (55.5, 31.5)
    assert streets.corner((1, 1), SOUTH, NORTH, 2) == (51.5, 33.5)


@pytest.mark.parametrize("turn", [0.5, 0.1])
def test_hosts_turn_with_the_configured_probability(turn: float) -> None:
    streets = Streets(model(), Ground(BOX.ground()))
    stream = Stream(1, "test")
    ways = Counter(streets.next_way(stream, (1, 1), NORTH, turn) for _ in range(20_000))
    assert ways[NORTH] / 20_000 == pytest.approx(1 - turn, abs=0.015)
    assert ways[WEST] / 20_000 == pytest.approx(turn / 2, abs=0.015)
    assert ways[EAST] / 20_000 == pytest.approx(turn / 2, abs=0.015)
    at_the_border = Counter(streets.next_way(stream, (2, 1), NORTH, turn) for _ in range(20_000))
    assert at_the_border.keys() == {EAST, WEST}
    assert at_the_border[EAST] / 20_000 == pytest.approx(0.5, abs=0.015)
    assert {streets.next_way(stream, (0, 0), WEST, turn) for _ in range(100)} == {NORTH}


@given(seed=st.integers(0, 10**6))
def test_hosts_make_a_u_turn_at_a_dead_end(seed: int) -> None:
    one_street = AreaParameters(box_m=(0, 0, 60, 10)).ground()
    legs = list(islice(drive(one_street, seed, speed_mps=10), 20))
    assert all(min(abs(leg.vx_mps), abs(leg.vy_mps)) < 1e-6 for leg in legs)
    # Hosts also head north and south to change from one lane to another.
    assert set(headings(legs)) == {EAST, NORTH, WEST, SOUTH}
    across = [leg for leg, heading in zip(legs, headings(legs), strict=True) if heading in (NORTH, SOUTH)]
    # The first crossing may have begun before the start.
    assert {leg.duration_ns for leg in across[1:]} == {0.35 * SECOND}


def steady(area: shapely.Geometry, hosts: int, **parameters: Any) -> list[float]:
    """Compare the start with a later time. Return the p-values for position, speed and direction."""
    legs_of = walk(area, **parameters)
    first, later = table([place(legs_of(stream_of(3, host)), (0, 900)) for host in range(hosts)])
    return [float(ks_2samp(a, b).pvalue) for a, b in zip(first.T, later.T, strict=True)]


@pytest.mark.parametrize("area", [BOX.ground(), PARK.ground()], ids=["box", "park"])
@pytest.mark.parametrize("parameters", [{"stop_probability": 0.3, "stop_s": (0, 20)}, {"speed_mps": (1, 10)}])
def test_manhattan_mobility_starts_in_its_steady_state(area: shapely.Geometry, parameters: dict[str, Any]) -> None:
    assert min(steady(area, 2500, **parameters)) > 0.001


def test_the_steady_state_check_rejects_a_start_at_crossings(monkeypatch: pytest.MonkeyPatch) -> None:
    from mobilenet.world import manhattan

    def naive(
        parameters: Manhattan, streets: Streets, stream: Stream, off_m: float
    ) -> tuple[list[Leg], manhattan.Setout]:
        row, column, heading = streets.starts[stream.below(len(streets.starts))].tolist()
        begins = streets.corner((row, column), heading, heading, off_m)
        setout = manhattan.Setout((row, column), heading, begins)
        return manhattan._block(parameters, streets, stream, off_m, setout)

    monkeypatch.setattr(manhattan, "_underway", naive)
    assert min(steady(BOX.ground(), 2500, stop_probability=0.3, stop_s=(0, 20))) < 1e-6


def test_traffic_is_equal_on_all_streets_and_denser_where_slow() -> None:
    hosts, area = 4000, PARK.ground()
    legs_of = walk(area, block_m=(100, 100))
    states = table([place(legs_of(stream_of(2, host)), (300,)) for host in range(hosts)])[0]
    streets = Streets(model(block_m=(100, 100)), Ground(area))
    northernmost = sum(row == 4 and heading in (EAST, WEST) for row, _, heading in streets.starts)
    up_to_it = sum(row == 3 and heading == NORTH for row, _, heading in streets.starts)
    # Length of the streets north of y = 310 m, in both directions.
    north_m = 100 * northernmost + 2 * (403.5 - 310) * up_to_it
    assert np.mean(states[:, 1] > 310) == pytest.approx(north_m / (100 * len(streets.starts)), abs=0.03)
    speed_mps = 9 / log(14 / 5)
    assert states[:, 2].mean() == pytest.approx(speed_mps, abs=4 * states[:, 2].std() / hosts**0.5)


def test_stops_take_the_expected_share_of_the_time() -> None:
    cross = AreaParameters(box_m=(0, 0, 1007, 1007)).ground()
    parameters = {"block_m": (100, 100), "speed_mps": 10, "stop_probability": 0.5, "stop_s": 10, "lane_width_m": 0}
    legs_of = walk(cross, **parameters)
    states = table([place(legs_of(stream_of(1, host)), (0,)) for host in range(4000)])[0]
    assert np.mean(states[:, 2] == 0) == pytest.approx(5 / 15, abs=0.03)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"lanes": 5}, "block_m: streets are 35 m wide"), ({"turn_probability": 1.1}, "turn_probability")],
)
def test_impossible_street_parameters_are_rejected(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        model(**parameters)


def test_an_area_without_streets_is_rejected() -> None:
    with pytest.raises(ScenarioError, match=r"hosts\.mobility\.block_m: the area that hosts move in is too small"):
        drive(AreaParameters(box_m=(0, 0, 40, 30)).ground(), 1)
    with pytest.raises(ScenarioError, match="1,002,001 crossings"):
        drive(AreaParameters(box_m=(0, 0, 10_007, 10_007)).ground(), 1, block_m=(10, 10))
