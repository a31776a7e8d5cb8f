"""Tests of maps in a real browser without a network: they load, move, respond to clicks and keys, and log no errors."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from mobilenet.viz.map import draw

import mobilenet
from tests.accessibility import obstacles
from tests.browser import NAMES, Page, chromium, is_required
from tests.cli.command import mobilenet as command
from tests.conftest import SCENARIOS
from tests.viz.synthetic import write_run
from tests.viz.test_map_page import hostile, on_earth

pytestmark = pytest.mark.browser

CALM = """
seed: 1
duration_s: 20
stations: {layout: {shape: points, points_m: [[0, 0]]}}
hosts: {count: 4, mobility: {model: static}}
protocol: {name: mobile_causal}
workload: {interval_s: 4}
"""
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
READY = "typeof Mobilenet !== 'undefined' && Mobilenet.app !== undefined"
CARD = "document.querySelector('.mn-right-side')"


@pytest.fixture(scope="module", autouse=True)
def _browser() -> None:
    if chromium() is None:
        message = f"none of {', '.join(NAMES)} is installed (Debian: apt-get install chromium)"
        pytest.fail(message) if is_required() else pytest.skip(message)


@pytest.fixture
def browser() -> Iterator[Page]:
    with Page() as page:
        yield page
        assert page.complaints == []
        assert {url for url in page.requests if not url.startswith("file://")} == set()


def open_map(browser: Page, file: Path) -> None:
    browser.open(file)
    browser.until(READY)
    assert [url for url in browser.requests if url.startswith("file:")] == [file.resolve().as_uri()]


def pixels(browser: Page, host: int) -> list[float]:
    coordinates = browser.evaluate(f"Mobilenet.app.field.pixels({host})")
    assert coordinates is not None
    return list(coordinates)


def test_hosts_on_the_map_move_only_during_playback(browser: Page, page: Path) -> None:
    open_map(browser, page)
    browser.evaluate("Mobilenet.app.clock.seek(5)")
    browser.until("document.querySelector('.mn-time').textContent.startsWith('5.0 s')")
    before, picture = pixels(browser, 3), browser.screenshot()
    browser.key(" ")
    browser.until("Mobilenet.app.clock.t > 6")
    browser.key(" ")
    assert browser.evaluate("Mobilenet.app.clock.playing") is False
    after = pixels(browser, 3)
    assert abs(after[0] - before[0]) + abs(after[1] - before[1]) > 3
    assert browser.screenshot() != picture


def test_keyboard_shortcuts_control_the_time_of_the_map(browser: Page, page: Path) -> None:
    open_map(browser, page)
    browser.evaluate("Mobilenet.app.clock.seek(5)")
    browser.key("ArrowRight")
    assert browser.evaluate("Mobilenet.app.clock.t") == 6
    browser.key("ArrowLeft")
    assert browser.evaluate("Mobilenet.app.clock.t") == 5
    browser.key("+")
    browser.until("Mobilenet.app.clock.speed === 2 && document.querySelector('.mn-speed').value === '2'")
    browser.key("-")
    browser.key("-")
    assert browser.evaluate("Mobilenet.app.clock.speed") == 0.5
    browser.key("?")
    assert browser.evaluate("document.querySelector('.mn-help').open") is True
    browser.key("Escape")
    assert browser.evaluate("document.querySelector('.mn-help').open") is False
    browser.key("h")
    assert browser.evaluate(f"{CARD}.dataset.card") == "handoff"
    browser.key("Escape")
    assert browser.evaluate(f"{CARD}.dataset.card") == "overview"


def test_the_timeline_can_be_used_as_a_slider(browser: Page, page: Path) -> None:
    open_map(browser, page)
    x, y, width = browser.evaluate(
        "(() => { const r = document.querySelector('.mn-line').getBoundingClientRect(); return [r.x, r.y + 15,"
        " r.width]; })()"
    )
    browser.click(x + width / 2, y)
    end = browser.evaluate("Mobilenet.app.run.end_s")
    assert browser.evaluate("Mobilenet.app.clock.t") == pytest.approx(end / 2, abs=end / 100)


def test_the_map_has_cards_of_hosts_stations_and_messages(browser: Page, page: Path) -> None:
    open_map(browser, page)
    browser.evaluate("Mobilenet.app.clock.seek(11.7)")
    browser.until("document.querySelector('.mn-time').textContent.startsWith('11.7')")
    browser.click(*pixels(browser, 5))
    assert browser.evaluate(f"{CARD}.querySelector('h2').textContent").startswith("Host h")
    browser.key("f")
    assert browser.evaluate("Mobilenet.app.following") is True
    assert obstacles(browser) == []
    browser.key("Escape")
    assert obstacles(browser) == []
    assert browser.evaluate("[...document.querySelectorAll('aside')].every((one) => one.ariaLabel)")
    lines = browser.evaluate("[...document.querySelectorAll('button.mn-event')].map((line) => line.textContent)")
    # A screen reader reads this text.
    assert lines and all(re.match(r"[0-9:.]+( s)?\s+h\d+", line) for line in lines)
    assert browser.evaluate("Mobilenet.find(Mobilenet.app, 'H5').id") == 5
    assert "user-scalable" not in browser.evaluate("document.querySelector('meta[name=viewport]').content")
    browser.evaluate("Mobilenet.app.select({kind: 'station', id: 1})")
    assert browser.evaluate(f"{CARD}.textContent.includes('Serves now')")
    index = browser.evaluate("[...Mobilenet.app.run.handoffs.recovered].findIndex(v => v > 0)")
    browser.evaluate(f"Mobilenet.app.cards.openHandoff({index})")
    text = browser.evaluate(f"{CARD}.innerText")
    for word in ("From", "To", "Session", "Duration", "Interruption", "Messages recovered", "Messages skipped"):
        assert word in text
    browser.key("Escape")
    browser.click_on("[data-list=messages] button")
    assert browser.evaluate(f"{CARD}.dataset.card") == "message"
    assert browser.evaluate(f"{CARD}.querySelector('h2').textContent").startswith("Message h")


def test_a_message_on_the_map_shows_which_hosts_have_or_lack_it(browser: Page, page: Path) -> None:
    open_map(browser, page)
    waits = browser.evaluate(
        "(() => { const run = Mobilenet.app.run, msg = run.messages; for (let m = 0; m < msg.count; m++) { const t ="
        " msg.time[m] + 0.02, { have, lack } = run.progress(m, t), hit = lack.find(each => each.waits.length); if (hit)"
        " { Mobilenet.app.select({kind: 'message', id: m}); Mobilenet.app.clock.seek(t); return [have.length,"
        " lack.length, msg.label(hit.waits[0]), run.hostLabel(hit.host)]; } } })()"
    )
    browser.until(f"{CARD}.innerText.includes('Not yet: {waits[1]} host')")
    text = browser.evaluate(f"{CARD}.innerText")
    assert f"{waits[0]} of {waits[0] + waits[1]} hosts" in text and f"lacks {waits[2]}" in text.replace("\n", " ")


def test_the_map_gives_no_reason_that_is_not_in_the_events(browser: Page, page: Path) -> None:
    """A host has not delivered a message, although it is up, in coverage, not in a handoff, and has delivered all
    predecessors.
    """
    open_map(browser, page)
    count = browser.evaluate(
        "(() => { const run = Mobilenet.app.run, msg = run.messages, all = Mobilenet.DOWN | Mobilenet.HANDING; for (let"
        " m = 0; m < msg.count; m++) { const t = msg.time[m] + 0.001, { lack } = run.progress(m, t), hits ="
        " lack.filter(each => !each.waits.length && !(run.flagsAt(each.host, t) & all) && (run.flagsAt(each.host, t) &"
        " Mobilenet.COVERED)); if (hits.length) { Mobilenet.app.select({kind: 'message', id: m});"
        " Mobilenet.app.clock.seek(t); return hits.length; } } return 0; })()"
    )
    assert count
    browser.until(f"{CARD}.innerText.includes('reason not known')")
    assert "arrived" not in browser.evaluate(f"{CARD}.innerText")


def test_the_map_card_explains_why_a_delivery_was_late(browser: Page, tmp_path: Path) -> None:
    run = mobilenet.run(
        SCENARIOS / "first.yaml", out=tmp_path / "run", overrides={"record.causes": True, "wireless.loss": 0.2}
    )
    draw(run.path, tmp_path / "map.html")
    open_map(browser, tmp_path / "map.html")
    browser.evaluate("Mobilenet.app.clock.seek(30)")
    browser.evaluate("Mobilenet.app.select({kind: 'host', id: 0})")
    browser.until(f"{CARD}.innerText.includes('why so late?')")
    browser.evaluate(f"[...{CARD}.querySelectorAll('button')].find(b => b.innerText === 'why so late?').click()")
    browser.until(f"{CARD}.innerText.includes('was late')")
    story = browser.evaluate(f"[...{CARD}.querySelectorAll('.mn-story-line')].map(line => line.innerText)")
    assert any("after a lost frame" in line for line in story)
    name = browser.evaluate(f"{CARD}.querySelector('h2').textContent").removeprefix("Message ")
    process = command("why", run.path, "--message", name, "--at", "h0", "--json", place=tmp_path)
    assert [row["sentence"] for row in json.loads(process.stdout)["stretches"]] == [
        line.rsplit("\n", 1)[0].strip() for line in story
    ]


def test_no_predecessor_is_missing_without_causal_order(browser: Page, tmp_path: Path) -> None:
    """If a gossip message is missing, its frame was lost or has not been sent yet. Messages do not wait for each
    other.
    """
    scenario = SCENARIOS / "own_protocol" / "gossip.yaml"
    run = mobilenet.run(scenario, out=tmp_path / "run", overrides={"duration_s": 15}, allow_code=True)
    draw(run.path, tmp_path / "map.html")
    open_map(browser, tmp_path / "map.html")
    assert browser.evaluate(
        "(() => { const run = Mobilenet.app.run, msg = run.messages; for (let m = msg.count >> 1; m < msg.count; m++) {"
        " const t = msg.time[m] + 0.02, { lack } = run.progress(m, t); if (lack.length) { Mobilenet.app.select({kind:"
        " 'message', id: m}); Mobilenet.app.clock.seek(t); return lack.length; } } return 0; })()"
    )
    browser.until(f"{CARD}.innerText.includes('reason not known')")
    text = browser.evaluate(f"{CARD}.innerText")
    assert "does not promise causal order" in text and "lacks" not in text and "to follow" not in text.lower()


def test_every_map_layer_can_be_toggled(browser: Page, page: Path) -> None:
    open_map(browser, page)
    browser.evaluate("Mobilenet.app.clock.seek(9)")
    browser.until("document.querySelector('.mn-time').textContent.startsWith('9.0')")
    for layer in ("cells", "wires", "links", "buffers", "names"):
        before = browser.screenshot()
        browser.click_on(f"[data-layer={layer}]")
        browser.move(640, 20)
        browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert browser.screenshot() != before, layer
    browser.evaluate(
        "{ window.drawn = []; const own = CanvasRenderingContext2D.prototype; for (const name of ['fillRect',"
        " 'drawImage', 'fillText']) { const old = own[name]; own[name] = function (...all) { drawn.push([name,"
        " this.globalAlpha, ...all]); return old.apply(this, all); }; } }"
    )
    browser.click_on("[data-heat=losses]")
    assert browser.evaluate("document.querySelector('.mn-heat').textContent").startswith("0 %")
    # The size of a square shows the number of receptions. Its colour shows only the fraction that was lost.
    browser.until("new Set(drawn.filter(([name, alpha]) => name === 'fillRect' && alpha === 0.9).map((one) =>"
                  " Math.round(one[4]))).size > 3")  # fmt: skip
    browser.evaluate("drawn.length = 0; document.querySelector('[data-layer=buffers]').click()")
    last = "drawn.findLastIndex(([name, , what, x]) => name === '{}' && {})"
    buffer, host = last.format("fillText", "/^(empty|[0-9]+)$/.test(what)"), last.format("drawImage", "x !== 0")
    browser.until(f"{buffer} > {host} && {host} >= 0")
    browser.click_on("[data-heat=delays]")
    assert "Mean delay" in browser.evaluate("document.querySelector('.mn-heat').textContent")


def test_the_frames_layer_says_if_no_frames_were_recorded(browser: Page, run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / "frames.parquet").unlink()
    draw(tmp_path / "run", tmp_path / "map.html")
    open_map(browser, tmp_path / "map.html")
    browser.click_on("[data-heat=losses]")
    assert "record: {frames: true}" in browser.evaluate("document.querySelector('.mn-heat').textContent")


def test_hostile_names_execute_no_code_in_the_map(browser: Page, run: Path, tmp_path: Path) -> None:
    draw(hostile(run, tmp_path / "run"), tmp_path / "map.html")
    open_map(browser, tmp_path / "map.html")
    browser.evaluate("window.alert = () => { window.attacked = true; }")
    for what in (
        "{kind: 'host', id: 0}",
        "{kind: 'station', id: 0}",
        "{kind: 'message', id: 0}",
        "{kind: 'handoff', id: 0, mark: 0}",
        "null",
    ):
        browser.evaluate(f"Mobilenet.app.select({what})")
    browser.click_on("[data-layer=names]")
    assert browser.evaluate(
        "window.attacked === undefined && document.querySelectorAll('img, b[onmouseover]').length === 0"
    )
    assert browser.evaluate("document.querySelector('.mn-head h1').textContent").startswith("</script><img")


def test_map_positions_and_distances_agree_with_leaflet(browser: Page, run: Path, tmp_path: Path) -> None:
    """The map draws a point where Leaflet draws it, and measures the same distances as Leaflet."""
    shutil.copytree(run, tmp_path / "run")
    on_earth(tmp_path / "run" / "scenario.yaml")
    draw(tmp_path / "run", tmp_path / "map.html")
    open_map(browser, tmp_path / "map.html")
    off = browser.evaluate(
        "(() => { const { map, view } = Mobilenet.app; view.renew(); return [[0, 0], [300, -80], [-200, 500]].map(([x,"
        " y]) => { const p = view.point(x, y), q = map.latLngToContainerPoint(view.latLng(x, y)); return Math.hypot(p.x"
        " - q.x, p.y - q.y); }); })()"
    )
    assert max(off) < 1.0  # Leaflet rounds to whole pixels
    assert browser.evaluate(
        "Mobilenet.app.map.distance(Mobilenet.app.view.latLng(0, 0), Mobilenet.app.view.latLng(0, 300))"
    ) == pytest.approx(300, abs=0.01)
    assert browser.evaluate(
        "Mobilenet.app.map.distance(Mobilenet.app.view.latLng(0, 0), Mobilenet.app.view.latLng(300, 0))"
    ) == pytest.approx(300, abs=0.01)


def test_a_map_of_2000_hosts_is_drawn_smoothly(browser: Page, tmp_path: Path) -> None:
    """A picture takes at most 50 ms of CPU time. The browser draws without a graphics card."""
    draw(write_run(tmp_path / "run", hosts=2000, seconds=120, broadcasts=100), tmp_path / "map.html")
    open_map(browser, tmp_path / "map.html")
    before_s = browser.cpu_s()
    browser.evaluate("Mobilenet.app.drawForTests(30)")
    picture_s = (browser.cpu_s() - before_s) / 30
    browser.complaints = [line for line in browser.complaints if "willReadFrequently" not in line]
    assert 0 < picture_s < 0.05


def test_a_focused_map_control_responds_to_its_keys(browser: Page, page: Path) -> None:
    open_map(browser, page)
    browser.evaluate(
        "(document.querySelector('.mn-layers').open = true, document.querySelector('[data-layer=names]').focus())"
    )
    for wanted in (True, False):
        browser.key(" ")
        browser.until(f"Mobilenet.app.layers.names === {str(wanted).lower()}")
    assert (
        browser.evaluate("document.activeElement.dataset.layer") == "names"
        and browser.evaluate("Mobilenet.app.clock.playing") is False
    )
    taken = (
        "(([selector, key]) => { const e = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true });"
        " document.querySelector(selector).dispatchEvent(e); return !e.defaultPrevented; })"
    )
    for selector, key, own in (
        ("[data-heat=none]", "ArrowDown", True),
        ("[data-heat=none]", " ", True),
        (".mn-speed", "ArrowUp", True),
        (".mn-layers summary", " ", True),
        (".mn-play", " ", True),
        ("[data-layer=names]", "ArrowRight", False),
        ("body", " ", False),
        (".mn-line", "ArrowLeft", False),
    ):
        assert browser.evaluate(f"{taken}({[selector, key]!r})") is own, (selector, key)
    browser.evaluate("Mobilenet.app.clock.pause()")
    # This button was clicked with the mouse, so the space bar controls playback again.
    browser.click_on("[data-layer=names]")
    browser.key(" ")
    browser.until("Mobilenet.app.clock.playing")


def test_a_narrow_window_still_shows_the_field_and_all_buttons(page: Path) -> None:
    with Page(400, 700) as browser:
        open_map(browser, page)
        assert browser.evaluate(
            "[document.documentElement.scrollWidth, document.body.scrollWidth,"
            " document.querySelector('.mn-bar').scrollWidth].every((w) => w <= innerWidth)"
        )
        outside = browser.evaluate(
            "[...document.querySelectorAll('.mn-bar > *, .mn-left, .mn-right-side')].filter((e) => { const r ="
            " e.getBoundingClientRect(); return r.left < 0 || r.right > innerWidth || r.top < 0 || r.bottom >"
            " innerHeight || r.width < 10; }).map((e) => e.className)"
        )
        assert outside == []
        assert browser.evaluate(
            "!document.querySelector('.mn-layers').open && document.querySelector('.mn-right-side').offsetHeight +"
            " document.querySelector('.mn-left').offsetHeight < 140"
        )
        assert browser.evaluate("document.querySelector('.mn-line').getBoundingClientRect().width > 350")
        assert browser.evaluate("document.querySelector('.mn-summary').textContent").startswith(": ")
        browser.click_on(".mn-fold")
        assert browser.evaluate("document.querySelector('.mn-content').offsetHeight > 50")
        browser.click_on("[aria-label='Keys (?)']")
        assert browser.evaluate(
            "(() => { const r = document.querySelector('.mn-help').getBoundingClientRect(); return r.left >= 0 &&"
            " r.right <= innerWidth && r.top >= 0; })()"
        )
        browser.key("Escape")
        browser.evaluate("Mobilenet.app.select({kind: 'host', id: 1})")
        assert browser.evaluate("document.querySelector('.mn-content').offsetHeight > 50")
        browser.evaluate("Mobilenet.app.select(null)")
        for _ in range(3):  # The card must not hide the selected host.
            browser.key("h")
            # After two frames, the card has its final size.
            browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            top, own, card = browser.evaluate(
                "((p) => [document.querySelector('.mn-left').getBoundingClientRect().bottom,"
                " Mobilenet.app.view.point(p.x, p.y).y,"
                " document.querySelector('.mn-right-side').getBoundingClientRect().top])"
                "(Mobilenet.app.run.place(Mobilenet.app.followedHost(),"
                " Mobilenet.app.clock.t))"
            )
            assert top < own < card


def test_keyboard_focus_moves_from_the_lists_to_the_card(browser: Page, page: Path) -> None:
    open_map(browser, page)
    browser.evaluate("(Mobilenet.app.clock.pause(), Mobilenet.app.clock.seek(8))")
    browser.until("document.querySelectorAll('[data-list=messages] button').length > 3")
    for name in ("messages", "events"):
        browser.evaluate(
            "(Mobilenet.app.clock.seek(8),"
            f" document.querySelector('[data-list={name}]').querySelectorAll('button')[0].focus())"
        )
        browser.evaluate("window.own = document.activeElement")
        for t in (8.4, 9, 12, 20):
            browser.evaluate(
                f"(Mobilenet.app.clock.seek({t}), new Promise((done) => requestAnimationFrame(() =>"
                " requestAnimationFrame(done))))"
            )
            assert browser.evaluate(f"document.activeElement.closest('[data-list={name}]') !== null"), (name, t)
        assert browser.evaluate("!window.own.isConnected")
    for key, kind, title in (
        ("o", "host", "Host h0"),
        ("o", "host", "Host h1"),
        ("O", "host", "Host h0"),
        ("s", "station", "Station s0"),
        ("S", "station", "Station s3"),
    ):
        browser.key(key)
        assert browser.evaluate(f"[{CARD}.dataset.card, document.activeElement.textContent]") == [kind, title]
    assert {"next, previous host", "next, previous station"} <= set(
        browser.evaluate("[...document.querySelectorAll('.mn-help .mn-row span')].map((e) => e.textContent)")
    )


def test_a_long_list_in_the_map_can_be_expanded(browser: Page, page: Path) -> None:
    open_map(browser, page)
    browser.evaluate(
        "(() => { const box = document.createElement('div'); document.body.append(box); box.id = 'long';"
        " Mobilenet.app.cards.some(box, 2, Mobilenet.app.cards.hostLink)([0, 1, 2, 3, 4]); })()"
    )
    assert browser.evaluate("[...document.querySelector('#long').children].map((e) => e.textContent)") == [
        "h0",
        "h1",
        "and 3 more",
    ]
    browser.evaluate("document.querySelector('#long').lastChild.click()")
    assert browser.evaluate("document.querySelector('#long').textContent") == "h0h1h2h3h4"


def test_the_map_opens_at_an_event_and_has_a_dark_mode(browser: Page, page: Path) -> None:
    open_map(browser, page)
    opened = browser.evaluate("Mobilenet.app.clock.t")
    assert opened == browser.evaluate("Mobilenet.app.opening()") >= 0
    assert browser.evaluate("Mobilenet.app.run.place(0, Mobilenet.app.clock.t) !== null")
    light = browser.screenshot()
    browser.key("d")
    browser.until("document.documentElement.classList.contains('mn-dark')")
    assert browser.screenshot() != light
    browser.key("d")
    assert browser.evaluate("document.documentElement.classList.contains('mn-dark')") is False


def test_the_map_opens_just_after_its_first_event(browser: Page, page: Path) -> None:
    open_map(browser, page)
    first = "Math.min(Mobilenet.app.marks.times[0], Mobilenet.app.run.messages.time[0])"
    assert 0 < browser.evaluate(f"Mobilenet.app.clock.t - {first}") < 0.2


def test_a_map_without_handoffs_opens_at_the_first_broadcast(browser: Page, tmp_path: Path) -> None:
    calm = tmp_path / "calm.yaml"
    calm.write_text(CALM, encoding="utf-8")
    draw(mobilenet.run(calm, out=tmp_path / "calm").path, tmp_path / "calm.html")
    open_map(browser, tmp_path / "calm.html")
    assert browser.evaluate("Mobilenet.app.marks.items.length") == 0
    assert 0 < browser.evaluate("Mobilenet.app.clock.t - Mobilenet.app.run.messages.time[0]") < 0.2
    text = browser.evaluate(f"{CARD}.innerText")
    assert "no handoff, crash or gap in this run" in text and "nothing yet" not in text and "of 4" in text
    opened = browser.screenshot()
    browser.evaluate("Mobilenet.app.layers.broadcasts = false; Mobilenet.app.redraw()")
    browser.until(DRAWN)
    assert browser.screenshot() != opened, "the ring of the broadcast is there"


def test_the_map_marks_interventions_while_they_are_active(browser: Page, tmp_path: Path) -> None:
    calm = tmp_path / "calm.yaml"
    wishes = "{at_s: 5, do: impair, host: h2, loss: 0.25, delay_s: 0.05}, {at_s: 10, do: impair, host: h2}"
    off = "{at_s: 6, do: radio_off, station: s0}, {at_s: 9, do: radio_on, station: s0}"
    calm.write_text(f"{CALM}interventions: [{wishes}, {off}]", encoding="utf-8")
    draw(mobilenet.run(calm, out=tmp_path / "calm").path, tmp_path / "calm.html")
    open_map(browser, tmp_path / "calm.html")
    browser.evaluate("Mobilenet.app.select({kind: 'host', id: 2})")
    words = "impaired: loss 25 %, delay 50 ms"
    pictures = []
    for moment_s, is_impaired in ((4.5, False), (7.5, True), (12.5, False)):
        browser.evaluate(f"Mobilenet.app.clock.seek({moment_s})")
        browser.until(f"{CARD}.innerText.includes('{words}') === {str(is_impaired).lower()}")
        browser.evaluate("Mobilenet.app.layers.broadcasts = false; Mobilenet.app.redraw()")
        browser.until(DRAWN)
        assert "impaired" not in browser.evaluate("Mobilenet.app.run.sayState(1, Mobilenet.app.clock.t)")
        assert browser.evaluate("Mobilenet.app.run.offAt(Mobilenet.app.clock.t).has('s0')") is is_impaired
        pictures.append(browser.screenshot())
    assert pictures[1] not in (pictures[0], pictures[2])


def test_the_map_selection_is_stored_in_the_url_and_searchable(browser: Page, page: Path) -> None:
    open_map(browser, page)
    label = browser.evaluate("Mobilenet.app.run.messages.label(3)")
    browser.evaluate(f"location.hash = '#{label}@4.5'")
    browser.until(f"{CARD}.dataset.card === 'message'")
    assert browser.evaluate("Mobilenet.app.clock.t") == 4.5
    query = "Mobilenet.find(Mobilenet.app, {!r})".format
    assert browser.evaluate(query(label))["id"] == 3
    assert browser.evaluate(query("h2")) == {"kind": "host", "id": 2}
    assert browser.evaluate(query("s0")) == {"kind": "station", "id": 0}
    assert browser.evaluate(query("nobody")) is None and browser.evaluate(query("")) is None
    browser.evaluate("Mobilenet.app.select({kind: 'host', id: 2})")
    assert browser.evaluate("location.hash") == "#h2@4.5"
    browser.evaluate("Mobilenet.app.select(null)")
    assert browser.evaluate("location.hash") == ""


def test_buffer_boxes_on_the_map_cover_no_station_or_wire(browser: Page, tmp_path: Path) -> None:
    mobilenet.run("scenarios/dynamic.yaml", out=tmp_path / "run", overrides=["duration_s=12"])
    draw(tmp_path / "run", tmp_path / "map.html")
    open_map(browser, tmp_path / "map.html")
    crossed = browser.evaluate("""(() => {
      const app = Mobilenet.app, st = app.run.stations, found = [];
      for (let s = 0; s < app.run.stationCount; s++) {
        const box = app.boxes.of(s);
        for (const [a, b] of st.edges)
          for (let k = 0; k <= 200; k++) {
            const p = {...app.stationPoint(a)}, q = app.stationPoint(b),
              x = p.x + (q.x - p.x) * k / 200, y = p.y + (q.y - p.y) * k / 200;
            if (x > box.x && x < box.x + box.w && y > box.y && y < box.y + box.h) found.push([s, a, b]);
          }
      }
      return found;
    })()""")
    assert crossed == []
