"""Tests of the assignment of hosts to cells. Each rule is tested alone, and all rules together are compared with a slow
and simple implementation.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from mobilenet.scenario import Scenario
from mobilenet.simulation import movement
from mobilenet.simulation.mobile import Simulation
from mobilenet.world import attachment
from mobilenet.world.attachment import Attachment
from mobilenet.world.coverage import Coverage
from tests.conftest import SCENARIOS

RANGE_M, HYSTERESIS_M = 120.0, 5.0


def obvious(stations: np.ndarray, xy: np.ndarray, current: list[int]) -> list[int]:
    cells = []
    for (x, y), cell in zip(xy, current, strict=True):
        distances = [((x - sx) ** 2 + (y - sy) ** 2) ** 0.5 for sx, sy in stations]
        nearest = min(range(len(stations)), key=distances.__getitem__)
        if cell >= 0 and distances[cell] <= RANGE_M and not distances[nearest] <= distances[cell] - HYSTERESIS_M:
            cells.append(cell)
        else:
            cells.append(nearest if distances[nearest] <= RANGE_M else -1)
    return cells


def one(x_m: float, current: int, stations: tuple[float, ...] = (0.0, 200.0)) -> int:
    places = np.array([(x, 0.0) for x in stations])
    cells = Attachment(places, RANGE_M, HYSTERESIS_M).update(np.array([[x_m, 0.0]]), np.array([current]))
    return int(cells[0])


def test_attachment_is_correct_at_cell_borders() -> None:
    assert one(99.0, -1) == 0  # The host chooses the nearer station.
    assert one(120.0, 0, (0.0,)) == 0  # A distance equal to the range is in range.
    assert one(120.001, 0, (0.0,)) == -1
    assert one(120.001, -1, (0.0,)) == -1
    assert one(102.4, 0) == 0  # The other station is only 4.8 m nearer.
    assert one(102.5, 0) == 1  # The other station is 5 m nearer.
    assert one(121.0, 0) == 1  # The host is out of range of its present station.
    assert one(97.6, 1) == 1
    assert one(1e12, 1) == -1  # The host is absent.


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), stations=st.sampled_from([1, 2, 7, 64, 65, 150]), hosts=st.integers(0, 40))
def test_attachment_agrees_with_a_simple_implementation(seed: int, stations: int, hosts: int) -> None:
    random = np.random.default_rng(seed)
    side = 150 * stations**0.5
    places = random.random((stations, 2)) * side
    xy = random.random((hosts, 2)) * side * 1.4 - 0.2 * side
    current = random.integers(-1, stations, hosts)
    before = current.copy()
    cells = Attachment(places, RANGE_M, HYSTERESIS_M).update(xy, current)
    assert cells.tolist() == obvious(places, xy, current.tolist())
    assert (current == before).all()
    assert (Attachment(places, RANGE_M, HYSTERESIS_M).update(xy, cells) == cells).all(), (
        "who stands still keeps the cell"
    )


def test_attachment_by_tree_and_by_table_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    places, xy = random.random((60, 2)) * 1000, random.random((500, 2)) * 1000
    current = random.integers(-1, 60, 500)
    table = Attachment(places, RANGE_M, HYSTERESIS_M).update(xy, current)
    monkeypatch.setattr(attachment, "DENSE", 0)
    tree = Attachment(places, RANGE_M, HYSTERESIS_M).update(xy, current)
    assert (table == tree).all()


def test_ties_between_stations_are_broken_consistently() -> None:
    """Hosts stand at round positions on a grid. Any of several equally near stations is correct, but all
    implementations must choose the same one.
    """
    places = np.array([(100.0 * x, 100.0 * y) for x in range(10) for y in range(7)])
    xy = np.array([(50.0 * x, 50.0 * y) for x in range(20) for y in range(14)])
    to_nearest, nearest = cKDTree(places).query(xy, distance_upper_bound=np.nextafter(RANGE_M, np.inf))
    nobody = np.full(len(xy), -1)
    assert (Attachment(places, RANGE_M, 0.0).update(xy, nobody) == np.where(to_nearest <= RANGE_M, nearest, -1)).all()


def test_hosts_on_a_border_do_not_flip_between_stations() -> None:
    places = np.array([(0.0, 0.0), (200.0, 0.0)])
    cells = Attachment(places, RANGE_M, HYSTERESIS_M)
    cell = np.array([-1])
    changes = 0
    for step in range(200):
        x = 100 + (1.9 if step % 2 else -1.9)  # The host is at most 3.8 m nearer to one station than to the other.
        new_cell = cells.update(np.array([[x, step * 0.3]]), cell)
        changes += int(new_cell[0] != cell[0])
        cell = new_cell
    assert changes == 1


def test_position_errors_make_hosts_between_two_cells_flip() -> None:
    places = np.array([[0.0, 0.0], [100.0, 0.0]])
    cells = Attachment(places, RANGE_M, 0.0, error_m=0.5, seed=3)
    here, cell, seen = np.array([[50.2, 0.0], [20.0, 0.0]]), np.array([1, 0]), set()
    assert (cells.update(here, cell) == [1, 0]).all()
    walking = np.full((2, 2), 1e-9)
    for tick in range(100):
        errors = cells.errors(tick, walking)
        assert errors is not None
        cell = cells.update(here + errors, cell)
        seen.add(int(cell[0]))
        assert cell[1] == 0
    assert seen == {0, 1}
    assert Attachment(places, RANGE_M, 0.0).errors(0, walking) is None


def test_position_errors_depend_on_the_host_and_the_time() -> None:
    cells = Attachment(np.array([[0.0, 0.0]]), RANGE_M, 0.0, error_m=0.5, seed=3)
    walking, one_stands, nobody = np.full((3, 2), 1e-9), np.array([[1e-9, 0], [0, 0], [0, 1e-9]]), np.zeros((3, 2))
    first, again, other = cells.errors(7, walking), cells.errors(7, walking), cells.errors(8, walking)
    assert first is not None and again is not None and other is not None
    assert (first == again).all() and (first != other).all()
    partly = cells.errors(7, one_stands)
    assert partly is not None and (partly[[0, 2]] == first[[0, 2]]).all() and (partly[1] == 0).all()
    assert cells.errors(7, nobody) is None


def test_movement_of_distant_hosts_does_not_affect_attachment(tmp_path: Path) -> None:
    """Three hosts stand midway between two stations. In one of the two runs, another host walks far away."""
    handoffs = []
    for strides in (0.0, 1.0):
        rows = [f"{t},{name},{100 + 0.001 * k},{k}" for t in range(0, 61, 5) for k, name in enumerate("abc")]
        rows += [f"{t},far,{5000 + t * strides},0" for t in range(0, 61, 5)]
        (tmp_path / "tracks.csv").write_text("t,id,x,y\n" + "\n".join(rows) + "\n")
        scenario = Scenario.from_text(
            "duration_s: 50\nstations: {layout: {shape: points, points_m: [[0, 0], [200, 0]]}}\n"
            "hosts: {mobility: {model: tracks, file: tracks.csv}, attachment: {hysteresis_m: 0, error_m: 1}}\n"
            "protocol: {name: mobile_causal}\nworkload: {arrivals: none}\n",
            folder=tmp_path,
        )
        events = Simulation(scenario).run().recording.events
        handoffs.append(
            [
                (t, n, e)
                for t, n, e in zip(events.time_ns, events.node, events.event, strict=True)
                if e == "handoff_start"
            ]
        )
    assert handoffs[0] == handoffs[1] and len(handoffs[0]) <= 3


@pytest.mark.parametrize("seed", range(9451, 9457))
def test_hosts_at_the_cell_edge_reattach_despite_position_errors(seed: int) -> None:
    changes = ["duration_s=20", "hosts.attachment.error_m=0.03", f"seed={seed}"]
    assert Simulation(Scenario.load(SCENARIOS / "holes.yaml", changes)).run().quiescent


@given(
    angle=st.floats(0, 6.3),
    range_m=st.floats(1, 3000),
    away_m=st.floats(0, 1e-6),
    x_m=st.floats(-1e6, 1e6),
    y_m=st.floats(-1e6, 1e6),
    many=st.booleans(),
)
def test_a_host_moved_to_the_cell_edge_is_attached_and_heard(
    angle: float, range_m: float, away_m: float, x_m: float, y_m: float, many: bool
) -> None:
    """Coverage, attachment and radio agree exactly on which hosts are in range, even far away from the origin."""
    stations = np.array([(x_m, y_m), *((x_m + 1e5 + 7000 * k, y_m) for k in range(70 if many else 0))])
    far = range_m + away_m
    place = (x_m + far * math.cos(angle), y_m + far * math.sin(angle))
    coverage, attachment = Coverage(stations, range_m), Attachment(stations, range_m, 0.0)
    for point in (place, coverage.nearest_covered(*place)):
        attached = attachment.update(np.array([point]), np.array([-1]))[0] >= 0
        dx, dy = point[0] - stations[0, 0], point[1] - stations[0, 1]
        assert attached == coverage.contains(*point) == (dx * dx + dy * dy <= range_m * range_m)
    assert coverage.contains(*coverage.nearest_covered(*place))


@given(seed=st.integers(0, 10_000), stations=st.integers(1, 90), hysteresis_m=st.sampled_from([0.0, 1.0, 5.0, 40.0]))
def test_a_host_that_moves_less_than_its_slack_keeps_its_cell(seed: int, stations: int, hysteresis_m: float) -> None:
    """The test covers both the table of distances and the tree that is used instead for more than 64 stations."""
    random = np.random.default_rng(seed)
    cells = Attachment(random.random((stations, 2)) * 600, RANGE_M, hysteresis_m)
    xy = random.random((50, 2)) * 900 - 150
    cell_numbers, slack_m = cells.look(xy, random.integers(-1, stations, 50))
    assert (slack_m >= 0).all() and (slack_m > 0).any()
    for part in (0.999, 0.5):
        angle = random.random(50) * 2 * np.pi
        there = xy + part * slack_m[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        assert (cells.update(there, cell_numbers) == cell_numbers).all()


def test_the_slack_of_a_host_is_as_large_as_possible() -> None:
    """The slack is the distance that a host can move in any direction without changing its cell. In the worst
    direction, the cell changes at exactly that distance.
    """
    cells = Attachment(np.array([[0.0, 0.0], [200.0, 0.0]]), RANGE_M, HYSTERESIS_M)
    for x, cell, worst in ((90.0, 0, 1), (-100.0, 0, -1), (110.0, 1, -1), (-150.0, -1, 1)):
        cell_numbers, slack_m = cells.look(np.array([[x, 0.0]]), np.array([cell]))
        assert cell_numbers == [cell]
        assert cells.update(np.array([[x + worst * (slack_m[0] + 1e-6), 0.0]]), cell_numbers) != cell_numbers


@pytest.mark.parametrize("error_m", [0, 2])
@pytest.mark.parametrize("place", ["grid, columns: 3, rows: 3", "grid, columns: 10, rows: 7"])
def test_skipping_attachment_checks_within_slack_is_exact(
    place: str, error_m: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cell changes at the same ticks as if every host were examined at each tick."""
    path = tmp_path / "walk.yaml"
    path.write_text(
        f"seed: 4\nduration_s: 40\ndrain_s: 5\nstations: {{layout: {{shape: {place}, spacing_m: 150}}}}\n"
        "wireless: {range_m: 90}\nhosts:\n  count: 25\n  mobility: {model: random_waypoint, speed_mps: 20}\n"
        f"  attachment: {{hysteresis_m: 2, error_m: {error_m}}}\n"
        "faults: {schedule: random, rate_per_host_per_min: 10, mean_duration_s: 1}\n"
        "protocol: {name: beacon}\nworkload: {arrivals: none}\n"
    )

    def changes() -> list[tuple[int, int, int]]:
        simulation = Simulation(Scenario.load(path))
        noted: list[tuple[int, int, int]] = []
        tell = simulation.movement._on_cell

        def note(host: int, cell: int) -> None:
            noted.append((simulation.kernel.now, host, cell))
            tell(host, cell)

        simulation.movement._on_cell = note
        simulation.run()
        return noted

    sparing = changes()
    asked = movement.Movement.tick

    def all_due(self: movement.Movement) -> None:
        self._due[:] = 0
        asked(self)

    monkeypatch.setattr(movement.Movement, "tick", all_due)
    assert changes() == sparing
    assert len(sparing) > 100
