"""Tests of path loss: values are compared with the formulas and are identical, bit for bit, on every machine."""

from __future__ import annotations

import math

import pytest

from mobilenet.network.propagation.parameters import PathLossParameters
from mobilenet.network.propagation.path_loss import SURE, loss_table, median_reach_m, sight_table
from tests.network.propagation.digest import digest

UMI = PathLossParameters(model="umi")
SIMPLE = {
    "log_distance": PathLossParameters(),
    "three_slope": PathLossParameters(model="three_slope"),
    "free_space": PathLossParameters(model="free_space"),
}


def db(parameters: PathLossParameters, distance_m: float, *pair: int) -> float:
    return loss_table(parameters, 3000.0, *pair)[int(distance_m * 100 + 0.5)] / 100


def test_log_distance_loss_follows_its_formula() -> None:
    p = PathLossParameters()
    assert db(p, 119.77) == 102.40
    assert db(p, 0.0) == db(p, 0.5) == db(p, 1.0) == 40.05
    assert db(p, 10.0) == 70.05 and db(p, 1000.0) == 130.05
    assert db(PathLossParameters(exponent=2.0, reference_loss_db=46.68), 100.0) == 86.68


def test_three_slope_loss_follows_its_formula() -> None:
    p = PathLossParameters(model="three_slope")
    at_200 = 40.05 + 19 * math.log10(200)
    assert db(p, 0.3) == 40.05
    assert db(p, 100.0) == 78.05
    assert db(p, 200.0) == round(at_200, 2)
    assert db(p, 500.0) == round(at_200 + 38 * math.log10(2.5), 2)
    assert db(p, 2000.0) == round(at_200 + 38 * math.log10(10), 2)
    other = PathLossParameters(model="three_slope", exponents=(2.0, 0.0, 4.0), breaks_m=(10.0, 100.0, 1000.0))
    assert [db(other, d) for d in (5.0, 10.0, 100.0, 1000.0, 2000.0)] == [40.05, 40.05, 60.05, 60.05, 72.09]


def test_free_space_loss_follows_its_formula() -> None:
    assert db(PathLossParameters(model="free_space"), 1.0) == 40.05
    assert db(PathLossParameters(model="free_space", frequency_ghz=5.15), 1.0) == 46.68
    assert db(PathLossParameters(model="free_space"), 100.0) == 80.05


def test_street_canyon_loss_follows_the_3gpp_table() -> None:
    """The values are computed by hand from table 7.4.1-1. A station at a height of 10 m and a host at 1.5 m have their
    breakpoint at 144 m.
    """
    carrier = math.log10(2.4)
    for d in (10.0, 60.0, 144.0):
        assert db(UMI, d, 1, True) == round(32.4 + 21 * math.log10(math.hypot(d, 8.5)) + 20 * carrier, 2)
    beyond = 32.4 + 40 * math.log10(math.hypot(300, 8.5)) + 20 * carrier - 9.5 * math.log10(144**2 + 8.5**2)
    assert db(UMI, 300.0, 1, True) == round(beyond, 2)
    hidden = 22.4 + 35.3 * math.log10(math.hypot(300, 8.5)) + 21.3 * carrier
    assert db(UMI, 300.0, 1, False) == round(hidden, 2)
    hosts = 32.4 + 40 * math.log10(100) + 20 * carrier - 9.5 * math.log10(8**2)
    assert db(UMI, 100.0, 0, True) == round(hosts, 2)
    stations = 22.4 + 35.3 * math.log10(100) + 21.3 * carrier - 0.3 * 8.5
    assert db(UMI, 100.0, 2, False) == round(stations, 2)


def test_line_of_sight_probability_follows_its_formula() -> None:
    table = sight_table(3000.0)
    assert table[0] == table[1800] == SURE
    for d in (19, 50, 300):
        near = 18 / d
        assert table[100 * d] / SURE == pytest.approx(near + math.exp(-d / 36) * (1 - near), abs=1e-9)


@pytest.mark.parametrize("stations", [0, 1, 2])
def test_path_loss_never_decreases_with_distance(stations: int) -> None:
    for parameters in (*SIMPLE.values(), UMI):
        for line_of_sight in (True, False):
            table = loss_table(parameters, 3000.0, stations, line_of_sight)
            assert len(table) == 300_001 and table == sorted(table)
            assert len(set(map(id, table))) == len(set(table))  # Equal values are the same object.


def test_the_median_range_is_read_from_the_loss_table() -> None:
    table = loss_table(PathLossParameters(), 3000.0)
    assert table[int(100 * median_reach_m(table, 10240))] == 10240
    assert table[int(100 * median_reach_m(table, 10240)) + 1] == 10241
    assert median_reach_m(table, 20_000) == 3000.0
    assert median_reach_m(table, 100) == 0.0


def test_path_loss_tables_are_bit_identical_on_every_machine() -> None:
    pinned = {
        "log_distance": "e70fb39b0be7354a",
        "three_slope": "d39a0c0fc3f072fc",
        "free_space": "5d566a5820ec5537",
    }
    assert {name: digest(loss_table(parameters, 3000.0)) for name, parameters in SIMPLE.items()} == pinned
    pairs = [(stations, sight) for stations in range(3) for sight in (True, False)]
    assert digest(value for pair in pairs for value in loss_table(UMI, 3000.0, *pair)) == "8c06e100925520d5"
    assert digest(sight_table(3000.0)) == "ecc9985befebed16"
