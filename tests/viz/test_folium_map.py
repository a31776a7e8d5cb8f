"""Tests of a run as a folium.Map: its layers match the record, and its page is complete and reproducible."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import folium
import numpy as np
import pytest
from branca.colormap import linear
from branca.element import Link
from folium.plugins import HeatMap, Timeline, TimelineSlider
from mobilenet.viz.folium_map import motion
from mobilenet.viz.folium_map.offline import code_of

import mobilenet
from mobilenet.record.reader import RunError
from mobilenet.viz import vendor
from mobilenet.world.tracks.projection import Origin, to_earth
from tests.conftest import ROOT, SCENARIOS
from tests.tools import invoke, refusal
from tests.viz.test_map_browser import CALM
from tests.viz.test_map_page import hostile, on_earth
from tests.viz.test_map_radio import powered  # noqa: F401  (a fixture)

VENDOR = ROOT / "viz" / "vendor"
LAYERS = [
    "Cells", "Buffers of hosts", "Wired tree", "Stations", "Tracks", "All handoffs", "Handoffs", "Hosts",
]  # fmt: skip


@pytest.fixture(scope="module")
def lively(run: Path) -> mobilenet.Run:
    return mobilenet.load(run)


@pytest.fixture(scope="module")
def map_(lively: mobilenet.Run) -> folium.Map:
    return lively.folium()


def layers(map_: folium.Map) -> dict[str, folium.FeatureGroup]:
    return {child.layer_name: child for child in map_._children.values() if isinstance(child, folium.FeatureGroup)}


def features(map_: folium.Map, layer: str) -> list[dict[str, Any]]:
    (child,) = [child for child in layers(map_)[layer]._children.values() if isinstance(child, folium.GeoJson)]
    return list(child.data["features"])


def page_of(map_: folium.Map) -> str:
    return str(map_.get_root().render())


def test_a_run_can_be_drawn_as_a_folium_map_with_named_layers(map_: folium.Map) -> None:
    assert isinstance(map_, folium.Map) and list(layers(map_)) == LAYERS
    assert any(isinstance(child, folium.LayerControl) for child in map_._children.values())


def test_the_folium_page_has_no_links_and_is_reproducible(lively: mobilenet.Run, map_: folium.Map) -> None:
    page = page_of(map_)
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert "<script" not in markup and not re.search(r"<(?:link|img|iframe|base)\b|@import", markup)
    assert {url[:5] for url in re.findall(r"url\(['\"]?([^)]*)\)", page)} <= {"data:", "#defa"}
    assert page == page_of(map_) == page_of(lively.folium())
    assert "<iframe srcdoc=" in map_._repr_html_()


def test_the_folium_map_shows_the_handoffs_in_the_metrics(lively: mobilenet.Run, map_: folium.Map) -> None:
    drawn = {
        (one["properties"]["host"], one["properties"]["at"]): one["properties"] for one in features(map_, LAYERS[5])
    }
    assert len(lively.handoffs) > 5
    for row in lively.handoffs.itertuples():
        one = drawn[row.host, f"{row.begin_s:.1f} s"]
        interruption = "–" if np.isnan(row.interruption_s) else f"{row.interruption_s:.3f} s"
        assert (one["duration"], one["interruption"], one["cause"]) == (
            f"{row.duration_s:.3f} s",
            interruption,
            row.cause,
        )
    assert [one["properties"] for one in features(map_, "Handoffs")] == list(drawn.values())


def test_the_folium_map_shows_each_host_where_it_was(lively: mobilenet.Run, map_: folium.Map) -> None:
    points: dict[tuple[str, int], list[float]] = {}
    for one in features(map_, "Hosts"):
        begin_ms, end_ms = one["properties"]["begin_ms"], one["properties"]["end_ms"]
        for at_ms in range(begin_ms, end_ms, 50):
            key = f"h{one['properties']['host']}", at_ms
            assert key not in points
            points[key] = one["geometry"]["coordinates"]
    places = lively.positions[lively.positions.node.str.startswith("h")]
    assert len(places) > 500
    for row in places.itertuples():
        assert points[row.node, row.time_ns // 1_000_000] == pytest.approx([row.x_m, row.y_m], abs=0.011)


def test_folium_host_states_match_the_recorded_events(lively: mobilenet.Run, map_: folium.Map) -> None:
    crashes = lively.events[lively.events.event == "crash"]
    assert len(crashes)
    for row in crashes.itertuples():
        at_ms = row.time_ns // 1_000_000 + 100
        (state,) = [
            one["properties"]["state"]
            for one in features(map_, "Hosts")
            if f"h{one['properties']['host']}" == row.node
            and one["properties"]["begin_ms"] <= at_ms < one["properties"]["end_ms"]
        ]
        assert state == motion.DOWN
    assert {motion.NO_CELL, 0, 1, 2} <= {one["properties"]["state"] for one in features(map_, "Hosts")}


def test_the_folium_map_of_many_hosts_has_longer_steps(
    lively: mobilenet.Run, map_: folium.Map, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(features(map_, "Hosts")) > 3000
    monkeypatch.setattr(motion, "POINTS", 1000)
    points = features(lively.folium(), "Hosts")
    assert len(points) <= 1000 and {one["properties"]["begin_ms"] % 500 for one in points} == {0}


def test_a_stationary_host_is_a_single_point_on_the_folium_map(tmp_path: Path) -> None:
    """The map is also drawn for a run without handoffs and without wires."""
    (tmp_path / "calm.yaml").write_text(CALM)
    map_ = mobilenet.run(tmp_path / "calm.yaml", out=tmp_path / "run").folium()
    assert features(map_, "All handoffs") == [] and "Wires" not in layers(map_) and len(page_of(map_)) > 1_000_000
    assert {one["properties"]["host"] for one in features(map_, "Hosts")} == {0, 1, 2, 3}
    # A host is shown outside of all cells until its first event, so it may have two points.
    assert len(features(map_, "Hosts")) <= 8


def test_the_folium_heat_map_shows_full_buffers(lively: mobilenet.Run, map_: folium.Map) -> None:
    (heat,) = layers(map_)["Buffers of hosts"]._children.values()
    weights = [weight for _, _, weight in heat.data]
    assert 0 <= min(weights) < max(weights) == 1
    samples = lively.samples[lively.samples.quantity.isin(["sbuffer", "rbuffer"]) & (lively.samples.node == "h1")]
    assert len(samples) and samples.value.max() > 0


def test_hostile_names_are_escaped_in_the_folium_page(run: Path, map_: folium.Map, tmp_path: Path) -> None:
    page, plain = (page_of(each) for each in (mobilenet.load(hostile(run, tmp_path / "run")).folium(), map_))
    for sign in ("<script", "</script", "<img", "<!--", "onerror=alert(1)>", "{{", "{%", "\u202e", "\x1b"):
        assert page.count(sign) == plain.count(sign), sign
    assert "7 * 7" in page and "h3 (49" not in page
    assert "<title>&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt; – mobilenet</title>" in page


def test_the_folium_map_requests_tiles_only_on_demand(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    on_earth(tmp_path / "run" / "scenario.yaml")
    there = mobilenet.load(tmp_path / "run")
    map_ = there.folium()
    lon, lat = to_earth([150], [0], Origin(lon=-46.6, lat=-23.5))
    assert there.locations([150], [0]).tolist() == [pytest.approx([lat[0], lon[0]], abs=1e-7)]
    stations = list(layers(map_)["Stations"]._children.values())
    assert stations[1].location == there.locations(150, 0)[0].tolist()
    assert map_.crs == "EPSG3857" and "openstreetmap" not in page_of(map_)
    assert "tile.openstreetmap.org" in page_of(there.folium(tiles=True))


def test_without_an_origin_the_folium_map_is_in_metres(lively: mobilenet.Run, map_: folium.Map) -> None:
    assert map_.crs == "Simple" and lively.locations([150, 2], [-30, 4]).tolist() == [[-30, 150], [4, 2]]
    with pytest.raises(RunError, match="--tiles needs a position on Earth"):
        lively.folium(tiles=True)


def test_layers_added_later_appear_in_the_folium_control(lively: mobilenet.Run) -> None:
    map_ = lively.folium()
    map_._repr_html_()
    folium.FeatureGroup(name="A bus line").add_to(map_)
    page = page_of(map_)
    variable = re.search(r'"A bus line" : (\w+)', page)
    assert variable is not None and page.index(f"var {variable[1]} = ") < page.index(variable[0])


def test_the_folium_map_shows_walls_and_the_strongest_stations(powered: Path) -> None:  # noqa: F811
    map_ = mobilenet.load(powered).folium()
    (walls,) = [child for child in layers(map_)["Walls"]._children.values() if isinstance(child, folium.GeoJson)]
    (first, second) = (one["geometry"]["coordinates"] for one in walls.data["features"])
    assert len(first) == 2 and second == [[[10, 60], [30, 60], [20, 80], [10, 60]]]
    (picture,) = layers(map_)["Cells"]._children.values()
    assert isinstance(picture, folium.raster_layers.ImageOverlay) and "data:image/png;base64," in page_of(map_)


def test_the_folium_map_shows_holes_in_coverage(tmp_path: Path) -> None:
    done = mobilenet.run(SCENARIOS / "holes.yaml", out=tmp_path / "run", overrides=["duration_s=3", "warmup_s=0"])
    assert {"Holes", "Hosts"} <= set(layers(done.folium()))


def test_the_folium_map_rejects_a_run_of_processes(tmp_path: Path) -> None:
    scenario = SCENARIOS / "vcube" / "bundling.yaml"
    done = mobilenet.run(scenario, out=tmp_path / "run", overrides=["processes=8"])
    assert "no places to show on a map" in refusal("map", done.path, "--folium")
    assert not (done.path / "folium.html").exists()


def test_the_map_command_draws_a_folium_map(run: Path, map_: folium.Map, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    result = invoke("map", copy, "--folium")
    assert result.exit_code == 0 and result.stdout.splitlines()[-1].startswith(f"Next: open {copy}/folium.html")
    page = (copy / "folium.html").read_text(encoding="utf-8")
    assert "mobilenet map RUN --folium&quot;" in page and len(page) > len(page_of(map_))
    for option in ("--losses", "--allow-code"):
        assert f"{option} does not apply to --folium" in refusal("map", copy, "--folium", option)
    assert "--tiles needs a position on Earth" in refusal("map", copy, "--folium", "--tiles")


def test_vendored_files_cover_everything_that_folium_links_to() -> None:
    classes = (folium.Map, Timeline, TimelineSlider, HeatMap)
    urls = [
        url for each in classes for links in (each.default_js, getattr(each, "default_css", [])) for _, url in links
    ]
    map_ = folium.Map()
    linear.YlOrRd_09.scale(0, 1).add_to(map_)
    page_of(map_)
    urls += [link.url for link in map_.get_root().header._children.values() if isinstance(link, Link)]
    assert [url for url in urls if code_of(url) is None] == [] and len(set(urls)) == 14
    pattern = r"(?:(leaflet|bootstrap|fontawesome-free|leaflet\.timeline)@|(jquery)-|(moment)\.js/|(d3)/)(\d[\d.]*\d)"
    versions = {f"{''.join(names)} {version}" for *names, version in re.findall(pattern, " ".join(urls))}
    assert len(versions) == 7
    listed = (VENDOR / "README.md").read_text()
    assert [version for version in versions if f"{version} |" not in listed] == []
    assert (
        code_of("https://cdn.jsdelivr.net/npm/leaflet.markercluster@1.1.0/dist/leaflet.markercluster.js") is None
    )  # These parts are written by folium.


def test_vendored_libraries_have_a_licence_and_load_nothing() -> None:
    folders = [folder for folder in VENDOR.iterdir() if folder.is_dir() and folder.name != "__pycache__"]
    assert len(folders) == 9
    for folder in folders:
        assert (folder / "LICENSE").stat().st_size > 500 and f"| `{folder.name}` |" in (
            VENDOR / "README.md"
        ).read_text()
        for file in (*folder.glob("*.js"), *folder.glob("*.css")):
            text = vendor.style(file.name) if file.suffix == ".css" else vendor.text(file.name)
            assert "</script" not in text and "</style" not in text and "sourceMappingURL" not in text
            if file.suffix == ".css":
                assert {url[:5] for url in re.findall(r"url\(['\"]?([^)]*)", text)} <= {"data:", "#defa"}, file
