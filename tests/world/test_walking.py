"""Tests of random waypoint and Gauss-Markov mobility. Hosts do not leave the area, and start in the steady state."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile
from math import pi, sqrt
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_1samp, ks_2samp, uniform

from mobilenet.engine.clock import SECOND
from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import ScenarioError
from mobilenet.world import gauss_markov, ground, random_waypoint
from mobilenet.world.coverage import AreaParameters, Coverage
from mobilenet.world.gauss_markov import GaussMarkov, Walls
from mobilenet.world.ground import Ground
from mobilenet.world.layout import hexagon
from mobilenet.world.mobility import HostsParameters, Static, trajectories
from mobilenet.world.random_waypoint import RandomWaypoint
from mobilenet.world.trajectory import Leg, between

from .walks import check_continuous, place, table

COVER = Coverage(hexagon(1, 200), 120)
CORNER = AreaParameters(box_m=(0, 0, 100, 100), hole_boxes_m=((40, 40, 100, 100),))  # an L-shaped area
POND = AreaParameters(box_m=(0, 0, 100, 60), hole_polygons_m=(((40, 20), (70, 25), (55, 45)),))
SPLIT = AreaParameters(box_m=(0, 0, 100, 60), hole_boxes_m=((40, -1, 60, 61),))
GROUNDS = [COVER.ground, CORNER.ground(), POND.ground(), SPLIT.ground()]


def waypoint(area: shapely.Geometry, seed: int, host: int = 0, **parameters: object) -> Iterator[Leg]:
    stream = Stream(seed, "mobility", f"h{host}")
    return random_waypoint.legs(RandomWaypoint(**parameters), Ground(area), stream)  # type: ignore[arg-type]


def markov(area: shapely.Geometry, seed: int, host: int = 0, **parameters: object) -> Iterator[Leg]:
    stream = Stream(seed, "mobility", f"h{host}")
    return gauss_markov.legs(GaussMarkov(**parameters), Ground(area), Walls(area), stream)  # type: ignore[arg-type]


def check_inside(area: shapely.Geometry, legs: list[Leg]) -> None:
    ends = [
        (
            (leg.x_m, leg.y_m),
            (leg.x_m + leg.vx_mps * leg.duration_ns / SECOND, leg.y_m + leg.vy_mps * leg.duration_ns / SECOND),
        )
        for leg in legs
        if leg.duration_ns is not None
    ]
    assert shapely.covers(area.buffer(1e-5), shapely.linestrings(ends)).all()


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), ground=st.sampled_from(GROUNDS), pause=st.sampled_from([(0, 0), (0, 30), (5, 5)]))
def test_random_waypoint_hosts_stay_inside_their_area(
    seed: int, ground: shapely.Geometry, pause: tuple[float, float]
) -> None:
    legs = list(islice(waypoint(ground, seed, speed_mps=(0.5, 3), pause_s=pause), 30))
    check_inside(ground, legs)
    check_continuous(legs)
    speeds = {round(float(np.hypot(leg.vx_mps, leg.vy_mps)), 6) for leg in legs}
    assert all(speed == 0 or 0.49 < speed < 3.01 for speed in speeds)
    assert (0 in speeds) == (pause != (0, 0)) or len(legs) < 3


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    ground=st.sampled_from(GROUNDS),
    alpha=st.sampled_from([0.0, 0.75, 0.99]),
    speed=st.sampled_from([1.38, 40.0]),
)
def test_gauss_markov_mobility_stays_inside_its_area(
    seed: int, ground: shapely.Geometry, alpha: float, speed: float
) -> None:
    legs = list(islice(markov(ground, seed, speed_mps=speed, alpha=alpha), 200))
    check_inside(ground, legs)
    check_continuous(legs)


def test_walks_depend_only_on_the_seed_and_the_host() -> None:
    hosts = HostsParameters(count=5, mobility=RandomWaypoint(speed_mps=1.38))
    more = HostsParameters(count=9, mobility=RandomWaypoint(speed_mps=1.38))
    few, many = (trajectories(these, 1, COVER, 400 * SECOND, Path(".")).trajectories for these in (hosts, more))
    for a, b in zip(few, many, strict=False):
        once = list(islice(a.legs(), 20))
        assert once == list(islice(a.legs(), 20)) == list(islice(b.legs(), 20))
    other = trajectories(hosts, 2, COVER, 400 * SECOND, Path(".")).trajectories
    assert next(few[0].legs()) != next(few[1].legs()) != next(other[1].legs())


def stationary(first: np.ndarray, later: np.ndarray) -> float:
    """Compare the start with a later time. Return the smallest p-value for x, y, x + y and the speed."""
    pairs = [(a[:, 0], b[:, 0]) for a, b in [(first, later)]] + [(first[:, 1], later[:, 1]), (first[:, 2], later[:, 2])]
    pairs.append((first[:, 0] + first[:, 1], later[:, 0] + later[:, 1]))
    return min(float(ks_2samp(a, b).pvalue) for a, b in pairs)


@pytest.mark.parametrize("area", [CORNER, POND], ids=["corner", "pond"])
def test_random_waypoint_starts_in_its_steady_state(area: AreaParameters) -> None:
    ground = area.ground()
    walkers = [place(waypoint(ground, 1, host, speed_mps=(1, 8), pause_s=(0, 20)), (0, 7, 600)) for host in range(2500)]
    first, soon, later = table(walkers)
    assert stationary(first, soon) > 0.001
    assert stationary(first, later) > 0.001
    assert np.mean(first[:, 2] == 0) == pytest.approx(np.mean(later[:, 2] == 0), abs=0.04)


@pytest.mark.long
def test_starts_are_distributed_alike_if_a_part_is_drawn_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the box around all cells is nearly empty, the simulator first draws a cell."""
    area = shapely.MultiPolygon([shapely.box(0, 0, 10, 10), shapely.box(40, 5, 60, 25), POND.ground().buffer(-10)])
    tables = []
    for least_share in (0, 2):
        monkeypatch.setattr(ground, "LEAST_SHARE", least_share)
        assert bool(Ground(area)._parts) == (least_share == 2)
        walkers = [
            place(waypoint(area, least_share, host, speed_mps=(1, 8), pause_s=(0, 5)), (0, 60)) for host in range(2000)
        ]
        tables.append(table(walkers))
    for by_box, by_parts in zip(*tables, strict=True):
        assert stationary(by_box, by_parts) > 0.001


