"""Tests of the map and the report of the README's scenarios in a browser without a network: hosts move, layers can be
switched on and off, and cards open.

Model     The scenarios are dynamic.yaml, faults.yaml and streets.yaml as shipped, but 20 s long. In this time,
          faults.yaml has one fault, at 15 s.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mobilenet.viz.map import draw as draw_map
from mobilenet.viz.report import draw as draw_report

import mobilenet
from tests.browser import Page
from tests.viz.test_map_browser import _browser as needs_browser  # noqa: F401  (a fixture)
from tests.viz.test_map_browser import open_map, pixels

pytestmark = pytest.mark.browser

SCENARIOS = Path(__file__).parents[2] / "scenarios"
DONE = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
INSIDE = "document.querySelector('iframe').contentDocument"


@pytest.fixture(scope="module", params=["dynamic", "faults", "streets"])
def shipped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shipped")
    name = str(request.param)
    return mobilenet.run(SCENARIOS / f"{name}.yaml", out=folder / name, overrides=["duration_s=20", "warmup_s=2"]).path


@pytest.mark.long
def test_maps_of_shipped_scenarios_work_in_a_browser(shipped: Path, tmp_path: Path) -> None:
    draw_map(shipped, tmp_path / "map.html")
    with Page(1280, 800) as browser:
        open_map(browser, tmp_path / "map.html")
        assert browser.evaluate("document.querySelector('.mn-verdict').textContent") == "valid"
        browser.evaluate("Mobilenet.app.clock.seek(12)")
        browser.until("document.querySelector('.mn-time').textContent.startsWith('12.0')")
        host = browser.evaluate(  # finds a host that walks
            "(() => { const run = Mobilenet.app.run; for (let h = 0; h < run.count; h++) { const a = run.place(h, 12);"
            " if (!a) continue; const { x, y } = a, b = run.place(h, 16); if (b && Math.hypot(b.x - x, b.y - y) > 2)"
            " return h; } return -1; })()"
        )
        assert host >= 0
        before, picture = pixels(browser, host), browser.screenshot()
        browser.evaluate("Mobilenet.app.clock.at(4)")
        browser.key(" ")
        browser.until("Mobilenet.app.clock.t > 16")
        browser.key(" ")
        browser.evaluate(DONE)
        after = pixels(browser, host)
        assert abs(after[0] - before[0]) + abs(after[1] - before[1]) > 2
        assert browser.screenshot() != picture
        picture = browser.screenshot()
        browser.click_on("[data-layer=cells]")
        browser.move(640, 20)
        browser.evaluate(DONE)
        assert browser.evaluate("Mobilenet.app.layers.cells") is False and browser.screenshot() != picture
        browser.key("h")
        browser.evaluate(DONE)
        if browser.evaluate("Mobilenet.app.selected === null"):  # If there is no later handoff, select an earlier one.
            browser.evaluate("Mobilenet.app.jump(-1, 'handoff')")
        card = browser.evaluate("document.querySelector('.mn-right-side').innerText")
        assert "Handoff of" in card and "Duration" in card
        if shipped.name == "faults":
            assert browser.evaluate("Mobilenet.app.marks.items.filter((item) => item.kind === 'crash').length") == 1
        if shipped.name == "streets":
            # The card shows the numbers of host and station, followed by their names in the file.
            assert re.search(r"h\d+ \(", card) and re.search(r"s\d+ \(", card)
        assert browser.complaints == []
        assert {url for url in browser.requests if not url.startswith("file://")} == set()


@pytest.mark.long
def test_reports_of_shipped_scenarios_work_in_a_browser(shipped: Path, tmp_path: Path) -> None:
    draw_report(shipped, tmp_path / "report.html")
    with Page(1400, 900) as browser:
        browser.open(tmp_path / "report.html")
        browser.until(
            f"{INSIDE} !== null && {INSIDE}.querySelector('.mn-time') !== null &&"
            f" {INSIDE}.querySelector('.mn-time').textContent !== ''"
        )
        browser.until(
            "[...document.images].every(i => i.complete && i.naturalWidth > 100) && document.images.length > 0"
        )
        assert browser.evaluate("document.querySelector('.verdict').textContent") == "valid"
        assert "exactly once and in causal order? Yes." in browser.evaluate("document.body.innerText")
        assert browser.evaluate(
            f"document.querySelector('h1').textContent === {INSIDE}.querySelector('.mn-head h1').textContent"
        )
        browser.evaluate("document.querySelector('iframe').scrollIntoView({block: 'center'})")
        # the time at which the map opens
        before = browser.evaluate(f"parseFloat({INSIDE}.querySelector('.mn-time').textContent)")
        press(browser, "ArrowRight", shift=True)
        browser.until(f"Math.abs(parseFloat({INSIDE}.querySelector('.mn-time').textContent) - {before} - 10) < 0.2")
        picture = browser.screenshot()
        press(browser, "+")
        press(browser, "+")
        browser.evaluate(f"{INSIDE}.querySelector('.mn-play').click()")
        browser.until(f"parseFloat({INSIDE}.querySelector('.mn-time').textContent) > {before} + 12")
        browser.evaluate(f"({INSIDE}.querySelector('.mn-play').click(), {DONE})")
        assert browser.screenshot() != picture  # The hosts have moved.
        picture = browser.screenshot()
        browser.evaluate(f"({INSIDE}.querySelector('[data-layer=cells]').click(), {DONE})")
        assert browser.screenshot() != picture
        press(browser, "s")
        assert "Serves now" in browser.evaluate(f"{INSIDE}.querySelector('.mn-right-side').innerText")
        assert browser.complaints == []
        assert {url.split(":")[0] for url in browser.requests} <= {"file", "data"}
        assert sum(url.startswith("file:") for url in browser.requests) == 1


def press(browser: Page, key: str, shift: bool = False) -> None:
    browser.evaluate(
        f"({INSIDE}.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', shiftKey: {str(shift).lower()} }})),"
        f" {DONE})"
    )
