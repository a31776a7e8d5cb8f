"""Tests of a map with reception by SINR. Squares match the link budget of the scenario, walls match the file, and links
match the record.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from mobilenet.viz.figures import run_figures
from mobilenet.viz.map import draw, radio
from mobilenet.viz.map.data import document
from mobilenet.viz.style import Look

import mobilenet
from mobilenet.network.radio.sinr.links import budget_of
from mobilenet.scenario import Scenario
from tests.browser import NAMES, Page, chromium, is_required
from tests.viz.synthetic import unpack_column
from tests.viz.test_map_browser import CARD, open_map

SCENARIO = """
seed: 3
duration_s: 20
stations: {layout: {shape: points, points_m: [[0, 0], [150, 0], [75, 130]]}}
wireless:
  model: sinr
  mode: g
  broadcast_rate_mbps: 6
  shadowing: {sigma_db: 5}
  fading: {model: nakagami}
  obstacles: {file: walls.geojson}
hosts: {count: 9, mobility: {model: random_waypoint, speed_mps: 9, area: {box_m: [-60, -60, 210, 190]}}}
protocol: {name: mobile_causal}
workload: {interval_s: 1}
record: {frames: true}
"""
RINGS = [[[40, 20], [110, 20], [110, 60], [40, 60], [40, 20]], [[50, 30], [50, 50], [100, 50], [100, 30], [50, 30]]]
SECOND = [[[10, 60], [30, 60], [20, 80], [10, 60]]]


@pytest.fixture(scope="module")
def powered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("radio")
    shapes = [{"type": "Polygon", "coordinates": rings} for rings in (RINGS, SECOND)]
    walls = {"type": "GeometryCollection", "crs": None, "geometries": shapes}
    (folder / "walls.geojson").write_text(json.dumps(walls))
    (folder / "power.yaml").write_text(SCENARIO)
    return mobilenet.run(folder / "power.yaml", out=folder / "power").path


@pytest.fixture(scope="module")
def shows(powered: Path) -> dict[str, Any]:
    return dict(document(powered)["radio"])


def test_each_map_square_shows_the_strongest_received_power(powered: Path, shows: dict[str, Any]) -> None:
    power = shows["power"]
    scenario = Scenario.load(powered / "scenario.yaml")
    budget = budget_of(scenario.wireless, scenario.seed, scenario.folder, scenario.origin)
    row, column = np.divmod(np.arange(power["rows"] * power["columns"]), power["columns"])
    places = np.column_stack([
        power["x_m"] + (column + 0.5) * power["side_m"],
        power["y_m"] + (row + 0.5) * power["side_m"],
    ])  # fmt: skip
    points = [(0, 0), (150, 0), (75, 130)]
    arrives = 2040 - np.array(
        [[budget.loss_cdb(x, y, True, *place, False) for place in places.tolist()] for x, y in points]
    )
    below, best = unpack_column(power["below_dbm"]), unpack_column(power["best"])
    assert power["side_m"] == radio.SIDE_M and power["least_dbm"] == -82 and len(below) == len(places) > 3000
    is_heard = arrives.max(axis=0) >= -8200
    assert 0.3 < is_heard.mean() < 0.97 and (best[~is_heard] == 255).all() and (below[~is_heard] == 255).all()
    assert below[is_heard].tolist() == np.rint(-arrives.max(axis=0)[is_heard] / 100).astype(int).tolist()
    assert best[is_heard].tolist() == arrives.argmax(axis=0)[is_heard].tolist() and set(best.tolist()) == {0, 1, 2, 255}


def test_the_map_shows_the_walls_of_the_file(shows: dict[str, Any]) -> None:
    walls = shows["walls"]
    assert unpack_column(walls["rings"]).tolist() == [2, 1] and unpack_column(walls["corners"]).tolist() == [4, 4, 3]
    x, y = (np.cumsum(unpack_column(walls[name]).astype(int)) / 100 for name in ("x_cm", "y_cm"))
    assert np.column_stack([x, y]).tolist() == [corner for ring in (*RINGS, *SECOND) for corner in ring[:-1]]


def links_of(shows: dict[str, Any]) -> pd.DataFrame:
    links = shows["links"]
    names = ("time_ms", "sender", "power_ddbm", "sinr_ddb")
    table = pd.DataFrame({name: unpack_column(links[name]).astype(int) for name in names})
    table["host"] = np.repeat(np.arange(9), unpack_column(links["count"]))
    return table


def receptions(run: Path) -> pd.DataFrame:
    frames, links = (pd.read_parquet(run / f"{name}.parquet") for name in ("frames", "links"))
    frames = frames.assign(power=links["power_dbm"], sinr=links["sinr_db"])
    frames = frames[(frames.fate == "received") & frames.receiver.str.startswith("h")]
    return frames.assign(host=frames.receiver.str[1:].astype(int)).sort_values(["host", "end_ns"], kind="stable")


def test_the_map_shows_the_recorded_links(powered: Path, shows: dict[str, Any]) -> None:
    ours, record = links_of(shows), receptions(powered)
    assert shows["links"]["every_s"] == 0 and len(ours) == len(record) > 1000
    assert ours.host.tolist() == record.host.tolist()
    assert (np.abs(ours.power_ddbm.to_numpy() / 10 - record.power.to_numpy()) <= 0.0501).all()
    assert (np.abs(ours.sinr_ddb.to_numpy() / 10 - record.sinr.to_numpy()) <= 0.0501).all()
    late_ns = ours.time_ms.to_numpy() * 1_000_000 - record.end_ns.to_numpy()
    assert late_ns.min() >= 0 and late_ns.max() < 1_000_000
    called = [f"h{i}" for i in range(9)] + ["s0", "s1", "s2"]
    assert [called[i] for i in ours.sender] == record.sender.tolist()


def test_the_map_keeps_only_the_last_link_of_each_interval(powered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(radio, "LINKS", 300)
    shows = document(powered)["radio"]
    ours, every_ms = links_of(shows), 1000 * shows["links"]["every_s"]
    record = receptions(powered)
    last = record.assign(place=-(-record.end_ns // 1_000_000) // every_ms).groupby(["host", "place"]).end_ns.max()
    assert every_ms > 1 and 100 < len(ours) <= 300
    assert ours.time_ms.tolist() == [-(-value // 1_000_000) for value in last]


def test_map_squares_become_larger_if_there_are_too_many(powered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(radio, "SQUARES", 400)
    power = document(powered)["radio"]["power"]
    assert 300 < power["rows"] * power["columns"] <= 400 and power["side_m"] > 10


def test_the_map_omits_missing_walls_and_links(powered: Path, tmp_path: Path) -> None:
    shutil.copytree(powered, tmp_path / "run")
    (tmp_path / "run" / "walls.geojson").unlink()
    (tmp_path / "run" / "links.parquet").unlink()
    assert document(tmp_path / "run")["radio"] == {"walls": None, "power": None, "links": None}


def test_the_map_shows_no_power_for_a_distance_based_radio(run: Path) -> None:
    assert document(run)["radio"] is None


@pytest.mark.long
def test_the_figure_of_the_field_draws_walls(powered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def add(axes: Axes, collection: Any, *args: Any, **more: Any) -> Any:
        if type(collection) is PathCollection:
            drawn.append(len(collection.get_paths()))
        return added(axes, collection, *args, **more)

    added = Axes.add_collection
    monkeypatch.setattr(Axes, "add_collection", add)
    notes = {figure.path.stem: figure.note for figure in run_figures(powered, tmp_path, Look((".svg",)))}
    assert drawn == [2] and "Grey: 2 buildings." in notes["field"]


@pytest.mark.browser
@pytest.mark.parametrize("with_walls", [True, False])
def test_the_radio_layers_of_the_map_work_in_a_browser(with_walls: bool, powered: Path, tmp_path: Path) -> None:
    if chromium() is None:
        message = f"none of {', '.join(NAMES)} is installed (Debian: apt-get install chromium)"
        pytest.fail(message) if is_required() else pytest.skip(message)
    shutil.copytree(powered, tmp_path / "run")
    if not with_walls:
        (tmp_path / "run" / "walls.geojson").unlink()
    draw(tmp_path / "run", tmp_path / "map.html")
    layers = "document.querySelector('.mn-layers').innerText"
    with Page() as browser:
        open_map(browser, tmp_path / "map.html")
        browser.evaluate("Mobilenet.app.clock.seek(12); Mobilenet.app.select({kind: 'host', id: 4})")
        card, words = browser.evaluate(f"{CARD}.innerText"), browser.evaluate(layers)
        assert "Last frame received" in card and " dBm, " in card
        assert ("Best station here" in card) is with_walls
        far = "(Mobilenet.app.run.place = () => ({x: 1e6, y: 0}), Mobilenet.app.redraw())"
        # The best station is not computed outside the map. The card must not claim that there is none.
        if with_walls:
            browser.evaluate(far)
            browser.until(f"{CARD}.innerText.includes('not computed here')")
        assert (("best station" in words) and ("2 buildings" in words)) is with_walls
        assert ("median reach in the open, 120 m" in words) is not with_walls
        (west, south), (east, north) = browser.evaluate("Mobilenet.app.bounds")
        if with_walls:  # The map covers the walls, with a margin of a tenth of the reach.
            assert [west, south, east, north] == pytest.approx([-72, -72, 222, 202], abs=0.1)
        else:  # The map covers only the circles of the reach.
            assert west < -120 and north > 250
        if with_walls:
            for what in ("[data-layer=walls]", "[data-layer=cells]", "[data-heat=power]"):
                before = browser.screenshot()
                browser.click_on(what)
                browser.move(640, 20)
                browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
                assert browser.screenshot() != before, what
            assert "−82 dBm" in browser.evaluate(layers)
        assert browser.complaints == []
