"""Tests of reception by a table of distances: its probabilities, how a scenario refers to the table, and which tables
are refused.
"""

from __future__ import annotations

import json
from math import exp, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mobilenet
from mobilenet.engine.kernel import Kernel
from mobilenet.network.radio.distance_table.medium import DistanceTable
from mobilenet.network.radio.neighbours import Neighbours
from mobilenet.network.radio.service import Place
from mobilenet.network.radio_models import model_of
from mobilenet.network.wireless import WirelessParameters
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario
from tests.conftest import SCENARIOS

MEASURED = SCENARIOS / "measured.yaml"
TABLE = [(20.0, 0.9), (100.0, 0.5), (200.0, 0.1)]
BEACONS = """
seed: 3
duration_s: 200
drain_s: 0
stations: {layout: {shape: points, points_m: [[0, 0]]}}
wireless: {model: distance_table, reception: [[0, 1], [100, 0.6], [200, 0.2]]}
hosts: {count: 60, mobility: {model: static, area: {box_m: [-200, -200, 200, 200]}}}
protocol: {name: beacon, station_interval_s: 0.04, host_interval_s: 500, hello_interval_s: 500}
workload: {arrivals: none}
record: {frames: true}
"""


def test_the_shipped_reception_table_follows_its_formula() -> None:
    reception = Scenario.load(MEASURED).wireless.reception
    assert reception is not None and len(reception) == 13
    for distance_m, chance in reception:
        y = (distance_m / 120) ** 2
        assert chance == pytest.approx(exp(-3 * y) * (1 + 3 * y + 4.5 * y * y), abs=5e-5)


@pytest.mark.parametrize(
    ("distance_m", "chance"), [(0, 0.9), (20, 0.9), (60, 0.7), (100, 0.5), (150, 0.3), (200, 0.1), (300, 0.1)]
)
def test_reception_probability_is_interpolated_linearly(distance_m: float, chance: float) -> None:
    medium = DistanceTable(Kernel(), Neighbours(200, 0, 1), TABLE, 200, 200, 1)
    assert medium.chance(distance_m) == pytest.approx(chance)


def test_reception_rates_match_the_distance_table(tmp_path: Path) -> None:
    run = mobilenet.run(Scenario.from_text(BEACONS), out=tmp_path / "run", check_simulator=True)
    frames = pd.read_parquet(run.path / "frames.parquet")
    assert set(frames.fate) == {"received", "bit_errors"}
    places = pd.read_parquet(run.path / "positions.parquet").groupby("node")[["x_m", "y_m"]].first()
    shares = frames[frames.sender == "s0"].groupby("receiver").fate.agg(lambda fates: (fates == "received").mean())
    count = int((frames.sender == "s0").sum() / len(shares))
    assert count > 4000
    for host, share in shares.items():
        distance_m = np.hypot(*places.loc[host])
        chance = 1 - 0.4 * distance_m / 100
        assert distance_m <= 200 and abs(share - chance) < 5 * sqrt(0.25 / count)


def test_a_cell_ends_where_half_of_the_frames_are_received() -> None:
    def cell_m(*table: tuple[float, float]) -> float:
        return model_of(WirelessParameters(model="distance_table", reception=table)).cell_m

    assert cell_m((0, 1), (100, 0.8), (200, 0)) == pytest.approx(137.5)
    assert cell_m((0, 1), (100, 0.5)) == 100
    assert cell_m((10, 0.3), (100, 0.1)) == 10


@pytest.mark.parametrize(
    ("wireless", "key"),
    [
        ({}, "reception: missing; model: distance_table needs it"),
        ({"reception": [[0, 1]]}, "reception"),
        ({"reception": [[0, 1], [0, 0.5]]}, "reception: distances should grow"),
        ({"reception": [[0, 1], [10, 1.5]]}, "reception"),
        ({"reception": [[0, 1], [10, 1]], "range_m": 20}, "range_m: has no effect"),
        ({"reception": [[0, 1], [10, 1]], "tx_dbm": 20}, "tx_dbm: has no effect"),
        ({"reception": [[0, 1], [90, 1]], "detection_range_m": 20}, "detection_range_m: should be at least the last"),
    ],
)
def test_malformed_reception_tables_are_rejected(wireless: dict[str, Any], key: str) -> None:
    with pytest.raises(ScenarioError, match=f"wireless.{key}"):
        Scenario.load(SCENARIOS / "first.yaml", [f"wireless={json.dumps({'model': 'distance_table', **wireless})}"])


def test_a_reception_table_requires_its_model() -> None:
    with pytest.raises(ScenarioError, match=r"reception: has no effect with model: unit_disk; leave it out .*, or set"):
        Scenario.load(SCENARIOS / "first.yaml", ["wireless.reception=[[0, 1], [10, 0]]"])


def test_a_reception_table_is_described_with_its_source() -> None:
    scenario = Scenario.load(MEASURED)
    model = model_of(scenario.wireless)
    words = "; ".join(model.words(Place(Path(), None, 1)))
    assert words.startswith("reception by a table up to 240 m") and words.endswith("; cells of 113.3 m")
    assert not model.is_certain and not model.surely_heard and model.range_key == "wireless.reception"