def test_hosts_can_walk_in_cells_that_are_far_apart() -> None:
    cells = Coverage(hexagon(1, 200), 2)
    mobility = RandomWaypoint(speed_mps=1)
    population = trajectories(HostsParameters(count=100, mobility=mobility), 1, cells, SECOND, Path("."))
    starts = [next(iter(trajectory.legs())) for trajectory in population.trajectories]
    assert all(cells.contains(leg.x_m, leg.y_m) for leg in starts)
    assert len({tuple(np.rint([leg.x_m / 50, leg.y_m / 50])) for leg in starts}) == 7  # Each cell contains a host.


def test_the_steady_state_check_rejects_a_start_at_waypoints() -> None:
    ground = Ground(CORNER.ground())

    def naive(host: int) -> Iterator[Leg]:
        """Yield the legs of a walk that starts at a waypoint, as in most simulators."""
        stream = Stream(1, "mobility", f"h{host}")
        parameters = RandomWaypoint(speed_mps=(1, 8), pause_s=(0, 20))
        ax, ay = ground.point(stream)
        while True:
            bx, by = random_waypoint._next(ground, stream, ax, ay)
            speed = stream.uniform(*parameters.speed_mps)
            yield between(ax, ay, bx, by, max(1, round(float(np.hypot(bx - ax, by - ay)) / speed * SECOND)))
            yield from random_waypoint._pause(bx, by, stream.uniform(*parameters.pause_s))
            ax, ay = bx, by

    first, later = table([place(naive(host), (0, 600)) for host in range(2500)])
    assert stationary(first, later) < 1e-6


