"""Tests that a live session is equivalent to a run: after any interventions, a run of its scenario has the same
events.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mobilenet
from mobilenet.lab.live.cards import card
from mobilenet.lab.live.repetition import divergence
from mobilenet.lab.live.session import LiveSession
from mobilenet.lab.live.stopped_run import keep_unfinished
from mobilenet.parameters import ScenarioError
from tests.lab.live.sessions import SCENARIOS, play, repeats

ROOT = Path(__file__).parents[3] / "scenarios"
FIRST = ROOT / "first.yaml"


@pytest.fixture
def live() -> LiveSession:
    return mobilenet.live(FIRST, seed=3)


def the_same(live: LiveSession, folder: Path) -> mobilenet.Run:
    live.play()
    return repeats(live, folder)


def test_a_live_session_without_interventions_equals_the_run(live: LiveSession, tmp_path: Path) -> None:
    assert (
        the_same(live, tmp_path).manifest["fingerprint"]
        == mobilenet.run(FIRST, 3, tmp_path / "plain").manifest["fingerprint"]
    )


@pytest.mark.parametrize(
    "what",
    [
        {"do": "crash", "host": "h3"},
        {"do": "drag", "host": "h3", "to_m": [120.0, 20.0]},
        {"do": "leave", "host": "h1"},
        {"do": "broadcast", "host": "h0"},
        {"do": "loss", "loss": 0.3},
        {"do": "interval", "interval_s": 0.5},
        {"do": "add", "to_m": [200.0, 30.0]},
        {"do": "cut", "link": ["s0", "s1"]},
        {"do": "radio_off", "station": "s1"},
    ],
    ids=lambda what: str(what["do"]),
)
def test_each_live_intervention_is_saved_with_its_time(live: LiveSession, tmp_path: Path, what: dict[str, Any]) -> None:
    live.play(7.123456789)
    asked = dict(what)
    assert live.do(asked.pop("do"), **asked)["at_s"] == 7.123456789
    run = the_same(live, tmp_path)
    untouched = mobilenet.run(FIRST, 3, tmp_path / "untouched")
    assert run.verdict == "valid"
    assert run.manifest["fingerprint"] != untouched.manifest["fingerprint"]
    before = [events[events["time_ns"] < 7_123_456_789] for events in (run.events, untouched.events)]
    assert before[0].equals(before[1])


def test_interventions_on_a_host_are_at_least_a_nanosecond_apart(live: LiveSession, tmp_path: Path) -> None:
    live.play(5)
    live.do("crash", host="h2")
    assert live.do("recover", host="h2")["at_s"] == 5.000000001
    the_same(live, tmp_path)


@pytest.mark.parametrize("what", ["event", "frame", "handoff", "delivery"])
def test_a_step_ends_at_the_next_event_of_the_requested_kind(live: LiveSession, what: str) -> None:
    live.play(11)
    log, medium = live.simulation.recording.events, live.simulation.medium
    rows, frames = len(log), medium.frames
    live.step(what)
    new = log.event[rows:]
    if what == "frame":
        assert medium.frames == frames + 1
    elif what == "event":
        assert new
        assert set(log.time_ns[rows:]) == {live.now_ns}
    else:
        wanted = {"handoff": ("handoff_start", "handoff_end"), "delivery": ("deliver",)}[what]
        assert [event in wanted for event in new].count(True) >= 1
        assert log.time_ns[-1] == live.now_ns
        assert not any(event in wanted for event, at in zip(new, log.time_ns[rows:], strict=True) if at < live.now_ns)


def test_an_intervention_is_the_last_event_of_its_nanosecond(live: LiveSession, tmp_path: Path) -> None:
    live.play(6)
    for what in ("frame", "event", "delivery", "frame", "frame"):
        live.step(what)
        live.do("broadcast", host="h4")
        live.do("crash", host="h4")
        live.do("recover", host="h4")
    the_same(live, tmp_path)


@pytest.mark.long
def test_rewinding_and_intervening_creates_a_branch_to_switch_to(live: LiveSession, tmp_path: Path) -> None:
    live.play(8)
    live.do("crash", host="h1")
    live.play(12)
    before = live.fingerprint
    live.rewind(10)
    assert live.now_s == 10
    assert len(live.branches) == 1  # There is no new branch, because all interventions were before 10 s.
    live.play(12)
    assert live.fingerprint == before
    live.rewind(5)
    assert live.branch.number == 1
    assert live.branch.interventions == ()
    live.do("crash", host="h4")
    other = the_same(live, tmp_path / "other")
    live.switch(0)
    assert live.now_s == 12
    assert live.fingerprint == before
    first = the_same(live, tmp_path / "first")
    assert first.manifest["fingerprint"] != other.manifest["fingerprint"]


@pytest.mark.long
def test_rewinding_to_the_time_of_an_intervention_keeps_it(live: LiveSession) -> None:
    live.play(4)
    live.do("crash", host="h1")
    live.play(9)
    live.rewind(4)
    assert [one.do for one in live.branch.interventions] == ["crash"]
    assert not live.simulation.hosts[1].up


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        ({"do": "crash", "host": "h99"}, "^h99 does not exist; there are 6 hosts, h0 to h5"),
        ({"do": "crash", "host": 3}, "^host: "),
        ({"do": "explode", "host": "h1"}, "^do: unknown do explode; expected one of: crash"),
        ({"do": "drag", "host": "h1"}, "^to_m: missing"),
        ({"do": "drag", "host": "h1", "to_m": [0, 1e9]}, "^to_m: "),
        ({"do": "loss", "loss": 2}, "^loss: should be at most 1, got 2"),
        ({"do": "crash", "host": "h1", "why": "x"}, "^why: unknown key"),
        # An intervention cannot contain a time or another intervention.
        ({"do": "crash", "host": "h1", "at_s": 3}, "at_s: an intervention takes effect now"),
        ({"do": "crash", "host": "h1", "at_s: 3}, {do: crash, host": "h2"}, "unknown key"),
        ({"do": "crash", "host": "h1", "a: b\nc": 1}, "unknown key"),
        ({"do": "crash", "host": "h1}, {do: crash, host: h2, at_s: 3"}, "host: expected a name"),
    ],
)
def test_an_impossible_intervention_is_rejected_without_effect(
    live: LiveSession, what: dict[str, Any], complaint: str
) -> None:
    live.play(3)
    live.do("broadcast", host="h0")
    before = live.fingerprint
    asked = dict(what)
    with pytest.raises(ScenarioError, match=complaint) as error:
        live.do(asked.pop("do"), **asked)
    assert "\n" not in str(error.value) or "\n" in str(what)
    assert len(live.branch.interventions) == 1
    assert (live.now_s, live.fingerprint) == (3, before)


@pytest.mark.long
def test_interventions_are_rejected_after_the_active_part(live: LiveSession) -> None:
    live.play()
    with pytest.raises(ScenarioError, match="the active part, which ended at 30 s"):
        live.do("crash", host="h1")
    live.rewind(29)
    live.do("crash", host="h1")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("vcube/causal.yaml", "only runs with hosts and stations can be run live"),
        ("own_protocol/gossip.yaml", "--allow-code"),
    ],
)
def test_live_rejects_scenarios_that_cannot_be_played(name: str, complaint: str) -> None:
    with pytest.raises(ScenarioError, match=complaint):
        mobilenet.live(ROOT / name)


@pytest.mark.long
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_random_live_sessions_can_be_repeated_exactly(scenario: str, tmp_path: Path) -> None:
    assert repeats(play(4711, scenario), tmp_path).verdict in ("valid", "unknown")


@pytest.mark.long
def test_scheduled_interventions_occur_in_every_branch(tmp_path: Path) -> None:
    live = mobilenet.live(ROOT / "by_hand.yaml")
    given = live.scenario.interventions
    live.play(2)
    live.do("crash", host="h0")
    live.play(9)
    live.rewind(1)
    assert live.branch.interventions == given
    live.do("broadcast", host="h2")
    live.play(20)
    live.do("drag", host="h3", to_m=[50, 0])
    assert len(live.branch.interventions) == len(given) + 2
    the_same(live, tmp_path / "one")
    live.switch(0)
    the_same(live, tmp_path / "two")


@pytest.mark.long
def test_intervening_after_a_rewind_starts_a_new_branch(live: LiveSession) -> None:
    live.play(16)
    live.rewind(8)
    live.do("crash", host="h2")
    assert [branch.reached_ns for branch in live.branches] == [16 * 10**9, 8 * 10**9]
    assert [len(branch.interventions) for branch in live.branches] == [0, 1]
    live.switch(0)
    assert live.now_s == 16


def test_rewinding_a_finished_run_to_its_end_changes_nothing(live: LiveSession) -> None:
    live.play()
    live.rewind(live.now_s)
    assert live.is_over


def test_reaching_the_event_limit_while_stepping_ends_the_run(tmp_path: Path) -> None:
    live = mobilenet.live(FIRST, 3, {"limits.max_events": 3000})
    live.play(3)
    live.do("interval", interval_s=0.01)
    with pytest.raises(ScenarioError, match=r"limits\.max_events"):
        while not live.is_over:
            live.step("frame")
    with pytest.raises(ScenarioError, match="the run ended with an error"):
        live.play()
    kept = keep_unfinished(live, tmp_path / "run")
    assert divergence(kept) is None


@pytest.mark.long
def test_checking_a_past_intervention_agrees_with_a_rewind(live: LiveSession, tmp_path: Path) -> None:
    live.play(5)
    live.do("crash", host="h3")
    live.play(9)
    live.check({"do": "recover", "host": "h3"}, 5.0)
    live.rewind(5.0)
    assert live.do("recover", host="h3")["at_s"] == 5.000000001
    the_same(live, tmp_path)


@pytest.mark.parametrize("time_s", [float("nan"), 1e300, -1.0, "x", None])
def test_a_rewind_to_an_invalid_time_is_rejected(time_s: Any) -> None:
    live = mobilenet.live(FIRST)
    live.play(1)
    with pytest.raises(ScenarioError, match="expected a time from 0 to"):
        live.rewind(time_s)
    if time_s is not None:
        with pytest.raises(ScenarioError, match="expected a time from 0 to"):
            live.play(time_s)
    with pytest.raises(ScenarioError, match=r"branch .* does not exist"):
        live.switch(time_s)
    assert live.now_s == 1


def test_numpy_numbers_are_accepted_and_other_objects_rejected() -> None:
    live = mobilenet.live(FIRST)
    live.play(np.float64(1))
    live.do("loss", loss=np.float64(0.3))
    assert live.do("drag", host="h1", to_m=np.array([1, 2]))["to_m"] == (1.0, 2.0)
    for nonsense in ({"host": object()}, {"host": {1, 2}}):
        with pytest.raises(ScenarioError, match="expected numbers, text, lists or dictionaries"):
            live.do("crash", **nonsense)
    with pytest.raises(ScenarioError, match=r"scenario: got None \(NoneType\), expected the name of a file"):
        mobilenet.live(None)  # type: ignore[arg-type]


def test_interventions_on_hosts_that_do_not_exist_are_rejected() -> None:
    live = mobilenet.live(ROOT / "own_tracks.yaml")
    live.play(2)
    hosts = live.first_hosts
    for what, how in (("crash", {}), ("drag", {"to_m": [0, 0]})):
        message = f"^h{hosts} does not exist; there are {hosts} hosts, h0 to h{hosts - 1}$"
        with pytest.raises(ScenarioError, match=message):
            live.do(what, host=f"h{hosts}", **how)
    assert live.scenario.interventions == ()
    live.do("add", to_m=[0, 0])
    live.play(3)
    assert live.do("crash", host=f"h{hosts}")["host"] == f"h{hosts}"


@pytest.mark.parametrize(("what", "other"), [("leave", "join"), ("join", "leave")])
def test_joining_or_leaving_twice_is_rejected(live: LiveSession, what: str, other: str) -> None:
    live.play(4)
    live.do("leave", host="h3")
    if what == "join":
        live.play(6)
        live.do("join", host="h3")
    # In the first iteration, the change has only been requested. In the second, it has been executed.
    for time_s in (live.now_s, 9):
        live.play(time_s)
        with pytest.raises(ScenarioError, match=f"do: h3 is .* already, so {what} has no effect; expected {other}"):
            live.do(what, host="h3")
    assert live.do(other, host="h3")["do"] == other


def test_a_second_crash_or_recovery_is_rejected(live: LiveSession) -> None:
    live.play(4)
    with pytest.raises(ScenarioError, match="do: h3 is already up, so recover has no effect; expected crash"):
        live.do("recover", host="h3")
    live.do("crash", host="h3")
    with pytest.raises(ScenarioError, match="do: h3 is already down, so crash has no effect; expected recover"):
        live.do("crash", host="h3")
    assert [one.do for one in live.branch.interventions] == ["crash"]


def test_an_intervention_without_effect_is_omitted(tmp_path: Path) -> None:
    """A scheduled crash of h1 is left out while h1 is already down. It is included again as soon as it would have an
    effect.
    """
    live = mobilenet.live(ROOT / "by_hand.yaml")  # The scenario crashes h1 at 5 s and recovers it at 9 s.

    def of_h1() -> list[tuple[str, float]]:
        return [(one.do, one.at_s) for one in live.scenario.interventions if getattr(one, "host", "") == "h1"]

    live.play(3)
    live.do("crash", host="h1")
    assert of_h1() == [("crash", 3), ("recover", 9)]
    live.play(4)
    live.do("recover", host="h1")
    assert of_h1() == [("crash", 3), ("recover", 4), ("crash", 5), ("recover", 9)]
    live.rewind(3.5)
    assert of_h1() == [("crash", 3), ("recover", 9)]
    the_same(live, tmp_path / "one")
    live.rewind(2)
    assert of_h1() == [("crash", 5), ("recover", 9)]
    the_same(live, tmp_path / "two")


@pytest.mark.parametrize("causes", [False, True])
@pytest.mark.parametrize(("name", "expected"), [("first.yaml", "resend timer"), ("programs/flood.yaml", "tick timer")])
def test_cards_show_the_timer_names_of_the_protocol(name: str, expected: str, causes: bool) -> None:
    session = mobilenet.live(ROOT / name, 1, {"record.causes": causes}, allow_code=True)
    try:
        session.play(6)
        cards = [card(session.simulation, node.name) or {} for node in session.simulation.nodes]
        names = {words for node_card in cards for words, _ in node_card["timers"]}
    finally:
        session.close()
    assert expected in names and not names & {"fire timer", "on due timer", "timer"}, names
