"""Tests that the names given by users appear wherever a host or station is named, that no text in a card is cut off,
and that all stations have the same appearance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from mobilenet.viz.map import draw
from mobilenet.viz.style import STATIONS, station_colour

from tests.browser import Page
from tests.tools import copy_run, editing
from tests.viz.test_map_browser import CARD, open_map
from tests.viz.test_map_browser import _browser as needs_browser  # noqa: F401  (a fixture)

pytestmark = pytest.mark.browser

SEEN_BY = {  # Machado, Oliveira, Fernandes (2009), for a complete colour vision deficiency
    "everybody": np.eye(3),
    "protanopes": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopes": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopes": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


@pytest.fixture(scope="module")
def named(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    copy = copy_run(run, folder / "run")
    with editing(copy / "manifest.json") as manifest:
        manifest["host_names"] = {f"h{i}": f"walker{i}" for i in range(12)}
        manifest["station_names"] = {f"s{i}": f"Mast {i}" for i in range(4)}
    draw(copy, folder / "map.html")
    return folder / "map.html"


@pytest.fixture
def browser(named: Path) -> Iterator[Page]:
    with Page() as page:
        open_map(page, named)
        yield page
        assert page.complaints == []


def card(browser: Page, what: str, t: float = 12) -> str:
    browser.evaluate(f"(Mobilenet.app.clock.seek({t}), Mobilenet.app.select({what}))")
    browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return str(browser.evaluate(f"{CARD}.innerText"))


def test_map_cards_show_the_names_of_hosts_and_stations(browser: Page) -> None:
    index = browser.evaluate(
        "(() => { const r = Mobilenet.app.run.handoffs; return [...r.from].findIndex((s, i) => s >= 0 && s !=="
        " r.to[i]); })()"
    )
    host, a, b = browser.evaluate(
        f"(() => {{ const r = Mobilenet.app.run.handoffs; return [r.host[{index}], r.from[{index}], r.to[{index}]];"
        " })()"
    )
    text = card(browser, f"{{kind: 'handoff', id: {index}}}")
    for words in (
        f"Handoff of h{host}",
        f"h{host} (walker{host})",
        f"s{a} (Mast {a})",
        f"s{b} (Mast {b})",
        f"Deliveries at h{host}",
    ):
        assert words in text
    text = card(browser, "{kind: 'host', id: 3}")
    assert "Host h3" in text and "In the file\nwalker3" in text
    text = card(browser, "{kind: 'station', id: 1}")
    assert "Station s1" in text and "In the file\nMast 1" in text
    assert "walker" not in card(browser, "null")
    assert "Broadcast by\nh" in card(browser, "{kind: 'message', id: 5}").replace("\n\n", "\n")


def test_no_text_in_a_map_card_is_cut_off(browser: Page) -> None:
    """The test shows the message and the moment at which hosts wait for the most predecessors."""
    browser.evaluate(
        "(() => { const { run, clock } = Mobilenet.app, msg = run.messages; let best = [0, 0, 0]; for (let m = 0; m <"
        " msg.count; m += 3) for (const d of [0.02, 0.1, 0.3]) { const n = run.progress(m, msg.time[m] +"
        " d).lack.reduce((sum, each) => sum + each.waits.length, 0); if (n > best[0]) best = [n, m, d]; }"
        " clock.seek(msg.time[best[1]] + best[2]); Mobilenet.app.select({ kind: 'message', id: best[1] }); return"
        " best[0]; })()"
    )
    browser.until("document.querySelectorAll('.mn-why').length > 0")
    outside = browser.evaluate(
        "(() => { const box = document.querySelector('.mn-content').getBoundingClientRect(); return"
        " [...document.querySelectorAll('.mn-content *')].filter((e) => e.getBoundingClientRect().right > box.right +"
        " 0.5).map((e) => e.textContent); })()"
    )
    assert outside == []
    assert browser.evaluate("[...document.querySelectorAll('.mn-why')].every((e) => e.scrollWidth <= e.clientWidth)")


def test_buffers_of_hosts_on_the_map_have_a_legend_and_a_hint(browser: Page) -> None:
    """The test records all texts that the page writes to a canvas."""
    browser.evaluate(
        "(() => { window.written = []; const own = CanvasRenderingContext2D.prototype.fillText;"
        " CanvasRenderingContext2D.prototype.fillText = function (words, x, y, ...rest) { window.written.push([words,"
        " y]); return own.call(this, words, x, y, ...rest); }; })()"
    )
    card(browser, "{kind: 'host', id: 3}", 0)
    written = browser.evaluate("window.written")
    words = [each for each, _ in written]
    assert any(each.startswith("SBuffer ") for each in words) and any(each.startswith("RBuffer ") for each in words)
    # The time axes begin at the start of the run, so no time is negative.
    assert "0 s" in words and not any(each.startswith(("-", "−")) for each in words)
    browser.evaluate("window.written = []")
    card(browser, "{kind: 'handoff', id: 2}")
    labels = [y for each, y in browser.evaluate("window.written") if re.match(r"s\d", str(each)) and y < 20]
    assert labels and min(labels) >= 9  # The labels are ten pixels high and not cut off.


def _lab(colour: str, seen: np.ndarray) -> np.ndarray:
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = seen @ np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = (
        np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
        @ np.clip(linear, 0, 1)
        / (0.9505, 1, 1.089)
    )
    x, y, z = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", SEEN_BY)
def test_station_colours_are_distinguishable(eyes: str) -> None:
    places = [_lab(colour, SEEN_BY[eyes]) for colour in STATIONS]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(places, 2)) > 15


def test_the_first_24_stations_have_different_colours() -> None:
    assert len({station_colour(i) for i in range(24)}) == 24
    assert station_colour(24) == station_colour(0)
