"""Tests of folium maps in a real browser without a network: they play smoothly, and users' layers are on top."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from urllib.parse import urlsplit

import pytest
from mobilenet.viz.folium_map import draw

import mobilenet
from tests.accessibility import obstacles
from tests.browser import Page
from tests.conftest import ROOT, SCENARIOS
from tests.viz.test_folium_map import LAYERS
from tests.viz.test_map_browser import _browser as needs_browser  # noqa: F401  (a fixture)
from tests.viz.test_map_page import hostile, on_earth

pytestmark = pytest.mark.browser

NAMES = "[...document.querySelectorAll('.leaflet-control-layers-overlays label')].map((one) => one.innerText.trim())"
MAP = "Object.values(window).find((one) => one instanceof L.Map)"
CONTROL = "Object.values(window).find((one) => one instanceof L.TimelineSliderControl)"
STEPS = 100
SPACE = "document.dispatchEvent(new KeyboardEvent('keydown', {keyCode: 32}))"
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
SLIDER = "document.querySelector('.leaflet-timeline-control input')"
TIME_TEXT = "document.querySelector('.time-text').textContent"


@pytest.fixture
def browser() -> Iterator[Page]:
    with Page(1280, 720, patience_s=120) as page:
        yield page
        assert page.complaints == []
        assert {url for url in page.requests if not url.startswith(("file://", "data:"))} == set()


@pytest.fixture(scope="module")
def dynamic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the complete run of the guide."""
    return mobilenet.run(SCENARIOS / "dynamic.yaml", out=tmp_path_factory.mktemp("folium") / "dynamic").path


def open_map(browser: Page, file: Path) -> None:
    browser.open(file)
    browser.until("document.querySelector('.leaflet-timeline-control') !== null")
    assert [url for url in browser.requests if url.startswith("file:")] == [file.resolve().as_uri()]


def test_the_folium_map_plays_and_each_layer_can_be_switched(browser: Page, run: Path, tmp_path: Path) -> None:
    draw(run, tmp_path / "map.html")
    open_map(browser, tmp_path / "map.html")
    assert browser.evaluate(NAMES) == LAYERS
    for scheme in ("light", "dark"):
        browser.prefer(prefers_color_scheme=scheme)
        # folium defines the layout of the page, so missing landmarks are accepted.
        assert obstacles(browser, lesser=()) == []
    browser.evaluate(SPACE)
    browser.until("parseFloat(document.querySelector('.time-text').textContent) > 1")
    browser.evaluate(SPACE)
    assert browser.evaluate("document.querySelector('.leaflet-timeline-control.playing')") is None
    pictures = {browser.screenshot()}
    for number in range(len(LAYERS)):
        browser.evaluate(f"document.querySelectorAll('.leaflet-control-layers-selector')[{number}].click()")
        browser.evaluate(DRAWN)
        pictures.add(browser.screenshot())
    assert len(pictures) > len(LAYERS)


def test_a_click_on_a_handoff_in_the_folium_map_describes_it(browser: Page, run: Path, tmp_path: Path) -> None:
    draw(run, tmp_path / "map.html")
    open_map(browser, tmp_path / "map.html")
    browser.evaluate(f"document.querySelectorAll('.leaflet-control-layers-selector')[{LAYERS.index('Hosts')}].click()")
    browser.evaluate(
        f"document.querySelectorAll('.leaflet-control-layers-selector')[{LAYERS.index('All handoffs')}].click()"
    )
    x, y = browser.evaluate(
        f"(() => {{ const map = {MAP}, at = []; map.eachLayer((one) =>"
        " { if (one.feature?.properties.interruption) at.push(map.latLngToContainerPoint(one.getLatLng())); });"
        " return [at[0].x, at[0].y]; })()"
    )
    browser.click(x, y)
    browser.until("document.querySelector('.leaflet-popup') !== null")
    browser.evaluate(f"void {MAP}.closePopup()")
    browser.until("document.querySelector('.leaflet-popup') === null")
    heat = LAYERS.index("Buffers of hosts")
    browser.evaluate(f"document.querySelectorAll('.leaflet-control-layers-selector')[{heat}].click()")
    browser.until("document.querySelector('.leaflet-heatmap-layer') !== null")
    browser.click(x, y)
    browser.until("document.querySelector('.leaflet-popup') !== null")
    words = browser.evaluate("document.querySelector('.leaflet-popup').innerText")
    for word in ("host", "from", "to", "began at", "duration", "interruption", "cause"):
        assert word in words


