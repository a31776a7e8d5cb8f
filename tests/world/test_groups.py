"""Tests of reference point group mobility. Groups stay together, remain inside the area, and start in the steady
state.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from math import atan2, hypot, pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_1samp, ks_2samp, uniform

from mobilenet.engine.clock import SECOND
from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import ScenarioError
from mobilenet.world import reference_point_group
from mobilenet.world.coverage import AreaParameters, Coverage
from mobilenet.world.ground import Ground
from mobilenet.world.layout import hexagon
from mobilenet.world.mobility import HostsParameters, trajectories
from mobilenet.world.reference_point_group import ReferencePointGroup
from mobilenet.world.trajectory import Leg

from .walks import check_continuous, place, table

COVER = Coverage(hexagon(1, 200), 120)
CORNER = AreaParameters(box_m=(0, 0, 200, 200), hole_boxes_m=((90, 90, 200, 200),))


def model(**parameters: Any) -> ReferencePointGroup:
    given = {"groups": 1, "group_radius_m": 15, "deviation_m": 5, "speed_mps": (1, 3), "pause_s": (0, 10)}
    return ReferencePointGroup(**{**given, **parameters})


def walk(mobility: ReferencePointGroup, hosts: int, seed: int = 1) -> list[Iterator[Leg]]:
    population = trajectories(HostsParameters(count=hosts, mobility=mobility), seed, COVER, SECOND, Path("."))
    return [trajectory.legs() for trajectory in population.trajectories]


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), area=st.sampled_from([None, CORNER]), step_s=st.sampled_from([0.7, 10]))
def test_hosts_in_groups_respect_the_area_and_the_speed_limit(
    seed: int, area: AreaParameters | None, step_s: float
) -> None:
    mobility = model(groups=2, area=area, deviation_step_s=step_s)
    ground = (COVER.ground if area is None else area.ground()).buffer(1e-5)
    for legs in walk(mobility, 4, seed):
        some = list(islice(legs, 60))
        check_continuous(some)
        ends = [((leg.x_m, leg.y_m), (after.x_m, after.y_m)) for leg, after in pairwise(some)]
        assert shapely.covers(ground, shapely.linestrings(ends)).all()
        assert max(hypot(leg.vx_mps, leg.vy_mps) for leg in some) <= mobility.speed_limit_mps * (1 + 1e-6)


@given(seed=st.integers(0, 10**6))
def test_group_members_stay_within_the_group_radius(seed: int) -> None:
    """Without deviations, hosts keep their formation. With deviations, the radii limit the distance between two
    hosts.
    """
    moments = (0, 3.3, 60, 200)
    own = np.array([place(legs, moments) for legs in walk(model(area=CORNER), 5, seed)])
    across = own[:, None, :, :2] - own[None, :, :, :2]
    assert np.hypot(across[..., 0], across[..., 1]).max() <= 2 * (15 + 5)
    rigid = np.array([place(legs, moments) for legs in walk(model(deviation_m=0, area=CORNER), 5, seed)])
    apart = np.diff(rigid[:, :, :2], axis=0)
    assert np.allclose(apart, apart[:, :1], atol=1e-5)


def test_only_hosts_of_one_group_move_together() -> None:
    states = np.array([place(legs, (0, 50)) for legs in walk(model(groups=3), 9)])
    at = states[:, 0, :2]
    apart = np.hypot(*(at[:, None] - at[None]).T)
    same = np.arange(9)[:, None] % 3 == np.arange(9)[None] % 3
    assert apart[same].max() <= 40
    assert apart[~same].max() > 100
    more = np.array([place(legs, (0, 50)) for legs in walk(model(groups=3), 12)])
    assert (more[:9] == states).all()  # Adding hosts does not change how the other hosts walk.


def test_group_mobility_starts_in_its_steady_state() -> None:
    """There are many groups with one host each."""
    mobility = model(groups=2500, area=CORNER, deviation_step_s=8, speed_mps=(1, 8))
    first, soon, later = table([place(legs, (0, 5, 600)) for legs in walk(mobility, 2500)])
    for other in (soon, later):
        for one, another in zip(first.T, other.T, strict=True):
            assert ks_2samp(one, another).pvalue > 0.001


def test_reference_points_are_uniform_in_their_disk() -> None:
    legs = walk(model(group_radius_m=20, deviation_m=0, area=CORNER), 3000)
    points = table([place(one, (0,)) for one in legs])[0][:, :2]
    far_m = np.hypot(*(points - points.mean(axis=0)).T)
    assert far_m.max() == pytest.approx(20, abs=1)
    assert ks_1samp((far_m / far_m.max()) ** 2, uniform(0, 1).cdf).pvalue > 0.001


def test_group_members_start_between_two_deviations() -> None:
    mobility = model(group_radius_m=0, deviation_m=20, deviation_step_s=4)
    walkers = [reference_point_group._deviations(mobility, Stream(1, "test", f"{host}")) for host in range(2500)]
    first, later = (np.hypot(*moment.T[:2]) for moment in table([place(legs, (0, 101.3)) for legs in walkers]))
    assert ks_2samp(first, later).pvalue > 0.001


def test_group_centres_keep_the_group_radius_off_the_border() -> None:
    ground = CORNER.ground()
    centres = model().walk(Ground(ground)).args[1].area
    assert centres.distance(ground.boundary) >= 20 - 1e-9


def test_deviations_are_uniform_in_distance_and_direction() -> None:
    mobility = model(group_radius_m=0, deviation_m=20, deviation_step_s=4)
    legs = list(islice(reference_point_group._deviations(mobility, Stream(1, "test")), 3000))[1:]
    assert {leg.duration_ns for leg in legs} == {4 * SECOND}
    assert ks_1samp([hypot(leg.x_m, leg.y_m) for leg in legs], uniform(0, 20).cdf).pvalue > 0.001
    assert ks_1samp([atan2(leg.y_m, leg.x_m) for leg in legs], uniform(-pi, 2 * pi).cdf).pvalue > 0.001


def test_a_group_larger_than_its_area_is_rejected() -> None:
    with pytest.raises(ScenarioError, match=r"hosts\.mobility\.group_radius_m: a group of 65 m"):
        next(walk(model(group_radius_m=60, area=CORNER), 1)[0])
