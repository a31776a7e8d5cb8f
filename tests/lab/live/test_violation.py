"""Tests that a run pauses at the event that violates a property, and that the verifier finds the same violation in the
complete run.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import mobilenet
from mobilenet.lab.live.cards import card
from mobilenet.lab.live.desk import Desk
from mobilenet.lab.live.session import LiveSession
from mobilenet.lab.live.stream import Listener, Place
from mobilenet.parameters import ScenarioError

ROOT = Path(__file__).parents[3] / "scenarios"


def flood(*words: str) -> LiveSession:
    changes = {"protocol.command": ["python3", "flood.py", *words]}
    return mobilenet.live(ROOT / "programs" / "flood.yaml", 1, changes, allow_code=True)


@pytest.mark.long
def test_a_violation_pauses_the_live_run_at_its_event(tmp_path: Path) -> None:
    with closing(flood("--bug")) as live:
        live.play()
        violation = live.violation
        assert violation is not None
        assert violation.check == "fifo_order"
        assert "overtook" in violation.explanation
        log = live.simulation.recording.events
        assert (len(log), log.time_ns[violation.row]) == (violation.row + 1, live.now_ns)
        run = live.save(tmp_path / "run")
        assert run.verdict == "violated"
        assert run.verdicts["fifo_order"].explanation == violation.explanation
        live.play()  # The violation is reported only once.
        assert live.is_over
        assert live.fingerprint == run.manifest["fingerprint"]


@pytest.mark.long
def test_the_diagram_shows_the_violation_until_the_user_moves_it() -> None:
    """One client plays until the run pauses, and the other follows it frame by frame. Both see the same diagram."""
    diagrams = []
    for go_on in (lambda desk: desk.session.play(), frame_by_frame):
        with closing(flood("--bug")) as live:
            desk = Desk(live)
            desk.stream.attend(["h1"])
            go_on(desk)
            assert live.violation is not None
            assert [point.time_ns for point in desk.stream.curves.points] == [
                quarter * 250_000_000 for quarter in range(1, live.now_ns // 250_000_000 + 1)
            ]
            state, place = desk.stream.state(Place(0, 0, "h1"))
            diagrams.append((live.now_ns, state["arrows"]["sent_ns"], state["arrows_from_ns"]))
            assert desk.stream.state(place)[0]["arrows"]["sent_ns"] == []  # Each arrow is sent once.
            live.play(live.now_s + 1)
            assert desk.stream.state(place)[0]["arrows"]["sent_ns"]  # After the run continues, new arrows are sent.
            desk.player.pause("violated")
            desk.answer('{"command": "do", "what": {"do": "crash", "host": "h2"}}', Listener())
            assert desk.player.stopped_because == ""
    assert diagrams[0] == diagrams[1]
    assert len(diagrams[0][1]) > 10


def frame_by_frame(desk: Desk) -> None:
    live = desk.session
    while live.violation is None:
        live.step("frame")


@pytest.mark.long
def test_a_correct_program_never_stops_the_live_run() -> None:
    with closing(flood()) as live:
        live.play()
        assert live.violation is None
        assert live.is_over


@pytest.mark.long
def test_a_live_run_can_be_rewound_after_a_program_dies(tmp_path: Path) -> None:
    (tmp_path / "dies.py").write_text(
        "import sys\n"
        "heard = 0\n"
        "for line in sys.stdin:\n"
        "    heard += 1\n"
        "    if heard > 8:\n"
        "        sys.exit(3)\n"
        '    print(\'{"do": "done"}\', flush=True)\n',
        encoding="utf-8",
    )
    scenario = (ROOT / "programs" / "flood.yaml").read_text(encoding="utf-8")
    (tmp_path / "dies.yaml").write_text(scenario.replace("flood.py", "dies.py"), encoding="utf-8")
    with closing(mobilenet.live(tmp_path / "dies.yaml", 1, allow_code=True)) as live:
        with pytest.raises(ScenarioError):
            while not live.is_over:  # The run may also pause because the program violates a property.
                live.play()
                assert live.violation is None or live.violation.row + 1 == len(live.simulation.recording.events)
        at_s = live.now_s
        assert at_s < 30
        for go_on in (live.play, live.step, lambda: live.do("crash", host="h1")):
            with pytest.raises(ScenarioError, match=r"^the run ended with an error: .*; go back to a time before"):
                go_on()
        live.rewind(at_s / 2)
        live.do("crash", host="h1")
        assert live.error == ""


@pytest.mark.long
def test_stepping_to_a_violation_skips_the_current_one() -> None:
    with closing(flood("--bug")) as live:
        live.play()
        assert live.violation is not None
        checks = [live.violation.check]
        while not live.is_over:
            live.step("violation")
            if live.violation is not None:
                checks.append(live.violation.check)
        assert len(checks) == len(set(checks))


def test_a_program_can_show_its_state_on_its_map_card(tmp_path: Path) -> None:
    for name in ("flood.yaml", "flood.py"):
        (tmp_path / name).write_bytes((ROOT / "programs" / name).read_bytes())
    (tmp_path / "shows.py").write_text(
        "import json, sys\n"
        "heard = 0\n"
        "for line in sys.stdin:\n"
        "    event = json.loads(line)\n"
        "    if event['ev'] == 'stop': break\n"
        "    heard += 1\n"
        '    print(json.dumps({"do": "show", "state": {"events heard": heard, "is ready": True}}))\n'
        '    print(\'{"do": "done"}\', flush=True)\n',
        encoding="utf-8",
    )
    changes = {"protocol.command": {"host": ["python3", "shows.py"], "station": ["python3", "flood.py"]}}
    with closing(
        mobilenet.live(tmp_path / "flood.yaml", 1, changes | {"protocol.buffers": None}, allow_code=True)
    ) as live:
        live.play(2)
        host_card = card(live.simulation, "h1")
        assert host_card is not None
        keeps = dict(host_card["keeps"])
        assert int(keeps["events heard"]) >= 2 and keeps["is ready"] == "yes" and len(keeps) == 2
        station = card(live.simulation, "s0")
        assert station is not None and len(station["keeps"]) > 2