def test_hostile_names_are_shown_as_text_in_the_folium_map(browser: Page, run: Path, tmp_path: Path) -> None:
    draw(hostile(run, tmp_path / "run"), tmp_path / "map.html")
    open_map(browser, tmp_path / "map.html")
    labels = browser.evaluate(
        f"(() => {{ const words = []; {MAP}.eachLayer((one)"
        " => { const tip = one.getTooltip?.(); if (tip && one.feature) { one.openTooltip();"
        " words.push(tip.getElement().innerText); } }); return words; })()"
    )
    assert any("h3 ({{ 7 * 7 }}{% raw %})" in label for label in labels)
    assert browser.evaluate("document.querySelectorAll('.leaflet-tooltip img').length") == 0


def test_the_folium_map_requests_only_tiles(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    on_earth(tmp_path / "run" / "scenario.yaml")
    for tiles in (False, True):
        draw(tmp_path / "run", tmp_path / "map.html", tiles)
        with Page(1280, 720) as page:
            open_map(page, tmp_path / "map.html")
            page.evaluate(DRAWN)
            hosts = {urlsplit(url).hostname for url in page.requests if not url.startswith(("file://", "data:"))}
            assert hosts == ({"tile.openstreetmap.org"} if tiles else set())


def test_the_folium_map_works_in_a_notebook(browser: Page, run: Path, tmp_path: Path) -> None:
    cell = mobilenet.load(run).folium()._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><div style='width: 900px'>{cell}</div>", encoding="utf-8")
    browser.open(tmp_path / "notebook.html")
    inside = "document.querySelector('iframe').contentDocument"
    browser.until(f"{inside}.querySelectorAll('.leaflet-marker-icon').length === 4")
    browser.evaluate(f"{inside}.querySelector('.leaflet-timeline-control .play').click()")
    browser.until(f"parseFloat({inside}.querySelector('.time-text').textContent) > 1")


@pytest.mark.long
def test_layers_from_the_guide_appear_on_the_folium_map(browser: Page, tmp_path: Path) -> None:
    """A shorter run is in the folder where the program of the guide expects its run."""
    (tmp_path / "runs").mkdir()
    out = tmp_path / "runs" / "dynamic"
    mobilenet.run(SCENARIOS / "dynamic.yaml", out=out, overrides=["duration_s=30"])
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/guide/folium.md").read_text(), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.startswith("Next: open runs/dynamic/"), done.stderr
    open_map(browser, out / "with_bus.html")
    assert browser.evaluate(NAMES) == [*LAYERS, "Delay by place", "Bus line 7"]
    assert browser.evaluate("document.querySelectorAll('.awesome-marker i.fa-bus').length") == 4
    assert browser.evaluate("document.fonts.ready.then(() => document.fonts.check('900 14px \"Font Awesome 6 Free\"'))")
    picture = browser.screenshot()
    for number in (-2, -1):
        browser.evaluate(f"[...document.querySelectorAll('.leaflet-control-layers-selector')].at({number}).click()")
        browser.evaluate(DRAWN)
        before, picture = picture, browser.screenshot()
        assert picture != before


@pytest.mark.long
def test_the_folium_map_plays_seventy_hosts_smoothly(browser: Page, dynamic: Path, tmp_path: Path) -> None:
    """The test makes the same steps as the player, at the beginning, in the middle and at the end of the run. The CPU
    time of a step must allow 25 frames a second, and no step may take more than 250 ms.
    """
    assert draw(dynamic, tmp_path / "map.html") <= 30_000_000
    open_map(browser, tmp_path / "map.html")
    step_ms, end_ms = browser.evaluate(f"{CONTROL}._stepSize"), browser.evaluate(f"+{SLIDER}.max")
    steps = round(end_ms / step_ms)
    steps_s = []
    for first in (0, (steps - STEPS) // 2, steps - STEPS):
        browser.evaluate(show(first * step_ms))
        for step in range(first + 1, first + STEPS + 1):
            before_s = browser.cpu_s()
            browser.evaluate(show(step * step_ms))
            steps_s.append(browser.cpu_s() - before_s)
    print(f"mean {1000 * mean(steps_s):.0f} ms, longest {1000 * max(steps_s):.0f} ms")
    assert float(browser.evaluate(TIME_TEXT).split()[0]) == end_ms / 1000
    assert 0 < mean(steps_s) <= 0.04 and max(steps_s) <= 0.25


def show(time_ms: float) -> str:
    """Return a script that moves the map to this time and waits until the browser has drawn it."""
    return f"({SLIDER}.value = {time_ms}, {SLIDER}.dispatchEvent(new Event('input')), {DRAWN})"
