"""Tests that the live page shows the correct view, speed and messages, even after the server has ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.accessibility import obstacles
from tests.browser import Page, chromium, is_required
from tests.conftest import SCENARIOS
from tests.lab.live.conftest import Server, serving
from tests.lab.live.test_window import APP, LIVE, Window

pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None and not is_required(), reason="no browser")]
CARD = "document.querySelector('.mn-right-side')"


def test_an_untouched_map_view_is_refitted_after_a_rotation(tmp_path: Path) -> None:
    scale = f"({APP}.view.renew(), {APP}.view.scaleAt(0))"
    with serving(tmp_path, str(SCENARIOS / "dynamic.yaml")) as served, Page(820, 1180) as page:
        window = Window(page, served)
        window.play_to(4)
        window.choose(1)
        page.until("document.querySelector('.mn-content .mn-space canvas')?.clientWidth > 200")
        narrow = window.value(scale)
        page.resize(1180, 820)
        page.until("document.querySelector('.mn-space').parentNode === document.body")
        page.until(f"{scale} !== {narrow}")
        # The map has its final scale when ten pictures in a row have the same one.
        turned = window.value(f"""new Promise((done) => {{
          let last = NaN, alike = 0;
          const look = () => {{
            alike = {scale} === last ? alike + 1 : 0;
            last = {scale};
            if (alike < 10) requestAnimationFrame(look);
            else done(last);
          }};
          look();
        }})""")
        page.evaluate(f"{APP}.fit()")
        assert window.value(scale) == pytest.approx(turned)


def test_the_live_page_updates_messages_and_speed_after_a_seek(served: Server) -> None:
    spread = "[...document.querySelectorAll('button')].find((each) => each.textContent === 'Watch it spread')"
    with Page(1280, 800) as page:
        window = Window(page, served)
        window.value(f"{LIVE}.ask({{command: 'speed', speed: 4}})")
        window.play_to(5)
        window.value(f"{LIVE}.ask({{command: 'speed', speed: 4}})")
        page.until(f"{LIVE}.state.speed === 4")
        page.evaluate(f"{APP}.select({{kind: 'message', id: 2}})")
        page.evaluate(f"{spread}.click()")
        page.until(f"!{LIVE}.following && {APP}.clock.speed === 0.1")
        page.evaluate(f"{APP}.clock.pause()")
        page.evaluate(f"{APP}.clock.seek({APP}.run.messages.time[2] - 0.01)")
        page.until(f"{CARD}.textContent.includes('Not broadcast yet')")
        assert "reason not known" not in window.value(f"{CARD}.textContent")
        assert window.value(f"{APP}.run.progress(2, {APP}.clock.t).lack.length") == 0
        assert obstacles(page) == []
        window.button("Back to now")
        page.until(f"{LIVE}.following && {APP}.clock.speed === 4")
        assert window.value(f"{LIVE}.state.speed") == 4
        # The bar stays empty while the number of holders is unknown.
        page.evaluate(
            f"{{ {LIVE}.isPartial = true; window.ask = {LIVE}.ask; {LIVE}.ask = () => new Promise(() => 0); }}"
        )
        page.evaluate(f"{APP}.select(null)")
        page.until("document.querySelector('[data-list=messages] button')?.textContent.endsWith('…')")
        assert window.value("document.querySelector('[data-list=messages] i').getBoundingClientRect().width") == 0
        page.evaluate(f"{LIVE}.ask = ask")
        assert page.complaints == []


def test_a_live_field_keeps_a_rejected_value_and_shows_its_unit(served: Server) -> None:
    def enter(label: str, value: str) -> None:
        page.evaluate(f"document.querySelector('[aria-label^=\"{label}\"]').value = '{value}'")

    with Page(1280, 800) as page:
        window = Window(page, served)
        window.play_to(3)
        page.evaluate(f"{APP}.select({{kind: 'host', id: 1}})")
        for count, (label, value) in enumerate((("Additional loss", "10"), ("Additional delay", "200")), 1):
            enter(label, value)
            window.button("Impair")
            page.until(f"{LIVE}.interventions.length === {count}")
        assert [(one["loss"], one["delay_s"]) for one in window.interventions()] == [(0.1, 0.0), (0.1, 0.2)]
        enter("Additional delay", "70000")
        window.button("Impair")
        delay = "document.querySelector('[aria-label=\"Additional delay, ms\"]')"
        page.until(f"document.activeElement === {delay} && {delay}.validity.rangeOverflow && {delay}.max === '60000'")
        enter("Random loss", "20")
        page.evaluate("document.querySelector('[data-live=loss]').nextSibling.click()")
        page.until(f"{LIVE}.interventions.length === 3")
        assert window.interventions()[2]["loss"] == 0.2
        loss = "document.querySelector('[data-live=loss]')"
        page.until(f"{loss}.value === '' && {loss}.placeholder === '20 %'")
        page.evaluate(f"{APP}.clock.seek(1)")
        page.until(f"{loss}.placeholder === '0 %'")


def test_the_live_page_scrolls_requested_details_into_view(tmp_path: Path) -> None:
    many = ("--set", "hosts.count=280")
    with serving(tmp_path, str(SCENARIOS / "dynamic.yaml"), *many) as served, Page(1280, 720) as page:
        window = Window(page, served)
        below = "document.querySelector('.mn-left').getBoundingClientRect().bottom"
        lowest = "document.querySelector('[data-list=jobs]').getBoundingClientRect().bottom"
        window.play_to(0.5)
        for host in range(5):
            page.evaluate(f"{LIVE}.touch({{do: 'crash', host: 'h{host}'}})")
        page.until(f"document.querySelectorAll('.mn-intervention').length === 5 && {lowest} < {below}")
        # The layer of station buffers is on, but the buffers are drawn only after the user has zoomed in.
        words = "document.querySelector('[data-layer=buffers]').parentNode.textContent"
        page.until(f"{words}.endsWith('; zoom in to see them')")
        page.evaluate(f"void {APP}.map.setZoom({APP}.map.getZoom() + 3, {{animate: false}})")
        page.until(f"!{words}.includes('zoom in')")
        # In a narrow window, the panels share the space.
        page.resize(820, 1180)
        page.until("document.querySelector('.mn-fold').offsetHeight > 0")
        page.evaluate("document.querySelector('.mn-touch').open = document.querySelector('.mn-layers').open = true")
        if "mn-folded" in window.value("document.querySelector('.mn-right-side').className"):
            page.evaluate("document.querySelector('.mn-fold').click()")
        page.until(f"document.querySelector('.mn-right-side').getBoundingClientRect().top - {below} > 400")
        # Bars remain visible in forced colours.
        page.prefer(forced_colors="active")
        colour = "(what) => getComputedStyle(document.querySelector(what)).backgroundColor"
        page.evaluate("document.querySelector('.mn-content').innerHTML = '<b class=mn-bar-of><i></i></b>'")
        assert len(set(window.value(f"['.mn-bar-of', '.mn-bar-of i'].map({colour})"))) == 2


def test_the_live_page_describes_jobs_and_curves_correctly(served: Server) -> None:
    with Page(1280, 720) as page:
        window = Window(page, served)
        window.play_to(3)
        page.evaluate(
            "{ window.words = []; const draw = Mobilenet.text;"
            " Mobilenet.text = (g, text, ...place) => { words.push(text); draw(g, text, ...place); }; }"
        )
        job = {"number": 0, "kind": "save", "about": "", "state": "running", "text": "", "result": {}}
        page.evaluate(
            f"{LIVE}.curves = {{...{LIVE}.curves, time: [1, 2], delay: [0.25, NaN]}};"
            f" {LIVE}.jobs = [{json.dumps(job)}]; {APP}.redraw()"
        )
        page.until("words.includes('–, maximum 250 ms')")
        page.until("document.querySelector('.mn-job')?.textContent.trim() === 'Save: in progress cancel'")
        # Progress does not replace the button, so it cannot disturb a click.
        page.evaluate("window.cancel = document.querySelector('.mn-job button')")
        job["text"] = "half of it"
        page.evaluate(f"{LIVE}.jobs = [{json.dumps(job)}]; {APP}.redraw()")
        page.until("document.querySelector('.mn-job').textContent.trim() === 'Save: in progress; half of it cancel'")
        assert window.value("document.querySelector('.mn-job button') === cancel")
