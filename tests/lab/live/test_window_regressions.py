"""Regression tests in a real browser for bugs found on the live page.

Source    ours: docs/guide/live.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Page, chromium, is_required
from tests.conftest import SCENARIOS
from tests.lab.live.conftest import Server, serving
from tests.lab.live.test_window import APP, PANELS, Window

pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None and not is_required(), reason="no browser")]


@pytest.fixture
def seventy(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path, str(SCENARIOS / "dynamic.yaml")) as server:
        yield server


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080)])
def test_the_field_stays_visible_when_the_diagram_grows(width: int, height: int, seventy: Server) -> None:
    gap = f"""(() => {{ const st = {APP}.run.stations, r = {APP}.run.range_m, b = {APP}.map.getContainer();
        {APP}.view.renew();
        return document.querySelector('.mn-space').getBoundingClientRect().top - b.getBoundingClientRect().top
        - Math.max(...Array.from(st.x_m, (x, s) => {APP}.view.point(x, st.y_m[s] - r).y)); }})()"""
    high = "document.querySelector('.mn-space').offsetHeight"
    with Page(width, height) as page:
        window = Window(page, seventy)
        window.play_to(15)
        page.evaluate(f"{APP}.select({{kind: 'host', id: 3}})")
        page.until(f"{high} > 0 && {gap} > 0")
        first = window.value(high)
        window.play_to(22)
        page.until(f"{high} > {first} && {gap} > 0")


def test_chart_axes_never_begin_before_the_run(served: Server) -> None:
    with Page(1280, 720) as page:
        window = Window(page, served)
        window.play_to(1)
        page.evaluate(
            "{ window.drawn = []; const old = CanvasRenderingContext2D.prototype.fillText;"
            " CanvasRenderingContext2D.prototype.fillText = function (words, ...rest)"
            " { drawn.push(words); return old.call(this, words, ...rest); }; }"
        )
        page.evaluate(f"{APP}.select({{kind: 'host', id: 1}})")
        page.until("drawn.some((words) => /^6(\\.0+)? s|00:06/.test(words))")
        assert not window.value("drawn.filter((words) => /^[-−]\\d/.test(words))")


def test_live_buffer_curves_match_the_record_at_any_speed(seventy: Server) -> None:
    drawn = f"""JSON.stringify(Object.fromEntries(Object.entries({APP}.run.buffers).map(([name, kind]) =>
        [name, kind.series.map(({{name, sizes}}) => [name, Array.from({{length: sizes.length / kind.bins}}, (_, i) =>
        Array.from(sizes.slice(i * kind.bins, i * kind.bins + Math.floor({APP}.run.now_s / kind.bin_s))))])])))"""
    with Page(1280, 720) as page:
        window = Window(page, seventy)
        window.value(f"{APP}.live.ask({{command: 'pace', states_per_s: 0.5}})")
        window.play_to(14)
        page.evaluate(f"{APP}.live.touch({{do: 'crash', host: 'h3'}})")
        page.until(f"{APP}.live.interventions.length === 1")
        page.evaluate(f"{APP}.live.touch({{do: 'add', to_m: [10, 10]}})")
        page.until(f"{APP}.run.count === 71")
        window.play_to(17)
        grown = json.loads(window.value(drawn))
        # The bars fit into the scale.
        highest = max(map(max, grown["stations"][0][1]))
        page.until(f"{APP}.boxes.highest() === {highest}")
        assert highest > 1
        page.evaluate("window.isBefore = true")
        page.visit(seventy.url)
        page.until("window.isBefore === undefined")
        window.until_ready()
        assert json.loads(window.value(drawn)) == grown
        assert max(map(max, grown["hosts"][0][1])) > 1


def test_a_narrow_window_selects_and_shows_the_violating_host(violating: Server) -> None:
    with Page(390, 844) as page:
        window = Window(page, violating)
        page.evaluate(f"{APP}.select({{kind: 'host', id: 1}})")
        window.value(f"{APP}.live.ask({{command: 'play', speed: 'max'}})")
        page.until(f"Boolean({APP}.live.state.violation) && {APP}.selected.id !== 1")
        culprit = window.value(f"{APP}.live.state.violation.node")
        assert window.value(f"{APP}.run.hostLabel({APP}.selected.id)") == culprit
        y = window.pixel_y(int(culprit[1:]))
        page.until(f"(() => {{ const y = {y}, {PANELS}; return below < y && y < above; }})()")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (820, 1180)])
def test_the_diagram_is_near_the_top_of_a_narrow_card(width: int, height: int, served: Server) -> None:
    with Page(width, height) as page:
        window = Window(page, served)
        window.play_to(4)
        page.evaluate(f"{APP}.select({{kind: 'host', id: 1}})")
        page.until("document.querySelector('.mn-content .mn-space canvas')?.clientWidth > 200")
        page.until(
            "Boolean([...document.querySelectorAll('.mn-content h3')].find(h => h.textContent.startsWith('Var')))"
        )
        top = "document.querySelector('.mn-space').getBoundingClientRect().top"
        content = "document.querySelector('.mn-content').getBoundingClientRect()"
        page.until(f"{top} - {content}.top < 140")
        page.until(f"{top} < {content}.bottom - 30")  # The diagram is visible without scrolling.


def test_clicking_a_protocol_variable_explains_it(served: Server) -> None:
    with Page(1280, 800) as page:
        window = Window(page, served)
        window.play_to(3)
        page.evaluate(f"{APP}.select({{kind: 'station', id: 1}})")
        page.until("document.querySelectorAll('.mn-abbr').length > 2")
        name = "[...document.querySelectorAll('.mn-abbr')].find((each) => each.textContent === 'ctx')"
        assert "keeps state" in window.value(f"{name}.title")
        page.evaluate(f"{name}.click()")
        page.until("document.querySelector('.mn-toast').textContent.startsWith('ctx: contexts: the hosts')")


def test_adding_a_host_next_to_another_one_selects_neither(served: Server) -> None:
    with Page(1280, 800) as page:
        window = Window(page, served)
        window.play_to(3)
        window.button("Add a host")
        page.until("document.querySelector('.mn-toast').textContent.startsWith('Click on the map')")
        page.click(*window.pixels(1))
        page.until(f"{APP}.run.count === 7")
        page.until("document.querySelector('.mn-toast').textContent === 'The host is added.'")
        assert window.value(f"{APP}.selected") is None
        window.choose(2)  # After the host has been added, a click selects a host again.


def test_interventions_have_distinguishable_marks(served: Server) -> None:
    """The mark of each intervention has a letter, a colour and a tooltip."""
    with Page(1280, 800) as page:
        window = Window(page, served)
        page.evaluate(
            "{ window.drawn = []; const old = CanvasRenderingContext2D.prototype.fillText;"
            " CanvasRenderingContext2D.prototype.fillText = function (words, ...rest)"
            " { if (/^[A-Z%]$/.test(words)) drawn.push(words + ' ' + this.fillStyle);"
            " return old.call(this, words, ...rest); }; }"
        )
        done = ("do: 'cut', link: ['s0', 's1']", "do: 'radio_off', station: 's1'", "do: 'loss', loss: 0.1",
                "do: 'broadcast', host: 'h1'")  # fmt: skip
        for number, what in enumerate(done, 1):
            window.play_to(3 * number)
            page.evaluate(f"{APP}.live.touch({{{what}}})")
            page.until(f"{APP}.live.interventions.length === {number}")
        page.until("new Set(drawn).size >= 4")
        marks = set(window.value("drawn"))
        assert {mark[0] for mark in marks} == {"X", "F", "%", "B"} and len({mark[1:] for mark in marks}) == 4
        moved = """(at_s) => { const line = document.querySelector('.mn-line'), box = line.getBoundingClientRect();
            line.dispatchEvent(new PointerEvent('pointermove',
            {clientX: box.left + at_s / Mobilenet.app.run.end_s * box.width})); return line.title; }"""
        titles = [window.value(f"({moved})({3 * number})") for number in range(1, 5)]
        for title, words in zip(titles, ("cut s0–s1", "radio off s1", "loss 10 %", "broadcast h1"), strict=True):
            assert title.endswith(words)


def test_the_live_page_explains_a_late_delivery_in_virtual_time(served: Server) -> None:
    """Explanations are not available in real time: see test_real_time.py."""
    with Page(1280, 800) as page:
        window = Window(page, served)
        window.play_to(6)
        page.evaluate(f"{APP}.select({{kind: 'host', id: 1}})")
        page.until("document.querySelector('.mn-right-side').textContent.includes('why so late?')")