def test_speeds_of_random_waypoint_do_not_decay() -> None:
    """Slow legs last longer. From the start on, the mean over time is (fast - slow) / ln(fast / slow)."""
    walkers = [place(waypoint(CORNER.ground(), 2, host, speed_mps=(1, 8)), (0, 500)) for host in range(2500)]
    expected = 7 / np.log(8)
    for moment in table(walkers):
        assert moment[:, 2].mean() == pytest.approx(expected, abs=4 * moment[:, 2].std() / 50)


def test_gauss_markov_positions_stay_uniform_at_the_mean_speed() -> None:
    square = shapely.box(0, 0, 50, 50)
    walkers = [place(markov(square, 1, host, speed_mps=2, alpha=0.8), (0, 0.5, 120.5)) for host in range(1500)]
    for moment in table(walkers):
        for axis in (0, 1):
            assert ks_1samp(moment[:, axis], uniform(0, 50).cdf).pvalue > 0.001
        assert moment[:, 2].mean() == pytest.approx(2, abs=0.1)
        assert moment[:, 2].std() == pytest.approx(2 * sqrt(4 / pi - 1), abs=0.1)


def test_gauss_markov_velocity_correlation_equals_alpha() -> None:
    wide = shapely.box(0, 0, 1e6, 1e6)
    velocities = np.array(
        [
            [(leg.vx_mps, leg.vy_mps) for leg in islice(markov(wide, 1, host, speed_mps=1, alpha=0.7), 2)]
            for host in range(4000)
        ]
    )
    before, after = velocities[:, 0].ravel(), velocities[:, 1].ravel()
    assert np.corrcoef(before, after)[0, 1] == pytest.approx(0.7, abs=0.03)


def test_static_hosts_are_uniformly_placed_and_do_not_move() -> None:
    hosts = HostsParameters(count=2000, mobility=Static(area=AreaParameters(box_m=(0, 0, 10, 40))))
    legs = [list(trajectory.legs()) for trajectory in trajectories(hosts, 1, COVER, SECOND, Path(".")).trajectories]
    assert all(len(one) == 1 and one[0].duration_ns is None and one[0].vx_mps == one[0].vy_mps == 0 for one in legs)
    assert ks_1samp([one[0].y_m for one in legs], uniform(0, 40).cdf).pvalue > 0.001


def test_no_host_exceeds_the_speed_limit() -> None:
    for mobility in (RandomWaypoint(speed_mps=(0.5, 3)), GaussMarkov(speed_mps=1.38, alpha=0)):
        population = trajectories(HostsParameters(count=20, mobility=mobility), 1, COVER, SECOND, Path("."))
        for trajectory in population.trajectories:
            fastest = max(np.hypot(leg.vx_mps, leg.vy_mps) for leg in islice(trajectory.legs(), 100))
            assert fastest <= population.speed_limit_mps * (1 + 1e-6)


def test_random_waypoint_rejects_an_area_that_is_too_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_waypoint, "TRIES", 100)
    thread = shapely.Polygon([(0, 0), (1000, 1000), (1000, 1000.001)])
    with pytest.raises(ScenarioError, match="too narrow"):
        next(waypoint(thread, 1, speed_mps=1))


def test_a_scenario_can_have_no_host_or_a_single_host() -> None:
    for count in (0, 1):
        hosts = HostsParameters(count=count, mobility=Static())
        assert len(trajectories(hosts, 1, COVER, SECOND, Path(".")).trajectories) == count
    assert (
        list(
            takewhile(
                lambda leg: leg.duration_ns is not None,
                trajectories(hosts, 1, COVER, SECOND, Path(".")).trajectories[0].legs(),
            )
        )
        == []
    )
