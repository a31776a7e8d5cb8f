"""Tests of the fictitious town: its script produces its files, no host crosses a wall, walls affect the radio, and runs
keep the files.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.api import write_scenario
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.store import configured_scenario, write_configuration
from mobilenet.network.propagation.obstacles import read_buildings
from mobilenet.network.radio.service import Place
from mobilenet.network.radio.sinr.model import Model
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import Scenario
from mobilenet.world.layout import station_positions
from tests.conftest import ROOT, SCENARIOS

TOWN = ROOT / "data" / "town"
FILE = SCENARIOS / "town.yaml"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(TOWN / "make_town.py"))


def test_the_town_data_files_are_reproduced_by_their_script(script: dict[str, Any]) -> None:
    town = script["Town"]()
    assert (TOWN / "buildings.geojson").read_text() == script["geojson"](town)
    assert (TOWN / "sites.csv").read_text() == script["sites_csv"](town)
    packed = (TOWN / "tracks.csv.gz").read_bytes()
    assert gzip.decompress(packed).decode() == script["tracks_csv"](script["tracks"](town))
    digests = re.findall(r"`(\S+)` \| .* \| `([0-9a-f]{64})`", (ROOT / "data" / "README.md").read_text())
    for name in ("buildings.geojson", "tracks.csv.gz", "sites.csv"):
        assert (name, hashlib.sha256((TOWN / name).read_bytes()).hexdigest()) in digests


def test_no_host_of_the_town_walks_through_a_wall(script: dict[str, Any]) -> None:
    town = script["Town"]()
    tracks = script["tracks"](town)
    assert len(tracks) == 57 and script["through_walls"](town, tracks) == []
    across = {"ghost": [(0, 150.0, 200.0, 1.0), (100, 150.0, 300.0, 1.0)]}
    assert script["through_walls"](town, across) == ["ghost"]


def test_the_park_and_the_market_of_the_town_are_not_buildings(script: dict[str, Any]) -> None:
    features = script["Town"]().features
    assert len(read_buildings(TOWN / "buildings.geojson")) == len(features) - 2 == 114


def test_walls_of_the_town_block_links_between_streets() -> None:
    scenario = Scenario.load(FILE, ["wireless.shadowing=null"])
    sites = station_positions(scenario.stations.layout, scenario.folder)
    place = Place(scenario.folder, scenario.origin, scenario.seed)
    town, plain = (
        Model(world.wireless).service(sites, world.hosts.attachment, place)
        for world in (scenario, scenario.with_changes(["wireless.obstacles=null"]))
    )
    serving, open_air = town.serving, plain.serving
    # Station 4 is at the bakery. One link runs 80 m along the street, the other one 80 m to the south-east, across the
    # courtyard.
    x, y = sites[4].tolist()
    assert serving.power(4, x - 80, y + 4) == open_air.power(4, x - 80, y + 4)
    assert serving.power(4, x + 57, y - 57) <= open_air.power(4, x + 57, y - 57) - 1800


def test_walls_are_copied_with_a_run_and_a_configuration(tmp_path: Path) -> None:
    scenario = Scenario.load(FILE, ["duration_s=8", "warmup_s=0", "drain_s=1"])
    run = mobilenet.run(scenario, out=tmp_path / "run").path
    elsewhere = shutil.move(run, tmp_path / "elsewhere")
    again = Scenario.load(Path(elsewhere) / "scenario.yaml")
    assert again.wireless.obstacles is not None and again.wireless.obstacles.file == "buildings.geojson"
    assert (again.folder / "buildings.geojson").read_bytes() == (TOWN / "buildings.geojson").read_bytes()
    (tmp_path / "study" / "runs" / "c000-r000").mkdir(parents=True)
    write_configuration(tmp_path / "study", scenario, 0)
    assert dict(configured_scenario(tmp_path / "study", 0).files())["wireless.obstacles.file"].is_file()
    write_configuration(tmp_path / "study", scenario, 0)
    with (again.folder / "buildings.geojson").open("a") as file:
        file.write("\n")
    with pytest.raises(StudyError, match=r"buildings\.geojson: .*differs from the file that the study names now"):
        write_configuration(tmp_path / "study", again, 0)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "file 'buildings.geojson' not found next to the scenario"),
        ("{", "buildings.geojson:1:2: neither GeoJSON nor XML"),
        (
            '{"type": "FeatureCollection", "features": []}',
            "buildings.geojson: contains no buildings; expected polygons",
        ),
        (
            '{"type": "Polygon", "coordinates": [[[0, 0], [900, 900]]]}',
            "has no area; expected rings with at least three",
        ),
    ],
)
def test_unreadable_walls_are_reported_before_the_run(content: str | None, what: str, tmp_path: Path) -> None:
    write_scenario(tmp_path, Scenario.load(FILE))
    (tmp_path / "buildings.geojson").unlink()
    if content is not None:
        (tmp_path / "buildings.geojson").write_text(content)
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(tmp_path / "scenario.yaml")
    (line,) = str(caught.value).splitlines()
    assert re.search(r"scenario\.yaml:\d+: wireless\.obstacles\.file: ", line) and what in line
