"""Tests of the live page in a real browser. Each click takes effect, and the run can be repeated."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from tests.browser import Page, chromium, is_required
from tests.lab.live.conftest import Server

pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None and not is_required(), reason="no browser")]
APP, LIVE = "Mobilenet.app", "Mobilenet.app.live"
# The vertical space between the panels of a narrow window.
PANELS = """below = document.querySelector('.mn-left').getBoundingClientRect().bottom,
    above = document.querySelector('.mn-right-side').getBoundingClientRect().top"""


class Window:
    """A page with methods for the actions of a user."""

    def __init__(self, page: Page, served: Server) -> None:
        self.page = page
        page.visit(served.url)
        self.until_ready()

    def until_ready(self) -> None:
        self.page.until(f"typeof Mobilenet !== 'undefined' && {APP} && {LIVE}.state !== null")

    def button(self, words: str) -> None:
        wanted = f"b.textContent === {json.dumps(words)} && !b.disabled"
        button = f"[...document.querySelectorAll('button')].find(b => {wanted})"
        self.page.until(f"Boolean({button})")
        self.page.click_on_element(button)

    def value(self, expression: str) -> Any:
        return self.page.evaluate(expression)

    def now_s(self) -> float:
        return float(self.value(f"{APP}.run.now_s"))

    def interventions(self) -> list[dict[str, Any]]:
        return list(self.value(f"{LIVE}.interventions"))

    def choose(self, host: int) -> None:
        self.page.click(*self.pixels(host))
        self.page.until(f"{APP}.selected && {APP}.selected.kind === 'host'")

    def pixel_y(self, host: int) -> str:
        return f"{APP}.field.pixels({host})[1] + {APP}.map.getContainer().getBoundingClientRect().top"

    def pixels(self, host: int) -> tuple[float, float]:
        # waits until the page has been drawn
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        x, y = self.value(
            f"(() => {{ const p = {APP}.field.pixels({host}), b = {APP}.map.getContainer().getBoundingClientRect();"
            " return [p[0] + b.left, p[1] + b.top]; })()"
        )
        return float(x), float(y)

    def play_to(self, time_s: float) -> None:
        self.value(f"{LIVE}.ask({{command: 'play', speed: 'max', until_s: {time_s}}})")
        self.page.until(f"{APP}.run.now_s >= {time_s} && !{LIVE}.state.is_playing && {LIVE}.following")

    def step(self, what: str) -> None:
        before = self.now_s()
        self.value(f"document.querySelector('.mn-live-box select').value = {json.dumps(what)}")
        self.button("Step to the next")
        self.page.until(f"{APP}.run.now_s > {before}")


@pytest.fixture
def window(served: Server) -> Iterator[Window]:
    with Page(1400, 860) as page:
        yield Window(page, served)
        assert page.complaints == []
        assert {url for url in page.requests if not url.startswith("data:")} == {served.url}


def test_a_live_run_with_interventions_can_be_saved_and_repeated(window: Window, tmp_path: Path) -> None:
    page = window.page
    page.key(" ")
    page.until(f"{APP}.run.now_s > 0.5")
    page.key(" ")
    page.until(f"!{LIVE}.state.is_playing")
    window.play_to(10)
    window.step("handoff")
    page.until(f"{APP}.run.handoffs.count > 0")
    handing = int(window.value(f"{APP}.run.handoffs.host[{APP}.run.handoffs.count - 1]"))
    page.evaluate(f"{APP}.select({{kind: 'host', id: {handing}}})")
    window.button("Crash")
    page.until(f"{LIVE}.interventions.length === 1")
    page.until(f"Boolean({APP}.run.flagsAt({handing}, {APP}.run.now_s) & Mobilenet.DOWN)")
    window.step("event")
    window.button("Recover")
    page.until(f"{LIVE}.interventions.length === 2")
    other = (handing + 1) % 6
    x, y = window.pixels(other)
    page.drag((x, y), (x + 40, y + 30))
    page.until(f"{LIVE}.interventions.length === 3")
    done = window.interventions()
    assert [one["do"] for one in done] == ["crash", "recover", "drag"]
    assert [one["host"] for one in done] == [f"h{handing}", f"h{handing}", f"h{other}"]
    moved = window.pixels(other)
    assert abs(moved[0] - x - 40) < 2
    assert abs(moved[1] - y - 30) < 2

    page.evaluate("document.querySelector('.mn-field input[type=text]').value = 'mine'")
    window.button("Save this run")
    page.until(f"{LIVE}.jobs.length && {LIVE}.jobs[0].state !== 'running'")
    job = window.value(f"{LIVE}.jobs[0]")
    assert job["state"] == "done", job["text"]
    page.until("document.querySelector('[data-list=jobs]').textContent.includes('saved in runs/mine: valid')")
    again = subprocess.run(
        [sys.executable, "-m", "mobilenet", "run", "runs/mine/scenario.yaml", "--out", "again"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    runs = [mobilenet.load(tmp_path / name) for name in ("runs/mine", "again")]
    assert runs[0].manifest["fingerprint"] == runs[1].manifest["fingerprint"] == job["result"]["fingerprint"]
    assert runs[0].verdict == runs[1].verdict == "valid"


def test_the_page_clock_lags_the_run_by_at_most_one_state(window: Window) -> None:
    window.value(f"{{ {LIVE}.pictureMs = () => 1000; }}")
    # In the page's time, each state comes 100 ms after the one before it, whatever the machine does meanwhile.
    looks = window.value(
        f"""new Promise((done) => {{
          const found = [], times = [], clock = {APP}.clock, tick = clock.tick;
          performance.now = () => {{
            if (times.at(-1) !== {APP}.run.now_s) times.push({APP}.run.now_s);
            return 1e7 + 100 * times.length;
          }};
          clock.tick = () => {{
            tick(performance.now());
            if (times.length > 3) found.push([times.at(-2), clock.t]);
            if (found.length === 40) done(found);
          }};
          {LIVE}.ask({{command: 'play', speed: 1}});
        }})"""
    )
    assert len({previous_s for previous_s, _ in looks}) > 1
    assert all(clock_s == pytest.approx(previous_s, abs=1e-9) for previous_s, clock_s in looks)


def test_continuing_from_an_earlier_time_starts_a_new_branch(window: Window) -> None:
    page = window.page
    window.play_to(5)
    window.value(f"{LIVE}.touch({{do: 'crash', host: 'h1'}})")
    window.play_to(12)
    page.evaluate(f"{APP}.clock.seek(4)")
    page.until("!document.querySelector('.mn-past').hidden")
    assert "You are looking back at 4.00 s; the run is at 12.00 s" in window.value(
        "document.querySelector('.mn-past').textContent"
    )
    window.button("Continue from here")
    page.until(f"typeof Mobilenet !== 'undefined' && {APP} && {LIVE}.state && {LIVE}.state.generation === 1")
    assert window.now_s() == 4
    assert window.interventions() == []
    branches = window.value(f"{LIVE}.branches")
    assert [(one["parent"], one["interventions"]) for one in branches] == [(None, 1), (0, 0)]
    window.button("continue there")
    page.until(f"typeof Mobilenet !== 'undefined' && {APP} && {LIVE}.state && {LIVE}.state.generation === 2")
    assert window.now_s() == 12
    assert [one["do"] for one in window.interventions()] == ["crash"]


def test_the_live_map_shows_added_hosts_and_cut_wires(window: Window) -> None:
    page = window.page
    window.play_to(3)
    window.button("Add a host")
    x, y = window.pixels(0)
    page.click(x + 30, y - 40)
    page.until(f"typeof Mobilenet !== 'undefined' && {APP} && {APP}.run.count === 7 && {LIVE}.state !== null")
    page.evaluate(f"{APP}.select({{kind: 'station', id: 0}})")
    window.button("Cut")
    page.until(f"{APP}.run.switches.length === 1")
    window.play_to(5)
    assert [one["do"] for one in window.interventions()] == ["add", "cut"]


def test_a_live_run_pauses_while_the_page_shows_the_past(window: Window) -> None:
    page = window.page
    window.value(f"{LIVE}.ask({{command: 'play', speed: 1}})")
    page.until(f"{APP}.run.now_s > 1")
    page.evaluate(f"{APP}.clock.seek(0.5)")
    page.until(f"!{LIVE}.state.is_playing")
    stands_s = window.now_s()
    page.evaluate("new Promise(done => setTimeout(done, 300))")
    assert window.now_s() == stands_s
    window.button("Back to now")
    page.until(f"{LIVE}.state.is_playing && {APP}.run.now_s > {stands_s}")


def test_the_card_of_a_recovered_host_lists_missed_messages(window: Window) -> None:
    page = window.page
    window.play_to(8)
    window.value(f"{LIVE}.touch({{do: 'crash', host: 'h3'}})")
    window.play_to(12)
    window.value(f"{LIVE}.touch({{do: 'recover', host: 'h3'}})")
    window.play_to(20)
    hand = f"{APP}.run.handoffs"
    session = f"{hand}.host.findIndex((h, i) => h === 3 && {hand}.causes[{hand}.cause[i]] === 'recovery')"
    page.evaluate(f"{APP}.cards.openHandoff({session})")
    page.until("document.querySelector('.mn-content').textContent.includes('Broadcast while the host was down')")
    words = window.value("document.querySelector('.mn-content').textContent")
    missed = window.value(
        f"{APP}.run.messages.time.filter((t, m) => t > 8 && t < 12 && {APP}.run.messages.host[m] !== 3).length"
    )
    assert missed > 3
    assert f"Broadcast while the host was down{missed}, all delivered by " in words


def test_the_live_page_requests_message_holders_only_once(window: Window) -> None:
    page = window.page
    window.play_to(10)
    page.evaluate(f"{LIVE}.isPartial = true; window.asked = []; window.ask = {LIVE}.ask")
    page.evaluate(f"{LIVE}.ask = (command) => {{ asked.push(command.message); return ask(command); }}")
    page.evaluate(f"for (let i = 0; i < 50; i++) {LIVE}.learn(0)")
    page.until(f"{LIVE}.learn(0)")
    asked = window.value("asked")
    assert window.value(f"{APP}.run.messages.label(0)") in asked
    # The page requests each message only once, even if it needs the holders of the message several times.
    assert len(asked) == len(set(asked))


def test_reloading_the_live_page_shows_the_same_state(window: Window) -> None:
    page = window.page
    window.play_to(14)
    look = f"""(() => {{ const run = {APP}.run, t = run.now_s; return JSON.stringify([
        Array.from({{length: run.count}}, (_, h) => [run.flagsAt(h, t), run.stationAt(h, t), run.place(h, t)]),
        run.handoffs.count, run.messages.count, run.events.time.length, {LIVE}.curves,
        Array.from({{length: run.count}}, (_, h) => run.deliveriesOf(h).time.length)]); }})()"""
    page.until(f"{APP}.clock.t === {APP}.run.now_s")
    before = json.loads(window.value(look))
    assert len(before[4]["time"]) >= 4 * 13  # There is a value for every quarter of a second, even at full speed.
    page.evaluate("location.reload()")
    page.until(f"typeof Mobilenet !== 'undefined' && {APP} && {LIVE}.state && {APP}.run.live.row > 100")
    assert json.loads(window.value(look)) == before


def test_the_chosen_host_shows_its_state_and_its_diagram(window: Window) -> None:
    page = window.page
    window.play_to(6)
    window.choose(2)
    chosen = window.value(f"{APP}.selected.id")
    page.until(f"{LIVE}.card && {LIVE}.card.node === 'h{chosen}'")
    for words in ("heartbeat timer", "Its context at s", "Latest deliveries", "Variables of the protocol"):
        page.until(f"document.querySelector('.mn-content').textContent.includes({json.dumps(words)})")
    page.key(" ")
    page.until(f"{LIVE}.arrows.length > 3")
    page.key(" ")
    assert not window.value("document.querySelector('.mn-space').hidden")
    senders = set(window.value(f"{LIVE}.arrows.flatMap(a => [a.sender, a.receiver])"))
    assert f"h{chosen}" in senders


def test_two_pages_can_share_a_live_run(served: Server, window: Window) -> None:
    with Page(900, 700) as other:
        second = Window(other, served)
        window.play_to(3)
        other.until(f"{APP}.run.now_s >= 3")
        second.value(f"{LIVE}.touch({{do: 'loss', loss: 0.25}})")
        window.page.until(f"{LIVE}.interventions.length === 1")
        other._process.kill()
        window.play_to(5)


def test_the_live_page_reconnects_and_ends_with_the_server(window: Window, served: Server) -> None:
    page, jobs = window.page, "document.querySelector('[data-list=jobs]').textContent"
    window.play_to(2)
    window.value(f"{LIVE}.touch({{do: 'crash', host: 'h1'}})")
    page.until(f"{LIVE}.interventions.length === 1")
    # The server closes the socket because of this message.
    window.value(f"void {LIVE}.ask({{command: 'x'.repeat(70000)}})")
    page.until("document.querySelector('.mn-toast')?.textContent === 'Connected again.'")
    window.until_ready()
    assert len(window.interventions()) == 1
    page.evaluate(f"{APP}.select({{kind: 'host', id: 1}})")
    for state in ("cancelled", "stopped, or not known"):
        page.evaluate("document.querySelector('[data-effect]').click()")
        page.until(f"{jobs}.includes('in progress')")
        if state == "cancelled":
            window.button("cancel")
        else:
            assert served.end()[0] == 0
        page.until(f"!{jobs}.includes('in progress') && {jobs}.includes('{state}')")
    page.until("document.querySelector('.mn-live-status').textContent.includes('is in runs/first-live-s1, marked')")
    seen = window.value("[...document.querySelectorAll('button')].filter(b => b.offsetParent).map(b => b.textContent)")
    assert "Follow" in seen and not {"Crash", "Recover", "Impair", "Save this run", "Set", "cancel"} & set(seen)
    assert window.value("document.querySelector('.mn-verdict').textContent") == "ended"


def test_a_violation_pauses_the_live_page_and_is_explained(violating: Server) -> None:
    with Page(1400, 860) as page:
        window = Window(page, violating)
        window.value(f"{LIVE}.ask({{command: 'play', speed: 'max'}})")
        page.until("document.querySelector('.mn-violation').textContent.startsWith('Violated: fifo order')")
        assert not window.value(f"{LIVE}.state.is_playing")
        words = window.value("document.querySelector('.mn-violation').textContent")
        links = "[...document.querySelectorAll('.mn-violation-links button, .mn-violation-links a')]"
        host, message, other = window.value(f"{links}.map(link => link.textContent)")
        assert f"{other} overtook {message} at {host}" in words
        assert window.value(f"{APP}.run.hostLabel({APP}.selected.id)") == host
        page.evaluate(f"{links}[1].click()")
        assert window.value(f"{APP}.run.messages.label({APP}.selected.id)") == message
        page.evaluate(f"{links}[0].click()")
        assert "overtook" in words
        row = window.value(f"{LIVE}.state.violation.row")
        # The text contains the time and the event at which the run paused.
        assert f"at {window.now_s():.6f} s (event {row})" in words


def test_a_host_that_is_added_appears_without_a_reload(window: Window) -> None:
    """The page keeps its selection, the position of the map and the drawing."""
    page = window.page
    window.play_to(4)
    window.choose(2)
    page.evaluate("window.isSamePage = true")
    view = window.value(f"{APP}.map.getZoom()")
    count = int(window.value(f"{APP}.run.count"))
    page.evaluate(f"{LIVE}.touch({{do: 'add', to_m: [10, 20]}})")
    page.until(f"{APP}.run.count === {count + 1}")
    window.play_to(9)
    assert window.value("window.isSamePage") is True
    assert window.value(f"{APP}.selected.id") == 2 and window.value(f"{APP}.map.getZoom()") == view
    x, y = json.loads(window.value(f"JSON.stringify(Object.values({APP}.run.place({count}, {APP}.run.now_s)))"))
    assert abs(x - 10) <= 25 and abs(y - 20) <= 25  # The host walks at 5 m/s for at most 5 s.
    page.until(f"document.querySelector('.mn-head').textContent.includes('{count + 1} hosts')")
    page.until(f"{APP}.run.flagsAt({count}, {APP}.run.now_s) & Mobilenet.MEMBER")
    page.until(f"{APP}.run.deliveriesOf({count}).time.length > 0")
    page.evaluate(f"{APP}.select({{kind: 'host', id: {count}}})")
    page.until(f"{LIVE}.card && {LIVE}.card.node === 'h{count}'")
    assert window.value(f"{APP}.run.valueAt('hosts', 'RBuffer', {count}, {APP}.run.now_s)") is not None


def test_buttons_of_the_live_page_show_their_state(window: Window) -> None:
    page = window.page

    def until_disabled(**expected: bool) -> None:
        buttons = "document.querySelectorAll('.mn-actions button')"
        for words, is_disabled in expected.items():
            wanted = (
                f"b.textContent === {json.dumps(words.replace('_', ' '))} && b.disabled === {json.dumps(is_disabled)}"
            )
            page.until(f"[...{buttons}].some(b => {wanted})")

    window.play_to(3)
    window.choose(2)
    page.evaluate(f"{LIVE}.touch({{do: 'crash', host: 'h2'}})")
    page.until(f"{LIVE}.interventions.length === 1")
    until_disabled(Join=True, Crash=True, Recover=False, Broadcast=True, Leave=True)
    page.evaluate(f"{APP}.select({{kind: 'station', id: 1}})")
    until_disabled(Radio_off=False, Radio_on=True, Cut=False)
    page.evaluate(f"{LIVE}.touch({{do: 'radio_off', station: 's1'}})")
    page.until(f"{APP}.run.offAt({APP}.run.now_s).has('s1')")
    page.evaluate(f"{LIVE}.touch({{do: 'loss', loss: 0.25}})")
    page.until("document.querySelector('[data-live=loss]').placeholder === '25 %'")
    until_disabled(Radio_off=True, Radio_on=False)


def test_a_card_in_a_narrow_window_leaves_its_host_in_sight(served: Server) -> None:
    with Page(390, 800) as page:
        window = Window(page, served)
        window.play_to(3)
        for host in range(6):
            page.evaluate(f"{APP}.select({{kind: 'host', id: {host}}})")
            page.until(f"""(() => {{ const y = {window.pixel_y(host)}, {PANELS};
                return below < y && y < above && above - below > 800 / 4; }})()""")
        # The card shows the diagram of its host.
        page.until("document.querySelector('.mn-content .mn-space canvas').clientWidth > 200")


def test_the_field_stays_visible_when_the_diagram_opens(served: Server) -> None:
    with Page(1280, 720) as page:
        window = Window(page, served)
        window.play_to(3)
        lowest = f"""(() => {{ const st = {APP}.run.stations, r = {APP}.run.range_m, b = {APP}.map.getContainer();
            return b.getBoundingClientRect().top + Math.max(...Array.from(st.x_m,
            (x, s) => ({APP}.view.renew(), {APP}.view.point(x, st.y_m[s] - r).y))); }})()"""
        page.evaluate(f"{APP}.select({{kind: 'host', id: 1}})")
        page.until(f"!document.querySelector('.mn-space').hidden && {lowest} < "
                   "document.querySelector('.mn-space').getBoundingClientRect().top")  # fmt: skip
        before = float(window.value(lowest))
        page.click_on(".mn-fold-space")
        page.until(f"{lowest} > {before} + 10")  # The map uses the free space again.
        page.until("document.querySelector('.mn-space canvas').clientHeight === 0")
        page.evaluate(f"{APP}.select(null)")
        page.until("document.querySelector('.mn-space').hidden")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (820, 1180)])
def test_panels_in_a_narrow_window_cover_no_station(width: int, height: int, served: Server) -> None:
    seen = f"""(() => {{ const st = {APP}.run.stations, b = {APP}.map.getContainer().getBoundingClientRect(),
        top = document.querySelector('.mn-left').getBoundingClientRect().bottom,
        low = document.querySelector('.mn-right-side').getBoundingClientRect().top; {APP}.view.renew();
        return Array.from(st.x_m, (x, s) => {APP}.view.point(x, st.y_m[s])).every(
        (p) => p.x > 0 && p.x < b.width && p.y + b.top > top && p.y + b.top < low); }})()"""
    with Page(width, height) as page:
        window = Window(page, served)
        page.until(seen)
        window.play_to(3)
        page.until(seen)
        for chosen in ("{kind: 'host', id: 1}", "{kind: 'message', id: 0}", "{kind: 'station', id: 2}", "null"):
            # A card covers part of the map, and later frees the space again.
            page.evaluate(f"{APP}.select({chosen})")
            page.until(seen)
        before = window.value(f"{APP}.map.getZoom()")
        page.evaluate(f"{APP}.map.setZoom({before} + 1, {{animate: false}}); {APP}.select({{kind: 'host', id: 1}})")
        # The page keeps the map position that the user has chosen.
        assert window.value(f"{APP}.map.getZoom()") == before + 1


def test_the_live_page_shows_an_answer_and_its_progress(served: Server) -> None:
    seen = """(() => { const box = document.querySelector('.mn-left').getBoundingClientRect(),
        job = document.querySelector('.mn-job').getBoundingClientRect();
        return job.top >= box.top && job.bottom <= box.bottom; })()"""
    with Page(1280, 720) as page:
        window = Window(page, served)
        window.play_to(3)
        window.value(f"{LIVE}.touch({{do: 'crash', host: 'h3'}})")
        page.until(f"{LIVE}.interventions.length === 1")
        for state, words in (("running", "begun"), ("done", "The number of deliveries is lower. " * 8)):
            job = {"number": 0, "kind": "effect", "about": "crash of h3 at 3 s", "state": state, "text": words}
            page.evaluate(f"{LIVE}.jobs = [{json.dumps(job)}]; {APP}.redraw()")
            page.until(f"(document.querySelector('.mn-job') || document.body).textContent.includes({words[:9]!r})")
            page.until(seen)


def test_the_zoom_level_is_preserved_after_a_rewind(served: Server) -> None:
    with Page(390, 844) as page:
        window = Window(page, served)
        window.play_to(5)
        zoom = window.value(f"{APP}.map.getZoom()")
        page.evaluate("window.isBefore = true")
        page.evaluate(f"{LIVE}.ask({{command: 'rewind', to_s: 2}})")
        page.until("window.isBefore === undefined")
        window.until_ready()
        page.until(f"Math.abs({APP}.map.getZoom() - {zoom}) < 0.2")
        page.evaluate(f"{APP}.select({{kind: 'host', id: 1}})")
        assert window.value(f"{APP}.refit()") is True
