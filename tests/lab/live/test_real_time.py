"""Tests of a live run of programs that use UDP. The run follows the wall clock, and interventions take effect.

Source    ours: docs/guide/live.md
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.lab.live.desk import Desk
from mobilenet.lab.live.stream import Listener
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import load_scenario
from tests.browser import Page
from tests.conftest import ROOT
from tests.lab.live.conftest import serving
from tests.lab.live.test_window import APP, LIVE, Window
from tests.lab.programs.realtime.own import PORTS, jumping

UDP = ROOT / "scenarios" / "programs" / "udp.yaml"


def changes(duration_s: float, drain_s: float) -> dict[str, object]:
    port = next(PORTS)
    times: dict[str, object] = {"duration_s": duration_s, "warmup_s": 0, "drain_s": drain_s}
    return times | {"protocol.port": port, "protocol.own_port": port + 1}


@pytest.fixture
def desk() -> Iterator[Desk]:
    session = mobilenet.live(UDP, 1, changes(30, 1), allow_code=True)
    yield Desk(session, allow_code=True)
    session.close()


def across_the_crash(run: mobilenet.Run) -> bool:
    """Return whether two messages of h1, one sent before its crash and one after it, were delivered in the wrong order.

    After a crash, the program numbers its messages from 0 again, so it does not preserve this order.
    """
    match = re.match(r"(h1:\d+) overtook (h1:\d+) at h\d", run.verdicts["fifo_order"].explanation)
    assert match is not None, run.verdicts["fifo_order"]
    events = run.events
    (crash_ns,) = events.loc[events["event"] == "crash", "time_ns"]
    at_ns = events[events["event"] == "broadcast"].set_index("message")["time_ns"]
    return bool(at_ns[match[2]] < crash_ns < at_ns[match[1]])


def error_of(desk: Desk, **command: object) -> str:
    """Return the error that a page would show, or an empty string."""
    return str(desk.answer(json.dumps(command), Listener()).get("error", ""))


TOUCHES: dict[str, dict[str, Any]] = {
    "crash": {"host": "h1"}, "cut": {"link": ["s0", "s1"]}, "radio_off": {"station": "s2"},
}  # fmt: skip
REFUSED: tuple[tuple[str, dict[str, object]], ...] = (
    ("pause", {}), ("step", {"what": "event"}), ("rewind", {"to_s": 0}), ("speed", {"speed": 4}),
    ("effect", {"intervention": 0}), ("save", {}), ("play", {"until_s": 3}), ("switch", {"branch": 0}),
)  # fmt: skip


@pytest.mark.long
def test_live_programs_continue_through_crashes_and_cuts(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session, player = desk.session, desk.player
    player.play()
    done: list[str] = []
    names = session.simulation.recording.events.event

    def has_recovered(names: Sequence[str]) -> bool:
        return "recover" in names and "deliver" in names[names.index("recover") :]

    # The programs may start late, so nothing depends on the time. The active part ends after the recovery of h1.
    with jumping(tmp_path, (30.0, has_recovered)):
        while player.is_playing:
            player._go_on()
            if "datagram_received" in names and not done:
                crashed_s = session.now_s
                for what, more in TOUCHES.items():
                    done.append(str(session.do(what, **more)["do"]))
                for command, how in REFUSED:
                    assert "real time" in error_of(desk, command=command, **how), command
                assert "real time" in error_of(desk, command="hold", on=True) and player.is_going
                assert error_of(desk, command="hold", on=False) == "" and player.is_going
                with pytest.raises(ScenarioError, match="h1 is already down, so crash has no effect; expected recover"):
                    session.do("crash", host="h1")
            if len(done) == 3 and session.now_s > crashed_s + 0.5:
                done.append(str(session.do("recover", host="h1")["do"]))
    assert session.is_over and done == ["crash", "cut", "radio_off", "recover"]
    late = error_of(desk, command="why", message="h0:0", host="h1")
    assert late == "why: a run in real time cannot be repeated, so the causes of its delays are not known"
    with pytest.raises(ScenarioError, match="ended at 30 s; start the run again with a longer duration_s"):
        session.do("crash", host="h2")
    assert error_of(desk, command="save", name="mine") == ""
    run = mobilenet.load("runs/mine")
    assert run.verdicts["record"].answer == "valid"
    assert run.verdicts["fifo_order"].answer == "valid" or across_the_crash(run)
    assert run.metrics["crashes"] == 1 and run.metrics["datagrams_received"]
    assert [one.do for one in load_scenario(run.path / "scenario.yaml").interventions] == done
    assert error_of(desk, command="save", name="mine") != ""  # The run already exists.


def options(duration_s: float, drain_s: float) -> list[str]:
    return [f"--set={key}={value}" for key, value in changes(duration_s, drain_s).items()]


@pytest.mark.long
def test_the_live_page_plays_a_real_time_run(tmp_path: Path) -> None:
    """The page follows a run that lasts longer than the test, and then one that is over soon."""
    with Page(1400, 860) as page:
        with serving(tmp_path, str(UDP), "--allow-code", *options(300, 2)) as served:
            window = Window(page, served)
            window.value(f"{LIVE}.ask({{command: 'play'}})")
            page.until(f"{APP}.run.now_s > 0.5")
            page.until("document.body.textContent.includes('Playing in real time, recently up to ')")
            page.evaluate(f"{LIVE}.touch({{do: 'crash', host: 'h2'}})")
            page.until(f"Boolean({APP}.run.flagsAt(2, {APP}.run.now_s) & Mobilenet.DOWN)")
            page.until(f"{APP}.run.messages.count > 3")
            page.evaluate(f"{APP}.select({{kind: 'host', id: 1}})")
            words = "[...document.querySelectorAll('button')].map(button => button.textContent)"
            offered = set(window.value(words))
            # The page offers these actions, which are possible in real time.
            assert {"Crash", "Recover"} <= offered
            virtual = {"Step to the next", "Add a host", "what effect did it have?", "Broadcast", "Continue from here"}
            assert not offered & virtual
            assert window.value("[document.querySelector('.mn-speed'), document.querySelector('.mn-save')]"
                                ".every(control => control.disabled)")  # fmt: skip
            page.until(f"{APP}.run.deliveriesOf(1).message.length > 0")
            page.evaluate(f"{APP}.select({{kind: 'message', id: {APP}.run.deliveriesOf(1).message[0]}})")
            page.until("document.querySelector('.mn-right-side').textContent.includes('of 6 hosts')")
            text = window.value("document.querySelector('.mn-right-side').textContent")
            assert "why" not in text and "-1 message" not in text
        with serving(tmp_path, str(UDP), "--allow-code", *options(0.5, 0.1)) as served:
            page.visit(served.url)
            page.until(f"location.port === '{served.port}'")
            window.until_ready()
            window.value(f"{LIVE}.ask({{command: 'play'}})")
            page.until(f"{LIVE}.state.is_over")
            page.evaluate(f"{LIVE}.touch({{do: 'crash', host: 'h1'}})")
            page.until("document.querySelector('.mn-toast').textContent.includes('start the run again with a longer')")
            page.evaluate(f"{APP}.clock.seek(0.2)")
            page.until("document.querySelector('.mn-past').textContent.includes('no longer possible')")
            page.until("!document.querySelector('.mn-save').disabled")
            code, out, _ = served.end()
    assert code == 0 and "Next: mobilenet map runs/" in out
    assert len(list((tmp_path / "runs").glob("*/manifest.json"))) == 1
